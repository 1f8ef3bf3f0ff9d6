"""What never fails on any row, by engine: too long for the files of their specs."""
