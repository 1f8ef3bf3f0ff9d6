"""One namespace per resource: parse, authorise, one unit of work, return."""
