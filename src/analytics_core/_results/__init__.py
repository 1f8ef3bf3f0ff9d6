"""What answers look like: rows, formats, pivot tables, and the bytes that caches and stores keep."""
