"""The table that random queries are asked of: the same rows on four engines, and as plain Python values.

Each column holds what engines disagree about: text by case, accents and blanks, decimals of 30 digits, whole numbers
beyond 2**53, moments encoded as numbers and texts, moments with a zone, and nulls everywhere.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

import analytics_core

Row = dict[str, Any]

TABLE = "Random rows"
COPY = "Random rows, moved"
NAMES = ("Bo", "bo", "BO ", "é", "É", "straße", "漢字", "😀", "a%b", "a_b", "a\\b", "O'Hara", '"q"', "", "Others")
GROUPS = ("north", "North", "south", "süd", "Others")
OFFSET_HOURS = 5
VIRTUAL_SQL = (
    "SELECT * FROM {table} WHERE qty IS NOT NULL "
    "{{% if url_param('least') %}} AND qty >= {{{{ url_param('least') | int }}}} {{% endif %}}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column as the reference knows it: what it holds, and how its moments are written in the database."""

    name: str
    kind: str
    date_format: str | None = None
    engines: tuple[str, ...] = ("sqlite", "duckdb", "postgresql", "mysql", "clickhouse")

    @property
    def is_temporal(self) -> bool:
        """Whether its values are moments or days."""
        return self.kind in ("moment", "day")


COLUMNS: Mapping[str, Column] = {
    column.name: column
    for column in (
        Column(name="id", kind="integer"),
        Column(name="ts", kind="moment"),
        Column(name="at", kind="moment"),
        Column(name="day", kind="day"),
        Column(name="name", kind="text"),
        Column(name="grp", kind="text"),
        Column(name="qty", kind="integer"),
        Column(name="big", kind="integer"),
        Column(name="price", kind="float"),
        Column(name="cost", kind="decimal"),
        Column(name="exact", kind="decimal", engines=("duckdb", "postgresql", "mysql", "clickhouse")),
        Column(name="flag", kind="boolean"),
        Column(name="sec", kind="moment", date_format="epoch_s"),
        Column(name="msec", kind="moment", date_format="epoch_ms"),
        Column(name="ymd", kind="moment", date_format="%Y%m%d"),
        Column(name="year", kind="moment", date_format="%Y"),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """One way to look at the table: which rows, and how far its moments are moved."""

    id: int
    table: str = TABLE
    hours: int = 0
    is_virtual: bool = False
    main_time: str | None = None


DATASETS: Sequence[Dataset] = (
    Dataset(id=1),
    Dataset(id=2, table=COPY, hours=OFFSET_HOURS, main_time="ts"),
    Dataset(id=3, is_virtual=True, main_time="ts"),
)
ADMIN, READER = "admin", "reader"
ROW_RULE = "price < 100 OR qty IN (3, 8)"
"""What the reader sees of the first table; rules compare text as their engine does, so this one compares none."""

SAVED_METRICS: Mapping[str, str] = {"rows": "COUNT(*)", "units": "SUM(qty)"}


def rows(count: int = 240, *, seed: int = 11) -> list[Row]:
    """Return the rows; every column but `id` holds nulls."""
    source = random.Random(seed)
    return [_row(source, number) for number in range(1, count + 1)]


def _row(source: random.Random, number: int) -> Row:
    moment = datetime(2022, 11, 20) + timedelta(minutes=source.randrange(0, 1_100_000), seconds=source.randrange(60))
    second = datetime(2023, 1, 1) + timedelta(seconds=source.randrange(0, 63_000_000))
    values = {
        "ts": moment + timedelta(microseconds=source.choice((0, 0, 0, 250_000, 1, 999_999))),
        "at": datetime(2023, 6, 1) + timedelta(seconds=source.randrange(0, 40_000_000)),
        "day": date(2024, 1, 1) + timedelta(days=source.randrange(-400, 400)),
        "name": source.choice(NAMES),
        "grp": source.choice(GROUPS),
        "qty": source.randrange(-5, 20),
        "big": 2**53 + source.randrange(0, 4) * source.choice((1, -1)),
        "price": source.randrange(-400, 4000) / 8,
        "cost": Decimal(source.randrange(-5000, 500_000)).scaleb(-3),
        "exact": Decimal(f"{source.randrange(0, 3) + 12345678901234567}.{source.randrange(0, 4) + 123456788:09d}"),
        "flag": source.random() < 0.5,
        "sec": second,
        "msec": second + timedelta(milliseconds=source.choice((0, 7, 999))),
        "ymd": datetime(2023, 10, 1) + timedelta(days=source.randrange(0, 300)),
        "year": datetime(source.randrange(2019, 2025), 1, 1),
    }
    fields = {name: None if source.random() < 0.08 else value for name, value in values.items()}
    return {"id": number, **fields}


def seen(data: Sequence[Row], dataset: Dataset, who: str) -> list[Row]:
    """Return the rows as somebody sees them through a dataset: those permitted, moments moved by its offset."""
    result = [row for row in data if not dataset.is_virtual or row["qty"] is not None]
    if who == READER and dataset.table == TABLE:
        result = [row for row in result if row["qty"] in (3, 8) or (row["price"] is not None and row["price"] < 100)]
    if not dataset.hours:
        return list(result)
    return [{name: _moved(value, dataset.hours) for name, value in row.items()} for row in result]


def _moved(value: Any, hours: int) -> Any:
    if not isinstance(value, date):
        return value
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    return moment + timedelta(hours=hours)


def connect(url: str, data: Sequence[Row], *, engine: str) -> Any:
    """Return a core whose database holds the table, with its datasets."""
    _load(url, data, engine=engine)
    core = analytics_core.connect(url)
    quote = "`" if engine == "mysql" else '"'
    sql = VIRTUAL_SQL.format(table=f"{quote}{TABLE}{quote}")
    for dataset in DATASETS:
        given = {"table_name": "chosen", "sql": sql} if dataset.is_virtual else {"table_name": dataset.table}
        made = core.datasets.create({"database": 1, **given})
        assert made.id == dataset.id, made.id
        core.datasets.update(made.id, _described(core.datasets.get(made.id), dataset))
    role = core.roles.create({"name": "readers"})
    core.roles.grant(role, on=("database", 1))
    core.users.create({"username": READER, "roles": [role.id]})
    rule = {"name": "some", "clause": ROW_RULE, "filter_type": "Regular", "roles": [role.id], "tables": [1]}
    core.row_level_security.create(rule)
    return core


def _described(found: Any, dataset: Dataset) -> dict[str, Any]:
    columns = [_column(item.column_name, item.id) for item in found.columns if item.column_name in COLUMNS]
    metrics = [{"metric_name": name, "expression": sql} for name, sql in SAVED_METRICS.items()]
    return {"columns": columns, "metrics": metrics, "offset": dataset.hours, "main_dttm_col": dataset.main_time}


def _column(name: str, identity: int) -> dict[str, Any]:
    known = COLUMNS[name]
    described = {"id": identity, "column_name": name}
    if known.date_format:
        described |= {"is_dttm": True, "python_date_format": known.date_format}
    return described | ({"is_dttm": True} if known.is_temporal else {})


def _load(url: str, data: Sequence[Row], *, engine: str) -> None:
    stored = [_stored(row, engine) for row in data]
    if engine == "clickhouse":
        _load_clickhouse(url, stored)
        return
    database = sa.create_engine(url)
    with database.begin() as connection:
        for name in (TABLE, COPY):
            table = _table(name, engine)
            table.create(connection)
            connection.execute(sa.insert(table), stored)
    database.dispose()


def _load_clickhouse(url: str, stored: Sequence[Row]) -> None:
    """Make the tables in the engine's own words: SQLAlchemy's say nothing of nulls and order there."""
    import clickhouse_connect

    place = sa.make_url(url)
    client = clickhouse_connect.get_client(
        host=place.host, port=place.port, database=place.database, autogenerate_session_id=False
    )
    columns = ", ".join(f"`{name}` {kind}" for name, kind in _CLICKHOUSE.items())
    for name in (TABLE, COPY):
        client.command(f"CREATE TABLE `{name}` ({columns}) ENGINE = MergeTree ORDER BY id")
        rows = [[row[column] for column in _CLICKHOUSE] for row in stored]
        client.insert(f"`{name}`", rows, column_names=list(_CLICKHOUSE), column_type_names=list(_CLICKHOUSE.values()))
    client.close()


_CLICKHOUSE = {
    "id": "Int32",
    "ts": "Nullable(DateTime64(6))",
    "at": "Nullable(DateTime64(6, 'UTC'))",
    "day": "Nullable(Date32)",
    "name": "Nullable(String)",
    "grp": "LowCardinality(Nullable(String))",
    "qty": "Nullable(Int32)",
    "big": "Nullable(Int64)",
    "price": "Nullable(Float64)",
    "cost": "Nullable(Decimal(18, 3))",
    "exact": "Nullable(Decimal(38, 9))",
    "flag": "Nullable(Bool)",
    "sec": "Nullable(Int64)",
    "msec": "Nullable(Int64)",
    "ymd": "Nullable(String)",
    "year": "Nullable(String)",
}


def _table(name: str, engine: str) -> sa.Table:
    moment = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")
    types: dict[str, sa.types.TypeEngine[Any]] = {
        "ts": moment,
        "at": sa.Text()
        if engine == "sqlite"
        else mysql.TIMESTAMP(fsp=6)
        if engine == "mysql"
        else sa.TIMESTAMP(timezone=True),
        "day": sa.Date(),
        "name": sa.String(40),
        "grp": sa.String(20),
        "qty": sa.Integer(),
        "big": sa.BigInteger(),
        "price": sa.Double(),
        "cost": sa.Numeric(18, 3),
        "exact": sa.Numeric(38, 9),
        "flag": sa.Boolean(),
        "sec": sa.BigInteger(),
        "msec": sa.BigInteger(),
        "ymd": sa.String(8),
        "year": sa.String(4),
    }
    columns = [sa.Column(key, kind, nullable=True) for key, kind in types.items() if engine in COLUMNS[key].engines]
    identity = sa.Column("id", sa.Integer, primary_key=True, autoincrement=False)
    return sa.Table(name, sa.MetaData(), identity, *columns)


def _stored(row: Row, engine: str) -> Row:
    fields = {name: _encoded(value, COLUMNS[name]) for name, value in row.items() if engine in COLUMNS[name].engines}
    if fields["at"] is not None:
        fields["at"] = _zoned(fields["at"], row["id"], engine)
    return fields


def _zoned(moment: datetime, number: int, engine: str) -> Any:
    """Return a moment as its column takes it: text with changing zones on SQLite, naive UTC on MariaDB."""
    if engine == "mysql":
        return moment
    aware = moment.replace(tzinfo=UTC)
    if engine != "sqlite":
        return aware
    if number % 3 == 0:
        return moment.isoformat() + "Z"
    return (moment + timedelta(hours=2)).isoformat() + "+02:00" if number % 3 == 1 else moment.isoformat() + "+00:00"


def _encoded(value: Any, column: Column) -> Any:
    if value is None or column.date_format is None:
        return value
    since_epoch = value - datetime(1970, 1, 1)
    if column.date_format == "epoch_s":
        return since_epoch // timedelta(seconds=1)
    if column.date_format == "epoch_ms":
        return since_epoch // timedelta(milliseconds=1)
    return value.strftime(column.date_format)
