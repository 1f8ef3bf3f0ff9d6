"""What a host may replace: small protocols, each promise in its docstring.

Stores, caches, locks, connectors, network policies, job runners, observers, secret boxes, clocks and directories of
people have a default inside the library and a conformance suite in `analytics_core.testing.conformance`. `Notifier`
has a suite.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from analytics_core._records.audit import Observation, ObservationKind, WorkSpan
from analytics_core._records.datasource import Access
from analytics_core._records.message import Attachment, Delivery, DeliveryState, Message, Recipient
from analytics_core._records.network import Destination, DestinationPurpose
from analytics_core._records.people import RowFilter, User
from analytics_core._records.shared_state import Lease

if TYPE_CHECKING:
    from analytics_core._records.datasource import Database, Dataset, Identity
    from analytics_core._records.repositories import UnitOfWork
    from analytics_core.models.database import OAuth2ContentType
    from analytics_core.models.enums import PictureFormat

__all__ = [
    "AddressLookup",
    "Attachment",
    "BulkUserDirectory",
    "Cache",
    "Clock",
    "Connector",
    "Delivery",
    "DeliveryState",
    "Destination",
    "DestinationPurpose",
    "ExtendableLock",
    "JobRunner",
    "Lease",
    "Lock",
    "Message",
    "MetadataStore",
    "NetworkPolicy",
    "Notifier",
    "Observation",
    "ObservationKind",
    "Observer",
    "Progress",
    "Recipient",
    "Renderer",
    "RoutedJobRunner",
    "RowFilter",
    "RowFilterSource",
    "SecretBox",
    "Sleeper",
    "TokenEndpoint",
    "UrlFor",
    "User",
    "UserDirectory",
    "WorkObserver",
    "WorkSpan",
]

AddressLookup = Callable[[str, int, DestinationPurpose], Sequence[str]]
"""Gives the addresses of a host and port that the network policy allows; DatabaseError where there are none."""


@runtime_checkable
class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """Return the present moment, aware, in UTC."""

    def monotonic(self) -> float:
        """Return seconds that never run backwards, whatever is done to the time of day: for how long things last."""


@runtime_checkable
class Cache(Protocol):
    """Keeps bytes for a while. Losing an entry is allowed at any time; giving back other bytes is not."""

    def get(self, key: str) -> bytes | None:
        """Return the stored bytes, or None when there are none or their time is over."""

    def set(self, key: str, value: bytes, *, timeout_s: int | None) -> None:
        """Keep `value` for `timeout_s` seconds; None keeps it until room is needed."""

    def delete(self, key: str) -> None:
        """Forget the entry; nothing happens when there is none."""


@runtime_checkable
class Lock(Protocol):
    """Lets one holder at a time do a thing, across processes where the implementation says so."""

    def acquire(self, name: str, *, ttl_s: float) -> Lease | None:
        """Return a lease for `ttl_s` seconds from this call, None at once when somebody else holds the lock.

        It ends by itself then, so that a holder that dies keeps nobody out. Fencing numbers of one name grow.
        """

    def release(self, lease: Lease) -> bool:
        """Give the lock back; False when the lease was over, whoever holds the lock now."""


@runtime_checkable
class ExtendableLock(Lock, Protocol):
    """A lock whose leases can be extended: short ones then, so that nobody waits long for a holder that died.

    With such a lock and a cache of the host's, processes that ask the same at one time run one statement.
    """

    def extend(self, lease: Lease, *, ttl_s: float) -> bool:
        """Have the lease last for `ttl_s` seconds from this call; False when it was over, and nothing changes then."""


@runtime_checkable
class Observer(Protocol):
    """Is told of each question that was asked of data: of charts, samples, filters, jobs, warm-ups and guests.

    It is called in a thread of its own, one call after the other, and costs no answer anything when it raises or hangs.
    """

    def observe(self, observation: Observation) -> None:
        """Take note of a question that was answered or failed; a chart that an annotation layer shows is one, too."""

    def close(self) -> None:
        """Pass on what is left; nothing is observed afterwards."""


@runtime_checkable
class WorkObserver(Observer, Protocol):
    """An observer of all work, from its beginning; others hear of questions alone.

    `observe` is called once for each question, statement, job, run of a report, attempt to deliver, picture and sign-in
    to a database, as for every `Observer`; its observation has the span that `begin` gave.
    """

    def begin(self, kind: ObservationKind, *, traceparent: str | None = None) -> WorkSpan | None:
        """Begin work in the thread that does it; what is begun before the span is left is a part of this work.

        It holds up the answer, so it must return at once. When it raises, the work goes on without a span; when it took
        longer than two seconds, the next minute does.

        Args:
            kind: of the work.
            traceparent: as `traceparent` gave it where the job was submitted, maybe in another process; None: what the
                work is a part of is found in the context variables.
        """

    def traceparent(self) -> str | None:
        """Return the present span as a W3C `traceparent` to be stored with a job; None where there is none."""


@runtime_checkable
class Progress(Protocol):
    """Shows whoever waits how far long work has come. It never raises, and leaves standard output alone."""

    def bar(self, work: str, *, total: int | None, unit: str) -> AbstractContextManager[Callable[[int], object]]:
        """Return a context for one piece of work; it gives a function that is told how many more units are done.

        Any thread may ask: jobs and the parts of a dashboard run in threads of their own. However the work ends, the
        context is left in the thread that entered it.

        Args:
            work: what is done, such as `charts`.
            total: how many units there are; None: nobody knows.
            unit: what is counted, such as `chart`.
        """


@runtime_checkable
class JobRunner(Protocol):
    """Sees to it that submitted jobs are run: in threads of this process, or by workers on other machines.

    A job is a record in the metadata store; a runner hands on its id, and whoever takes it calls `core.run_job(job_id)`
    on a core of the same store. A job that two of them take is run once.
    """

    @property
    def is_local(self) -> bool:
        """Whether jobs run in the process that submits them, and so end with it."""

    def start(self, run_job: Callable[[str], None]) -> None:
        """Take what runs a job in this process and raises nothing; called once, before jobs are submitted.

        A runner that is not local ignores it.
        """

    def submit(self, job_id: str, *, queue: str = "") -> None:
        """Have the job run soon; JobError when no more work can be taken.

        `queue` names what the work waits for: its databases, or the receivers of a report, with ` + ` between, and of a
        report behind ` / ` whose it is. Work of one queue must not take all workers.
        """

    def close(self) -> None:
        """Take no more work; a local runner waits for what runs."""


@runtime_checkable
class RoutedJobRunner(JobRunner, Protocol):
    """A job runner that is also told what kind of work a job is, so that workers of its own may take each kind."""

    def submit_routed(self, job_id: str, *, kind: str, queue: str = "", time_limit_s: float | None = None) -> None:
        """Do as `submit`, which is not called then.

        `kind` is `chart-data`, `dashboard-data`, `picture`, `warm-up`, `report` or `sql`. `time_limit_s` is after how
        many seconds the job ends by itself; a worker that has not ended it soon after hangs, and may be killed. None:
        nobody knows.
        """


@runtime_checkable
class SecretBox(Protocol):
    """Seals secrets at rest with authenticated encryption."""

    def seal(self, text: str, *, context: str) -> str:
        """Return `text` sealed for `context` (for example `databases.uri`); it opens for no other context."""

    def open(self, sealed: str, *, context: str) -> str:
        """Return the text; StoredDataError when the seal, the key or the context is wrong."""


@runtime_checkable
class MetadataStore(Protocol):
    """Where records are kept."""

    def unit_of_work(self) -> AbstractContextManager[UnitOfWork]:
        """Open one transaction; it commits when the block ends without an exception.

        What it reads before its first write is of one moment: others' changes show in it wholly or not at all.
        """

    def revision(self, *nouns: str) -> int:
        """Return a number that grows with each change made through this object, after it is committed.

        With nouns (`user`, `role` ...) it must grow with changes that bear on these kinds, and may with others.
        Entries of the log and jobs need not count: nobody keeps what they read of them.
        """

    def reseal_secrets(self) -> int:
        """Seal all stored secrets anew with the present key of the box, and return how many there are.

        Records do not change by it; StoredDataError, and nothing is sealed anew, when one does not open.
        """

    def close(self) -> None:
        """Close the store's connections; units of work and revisions end in StoreUnavailableError afterwards."""


@runtime_checkable
class Connector(Protocol):
    """Reaches users' databases: SQLAlchemy engines, pooled per database and identity."""

    def engine(self, database: Database, *, identity: Identity | None = None, access: Access = Access.READ) -> Any:
        """Return the pooled SQLAlchemy engine of this version of `database`; the same one each time.

        It is read-only unless write access is asked for by name. `identity` is whom the database sees, where it
        impersonates its users.
        """

    def dispose(self, database_id: int) -> None:
        """Close the pools of this database."""

    def close(self) -> None:
        """Close all pools."""


@runtime_checkable
class NetworkPolicy(Protocol):
    """Says where connections may lead whose addresses people give in payloads: of databases and what serves them."""

    def may_reach(self, destination: Destination) -> bool:
        """Tell whether a connection may lead there; it is asked of each address of a host, before each connection.

        Only True allows it; an exception allows nothing. The connection leads to the address that was asked about,
        where the driver lets us choose it.
        """


@runtime_checkable
class Notifier(Protocol):
    """Hands messages to one kind of recipient: people by mail, a channel, a pager."""

    def start(self, addresses: AddressLookup) -> None:
        """Take what gives the addresses that connections may lead to; called once, before anything is sent.

        A connection leads to one of the addresses that it gives, not to the name again. A notifier that connects to
        nothing ignores it.
        """

    def takes(self, recipient: Recipient) -> bool:
        """Tell whether it delivers to this recipient, by the recipient's kind and the form of the addresses."""

    def send(
        self, message: Message, recipient: Recipient, *, only: Collection[str] | None = None
    ) -> Sequence[Delivery]:
        """Try once to deliver a message, and return what became of it at each address that was asked for.

        It takes no longer than the notifier's own limit, and may be called by many threads at once. The receiver gets
        the same key (`message.key_for(recipient)`) each time, whatever `only` names: the addresses of the recipient
        that are still to be reached, None for all. No secret and no word of the receiver's stands in a reason.

        Raises:
            NotificationError: none of these addresses was reached; `retryable` where trying again may help.
        """

    def close(self) -> None:
        """Let connections go; nothing is sent afterwards."""


@runtime_checkable
class Renderer(Protocol):
    """Draws pictures: Vega-Lite specifications, and pages that are drawn already. Any thread may call it.

    Nothing that a specification or a page names is loaded from a network or a disk, and nothing in them acts; a text
    in them is a text. It takes no longer than the renderer's own limit. The same input gives the same bytes as long as
    `fingerprint` is the same.
    """

    @property
    def fingerprint(self) -> str:
        """A text that is another one where the same input may give other bytes: versions, fonts."""

    def render(self, specification: Mapping[str, Any], *, format: PictureFormat, scale: float = 1.0) -> bytes:
        """Return the picture of a Vega-Lite specification, which holds its data.

        Args:
            specification: JSON values.
            format: SVG in UTF-8, PNG or PDF.
            scale: pixels of a PNG for one of the specification; points of a PDF likewise.

        Raises:
            PictureError: it cannot be drawn.
            MissingExtraError: a package is not installed; the message names the extra.
        """

    def render_pages(self, pages: Sequence[str], *, format: PictureFormat, scale: float = 1.0) -> bytes:
        """Return pages that are SVG as one picture; several of them as a PDF only, a page each.

        Raises:
            PictureError, MissingExtraError: as `render`; no page at all, or several in another format.
        """

    def close(self) -> None:
        """Let processes and connections go; what is drawn afterwards is a PictureError."""


@runtime_checkable
class Sleeper(Protocol):
    """Lets time pass for somebody who waits."""

    def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""


@runtime_checkable
class TokenEndpoint(Protocol):
    """Asks the OAuth 2.0 token endpoints of providers."""

    def request(
        self, uri: str, fields: Mapping[str, str], *, content_type: OAuth2ContentType, timeout_s: float
    ) -> Mapping[str, Any]:
        """POST the fields as a JSON object or as a form, and return the JSON object of the answer.

        An answer of status 400 to 403 that is an object with a text `error` (RFC 6749, 5.2) is returned, too; every
        other one but 2xx is an error. It never takes longer than `timeout_s` in all and follows no redirect. `fields`
        hold secrets, and so does what comes back: neither is logged nor repeated in an error.

        Raises:
            TokenEndpointError: it may not be reached, does not answer in time, or not with such an object.
        """


@runtime_checkable
class UserDirectory(Protocol):
    """Knows the people who act.

    Each person has an id of their own above 0, which never names somebody else: records keep it as owner and author.
    """

    def find(self, key: int | str) -> User | None:
        """Return the user with this id (int) or user name (str), or None."""


@runtime_checkable
class BulkUserDirectory(UserDirectory, Protocol):
    """A directory that also finds many people at once; without it each person on a page is asked for alone."""

    def find_many(self, user_ids: Collection[int]) -> Iterable[User]:
        """Return the users of these ids that exist, in any order; their ids and names are used, nothing else."""


@runtime_checkable
class UrlFor(Protocol):
    """Builds the addresses of a host's pages."""

    def __call__(self, kind: str, values: Mapping[str, Any]) -> str | None:
        """Return the address of the page `kind` (for example `chart`), or None when the host has none."""


@runtime_checkable
class RowFilterSource(Protocol):
    """Knows which rows a person may see; asked on every road to data, its answer is part of every cache key."""

    def row_filters(self, user: User, dataset: Dataset) -> Sequence[RowFilter]:
        """Return the conditions that bind `user` on `dataset`; an error here stops the query."""
