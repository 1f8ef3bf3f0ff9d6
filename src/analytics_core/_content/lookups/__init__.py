"""What questions need of the metadata store, read once and believed for a moment."""
