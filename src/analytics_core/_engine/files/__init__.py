"""Files that people bring: read in batches, typed by what they hold, refused with row and column; no database here."""
