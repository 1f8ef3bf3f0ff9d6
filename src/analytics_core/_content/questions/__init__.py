"""What charts are asked: their query contexts, with the filters that readers and dashboards put around them."""
