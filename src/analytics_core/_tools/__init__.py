"""What every room may use: small parts that know nothing of analytics."""
