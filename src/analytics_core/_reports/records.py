"""Schedules of alerts and reports as records: made of payloads, checked as a whole, and shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from analytics_core._content.changes import changes_of
from analytics_core._content.dashboards.layout import read_layout
from analytics_core._content.field_formatter import FieldFormatter, answer_as
from analytics_core._content.questions.acting_filters import problems_of_given
from analytics_core._content.reader import Reader
from analytics_core._content.stored_json import json_object
from analytics_core._content.user_directory import UserIndex
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.datasource import Database
from analytics_core._records.message import Recipient
from analytics_core._records.report import ReportProgress, ReportSchedule
from analytics_core._records.repositories import ListFilter, ListQuery
from analytics_core._records.settings import Settings
from analytics_core._reports import recipients
from analytics_core._reports.alerts import AlertValidator
from analytics_core._reports.options import (
    FurtherFormat,
    ReportOptions,
    RunAs,
    extra_in,
    options_in,
    options_of,
    size_problem,
)
from analytics_core._reports.schedule import Crontab, humanized, least_interval, parse_crontab
from analytics_core.errors import AccessError, NotFoundError, PayloadSchemaError, Problem, QueryError, StoredDataError
from analytics_core.models.enums import ReportType
from analytics_core.models.references import DashboardReference
from analytics_core.models.report import (
    ChartOfReport,
    DatabaseOfReport,
    ReportCreationMethod,
    ReportFormat,
    ReportScheduleGet,
    ReportScheduleListItem,
    ReportSchedulePost,
    ReportSchedulePut,
    ValidatorConfig,
)

WORKING_TIMEOUT_S: Final = 3_600
GRACE_PERIOD_S: Final = 14_400
LOG_RETENTION_DAYS: Final = 90
WIDTHS: Final = range(600, 2_401)
_RUNS_LOOKED_AT: Final = 50
_LONGEST_TABS: Final = 100_000
_SHORTEST_MINIMUM_S: Final = 120
_REQUIRED: Final = ("name", "type", "crontab")
_TARGETS: Final[Mapping[str, str]] = {"chart": "chart_id", "dashboard": "dashboard_id", "database": "database_id"}
_OF_ALERTS: Final = ("database_id", "sql", "validator_type", "validator_config_json")
_AS_JSON: Final = ("selected_tabs", "extra")
_SENT: Final = ("chart_id", "dashboard_id", "database_id", "sql", "report_format", "selected_tabs", "recipients")
_TAKEN_APART: Final = frozenset({*_TARGETS, *_AS_JSON, "owners", "recipients", "validator_config_json"})


def new_schedule(
    post: ReportSchedulePost, *, uuid: str, owner_ids: tuple[int, ...], by: Actor, picture: bool
) -> ReportSchedule:
    """Return the record of a create payload, which runs as who makes it.

    Without a renderer of pictures its format is TEXT where none is named.
    """
    record = ReportSchedule(
        uuid=uuid,
        name="",
        type="",
        crontab="",
        grace_period=GRACE_PERIOD_S,
        log_retention=LOG_RETENTION_DAYS,
        working_timeout=WORKING_TIMEOUT_S,
        report_format=(ReportFormat.PNG if picture else ReportFormat.TEXT).value,
        recipients=recipients.sealed(()),
        executor_id=by.id,
    )
    return changed_schedule(record, post, owner_ids=owner_ids, by=by)


def require_what_is_needed(post: ReportSchedulePost, *, shape: str) -> None:
    """Raise PayloadSchemaError, naming all, where fields are missing without which there is no schedule."""
    missing = [name for name in _REQUIRED if getattr(post, name) is None]
    if missing:
        raise PayloadSchemaError(shape=shape, problems=[Problem(path=name, message="is required") for name in missing])


def changed_schedule(
    schedule: ReportSchedule, payload: ReportSchedulePost | ReportSchedulePut, *, owner_ids: tuple[int, ...], by: Actor
) -> ReportSchedule:
    """Return the record after a payload; null clears what may be empty and leaves everything else as it is.

    Where `by`, who saves it, names themselves as `run_as`, it runs with their rights from now on; else with those that
    it ran with, until that person is an owner no more. An alert that becomes a report loses its query, and what judges
    it.
    """
    given, executor_id = payload.given(), schedule.executor_id
    if executor_id in schedule.owner_ids and executor_id not in owner_ids:
        executor_id = None
    if _names(by, (given.get("extra") or {}).get("run_as")):
        given["extra"], executor_id = {**given["extra"], "run_as": RunAs.EXECUTOR.value}, by.id
    changes = changes_of(payload, ReportSchedule, without=_TAKEN_APART)
    changes |= {name: given[field] for field, name in _TARGETS.items() if field in given}
    changes |= {name: json.dumps(given[name]) if given[name] else None for name in _AS_JSON if name in given}
    if payload.validator_config_json is not None:
        changes["validator_config_json"] = payload.validator_config_json.model_dump_json(exclude_none=True)
    if payload.recipients is not None:
        before = recipients.readable(schedule)
        changes["recipients"] = recipients.sealed(recipients.given(payload.recipients, before))
    plain = {name: getattr(value, "value", value) for name, value in changes.items()}
    if plain.get("validator_type") is not None:
        plain["validator_type"] = plain["validator_type"].strip().lower()
    if (schedule.type, plain.get("type")) == (ReportType.ALERT, ReportType.REPORT):
        plain = {**dict.fromkeys(_OF_ALERTS), **plain}
    return replace(schedule, **plain, owner_ids=owner_ids, executor_id=executor_id)


def _names(actor: Actor, value: object) -> bool:
    """Tell whether a value is the id or the user name of somebody; `recipient` and `executor` are nobody's name."""
    return type(value) in (int, str) and value in (actor.id, actor.username) and value not in tuple(RunAs)


def require_own_rows(actor: Actor, before: ReportSchedule, after: ReportSchedule) -> None:
    """Raise AccessError where somebody would have rows sent that another person may see.

    What is sent, and to whom, is changed by the person whose rows it shows, by administrators, who see all rows, and by
    who lends it their own.
    """
    is_free = before.executor_id in (None, actor.id) or after.executor_id != before.executor_id or actor.is_admin
    sent, now = _sent(before), _sent(after)
    changed = [name for name in sent if sent[name] != now[name]]
    if changed and not is_free:
        fields = " and ".join(name.removesuffix("_id") for name in changed)
        raise AccessError(
            f"report schedule {before.id} sends rows that user {before.executor_id} may see; they and administrators "
            f"change its {fields}; so may you where it sends yours: give extra.run_as {actor.username!r}, too"
        )


def _sent(schedule: ReportSchedule) -> Mapping[str, object]:
    """Return what says which rows a schedule sends, and to whom."""
    return {name: getattr(schedule, name) for name in _SENT} | {"extra": options_in(extra_in(schedule.extra))[0]}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleRules:
    """What a schedule must be: checked as a whole, whatever was given, and all that is wrong is told at once.

    `draws_pictures` tells whether a renderer is wired, `takes` whether a notifier takes a recipient; `check_query`
    raises where an alert's query cannot be asked; `now` is from when on the least time between two runs is looked for.
    """

    reader: Reader
    settings: Settings
    draws_pictures: bool
    takes: Callable[[Recipient], bool]
    check_query: Callable[[Actor, Database, str], None]
    now: datetime

    def check(self, schedule: ReportSchedule, before: ReportSchedule | None, *, shape: str) -> Crontab:
        """Return the crontab of a schedule that is right.

        Raises:
            PayloadSchemaError: all that is wrong with it, field by field.
            AccessError: the actor may not read its chart or dashboard, or may not query its database, as far as this
                is not what it was before.
        """
        problems = list(self.problems(schedule, before))
        if not any(problem.path == "crontab" for problem in problems):
            problems += self._interval_problems(schedule)
        problems += self._owner_problems(schedule, before)
        if problems:
            raise PayloadSchemaError(shape=shape, problems=problems)
        return parse_crontab(schedule.crontab)

    def problems(self, schedule: ReportSchedule, before: ReportSchedule | None = None) -> Iterator[Problem]:
        """Yield why a schedule could not run; what it was before is not looked at again, None: all of it is.

        Raises:
            AccessError: as for `check`.
        """
        try:
            parse_crontab(schedule.crontab)
        except ValueError as error:
            yield Problem(path="crontab", message=str(error))
        yield from self._target_problems(schedule, before)
        yield from _alert_problems(schedule) if schedule.type == ReportType.ALERT else _report_problems(schedule)
        yield from self._query_problems(schedule, before)
        options, of_options = _options_of(schedule)
        yield from of_options if before is None or before.extra != schedule.extra else ()
        yield from self._content_problems(schedule, before, options)
        yield from self._filter_problems(schedule, before, options)
        if before is None or (before.recipients, before.extra) != (schedule.recipients, schedule.extra):
            own_rows = options.run_as is RunAs.RECIPIENT
            yield from recipients.problems_of(recipients.stored(schedule), self.takes, by_mail_alone=own_rows)

    def _interval_problems(self, schedule: ReportSchedule) -> Iterator[Problem]:
        is_alert = schedule.type == ReportType.ALERT
        least_s = self.settings.alert_min_interval_s if is_alert else self.settings.report_min_interval_s
        if least_s < _SHORTEST_MINIMUM_S:
            return
        crontab = parse_crontab(schedule.crontab)
        found = least_interval(crontab, schedule.timezone, after=self.now, runs=_RUNS_LOOKED_AT)
        if found is not None and found < timedelta(seconds=least_s):
            message = f"runs every {found.total_seconds():g} seconds at times; at least {least_s:g} must lie between"
            yield Problem(path="crontab", message=message)

    def _target_problems(self, schedule: ReportSchedule, before: ReportSchedule | None) -> Iterator[Problem]:
        """Yield what is wrong with the chart, the dashboard and the database; only those that are new are read."""
        if (schedule.chart_id is None) == (schedule.dashboard_id is None):
            which = "one of the two alone" if schedule.chart_id is not None else "a chart or a dashboard"
            yield Problem(path="chart", message=f"name {which}: what is sent")
        made_by = {ReportCreationMethod.CHARTS.value: "chart", ReportCreationMethod.DASHBOARDS.value: "dashboard"}
        needed = made_by.get(schedule.creation_method)
        if needed is not None and getattr(schedule, _TARGETS[needed]) is None:
            yield Problem(path=needed, message=f"must be given where creation_method is {schedule.creation_method}")
        for field, name in _TARGETS.items():
            key = getattr(schedule, name)
            if key is not None and (before is None or key != getattr(before, name)):
                yield from self._found(field, key)

    def _found(self, field: str, key: int) -> Iterator[Problem]:
        try:
            record = getattr(self.reader, field)(key)
        except NotFoundError:
            yield Problem(path=field, message=f"there is no {field} {key}")
            return
        if field == "database":
            self.reader.policy.require_query_database(self.reader.actor, record)

    def _query_problems(self, schedule: ReportSchedule, before: ReportSchedule | None) -> Iterator[Problem]:
        """Yield what is wrong with an alert's query; only a new one, or one for another database, is read."""
        requested = (schedule.type, schedule.database_id, schedule.sql)
        is_new = before is None or (before.type, before.database_id, before.sql) != requested
        if schedule.type != ReportType.ALERT or not is_new or not (schedule.sql or "").strip():
            return
        database = self.reader.databases([schedule.database_id]).get(schedule.database_id or 0)
        if database is None:
            return
        try:
            self.check_query(self.reader.actor, database, schedule.sql or "")
        except QueryError as error:
            yield Problem(path="sql", message=error.message)

    def _content_problems(
        self, schedule: ReportSchedule, before: ReportSchedule | None, options: ReportOptions
    ) -> Iterator[Problem]:
        report_format = str(options.format or schedule.report_format)
        is_new = before is None or (before.report_format, before.extra) != (schedule.report_format, schedule.extra)
        if is_new and report_format in (ReportFormat.PNG, FurtherFormat.PDF) and not self.draws_pictures:
            path = "report_format" if options.format is None else "extra.format"
            message = (
                'asks for a picture, and this core has no renderer: pip install "analytics-core[charts]" brings one; '
                "or choose CSV or TEXT, or XLSX by extra.format"
            )
            yield Problem(path=path, message=message)
        elif report_format not in {*ReportFormat, *FurtherFormat}:
            yield Problem(path="report_format", message=f"must be one of {', '.join(ReportFormat)}")
        yield from self._dashboard_problems(schedule, options)
        if schedule.custom_width is not None and schedule.custom_width not in WIDTHS:
            message = f"must be between {WIDTHS.start} and {WIDTHS.stop - 1} pixels"
            yield Problem(path="custom_width", message=message)

    def _dashboard_problems(self, schedule: ReportSchedule, options: ReportOptions) -> Iterator[Problem]:
        """Yield what is wrong with what a dashboard is asked for."""
        if len(schedule.selected_tabs or "") > _LONGEST_TABS:
            yield Problem(path="selected_tabs", message="are more than a dashboard has")
            return
        if schedule.dashboard_id is None:
            if options.filters:
                message = "are for dashboards; a chart has the filters that it was saved with"
                yield Problem(path="extra.filters", message=message)
            if options.tabs:
                yield Problem(path="extra.tabs", message="are for dashboards; a chart has none")
            return
        try:
            selected_tabs(schedule, self.reader.unit.dashboards.get(schedule.dashboard_id))
        except IndexError:
            message = "must be numbers of tabs of the dashboard, counted from 0 in the order of the page"
            yield Problem(path="selected_tabs", message=message)
        except NotFoundError:  # told already
            return

    def _filter_problems(
        self, schedule: ReportSchedule, before: ReportSchedule | None, options: ReportOptions
    ) -> Iterator[Problem]:
        """Yield what is wrong with the filters and tabs of a dashboard that `extra` names, where they are new."""
        requested = (schedule.dashboard_id, schedule.extra)
        if before is not None and (before.dashboard_id, before.extra) == requested:
            return
        dashboard = self.reader.dashboards([schedule.dashboard_id]).get(schedule.dashboard_id or 0)
        if dashboard is None:
            return
        yield from problems_of_given(dashboard, options.filters, path="extra.filters")
        layout = read_layout(json_object(dashboard.position_json))
        for tab in options.tabs:
            try:
                layout.within((tab,), shape="extra.tabs")
            except PayloadSchemaError as error:
                yield Problem(path="extra.tabs", message=error.problems[0].message)
            except QueryError as error:
                yield Problem(path="extra.tabs", message=error.message)

    def _owner_problems(self, schedule: ReportSchedule, before: ReportSchedule | None) -> Iterator[Problem]:
        """Yield that whoever saves a schedule owns too many active ones, where this one becomes one of them."""
        actor, most = self.reader.actor, self.settings.max_active_reports_per_owner
        counts = before is not None and before.active and actor.id in before.owner_ids
        if counts or actor.is_admin or not schedule.active or actor.id not in schedule.owner_ids:
            return
        own = (ListFilter(col="active", op="eq", val=True), ListFilter(col="owner_ids", op="eq", val=actor.id))
        owned = self.reader.unit.report_schedules.list(ListQuery(filters=own, page_size=1))[0]
        if owned >= most:
            message = (
                f"you own {owned} active alerts and reports, and may own {most} "
                "(Settings.max_active_reports_per_owner); put one to rest, or delete it, first"
            )
            yield Problem(path="active", message=message)


def selected_tabs(schedule: ReportSchedule, dashboard: Dashboard) -> tuple[str, ...]:
    """Return the ids of the tabs that a schedule selects by numbers.

    Raises:
        IndexError: a number is that of none.
        StoredDataError: the store holds something else.
    """
    try:
        numbers = json.loads(schedule.selected_tabs or "null") or ()
        return read_layout(json_object(dashboard.position_json)).tabs_at(numbers) if numbers else ()
    except (ValueError, TypeError, RecursionError):
        raise StoredDataError(f"selected_tabs of report schedule {schedule.id} cannot be read; save it anew") from None


def _options_of(schedule: ReportSchedule) -> tuple[ReportOptions, Sequence[Problem]]:
    """Return the options of a schedule that is to be saved, and what is wrong with them."""
    extra = extra_in(schedule.extra)
    too_large = size_problem(extra)
    return options_in(extra) if too_large is None else (ReportOptions(), (too_large,))


def _report_problems(schedule: ReportSchedule) -> Iterator[Problem]:
    if schedule.database_id is not None:
        yield Problem(path="database", message="is for alerts; a report has none")


def _alert_problems(schedule: ReportSchedule) -> Iterator[Problem]:
    if schedule.database_id is None:
        yield Problem(path="database", message="is missing: an alert's query runs on a database")
    if not (schedule.sql or "").strip():
        yield Problem(path="sql", message="is missing: an alert fires by the value that its query gives")
    if schedule.validator_type not in tuple(AlertValidator):
        yield Problem(path="validator_type", message="must be 'Not Null' or 'Operator'")
    if schedule.validator_type == AlertValidator.OPERATOR:
        config = validator_config(schedule)
        if config.op is None or config.threshold is None:
            message = "needs op and threshold, such as {'op': '>', 'threshold': 100}"
            yield Problem(path="validator_config_json", message=message)


# ---------------------------------------------------------------------------------------------------------- answers
@dataclass(frozen=True, slots=True, kw_only=True)
class NamesOfTargets:
    """What a schedule's chart, dashboard and database are called for somebody; None for what they may not read."""

    chart: ChartOfReport | None = None
    dashboard: DashboardReference | None = None
    database: DatabaseOfReport | None = None


def names_of_targets(reader: Reader, schedule: ReportSchedule) -> NamesOfTargets:
    """Return what a schedule names, as far as the actor may read it."""
    charts = reader.charts([schedule.chart_id])
    dashboards = reader.dashboards([schedule.dashboard_id])
    databases = reader.databases([schedule.database_id])
    return NamesOfTargets(
        chart=next(
            (ChartOfReport(id=c.id, slice_name=c.slice_name, viz_type=c.viz_type) for c in charts.values()), None
        ),
        dashboard=next(
            (DashboardReference(id=d.id, dashboard_title=d.dashboard_title) for d in dashboards.values()), None
        ),
        database=next((DatabaseOfReport(id=d.id, database_name=d.database_name) for d in databases.values()), None),
    )


_PROGRESS: Final = ("last_eval_dttm", "last_state", "last_value", "last_value_row_json")


def schedule_get(
    schedule: ReportSchedule, progress: ReportProgress | None, *, named: NamesOfTargets, people: UserIndex
) -> ReportScheduleGet:
    """Return one schedule (contract, `ReportScheduleRestApi.get`)."""
    stands = {} if progress is None else {name: getattr(progress, name) for name in _PROGRESS}
    return answer_as(
        ReportScheduleGet,
        schedule,
        **stands,
        recipients=recipients.listed_recipients(schedule),
        owners=people.references(schedule.owner_ids),
        chart=named.chart,
        dashboard=named.dashboard,
        database=named.database,
        extra=extra_in(schedule.extra),
    ).run_by(schedule.executor_id)


def schedule_item(
    schedule: ReportSchedule, progress: ReportProgress | None, *, people: UserIndex, readable: FieldFormatter
) -> ReportScheduleListItem:
    """Return one schedule of a list (contract, `ReportScheduleRestApi.get_list`)."""
    audit = schedule.audit
    return answer_as(
        ReportScheduleListItem,
        schedule,
        last_eval_dttm=None if progress is None else progress.last_eval_dttm,
        last_state=None if progress is None else progress.last_state,
        recipients=recipients.listed(schedule),
        owners=people.references(schedule.owner_ids),
        created_by=people.names(audit.created_by),
        changed_by=people.names(audit.changed_by),
        changed_on_delta_humanized=readable.delta(audit.changed_on),
        crontab_humanized=in_words(schedule.crontab),
        extra=extra_in(schedule.extra),
    )


def stored_crontab(schedule: ReportSchedule) -> Crontab:
    """Return the crontab of a stored schedule; StoredDataError where nobody can read it."""
    try:
        return parse_crontab(schedule.crontab)
    except ValueError:
        raise StoredDataError(f"the crontab of report schedule {schedule.id} cannot be read; save it anew") from None


def validator_config(schedule: ReportSchedule) -> ValidatorConfig:
    """Return what judges the value of a stored alert; an empty one where nobody can read it."""
    try:
        return ValidatorConfig.model_validate_json(schedule.validator_config_json or "{}")
    except ValueError:
        return ValidatorConfig()


def in_words(crontab: str) -> str:
    """Return what a stored crontab means, in English; as it is written where nobody can read it."""
    try:
        return humanized(parse_crontab(crontab))
    except ValueError:
        return crontab


def format_of(schedule: ReportSchedule) -> str:
    """Return in which format a schedule is sent."""
    return str(options_of(schedule.extra).format or schedule.report_format)
