"""What people type in a notebook: questions in one line, files and frames in hand."""
