"""ClickHouse: moments are counted in microseconds of DateTime64, since its calendar functions begin in 1970.

The session `engines` runs it on an embedded ClickHouse 26.9. Bounds travel as text, because the driver cuts fractions
from datetimes. `sessions.clickhouse` sets `join_use_nulls = 1`, without which outer joins give no NULLs.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from analytics_core._engine.engines import bounds, grains, guards, kinds, literals, meanings, nodes, operators, tokens
from analytics_core._engine.engines.ansi import ansi_engine
from analytics_core._engine.engines.fences import limited_by_bigint
from analytics_core._engine.engines.nodes import Type, call, minus, number, text, times
from analytics_core._engine.engines.spec import Bind, ConnectionParameters, Syntax, TrustedAuthorities, nulls_are_last
from analytics_core._engine.engines.types import TimeEncoding, TimeFormat, ValueKind, fixed_width_format
from analytics_core.models.enums import TimeGrain

_SECOND = 1_000_000


def _in_utc(node: exp.Expr) -> exp.Expr:
    return call("toDateTime64", node, number(6), text("UTC"))


def _iso_moment(column: exp.Expr) -> exp.Expr:
    """Parse with NULL for what is no moment: ClickHouse also evaluates rows that hold NULL, as empty text."""
    return call("parseDateTime64BestEffortOrNull", column, number(6), text("UTC"))


def _written_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    parsed = bounds.written_format(time_format, parse=lambda source: fixed_width_format(source, engine="ClickHouse"))
    source = bounds.written_text(column, time_format, Type.TEXT)
    return call("toDateTime64OrNull", tokens.iso_text(source, parsed, "substring"), number(6), text("UTC"))


def _epoch_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    count = call("toInt64", column) if time_format.value_kind is ValueKind.TEXT else column
    factor = _SECOND if time_format.encoding is TimeEncoding.EPOCH_S else 1000
    return _from_micros(call("toInt64", call("floor", times(count, number(factor)))))


def _from_micros(micros: exp.Expr) -> exp.Expr:
    return call("fromUnixTimestamp64Micro", micros, text("UTC"))


def _bucket(moment: exp.Expr, grain: TimeGrain) -> exp.Expr:
    if grain in grains.SECONDS:
        micros = call("toUnixTimestamp64Micro", moment)
        past = call("positiveModulo", micros.copy(), number(grains.SECONDS[grain] * _SECOND))
        return _from_micros(minus(micros, past))
    if grain in grains.WEEK_SHIFTS:
        return _in_utc(_week(moment, *grains.WEEK_SHIFTS[grain]))
    return _in_utc(_calendar_day(moment, grains.UNITS[grain]))


def _week(moment: exp.Expr, before: int, after: int) -> exp.Expr:
    """Go back to the Monday by the day's number in its week (Monday is 1)."""
    day = call("toDate32", moment)
    if before:
        day = call("addDays", day, number(before))
    monday = call("subtractDays", day, minus(call("toDayOfWeek", day.copy()), number(1)))
    return call("addDays", monday, number(after)) if after else monday


def _calendar_day(moment: exp.Expr, unit: str) -> exp.Expr:
    if unit == "day":
        return call("toDate32", moment)
    month = number(1)
    if unit == "month":
        month = call("toMonth", moment.copy())
    if unit == "quarter":
        month = nodes.unwrapped(minus(times(call("toQuarter", moment.copy()), number(3)), number(2)))
    return call("makeDate32", call("toYear", moment), month, number(1))


def _like(left: exp.Expr, pattern: str, fold_case: bool, bind: Bind) -> exp.Expr:
    comparison = exp.ILike if fold_case else exp.Like
    return comparison(this=nodes.operand(left), expression=bind(operators.backslashed_like(pattern)))


_moment = bounds.moments_by(
    timestamp=_in_utc,
    date=_in_utc,
    timestamptz=_in_utc,
    iso_text=_iso_moment,
    text=_written_moment,
    epoch=_epoch_moment,
)
_FIXED_SETTINGS = meanings.DENIED_ANY.said(
    "the database user may not change its settings (its profile says readonly = 1), so that outer joins would give 0 "
    "and empty texts for what is missing; give it readonly = 2, or join_use_nulls = 1"
)
_ERRORS = (
    *meanings.patterns(
        (r"60\b(?=.*?table (?:expression identifier ')?(?P<table>[^\s']+))", meanings.NO_TABLE),
        (r"60\b", meanings.NO_TABLE.said("a table of this statement does not exist")),
        (r"81\b(?=.*?database (?P<database>[^\s']+) does)", meanings.NO_DATABASE),
        (r"81\b", meanings.NO_DATABASE.said("the database does not exist on this server")),
        (r"(?:8|16|47)\b(?:.*identifier [`'](?P<column>[^`']+)[`'])?", meanings.NO_COLUMN),
        (r"46\b", meanings.NO_NAMED_FUNCTION),
        (r"62\b", meanings.SYNTAX),
        (r"184\b", meanings.MISPLACED),
        (r"207\b(?=.*?identifier [`'](?P<column>[^`']+)[`'])", meanings.AMBIGUOUS),
        (r"(?:6|27|38|41|43|53|59|70|72|386)\b", meanings.BAD_VALUE),
        (r"(?:69|131|321|407)\b", meanings.OVERFLOW),
        (r"215\b", meanings.NOT_GROUPED),
        (r"(?:193|194|516)\b", meanings.BAD_LOGIN),
        (r"164\b", meanings.READ_ONLY),
        (r"(?:291|497)\b", meanings.DENIED_ANY),
        (r"159\b", meanings.TIMEOUT),
        (r"202\b", meanings.CROWDED),
        (r"394\b", meanings.KILLED),
        (r"153\b", meanings.ZERO),
        (r"241\b", meanings.NO_MEMORY),
        after=r"\A(?:(?!Code: \d).)*Code: ",
    ),
    *meanings.patterns(
        (r"Name or service not known|getaddrinfo", meanings.UNKNOWN_HOST),
        (r"Connection refused", meanings.REFUSED_PORT),
        (r"Read timed out", meanings.TIMEOUT),
        (r"\ASetting \w+ is readonly", _FIXED_SETTINGS),
    ),
)
_HARMLESS = "numbers numbers_mt one zeros zeros_mt tables columns databases functions"
_GUARDS = guards.Guards(
    uri_options=guards.uri_options(
        "compression",
        numbers="connect_timeout send_receive_timeout",
        secure=guards.SWITCH,
        verify=guards.SWITCH,
        protocol="http https",
    ),
    database_files=guards.DatabaseFiles.NONE,
    denied_functions=guards.name_set("""
    gcs deltalake deltalakecluster hudi hudicluster mysql postgresql mongodb redis sqlite jdbc odbc executable input
    dictionary merge mergetreeindex view viewifpermitted loop fuzzquery ytsaurus arrowflight kafka rabbitmq nats joinget
    joingetornull dicthas dictisin catboostevaluate modelevaluate addresstoline addresstolinewithinlines addresstosymbol
    demangle showcertificate getserverport getserversetting getmacro fqdn hostname tcpport serveruuid currentprofiles
    ai* fullhostname authuser current_user query_id current_query_id initial_query_id initialquerystarttime
    initial_query_start_time currentrequesturl getmergetreesetting pgtableisvisible pg_table_is_visible pggetuserbyid
    pg_get_userbyid logtrace __*
    enabledprofiles defaultprofiles generateserialid hascolumnintable transactionid transactionlatestsnapshot globalin
    notin globalnotin nullin notnullin globalnullin globalnotnullin inignoreset notinignoreset globalinignoreset
    globalnotinignoreset nullinignoreset notnullinignoreset globalnullinignoreset globalnotnullinignoreset currentuser
    user initialuser authenticateduser currentroles enabledroles defaultroles currentdatabase getsetting
    getsettingordefault queryid initialqueryid connectionid displayname getoskernelversion zookeepersessionuptime
    getclienthttpheader !urlhash !urlhierarchy !urlpathhierarchy dictget* sleep* file* s3* url* remote* cluster* hdfs*
    azure* iceberg* !icebergbucket !icebergtruncate
"""),
    allowed_functions=guards.allowed_with("""
    add* any* argmax argmin array* !arrayfold avg* bit* ceil* date* dec* e empty notempty ends* extract* first*
    floor* format* from* group* has* hash* if* cityhash64 farmhash64 siphash64 xxhash64 intdiv intdivorzero ip* is*
    json* kurt* least* leadinframe laginframe length* like ilike notlike notilike lower* map* match max* min*
    modulo* multi* negate now* parse* position* positive* quantile* quantiles* replace* reverse* round*
    simplelinearregression skew* snowflake* split* starts* stddev* string* substr* subtract* sum* time* to* top*
    transform trim* trunc* tuple* uniq* upper* url* cut* domain* path protocol var* visitparam* week* year*
    yesterday fixedstring lowcardinality decimal* enum8 enum16 simpleaggregatefunction bar plus divide equals
    notequals less greater lessorequals greaterorequals and or not xor in assumenotnull materialize identity char*
    concat* levenshteindistance editdistance jarowinklersimilarity ngram* geodistance greatcircledistance
    pointinpolygon h3* geohash* exponentialmovingaverage deltasum boundingratio retention sequencematch
    sequencecount windowfunnel halfmd5 murmurhash* rand32 rand64 generateuuidv4 leftpad rightpad base64* crc32
    runningdifference neighbor
"""),
    row_makers=frozenset(),
    # `in` is called with its name in quotes, and reads a table as the operator does.
    revealing=guards.RevealingRelations.of(relations="", schemas="system", harmless=_HARMLESS, functions="in"),
    table_names=replace(
        guards.STANDARD_TABLE_NAMES,
        after_in=True,
        after_in_alone=True,
        own=guards.name_set("information_schema system"),
    ),
    fence=limited_by_bigint,
    by_case=False,
    casts_columns=True,
)
_LITERALS = literals.LiteralStyle(
    dialect="clickhouse",
    day="toDate32({})",
    timestamp="toDateTime64({}, 6, 'UTC')",
    timestamp_tz="parseDateTime64BestEffort({}, 6, 'UTC')",
    binary="unhex('{}')",
)

ENGINES = (
    replace(
        ansi_engine(
            name="clickhouse",
            label="ClickHouse",
            dialect="clickhouse",
            drivers=("connect",),
            extra_name="clickhouse",
            guards=_GUARDS,
            error_patterns=_ERRORS,
            comparison=bounds.MomentComparison(
                moment=_moment, zoned=bounds.ZonedComparison.DECODED, write=lambda moment: moment.isoformat(sep=" ")
            ),
            bucket=_bucket,
            shift=lambda moment, hours: call("addHours", moment, number(hours)) if hours else moment,
        ),
        syntax=Syntax(reads_fields=True),
        aliases=("clickhousedb",),
        registered_as={"connect": "clickhousedb+connect"},
        like=_like,
        as_text=operators.calling("toString"),
        is_true=operators.equals_truth,
        literal=_LITERALS.write,
        value_kind=kinds.kind_reader(dict.fromkeys(("DATETIME", "DATETIME64", "DATETIME32"), ValueKind.TIMESTAMPTZ)),
        nulls_first_by_default=nulls_are_last,
        parameters=ConnectionParameters.encrypted_by("secure", "true"),
        authorities=TrustedAuthorities.given_by("ca_cert", secure=True, verify=True),
    ),
)
