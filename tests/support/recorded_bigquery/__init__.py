"""The two names of BigQuery's driver by which a statement is checked; the package itself is no dependency of tests."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class QueryJobConfig:
    """Options of a query."""

    dry_run: bool
