"""Advanced data types: what the numbers of a column stand for, such as internet addresses, and how people write it."""
