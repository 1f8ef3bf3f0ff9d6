"""The builders of chart kinds: each module holds those that ask alike, and names them in KINDS."""
