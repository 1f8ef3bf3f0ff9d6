"""No secret in any text: what objects print, what is pickled or copied, and what stands behind an error (3.12)."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import secrets
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pydantic
import pytest
import sqlalchemy as sa
from tests.support.cases import for_each
from tests.support.guests import GuestWorld, guest_world

from analytics_core import AnalyticsCore, Settings, errors
from analytics_core._content.storage.store_engine import make_store_engine
from analytics_core._content.stored_json import without_secrets
from analytics_core._core.adapters.secret_box import AesGcmSecretBox
from analytics_core._engine.execution.connection_uri import masked, parse_uri
from analytics_core._engine.rights.guest_tokens import GuestTokens
from analytics_core._engine.rights.keys import EntrySeal
from analytics_core._records.secret import Secret
from analytics_core._tools.display.blocks import MASK
from analytics_core.models import SHAPES
from analytics_core.models.base import HiddenText
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.store.records import START

WORD = "s3cr3t/w@rd: 100%"
FORMS = (WORD, quote(WORD, safe=""), "s3cr3t")
URI = f"postgresql+psycopg://ann:{quote(WORD, safe='')}@127.0.0.1:1/shop?application_name=bi"
KEY = "k3y-of-the-secretive-core-0123456789"


def reported(text: str) -> list[str]:
    """Return the forms of secrets that a text tells."""
    return [form for form in (*FORMS, KEY) if form in text]


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all that stands behind it, also what Python would not print."""
    yield error
    for behind in (error.__cause__, error.__context__):
        if behind is not None:
            yield from chain_of(behind)


def texts_of(error: BaseException) -> str:
    """Return what loggers and crash reporters show of an error and its chain."""
    texts = [f"{link!r} {link} {link.args!r} {vars(link)!r}" for link in chain_of(error)]
    return "".join((*texts, *traceback.format_exception(error)))


# ------------------------------------------------------------------------------------------------- the wrapper's forms
@for_each(
    "formatter",
    [
        repr,
        str,
        "{}".format,
        "{0!r:>50}".format,
        "{0:>50}".format,
        "%s".__mod__,
        "%r".__mod__,
        lambda secret: repr([{"a": (secret,)}]),
        lambda secret: "".join(traceback.format_exception(ValueError(secret))),
        lambda secret: repr(vars(errors.ConnectionUriError("x", extra={"uri": secret}))),
        lambda secret: json.dumps({"a": secret}, default=str),
        lambda secret: pydantic.TypeAdapter(dict[str, HiddenText]).dump_json({"a": HiddenText(str(secret))}).decode(),
        lambda secret: str(pydantic.TypeAdapter(Any).dump_python([secret], mode="json", fallback=str)),
    ],
)
@for_each("kind", [Secret, HiddenText])
def test_every_printed_form_of_a_secret_is_a_mask(kind: Any, formatter: Callable[[Any], str]) -> None:
    text = formatter(kind(WORD))
    assert not reported(text)
    assert MASK in text


@for_each("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@for_each("kind", [Secret, HiddenText])
def test_a_secret_is_pickled_by_no_protocol(kind: Any, protocol: int) -> None:
    for item in (kind(WORD), [kind(WORD)], {"a": kind(WORD)}):
        with pytest.raises(TypeError, match="never pickled"):
            pickle.dumps(item, protocol)


def test_a_secret_gives_its_text_to_who_asks_and_compares_by_it() -> None:
    assert Secret(WORD).reveal() == HiddenText(WORD).get_secret_value() == WORD
    assert Secret(WORD) == Secret(WORD) != Secret(WORD + "x")
    assert Secret(WORD) != WORD
    assert len({Secret(WORD), Secret(WORD), Secret("other")}) == 2


# ------------------------------------------------------------------------------------------------------ whole objects
@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuestWorld]:
    """A core whose keys, store and connections all hold secrets."""
    folder = tmp_path_factory.mktemp("secrets")
    options = {"secret_key": KEY, "previous_secret_keys": (KEY + "-older",)}
    with guest_world(f"sqlite:///{folder}/shop.db", metadata_url=f"sqlite:///{folder}/meta.db", **options) as made:
        made.admin.databases.create({"database_name": "far", "orm_uri": URI})
        made.guest().charts.data(1).raise_for_error()
        yield made


def reached(start: Any) -> Iterator[Any]:
    """Yield every object of the library that hangs on `start`, by attributes and through plain containers."""
    waiting, seen = [start], set()
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, type | str | bytes | int):
            continue
        seen.add(id(item))
        if isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple | set | frozenset):
            waiting += item
        elif type(item).__module__.startswith("analytics_core"):
            yield item
            waiting += parts_of(item)


def parts_of(item: Any) -> list[Any]:
    names = [name for kind in type(item).__mro__ for name in getattr(kind, "__slots__", ())]
    own = [getattr(item, name) for name in names if isinstance(name, str) and hasattr(item, name)]
    return [*own, *getattr(item, "__dict__", {}).values()]


def test_no_object_of_a_core_prints_or_pickles_a_secret(world: GuestWorld) -> None:
    with world.host._runtime.content.store.unit_of_work() as unit:
        record = unit.databases.get(2)
    assert reported(record.uri.reveal())
    found = [*reached(world.host), *reached(world.guest()), record]
    kinds = {type(item) for item in found}
    assert {AnalyticsCore, Settings, GuestTokens, EntrySeal, AesGcmSecretBox, Secret} <= kinds
    for item in found:
        assert not reported(f"{item!r} {item}"), type(item)
        with suppress(Exception):  # most of them cannot be pickled at all
            assert not reported(str(pickle.dumps(item))), type(item)


@pytest.mark.parametrize(
    "holder", [lambda: EntrySeal(Secret(KEY)), lambda: GuestTokens(Settings(secret_key=KEY), FixedClock(START))]
)
def test_what_holds_a_derived_key_is_not_pickled(holder: Callable[[], Any]) -> None:
    with pytest.raises(TypeError, match="never pickled"):
        pickle.dumps(holder())


def test_copies_of_a_record_tell_no_secret(world: GuestWorld) -> None:
    with world.host._runtime.content.store.unit_of_work() as unit:
        record = unit.databases.get(2)
    for made in (copy.copy(record), dataclasses.replace(record, id=7)):
        assert not reported(f"{made!r} {made}")
        assert made.uri.reveal() == record.uri.reveal()
    for spelled_out in (copy.deepcopy, dataclasses.asdict):
        with pytest.raises(TypeError, match="never pickled"):
            spelled_out(record)


def test_answers_of_every_read_tell_no_secret(world: GuestWorld) -> None:
    databases = world.admin.databases
    answers: list[Any] = [databases.get(2), databases.connection(2), *databases.list(), databases.related_objects(2)]
    answers += [world.admin.datasets.get(1), *world.admin.logs.list(page_size=100)]
    for answer in answers:
        assert not reported(f"{answer!r} {answer} {json.dumps(answer.to_payload(), default=str)}")
    assert f"ann:{MASK}@127.0.0.1" in str(databases.connection(2).orm_uri)


# ----------------------------------------------------------------------------------------------------------- payloads
HIDDEN = [
    (shape, name)
    for shape, model in SHAPES.items()
    for name, field in model.model_fields.items()
    if any(part in str(field.annotation) for part in ("SecretStr", "HiddenText"))
]


def test_the_fields_of_secrets_are_hidden_ones() -> None:
    named = {f"{shape}.{name}" for shape, name in HIDDEN}
    assert {"DatabaseRestApi.post.orm_uri", "DatabaseRestApi.put.orm_uri", "DatabaseSSHTunnel.password"} <= named
    for shape, name in HIDDEN:
        assert "HiddenText" in str(SHAPES[shape].model_fields[name].annotation), (shape, name)


@pytest.mark.parametrize("shape", ["DatabaseRestApi.post", "DatabaseRestApi.put", "DatabaseTestConnectionSchema"])
def test_a_payload_with_a_secret_prints_copies_and_writes_a_mask(shape: str) -> None:
    payload = SHAPES[shape].model_validate({"database_name": "far", "sqlalchemy_uri": URI})
    for made in (payload, payload.model_copy(), payload.model_copy(deep=True), copy.deepcopy(payload)):
        assert not reported(f"{made!r} {made} {made.model_dump()} {made.model_dump_json()}")
        assert made == payload
    with pytest.raises(TypeError, match="never pickled"):
        pickle.dumps(payload)


@for_each(
    "changes",
    [
        {"orm_uri": URI + "x" * 2_000},
        {"orm_uri": [WORD]},
        {"password": WORD},
        {"ssh_tunnel": {"password": {"a": WORD}}},
        {"ssh_tunnel": {"private_key": WORD, "unknown": WORD}},
        {"cache_timeout": WORD},
    ],
)
def test_a_payload_that_is_refused_does_not_repeat_what_was_in_it(changes: dict[str, Any], world: GuestWorld) -> None:
    payload = {"database_name": "far 2", "orm_uri": URI, **changes}
    with pytest.raises(errors.PayloadSchemaError) as rejection:
        world.admin.databases.create(payload)
    assert not reported(texts_of(rejection.value) + json.dumps(rejection.value.to_payload()))
    with pytest.raises(pydantic.ValidationError) as raw:
        SHAPES["DatabaseRestApi.post"].model_validate(payload)
    assert not reported(f"{raw.value} {raw.value!r}")


# ------------------------------------------------------------------------------------------------------ URIs in text
@for_each(
    "uri",
    [
        "trino://ann@h/c?password=s3cr3t",
        "trino://ann@h/c?p%61ssword=s3cr3t",
        "trino://ann@h/c?PASSWORD=s3cr%33t",
        "trino://ann@h/c?access_token=s3cr3t&access_token=s3cr3t-two",
        "trino://ann@h/c?x.api-key=s3cr3t",
        "trino://ann@h/c?source=bi&sslpassword=s3cr3t",
        "postgresql://ann:s3cr%33t@h/d",
        "postgresql://ann:%73%33%63%72%33%74@h/d",
        "postgresql://:s3cr3t@h/d",
        "postgresql://ann:s3cr3t@/d?host=/tmp",
    ],
)
def test_percent_encoded_and_query_parts_are_masked(uri: str) -> None:
    text = masked(uri)
    assert MASK in text
    assert not [form for form in ("s3cr3t", "s3cr%33t", "%73%33%63") if form in text.casefold()]


@pytest.mark.parametrize("uri", ["trino://ann@h/c?source=bi", "postgresql://h:5432/password", "sqlite:////s/token.db"])
def test_what_only_looks_like_a_secret_in_a_uri_is_shown(uri: str) -> None:
    assert masked(uri) == uri


# ---------------------------------------------------------------------------------------- what stands behind errors
def driver_texts(error: BaseException) -> list[str]:
    """Return the exceptions in the chain of an error that no module of ours made."""
    return [repr(link) for link in chain_of(error) if not type(link).__module__.startswith("analytics_core")]


def test_an_error_of_the_store_has_no_drivers_exception_behind_it(tmp_path: Path) -> None:
    with guest_world(f"sqlite:///{tmp_path}/shop.db", metadata_url=f"sqlite:///{tmp_path}/meta.db") as world:
        taken = {"database_name": "shop", "orm_uri": f"sqlite:///{tmp_path}/shop.db"}
        calls: list[tuple[type[errors.AnalyticsError], Callable[[], Any]]] = [
            (errors.AlreadyExistsError, lambda: world.admin.databases.create(taken)),
            (errors.AlreadyExistsError, lambda: world.admin.roles.create({"name": "Administrators"})),
            (errors.InUseError, lambda: world.admin.databases.delete(1)),
            (errors.NotFoundError, lambda: world.admin.databases.get(99)),
        ]
        for kind, call in calls:
            with pytest.raises(kind) as rejection:
                call()
            assert driver_texts(rejection.value) == []
        with sa.create_engine(f"sqlite:///{tmp_path}/meta.db").begin() as connection:
            connection.exec_driver_sql("DROP TABLE ac_logs")
        with pytest.raises(errors.StoreUnavailableError) as lost:
            world.admin.roles.create({"name": "x"})
        assert driver_texts(lost.value) == []
        assert "no such table" not in texts_of(lost.value)


def test_a_store_that_cannot_be_reached_tells_no_password() -> None:
    for url in (URI, f"mysql+pymysql://ann:{quote(WORD, safe='')}@127.0.0.1:1/shop"):
        with pytest.raises(errors.StoreUnavailableError) as rejection:
            AnalyticsCore(Settings(secret_key=KEY), metadata_url=url)
        assert not reported(texts_of(rejection.value))
        assert driver_texts(rejection.value) == []


@for_each(
    "url",
    [f"postgresql://ann:{WORD}@h/d", "postgresql://ann:x@h:s3cr3t/d", "s3cr3t", "postgresql://ann:s3cr3t@h:99x/d"],
)
@for_each("read", [make_store_engine, parse_uri])
def test_a_malformed_url_is_not_repeated_behind_the_error_either(read: Callable[[str], Any], url: str) -> None:
    with pytest.raises(errors.AnalyticsError) as rejection:
        read(url)
    assert not reported(texts_of(rejection.value))
    assert driver_texts(rejection.value) == []


def test_text_that_cannot_be_sealed_is_not_behind_the_error() -> None:
    with pytest.raises(errors.PayloadFormatError) as rejection:
        AesGcmSecretBox(Secret(KEY)).seal(WORD + "\ud800", context="c")
    assert not reported(texts_of(rejection.value))


WELL_KNOWN = (
    *("CHANGE_ME_SECRET_KEY", "CHANGE_ME_TO_A_COMPLEX_RANDOM_SECRET", "thisISaSECRET_1234", "TEST_NON_DEV_SECRET"),
    *("\\2\\1thisismyscretkey\\1\\2\\e\\y\\y\\h", "\2\1thisismyscretkey\1\2\\e\\y\\y\\h"),
    *("YOUR_OWN_RANDOM_GENERATED_SECRET_KEY", "USE_YOUR_OWN_SECURE_RANDOM_KEY", "your-256-bit-secret"),
    *(
        "test-guest-secret-change-me",
        "test-secret-change-me",
        "django-insecure-8$k2!x_0q9",
        "analytics_core_secret_key",
    ),
    *(
        "secretsecretsecret",
        "super-secret-key-2024",
        "0123456789abcdef" * 2,
        "abcdefghijklmnopqrstuvwxyz",
        "abcdef" * 6,
    ),
)


@for_each("key", [KEY + "\udcff", "s3cr3t", "", "a" * 40, "ChangeMe", *WELL_KNOWN])
def test_a_weak_key_is_refused_as_a_present_and_as_a_previous_one_and_not_repeated(key: str) -> None:
    for options in ({"secret_key": key}, {"secret_key": KEY, "previous_secret_keys": (key,)}):
        with pytest.raises(errors.SettingsError, match="secret_key") as rejection:
            Settings(**options)  # type: ignore[arg-type]
        assert not reported(texts_of(rejection.value))
        assert not key or key not in texts_of(rejection.value)
    assert Settings(secret_key=KEY, previous_secret_keys=(KEY + "-older",)).older_keys == (Secret(KEY + "-older"),)


@pytest.mark.parametrize("make", [lambda: secrets.token_urlsafe(32), lambda: secrets.token_hex(16)])
def test_a_random_key_starts_and_so_does_a_sentence(make: Callable[[], str]) -> None:
    for key in (*(make() for _ in range(200)), "correct horse battery staple", "a-key-of-these-tests-5f1c9e"):
        assert Settings(secret_key=key).key == Secret(key)


def test_a_stack_trace_with_local_variables_tells_no_key(world: GuestWorld) -> None:
    """Crash reporters print the variables of each frame; keys are revealed as late as possible."""
    try:
        world.host.as_guest("a.b.c")
    except errors.GuestTokenError:
        trace = "".join(traceback.TracebackException(*sys.exc_info(), capture_locals=True).format())  # type: ignore[arg-type]
    assert "_verified" in trace
    assert KEY not in trace


def test_a_log_entry_keeps_no_secret_of_its_json() -> None:
    text = '{"password": "s3cret", "a": [{"api_token": "t0k"}], "url": "postgresql://me:p4ss@h/x", "n": 1}'
    result = without_secrets(text) or ""
    assert not [secret for secret in ("s3cret", "t0k", "p4ss") if secret in result]
    assert '"n": 1' in result
    assert without_secrets('{"n": 1}') == '{"n": 1}'
    assert without_secrets(None) is None


@for_each(
    "text",
    [
        '{"url": "postgresql:\\/\\/me:s3cret@h"}',
        '{"url": "postgresql://me:a@s3cret@h"}',
        '{"url": "postgresql://me:a/s3cret@h/x"}',
        '{"url": "postgresql://me:a\\"s3cret@h"}',
        '{"url": "postgresql://:s3cret@h"}',
        r'{"events": "[{\"password\": \"s3cret\", \"url\": \"x://me:s3cret@h\"}]"}',
        "[" * 400 + '{"password": "s3cret"}' + "]" * 400,
        "[" * 900 + '{"password": "s3cret"}' + "]" * 900,
    ],
)
def test_no_way_to_write_a_secret_keeps_it_in_a_log_entry(text: str) -> None:
    assert "s3cret" not in (without_secrets(text) or "")


def test_an_address_with_a_port_stays_in_a_log_entry() -> None:
    text = '{"url": "http://host:8088/x?mail=a@b", "text": "a: b@c"}'
    assert without_secrets(text) == text
