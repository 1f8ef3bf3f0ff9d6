"""Names of datasources, such as `1__table`, and the datasets that they mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analytics_core._records.chart import DATASET_TYPES
from analytics_core._records.dataset import Dataset
from analytics_core._records.repositories import UnitOfWork
from analytics_core._resources.batches import by_ids
from analytics_core._resources.finding import readable_chart
from analytics_core._security.actor import Actor
from analytics_core._security.policy import Policy
from analytics_core.errors import NotFoundError, PayloadSchemaError, Problem
from analytics_core.models.enums import DatasourceType

_UID = re.compile(r"([0-9]{1,10})__([a-z_]{1,20})")
_KINDS = frozenset(kind.value for kind in DatasourceType)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A datasource by id and type (contract, enum `datasource_type`)."""

    id: int
    type: str

    @property
    def uid(self) -> str:
        """The text that means this datasource, for example `1__table`."""
        return f"{self.id}__{self.type}"


def parse_source(given: Any, *, shape: str, place: str) -> Source:
    """Return the datasource of a uid such as `1__table`, of `{"id": 1, "type": "table"}` or of a dataset's id.

    Raises:
        PayloadSchemaError: it is none of these.
    """
    match given:
        case bool():
            pass
        case int():
            return Source(id=given, type=DatasourceType.TABLE.value)
        case str() if (found := _UID.fullmatch(given)) and found[2] in _KINDS:
            return Source(id=int(found[1]), type=found[2])
        case {"id": int(key), "type": str(kind)} if kind in _KINDS and not isinstance(key, bool):
            return Source(id=key, type=kind)
    message = 'must name a datasource, for example "1__table" or {"id": 1, "type": "table"}'
    raise PayloadSchemaError(shape=shape, problems=[Problem(path=place, message=message)])


def readable_dataset(unit: UnitOfWork, policy: Policy, actor: Actor, source: Source) -> Dataset:
    """Return the dataset of a datasource.

    Raises:
        NotFoundError: there is no such dataset, or the datasource is of a type of which nothing is stored.
        DatasetAccessError: the actor may not read it.
    """
    return readable_datasets(unit, policy, actor, (source,))[0]


def readable_datasets(unit: UnitOfWork, policy: Policy, actor: Actor, sources: Sequence[Source]) -> tuple[Dataset, ...]:
    """Return the datasets of datasources, all read together; errors as in `readable_dataset`."""
    strange = next((source for source in sources if source.type not in DATASET_TYPES), None)
    if strange is not None:
        raise NotFoundError(f"{strange.type} datasource", strange.id)
    found = by_ids(unit.datasets, (source.id for source in sources))
    for source in sources:
        if source.id not in found:
            raise NotFoundError("dataset", source.id)
        policy.require_read_dataset(actor, found[source.id])
    return tuple(found[source.id] for source in sources)


def remaining_chart(unit: UnitOfWork, policy: Policy, actor: Actor, chart_id: int | None) -> int | None:
    """Return the id of a chart that something was stored for, None when it was deleted since.

    Raises:
        ChartAccessError: the actor may not read it.
    """
    if chart_id is None:
        return None
    try:
        return readable_chart(unit, policy, actor, chart_id).id
    except NotFoundError:
        return None
