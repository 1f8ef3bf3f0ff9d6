"""The databases of a bundle: those here that take their places, and connections that are made for it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypedDict

from analytics_core._content.batches import is_id
from analytics_core._content.bundles.documents import Document, DocumentKind, Documents
from analytics_core._content.bundles.fields import CONNECTION_FIELDS, given_fields, mapping_of, mappings_in
from analytics_core._content.bundles.files import SHAPE
from analytics_core._content.bundles.identities import uuid_text
from analytics_core._content.bundles.progress import Load, problems_of
from analytics_core._content.databases.records import new_database, new_uri
from analytics_core._content.reader import Reader
from analytics_core._content.runtime import ContentRuntime
from analytics_core._engine.execution.connection_uri import parse_uri
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.datasource import Database
from analytics_core._records.repositories import UnitOfWork
from analytics_core._records.secret import Secret
from analytics_core.errors import AccessError, AnalyticsError, Problem
from analytics_core.errors.base import short_repr
from analytics_core.models.database import DatabasePost
from analytics_core.models.parsing import parse, payload_error

_TRIALS: Final = 2**30
_MOST_LISTED: Final = 5


class StandIns(TypedDict, total=False):
    """What takes the place of what a bundle has, by the names or UUIDs that the bundle has for it.

    Attributes:
        databases: ids of databases here, or URLs of connections to make; one that is not named is found by its UUID.
        passwords: of connections to make as the bundle has them; also by their files, such as `databases/shop.yaml`.
        datasets: ids of datasets here, which stay as they are.
    """

    databases: Mapping[str, int | str]
    passwords: Mapping[str, str]
    datasets: Mapping[str, int]


def checked_stand_ins(given: StandIns) -> Replacements:
    """Return what a caller names; PayloadSchemaError where it is of another kind."""
    taken: dict[str, Any] = {}
    for path, value in given.items():
        takes = _TAKEN.get(path)
        if takes is None or not isinstance(value, Mapping) or not all(map(takes, value.values())):
            raise payload_error(SHAPE, path, f"must be one of {', '.join(_TAKEN)}, and map names of the bundle {_LIKE}")
        taken[path] = {**{uuid_text(name): one for name, one in value.items()}, **value}
    return Replacements(**taken)


def _is_id_or_url(value: object) -> bool:
    return is_id(value) or (isinstance(value, str) and "://" in value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


_TAKEN: Final[Mapping[str, Callable[[object], bool]]] = {
    "databases": _is_id_or_url,
    "passwords": _is_text,
    "datasets": is_id,
}
_LIKE: Final = 'to what takes their place, such as databases={"examples": 1} or passwords={"examples": "..."}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacements:
    """What a caller names in place of what a bundle has."""

    databases: Mapping[str, int | str] = field(default_factory=dict, repr=False)
    passwords: Mapping[str, str] = field(default_factory=dict, repr=False)
    datasets: Mapping[str, int] = field(default_factory=dict)

    def database(self, uuid: str, document: Document | None) -> int | str | None:
        """Return what takes the place of a database."""
        return self.databases.get(_name(uuid, document), self.databases.get(uuid))

    def dataset(self, document: Document) -> int | None:
        """Return the id of what takes the place of a dataset."""
        return self.datasets.get(str(document.content["table_name"]), self.datasets.get(document.key))

    def password(self, document: Document) -> str | None:
        """Return the password of a connection of the bundle; files are known also without the folders around them."""
        name, path = _name(document.key, document), document.path
        known = (given for key, given in self.passwords.items() if key in {name, path} or path.endswith(f"/{key}"))
        return next(known, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabasesOfBundle:
    """Databases by the UUIDs of the bundle; those in `made` are connections under a number that nobody stored."""

    found: Mapping[str, Database]
    made: Mapping[str, Document]
    problems: tuple[Problem, ...]


@contextmanager
def databases_of(
    runtime: ContentRuntime, actor: Actor, documents: Documents, given: Replacements
) -> Iterator[DatabasesOfBundle]:
    """Give the databases that a bundle needs, and close the connections that were made only to look at them.

    Raises:
        DatabaseNotFoundError, DatabaseAccessError: an id that is named is unknown, or not for the actor.
    """
    known = {document.key: document for document in documents.of(DocumentKind.DATABASE)}
    named = (uuid for uuid, one in known.items() if given.database(uuid, one) is not None or given.password(one))
    wanted = sorted({*_needed(documents, given), *named})
    with runtime.store.unit_of_work() as unit:
        finder = _Finder(runtime, actor, unit, given)
        found = {uuid: one for uuid in wanted if (one := finder.find(uuid, known.get(uuid))) is not None}
    made = {uuid: known[uuid] for uuid, database in found.items() if database.id < 0}
    try:
        yield DatabasesOfBundle(found=found, made=made, problems=tuple(finder.problems))
    finally:
        for uuid in made:
            runtime.engine.connections.connector.dispose(found[uuid].id)


def _needed(documents: Documents, given: Replacements) -> Iterator[str]:
    """Yield the UUIDs of the databases that datasets, saved queries and grants name."""
    for document in documents.of(DocumentKind.DATASET):
        if given.dataset(document) is None:
            yield uuid_text(document.content.get("database_uuid"))
    for document in documents.of(DocumentKind.SAVED_QUERY):
        yield uuid_text(document.content.get("database_uuid"))
    for document in documents.of(DocumentKind.ROLE):
        grants = mappings_in(document.content["grants"])
        yield from (uuid_text(grant["database_uuid"]) for grant in grants if "database_uuid" in grant)


@dataclass(frozen=True, slots=True)
class _Finder:
    """Finds databases in one unit of work, makes connections that are not stored yet, and keeps what is wrong."""

    runtime: ContentRuntime
    actor: Actor
    unit: UnitOfWork
    given: Replacements
    problems: list[Problem] = field(default_factory=list)

    def find(self, uuid: str, document: Document | None) -> Database | None:
        """Return a database; None for a problem."""
        choice = self.given.database(uuid, document)
        if isinstance(choice, str):  # before a guess at a stored URI is told from the right one
            self.runtime.policy.require_manage_databases(self.actor)
        stored = self._stored(uuid, choice)
        if stored is not None:
            self.runtime.policy.require_query_database(self.actor, stored)
            return stored
        if document is None or (choice is None and self.given.password(document) is None):
            name = _name(uuid, document)
            message = f"has no id for the database {name!r} of the bundle; name the id of one here, or its URL"
            given = ", ".join(short_repr(key) for key in list(self.given.databases)[:_MOST_LISTED])
            message = f"{message}, as databases={{{name!r}: 1}}" + (f"; {given} is given" if given else "")
            self.problems.append(Problem(path="databases", message=message))
            return None
        self.runtime.policy.require_manage_databases(self.actor)
        try:
            return self._made(uuid, document, None if choice is None else str(choice))
        except AnalyticsError as error:
            self.problems.extend(problems_of(document, error))
            return None

    def _stored(self, uuid: str, choice: int | str | None) -> Database | None:
        reader = Reader(self.unit, self.runtime.policy, self.actor)
        if is_id(choice):
            return reader.database(choice)
        stored = self.unit.databases.find(uuid=uuid)
        try:
            stored = None if stored is None else reader.database(stored.id)
        except AccessError:  # told as one that does not exist
            stored = None
        if stored is not None and choice is not None and stored.uri != Secret(str(choice)):
            message = f"database {stored.id} has the UUID {uuid} and another URI; change it there, or name its id"
            raise payload_error(SHAPE, "databases", message)
        return stored

    def _made(self, uuid: str, document: Document, url: str | None) -> Database:
        content = document.content
        options = given_fields(content, CONNECTION_FIELDS)
        if "allow_csv_upload" in content:
            options["allow_file_upload"] = content["allow_csv_upload"]
        if url is None and mapping_of(content.get("ssh_tunnel")):
            message = "has secrets that the bundle masks; make the connection with databases.create, and name its id"
            raise payload_error(SHAPE, "ssh_tunnel", message)
        uri = url if url is not None else _with_password(content["sqlalchemy_uri"], self.given.password(document) or "")
        return self._record(uuid, document, {**options, "orm_uri": uri})

    def _record(self, uuid: str, document: Document, options: Mapping[str, Any]) -> Database:
        payload = {"database_name": document.content["database_name"], **options}
        post = parse(DatabasePost, payload, shape=document.path)
        uri = new_uri(post.orm_uri, shape=document.path, registry=self.runtime.engine.registry)
        record = new_database(post, uri=uri, checked=self.runtime.engine.connections.check_uri(uri), uuid=uuid)
        return replace(record, id=-1 - secrets.randbelow(_TRIALS))


def _with_password(uri: Any, password: str) -> str:
    if not isinstance(uri, str):
        raise payload_error(SHAPE, "sqlalchemy_uri", "must be text")
    return parse_uri(uri).set(password=password).render_as_string(hide_password=False)


def _name(uuid: str, document: Document | None) -> str:
    name = None if document is None else document.content["database_name"]
    return name if isinstance(name, str) else uuid


def store_database(load: Load, document: Document, record: Database) -> None:
    """Store a connection that was made for the bundle."""
    stored = load.unit.databases.add(replace(record, id=0), actor_id=load.actor.id)
    load.act("database", None).log(load.unit, details={"database_id": stored.id})
    load.found[DocumentKind.DATABASE, document.key] = stored
    load.tell(document, stored.database_name, stored.id, is_new=True)
