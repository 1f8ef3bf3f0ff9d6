"""From a plan to an SQL tree: fresh sqlglot nodes, values as bind marks, every column qualified."""
