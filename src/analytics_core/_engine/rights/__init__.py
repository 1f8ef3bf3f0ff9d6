"""Who may see what: the policy table, row rules, ownership."""
