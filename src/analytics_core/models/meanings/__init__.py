"""What fields mean, a sentence each: of queries, and of records; JSON schemas of a host's pages show them."""
