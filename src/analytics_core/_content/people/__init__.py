"""Users, roles, and the people whom records name."""
