"""The kinds of charts, a file for each family; each module names its kinds in `KINDS`."""
