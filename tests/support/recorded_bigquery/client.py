"""Where the driver has its client."""


class Client:
    """A client of BigQuery."""
