"""What answers look like: rows, formats, and the bytes that caches and stores keep."""
