"""Users' SQL: a text becomes exactly one checked expression in the dialect of its engine."""
