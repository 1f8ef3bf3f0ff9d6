"""`core.explore`: what the explore view starts from, and form data that is not saved in a chart yet."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from types import NoneType
from typing import Any

from analytics_core._content.changes import begin_act, repeated
from analytics_core._content.charts.records import chart_slice
from analytics_core._content.datasets.answers import describe_dataset
from analytics_core._content.datasets.sources import Source, dataset_of_source, parse_source
from analytics_core._content.field_formatter import readable_now
from analytics_core._content.lists import MOST_VALUES
from analytics_core._content.lookups.chart_contexts import form_of_chart
from analytics_core._content.namespace import Namespace
from analytics_core._content.permalinks import Permalinks
from analytics_core._content.stored_json import json_object, stored_object
from analytics_core._engine.compile.advanced_types import Span
from analytics_core._engine.querying.chart_request import ChartRequest
from analytics_core._engine.querying.stored_statements import STATEMENT_TYPES
from analytics_core._engine.rights.keys import is_marked, marked_key
from analytics_core._records.chart import Chart
from analytics_core._records.datasource import Dataset
from analytics_core._records.repositories import ListFilter, UnitOfWork
from analytics_core._records.shared_state import KeyValue
from analytics_core.errors import (
    GoneError,
    NotFoundError,
    OwnershipError,
    PayloadSchemaError,
    Problem,
    StaleVersionError,
    UnknownNameError,
)
from analytics_core.errors.base import short_repr
from analytics_core.models.enums import DatasourceType
from analytics_core.models.explore import AdvancedDataTypeResult, ExploreContext, FormDataPost, FormDataPut
from analytics_core.models.parsing import Payload, parse, payload_error
from analytics_core.models.query import ChartDataDatasource

KIND = "form_data"
_STORED = {"id": (int,), "type": (str,), "chart_id": (int, NoneType), "form_data": (str,)}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFormData:
    """Form data (a JSON text) with the datasource and the chart that it was stored for."""

    source: Source
    chart_id: int | None
    text: str

    @property
    def fields(self) -> Mapping[str, Any]:
        """The form data itself; empty when the text holds no object."""
        return json_object(self.text)


def _given(post: FormDataPost) -> StoredFormData:
    source = Source(id=post.datasource_id, type=post.datasource_type.value)
    return StoredFormData(source=source, chart_id=post.chart_id, text=post.form_data)


def _read(record: KeyValue) -> StoredFormData:
    content = stored_object(record, _STORED)
    source = Source(id=content["id"], type=content["type"])
    return StoredFormData(source=source, chart_id=content["chart_id"], text=content["form_data"])


_SHAPE = "explore context"
_VALUES = "AdvancedDataTypeSchema"
_LOST = "the stored form data is gone (its time is over, or it never was); this is the state of the {what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """What a key says that the view starts from."""

    source: Source | None = None
    chart_id: int | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    is_lost: bool = False


class Explore(Namespace):
    """The explore view, as one actor may use it."""

    # -------------------------------------------------------------------------------------------------- form data
    def create_form_data(self, payload: FormDataPost | Payload) -> str:
        """Store form data and return its key (contract, `FormDataPostSchema`).

        It is kept for `Settings.form_data_keep_s` after its last change.

        Raises:
            PayloadError: the payload breaks the shape.
            NotFoundError, DatasetAccessError, ChartAccessError: dataset or chart are unknown or not for this actor.

        Examples:
            >>> form = {"datasource_id": 1, "datasource_type": "table", "form_data": '{"viz_type": "pie"}'}
            >>> key = core.explore.create_form_data(form)
            >>> core.explore.get_form_data(key)
            '{"viz_type": "pie"}'
        """
        given = _given(parse(FormDataPost, payload, shape="FormDataPostSchema"))
        act = begin_act(self._runtime, self._actor, "form_data.create")
        now = self._runtime.wall_clock.now()
        key = marked_key(self._runtime.settings.key, KIND, secrets.token_bytes(27))
        with self._runtime.store.unit_of_work() as unit:
            self._require_readable(unit, given)
            with suppress(StaleVersionError):  # others remove them at this moment
                unit.key_values.delete_matching(
                    (ListFilter(col="kind", op="eq", val=KIND), ListFilter(col="expires_on", op="lt", val=now))
                )
            record = self._written(KeyValue(kind=KIND, key=key, value=""), given)
            unit.key_values.append(record, actor_id=self._actor.id)
            act.log(unit, chart_id=given.chart_id)
        return key

    def get_form_data(self, key: str) -> str:
        """Return stored form data, a JSON text, once the actor may read the dataset and chart it was stored for.

        Raises:
            NotFoundError: there is no such key; GoneError: its time is over, or it was deleted.
            DatasetAccessError, ChartAccessError: dataset or chart are not for this actor.

        Examples:
            >>> key = core.explore.create_form_data({"datasource_id": 1, "datasource_type": "table", "form_data": "{}"})
            >>> core.explore.get_form_data(key)
            '{}'
        """
        with self._runtime.store.unit_of_work() as unit:
            return self._form_data(unit, self._record(unit, key)).text

    @repeated
    def update_form_data(self, key: str, payload: FormDataPut | Payload) -> str:
        """Store other form data under a key and return the key; only who stored it may (`FormDataPutSchema`).

        Examples:
            >>> form = {"datasource_id": 1, "datasource_type": "table", "form_data": "{}"}
            >>> key = core.explore.create_form_data(form)
            >>> core.explore.update_form_data(key, {**form, "form_data": '{"viz_type": "bar"}'}) == key
            True
        """
        given = _given(parse(FormDataPut, payload, shape="FormDataPutSchema"))
        with self._acting("form_data.update") as (act, unit):
            record = self._own_record(unit, key)
            self._require_readable(unit, given)
            unit.key_values.update(self._written(record, given), actor_id=self._actor.id)
            act.log(unit, chart_id=given.chart_id)
        return key

    @repeated
    def delete_form_data(self, key: str) -> None:
        """Forget stored form data; only who stored it may.

        Examples:
            >>> key = core.explore.create_form_data({"datasource_id": 1, "datasource_type": "table", "form_data": "{}"})
            >>> core.explore.delete_form_data(key)
            >>> core.explore.get_form_data(key)
            Traceback (most recent call last):
                ...
            analytics_core.errors.GoneError: there is no form data ...
        """
        with self._acting("form_data.delete") as (act, unit):
            record = self._own_record(unit, key)
            unit.key_values.delete(record.id)
            act.log(unit, chart_id=_read(record).chart_id)

    # ----------------------------------------------------------------------------------------- advanced data types
    @property
    def advanced_data_types(self) -> tuple[str, ...]:
        """The names of the advanced data types that columns may have, sorted.

        Examples:
            >>> core.explore.advanced_data_types
            ('internet_address', 'port')
        """
        return tuple(sorted(self._runtime.engine.advanced_types))

    def advanced_data_type(self, name: str, values: Sequence[str | int]) -> AdvancedDataTypeResult:
        """Return how values read as an advanced data type (contract, `AdvancedDataTypeSchema`).

        `values` are the numbers that a column holds, as text (`8000-8010` for a range); `valid_filter_operators` are
        those that a filter on such a column takes. The first value that does not read is told in `error_message`;
        the others are in `values` all the same, and `display_value` is empty.

        Raises:
            UnknownNameError: there is no such type.
            PayloadSchemaError: the values are no list of texts and whole numbers, or more than 1,000.

        Examples:
            >>> core.explore.advanced_data_type("port", ["https"]).values
            ('443',)
        """
        if name not in self.advanced_data_types:
            raise UnknownNameError(name, place="the list of advanced data types", known=self.advanced_data_types)
        kind = self._runtime.engine.advanced_types[name]
        operators = tuple(op.value for op in kind.operators)
        spans: list[Span] = []
        problem = ""
        for value in _values(values):
            try:
                spans += kind.read(str(value))
            except ValueError as error:  # str, too, raises it for an integer of many digits
                problem = problem or str(error) or f"{short_repr(value)} is no {name}"
        return AdvancedDataTypeResult(
            display_value="" if problem else ", ".join(kind.show(span) for span in spans),
            error_message=problem,
            valid_filter_operators=operators,
            values=tuple(str(span) for span in spans),
        )

    # ---------------------------------------------------------------------------------------------------- context
    def context(
        self,
        *,
        chart_id: int | None = None,
        datasource: str | int | ChartDataDatasource | Mapping[str, Any] | None = None,
        form_data_key: str | None = None,
        permalink_key: str | None = None,
    ) -> ExploreContext:
        """Return what the explore view starts from: dataset, chart and form data (contract, `ExploreContextSchema`).

        A permalink goes before stored form data, and both before what the chart stores; the dataset is the one of
        `datasource`, else of the chart, else of the key. `slice_id` of the form data is the chart that is shown. A
        `form_data_key` whose time is over is told in `message`.

        Args:
            chart_id: a stored chart.
            datasource: a datasource such as `1__table`, `{"id": 1, "type": "table"}` or a dataset's id.
            form_data_key: of `create_form_data`.
            permalink_key: of `permalinks.create_for_chart`.

        Raises:
            PayloadSchemaError: nothing says which dataset is meant.
            NotFoundError, DatasetAccessError, ChartAccessError: dataset or chart are unknown or not for this actor.

        Examples:
            >>> context = core.explore.context(chart_id=1)
            >>> context.dataset.table_name, context.form_data["viz_type"]
            ('orders', 'echarts_timeseries_bar')
        """
        named = parse_source(datasource, shape=_SHAPE, place="datasource") if datasource is not None else None
        start = self._from_permalink(permalink_key) if permalink_key is not None else None
        with self._runtime.store.unit_of_work() as unit:
            start = start or self._from_form_data(unit, form_data_key)
            target_id = start.chart_id if chart_id is None else chart_id
            chart = None if target_id is None else self._reader(unit).chart(target_id)
            source = named or _source_of(chart) or start.source
            if source is None:
                raise payload_error(_SHAPE, "", "name a chart_id, a datasource, a form_data_key or a permalink_key")
            dataset = dataset_of_source(self._reader(unit), source)
            database = unit.databases.get(dataset.database_id)
        dataset = self._with_columns(source, dataset)
        readable, spec = readable_now(self._runtime), self._runtime.engine.registry.get(database.engine)
        own = {**form_of_chart(chart), **start.fields, "slice_id": chart.id} if chart else None
        fields = own or _without_chart(start.fields)
        return ExploreContext(
            dataset=describe_dataset(dataset, database=database, spec=spec, readable=readable),
            slice=chart_slice(chart, readable=readable) if chart is not None else None,
            form_data={**fields, "datasource": source.uid},
            message=_LOST.format(what="chart" if chart else "dataset") if start.is_lost else None,
        )

    def _with_columns(self, source: Source, dataset: Dataset) -> Dataset:
        """Return a stored statement with the columns that its database tells; any other dataset as it is."""
        if source.type not in STATEMENT_TYPES:
            return dataset
        request = ChartRequest(actor=self._actor, now=self._runtime.clock.now())
        named = ChartDataDatasource(id=source.id, type=DatasourceType(source.type))
        return self._runtime.engine.questions.runner.load(request, named).dataset

    def _from_permalink(self, key: str) -> _Start:
        link = Permalinks(self._runtime, self._actor).get_for_chart(key)
        params = _url_params(link.state.url_params or ())
        fields = {**link.state.form_data, **({"url_params": params} if params else {})}
        source = Source(id=link.datasource_id, type=link.datasource_type.value)
        return _Start(source=source, chart_id=link.chart_id, fields=fields)

    def _from_form_data(self, unit: UnitOfWork, key: str | None) -> _Start:
        if key is None:
            return _Start()
        try:
            stored = self._form_data(unit, self._record(unit, key))
        except NotFoundError:
            return _Start(is_lost=True)
        return _Start(source=stored.source, chart_id=stored.chart_id, fields=stored.fields)

    def _record(self, unit: UnitOfWork, key: str) -> KeyValue:
        record = unit.key_values.find(kind=KIND, key=key)
        if record is None or (record.expires_on is not None and record.expires_on <= self._runtime.wall_clock.now()):
            settings = self._runtime.settings
            is_ours = record is not None or is_marked((settings.key, *settings.older_keys), KIND, key)
            raise (GoneError if is_ours else NotFoundError)("form data", key)
        return record

    def _own_record(self, unit: UnitOfWork, key: str) -> KeyValue:
        record = self._record(unit, key)
        self._form_data(unit, record)
        if record.audit.created_by != self._actor.id:
            raise OwnershipError("only who stored this form data may change it; store yours under a key of its own")
        return record

    def _form_data(self, unit: UnitOfWork, record: KeyValue) -> StoredFormData:
        """Return what a record holds, once the actor may read what it was stored for; a chart may be gone since."""
        stored, reader = _read(record), self._reader(unit)
        dataset_of_source(reader, stored.source)
        return replace(stored, chart_id=reader.remaining_chart(stored.chart_id))

    def _require_readable(self, unit: UnitOfWork, given: StoredFormData) -> None:
        reader = self._reader(unit)
        dataset_of_source(reader, given.source)
        if given.chart_id is not None:
            reader.chart(given.chart_id)

    def _written(self, record: KeyValue, given: StoredFormData) -> KeyValue:
        """Return a record that holds this form data, from now on for as long as the settings say."""
        source = given.source
        content = {"id": source.id, "type": source.type, "chart_id": given.chart_id, "form_data": given.text}
        ends_on = self._runtime.wall_clock.now() + timedelta(seconds=self._runtime.settings.form_data_keep_s)
        return replace(record, value=json.dumps(content, ensure_ascii=False), expires_on=ends_on)


def _values(values: Any) -> Sequence[str | int]:
    """Return the values of an advanced data type; PayloadSchemaError when they are none."""
    if not isinstance(values, list | tuple) or len(values) > MOST_VALUES:
        raise payload_error(_VALUES, "values", f"must be a list of {MOST_VALUES} values at most")
    problems = [
        Problem(path=f"values.{position}", message="must be text or a whole number")
        for position, value in enumerate(values)
        if not isinstance(value, str | int) or isinstance(value, bool)
    ]
    if problems:
        raise PayloadSchemaError(shape=_VALUES, problems=problems)
    return values


def _source_of(chart: Chart | None) -> Source | None:
    if chart is None or chart.datasource_id is None:
        return None
    return Source(id=chart.datasource_id, type=chart.datasource_type or "table")


def _without_chart(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return form data without the chart that it names: it was deleted, or nobody asked whether it may be read."""
    return {name: value for name, value in fields.items() if name != "slice_id"}


def _url_params(pairs: Iterable[Any]) -> dict[str, Any]:
    """Return the parameters of a web address; pairs come as lists or objects."""
    params: dict[str, Any] = {}
    for pair in pairs:
        if isinstance(pair, tuple):
            params[pair[0]] = pair[1]
        elif set(pair) == {"key", "value"}:
            params[str(pair["key"])] = pair["value"]
        else:
            params |= pair
    return params
