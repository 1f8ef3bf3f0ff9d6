"""The post-processing operations, one file each; a file is imported when its operation runs for the first time."""
