"""The SQL editor: statements of people, from their text to rows.

In comes SQL with parameters; out come rows, records of executions, saved queries and lineage. It asks the engine and
the content, and no one asks it.
"""
