"""From a query to a statement: plan (everything resolved), lower (a SQL tree), render (text and bound values)."""
