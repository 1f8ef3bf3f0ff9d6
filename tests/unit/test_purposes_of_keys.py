"""One secret key, several purposes: what is made for one fails for every other."""

from __future__ import annotations

import ast
import base64
import hmac
import json
from collections.abc import Callable, Iterator
from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.architecture.source import source_files
from tests.support.cases import for_each
from tests.support.guests import KEY, NOW, QUERY, GuestWorld, claims, context, forged, guest_world

from analytics_core import errors
from analytics_core._core.adapters.secret_box import AesGcmSecretBox
from analytics_core._engine.rights.keys import EntrySeal, Purpose, derived_key, is_marked, marked_key, permalink_keys
from analytics_core._records.secret import Secret

DOORS = ("guest", "secret", "chart permalink", "dashboard permalink", "form data", "cache", "job")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuestWorld]:
    with guest_world(f"sqlite:///{tmp_path_factory.mktemp('purposes')}/shop.db") as made:
        yield made


@pytest.fixture(scope="module")
def made(world: GuestWorld) -> dict[str, str]:
    """Return one sound text of each purpose, by the door that it opens."""
    admin = world.admin
    state = {"formData": {"datasource": "1__table", "slice_id": 1}, "urlParams": []}
    seal = EntrySeal(Secret(KEY)).made("key", (b"content",))
    form = {"datasource_id": 1, "datasource_type": "table", "form_data": "{}"}
    return {
        "guest": world.token("acme"),
        "secret": AesGcmSecretBox(Secret(KEY)).seal("a text", context="databases.uri:1"),
        "chart permalink": admin.permalinks.create_for_chart(state).key,
        "dashboard permalink": admin.permalinks.create_for_dashboard(1, {"urlParams": []}).key,
        "form data": admin.explore.create_form_data(form),
        "cache": base64.urlsafe_b64encode(seal).decode(),
        "job": admin.charts.submit(1).job_id,
    }


def opens(world: GuestWorld, door: str, text: str) -> bool:
    """Tell whether a text opens a door; whoever is refused is refused with an error of ours."""
    admin = world.admin
    doors: dict[str, Callable[[], Any]] = {
        "guest": lambda: world.host.as_guest(text).charts.data(1).raise_for_error(),
        "secret": lambda: AesGcmSecretBox(Secret(KEY)).open(text, context="databases.uri:1"),
        "chart permalink": lambda: admin.permalinks.get_for_chart(text),
        "dashboard permalink": lambda: admin.permalinks.get_for_dashboard(text),
        "form data": lambda: admin.explore.get_form_data(text),
        "cache": lambda: _unsealed(text),
        "job": lambda: admin.charts.job(text),
    }
    try:
        doors[door]()
    except errors.AnalyticsError:
        return False
    return True


def _unsealed(text: str) -> None:
    if not EntrySeal(Secret(KEY)).holds("key", bytes_of(text), b"content"):
        raise errors.StoredDataError("no seal")


def bytes_of(text: str) -> bytes:
    """Return what a text stands for, as long as a seal is at least."""
    try:
        return base64.b64decode(text, altchars=b"-_", validate=True).ljust(28)
    except ValueError:
        return text.encode().ljust(28)


@for_each("door", DOORS)
@for_each("purpose", DOORS)
def test_a_text_of_one_purpose_opens_its_own_door_and_no_other(
    world: GuestWorld, made: dict[str, str], door: str, purpose: str
) -> None:
    assert opens(world, door, made[purpose]) is (door == purpose)


def test_every_purpose_has_a_key_of_its_own() -> None:
    keys = [derived_key(Secret(KEY), purpose) for purpose in Purpose]
    box = AesGcmSecretBox(Secret(KEY))
    assert len({*keys, KEY.encode()[:32]}) == len(Purpose) + 1
    assert {len(key) for key in keys} == {32}
    assert not any(purpose.value.startswith("analytics_core/secret-box/") for purpose in Purpose)
    assert box.seal("x", context="c").split(".")[1] not in {key.hex()[:8] for key in keys}


DERIVED = {
    Purpose.GUEST_TOKEN: "c5c6263185ba",
    Purpose.PERMALINK: "855210a75ed8",
    Purpose.KEY_MARK: "b1d48c2ab229",
    Purpose.JOB_CHANNEL: "aa3050d3c77f",
    Purpose.CACHE_ENTRY: "9525847ff8e0",
    Purpose.OAUTH_STATE: "e94e305cfe20",
    Purpose.OAUTH_VERIFIER: "928663f1d181",
}


def test_the_next_release_reads_what_this_one_signed() -> None:
    assert {purpose: derived_key(Secret(KEY), purpose).hex()[:12] for purpose in Purpose} == DERIVED


def test_a_key_is_known_by_its_mark_of_one_kind_under_any_key_of_the_settings() -> None:
    key, older = marked_key(Secret(KEY), "kind", b"abc"), Secret("older" + KEY)
    assert is_marked([Secret(KEY)], "kind", key) is is_marked([older, Secret(KEY)], "kind", key) is True
    for secrets, kind, given_key in (
        ([older], "kind", key),
        ([], "kind", key),
        ([Secret(KEY)], "another kind", key),
        *(([Secret(KEY)], "kind", other) for other in ("", "é", key[:-1], key[:-1] + "A", key + "AAAA", None, 7)),
    ):
        assert is_marked(secrets, kind, given_key) is False, (kind, given_key)


@for_each("purpose", Purpose)
def test_another_secret_gives_another_key_and_the_same_one_the_same(purpose: Purpose) -> None:
    assert derived_key(Secret(KEY), purpose) == derived_key(Secret(KEY), purpose)
    for other in (KEY + "x", KEY[:-1], KEY.upper(), ""):
        assert derived_key(Secret(other), purpose) != derived_key(Secret(KEY), purpose)


@for_each("purpose", [p for p in Purpose if p is not Purpose.GUEST_TOKEN])
def test_keys_of_the_other_purposes_sign_no_guest_token(world: GuestWorld, purpose: Purpose) -> None:
    key = derived_key(Secret(KEY), purpose)
    assert not opens(world, "guest", forged(world, key=key))
    assert opens(world, "guest", forged(world, key=derived_key(Secret(KEY), Purpose.GUEST_TOKEN)))


def test_a_permalink_is_not_made_with_the_secret_itself() -> None:
    found = permalink_keys([Secret(KEY)], "kind", "content")
    for key in (KEY.encode(), derived_key(Secret(KEY), Purpose.GUEST_TOKEN), b""):
        for content in (b"content", b"analytics_core permalink key 1\x00content"):
            guessed = base64.urlsafe_b64encode(hmac.digest(key, content, "sha256")[:24]).decode()
            assert guessed not in found
    assert permalink_keys([Secret(KEY)], "kind", "content") == found
    assert not {*found} & {*permalink_keys([Secret(KEY)], "kind", "contenu")}


@given(st.binary(max_size=60), st.binary(max_size=60), st.text(max_size=20), st.text(max_size=20))
def test_a_seal_holds_for_its_content_and_its_key_alone(content: bytes, other: bytes, key: str, other_key: str) -> None:
    seals = EntrySeal(Secret(KEY))
    seal = seals.made(key, (content,))
    assert seals.holds(key, seal, content)
    assert seals.made(key, (content[:1], content[1:])) != seal
    assert seals.holds(key, seals.made(key, (content[:1], content[1:])), content)
    assert seals.holds(key, seal, other) is (other == content)
    assert seals.holds(other_key, seal, content) is (other_key == key)


# -------------------------------------------------------------------------------------------------------- the header
@pytest.mark.parametrize(
    "headers", [{"crit": ["x"], "x": 1}, {"crit": ["exp"], "exp": 1}, {"b64": False, "crit": ["b64"]}, {"alg": "none"}]
)
def test_a_header_that_asks_for_other_rules_is_refused(world: GuestWorld, headers: dict[str, Any]) -> None:
    good, body = forged(world), forged(world).split(".")[1]
    head = {**jwt.get_unverified_header(good), **headers}
    start = f"{base64.urlsafe_b64encode(json.dumps(head).encode()).rstrip(b'=').decode()}.{body}"
    key = derived_key(Secret(KEY), Purpose.GUEST_TOKEN)
    signature = base64.urlsafe_b64encode(hmac.digest(key, start.encode(), "sha256")).rstrip(b"=").decode()
    assert not opens(world, "guest", f"{start}.{signature}")
    assert opens(world, "guest", good)


@pytest.mark.parametrize("headers", [{"typ": "at+jwt"}, {"cty": "JWT"}, {"kid": "7"}, {"jku": "https://e.example"}])
def test_the_rest_of_a_header_changes_nothing(world: GuestWorld, headers: dict[str, Any]) -> None:
    plain = world.host.as_guest(forged(world)).charts.data(1).results[0].data
    assert world.host.as_guest(forged(world, headers=headers)).charts.data(1).results[0].data == plain


# ------------------------------------------------------------------------------------------------------- comparisons
@pytest.mark.slow
def test_signatures_are_compared_in_constant_time() -> None:
    assert "compare_digest" in jwt.algorithms.HMACAlgorithm.verify.__code__.co_names
    compared = [
        f"{file.at(node)} {ast.unparse(node)}"
        for file in source_files()
        if any(
            name in "\n".join(file.lines) for name in ("import hmac", "import jwt", "import hashlib", "cryptography")
        )
        for node in file.nodes
        if isinstance(node, ast.Compare)
        and any(isinstance(op, ast.Eq | ast.NotEq | ast.In) for op in node.ops)
        and any(word in ast.unparse(node).casefold() for word in ("digest", "signature", "tag", "hmac", "mac_"))
    ]
    assert compared == []


# ------------------------------------------------------------------------------------------------ rules of the token
IN_TENANTS = {"clause": "tenant IN ({{ value('tenants') }})"}
BLANK = ["", " ", "\t\n", "-- nothing", "/* nothing */", "()", "NULL"]
HOSTILE = [
    *("1 = 1, 1 = 1", "1 = 1 AS x", "1 = 1 ORDER BY 1", "1 = 1 LIMIT 5", "1 = 1 GROUP BY city", "sales.*", "tenant IN"),
    *("1 = 1 UNION SELECT 1", "SELECT 1", "1 = 1) UNION SELECT 1 FROM secrets --", "1 = 1 WHERE 1 = 1"),
    "tenant = (SELECT word FROM secrets)",
    "tenant = ANY (SELECT word FROM secrets)",
    "tenant > ALL (SELECT word FROM secrets)",
    "tenant NOT IN (SELECT word FROM secrets)",
    "tenant IN (WITH x AS (SELECT word FROM secrets) SELECT word FROM x)",
    "tenant IN (VALUES ('acme'))",
    "tenant IN (TABLE secrets)",
    "tenant IN secrets",
    "EXISTS (SELECT 1 UNION SELECT 2)",
    "EXISTS (SELECT 1 FROM json_each('[1]'))",
    "CASE WHEN (SELECT COUNT(*) FROM secrets) > 0 THEN 1 = 1 END",
    *("ROW_NUMBER() OVER () > 0", "COUNT(*) > 0", "load_extension('x') = 1", "tenant = ?", "tenant = :p"),
]


@pytest.mark.slow
@for_each("clause", [*BLANK[:-1], *HOSTILE])
@for_each("dataset", [None, 1])
def test_a_rule_that_is_no_condition_is_not_minted_and_shows_no_row(
    world: GuestWorld, clause: str, dataset: int | None
) -> None:
    rule = {"clause": clause} if dataset is None else {"clause": clause, "dataset": dataset}
    with pytest.raises(errors.AnalyticsError) as rejection:
        world.admin.embedded.guest_token(world.request(rule), all_rows=[1])
    assert rejection.value.status < 500
    answer = world.host.as_guest(forged(world, rls_rules=[rule])).charts.data(1)
    assert answer.results[0].failure is not None
    assert answer.results[0].rowcount == 0


def test_a_rule_that_is_null_shows_no_row(world: GuestWorld) -> None:
    assert not world.host.as_guest(forged(world, rls_rules=[{"clause": "NULL"}])).charts.data(1).results[0].data


@pytest.mark.parametrize("values", [{}, {"Tenants": ["acme"]}])
def test_a_rule_whose_values_are_missing_stops_the_query(world: GuestWorld, values: dict[str, Any]) -> None:
    with pytest.raises(errors.TemplateError):
        world.host.as_guest(forged(world, rls_rules=[{**IN_TENANTS, "values": values}])).charts.data(1)


@pytest.mark.parametrize(("tenants", "shows"), [([], False), (["acme"], True)])
def test_a_rule_over_an_empty_list_shows_no_row(world: GuestWorld, tenants: list[str], shows: bool) -> None:
    rule = {**IN_TENANTS, "values": {"tenants": tenants}}
    assert bool(world.host.as_guest(forged(world, rls_rules=[rule])).charts.data(1).results[0].rowcount) is shows


@pytest.mark.parametrize("form_data", [{"chart_id": 1}, {"dashboardId": 1}, {"slice_id": 1.0}, {"slice_id": [1]}])
def test_what_only_looks_like_a_reference_to_the_stored_chart_is_none(
    world: GuestWorld, form_data: dict[str, Any]
) -> None:
    guest = world.guest()
    with pytest.raises(errors.GuestAccessError, match="slice_id"):
        guest.charts.data(context(QUERY, form_data=form_data))
    assert guest.charts.data(context(QUERY, form_data={**form_data, "slice_id": 1})).results[0].data


def test_claims_are_those_that_this_test_knows(world: GuestWorld) -> None:
    assert world.clock.now() == NOW
    signed: dict[str, Any] = jwt.decode(world.token("acme"), options={"verify_signature": False})
    assert set(signed) == set(claims(world))
