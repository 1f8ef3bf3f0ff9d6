"""Guest tokens: what opens, and what looks like it and does not."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from tests.support.cases import for_each
from tests.support.guests import KEY, RULE, GuestWorld, claims, forged, guest_world, later, signing_key

from analytics_core import AnalyticsCore, Settings, errors
from analytics_core._records.repositories import ListQuery

OTHER_KEY = "an0ther-k3y-of-another-host-987654321"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuestWorld]:
    with guest_world(f"sqlite:///{tmp_path_factory.mktemp('guests')}/shop.db") as world:
        yield world


@pytest.fixture
def world(tmp_path: Path) -> Iterator[GuestWorld]:
    with guest_world(f"sqlite:///{tmp_path}/shop.db") as world:
        yield world


def rejected(world: GuestWorld, token: Any) -> str:
    """Return why a token opens nothing; the error says nothing of the token itself."""
    with pytest.raises(errors.GuestTokenError) as rejection:
        world.host.as_guest(token)
    assert rejection.value.status == 401
    assert rejection.value.to_payload()["errors"][0]["error_type"]
    if isinstance(token, str) and len(token) > 20:
        assert token not in str(rejection.value)
    return rejection.value.message


def read(token: str) -> dict[str, Any]:
    """Return the claims of a token that the present key signed."""
    options: Any = {"verify_exp": False, "verify_aud": False}
    return jwt.decode(token, signing_key(), algorithms=["HS256"], options=options)


def opens(world: GuestWorld, token: str) -> bool:
    return bool(world.host.as_guest(token).charts.data(1).raise_for_error().results[0].data)


def unsigned(header: dict[str, Any], body: dict[str, Any], signature: bytes = b"") -> str:
    parts = [json.dumps(header).encode(), json.dumps(body).encode(), signature]
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


# --------------------------------------------------------------------------------------------------- what is minted
def test_a_minted_token_opens_the_dashboard_and_tells_the_claims_of_the_contract(shared: GuestWorld) -> None:
    token = shared.token("acme", username="anna", attributes={"team": ["a", "b"]})
    assert opens(shared, token)
    payload = read(token)
    assert jwt.get_unverified_header(token) == {"alg": "HS256", "typ": "JWT"}
    assert payload["type"] == "guest"
    assert payload["sub"] == payload["user"]["username"] == "anna"
    assert payload["resources"] == [{"type": "dashboard", "id": shared.uuid}]
    assert payload["rls_rules"] == [RULE]
    assert payload["all_rows"] is False
    assert payload["exp"] - payload["iat"] == 300


def test_two_tokens_of_one_request_are_not_the_same(shared: GuestWorld) -> None:
    assert shared.token("acme") != shared.token("acme")


def test_a_token_signed_outside_with_the_derived_key_opens_so_the_forgeries_below_fail_for_their_own_reason(
    shared: GuestWorld,
) -> None:
    assert opens(shared, forged(shared))


# ------------------------------------------------------------------------------------------------ key and algorithm
@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "nOnE"])
def test_a_token_without_a_signature_opens_nothing(shared: GuestWorld, algorithm: str) -> None:
    rejected(shared, unsigned({"alg": algorithm, "typ": "JWT"}, claims(shared)))
    rejected(shared, jwt.encode(claims(shared), None, algorithm="none"))


@pytest.mark.parametrize("algorithm", ["HS384", "HS512"])
def test_another_algorithm_with_the_right_key_opens_nothing(shared: GuestWorld, algorithm: str) -> None:
    rejected(shared, forged(shared, algorithm=algorithm, key=signing_key() * 2))
    padded = jwt.encode(claims(shared), signing_key().ljust(64, b"\0"), algorithm=algorithm)
    rejected(shared, padded)


def test_an_asymmetric_algorithm_opens_nothing(shared: GuestWorld) -> None:
    rejected(shared, forged(shared, algorithm="RS256", key=generate_private_key(65537, 2048)))


@pytest.mark.parametrize(
    "headers",
    [
        {"kid": "0"},
        {"kid": "../../etc/passwd"},
        {"jku": "https://evil.example/keys"},
        {"jwk": {"kty": "oct", "k": "AA"}},
    ],
)
def test_the_header_brings_no_key(shared: GuestWorld, headers: dict[str, Any]) -> None:
    rejected(shared, forged(shared, key=signing_key(OTHER_KEY), headers=headers))


def test_the_key_of_another_host_opens_nothing(shared: GuestWorld) -> None:
    rejected(shared, forged(shared, key=signing_key(OTHER_KEY)))


def test_the_secret_key_itself_does_not_sign(shared: GuestWorld) -> None:
    rejected(shared, forged(shared, key=KEY.encode()))


@pytest.mark.parametrize(
    "purpose",
    ["analytics_core/secret-box/ac1/encryption", "analytics_core/oauth-state/v1", "analytics_core/guest-token/v2", ""],
)
def test_a_key_of_another_purpose_opens_nothing(shared: GuestWorld, purpose: str) -> None:
    rejected(shared, forged(shared, key=signing_key(purpose=purpose)))


def test_a_changed_claim_breaks_the_signature(shared: GuestWorld) -> None:
    head, body, signature = shared.token("acme").split(".")
    other = base64.urlsafe_b64encode(json.dumps(claims(shared, all_rows=True)).encode()).rstrip(b"=").decode()
    assert rejected(shared, f"{head}.{other}.{signature}")
    rejected(shared, f"{head}.{body}.{signature[:-2]}")
    rejected(shared, f"{head}.{body}.")


def test_an_older_key_still_reads_and_a_dropped_one_does_not(tmp_path: Path) -> None:
    with guest_world(f"sqlite:///{tmp_path}/a.db", previous_secret_keys=(OTHER_KEY,)) as world:
        assert opens(world, forged(world, key=signing_key(OTHER_KEY)))
        assert read(world.token("acme"))["type"] == "guest"
    with guest_world(f"sqlite:///{tmp_path}/b.db") as world:
        rejected(world, forged(world, key=signing_key(OTHER_KEY)))


# ------------------------------------------------------------------------------------------------------ the claims
@for_each("name", ["type", "aud", "iat", "exp", "jti", "sub", "user", "resources", "rls_rules", "all_rows"])
def test_a_missing_claim_is_a_refusal(shared: GuestWorld, name: str) -> None:
    rejected(shared, forged(shared, **{name: None}))


@for_each(
    ("name", "value"),
    [
        ("type", "access"),
        ("type", "Guest"),
        ("type", 1),
        ("aud", "somebody else"),
        ("aud", ["analytics_core"]),
        ("aud", ""),
        ("iat", "now"),
        ("iat", True),
        ("iat", -1),
        ("exp", "9999999999"),
        ("exp", 1e300),
        ("exp", True),
        ("jti", ""),
        ("jti", 7),
        ("sub", "somebody else"),
        ("user", "guest"),
        ("user", {"username": "guest", "is_admin": True}),
        ("user", {"username": "x" * 65}),
        ("resources", []),
        ("resources", "all"),
        ("resources", [{"type": "chart", "id": "1"}]),
        ("resources", [{"type": "dashboard"}]),
        ("resources", {"type": "dashboard", "id": "1"}),
        ("rls_rules", []),
        ("rls_rules", ["1 = 1"]),
        ("rls_rules", [{"clause": None}]),
        ("rls_rules", [{"clause": "1 = 1", "dataset": "1"}]),
        ("rls_rules", [{**RULE, "values": {"tenant": None}}]),
        ("all_rows", "true"),
        ("all_rows", 1),
        ("all_rows", ["1"]),
        ("roles", ["Administrators"]),
    ],
)
def test_a_claim_of_another_kind_is_a_refusal(shared: GuestWorld, name: str, value: Any) -> None:
    rejected(shared, forged(shared, **{name: value}))


@for_each("token", ["", ".", "..", "a.b.c", "x" * 100, "ey.ey.ey", None, 7, b"bytes", {"token": "x"}])
def test_what_is_no_token_opens_nothing(shared: GuestWorld, token: Any) -> None:
    rejected(shared, token)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_a_time_that_is_no_number_opens_nothing(shared: GuestWorld, number: str) -> None:
    body = json.dumps(claims(shared, exp=123456789)).replace("123456789", number)
    head = jwt.encode({}, signing_key()).split(".")[0]
    signed = f"{head}.{base64.urlsafe_b64encode(body.encode()).rstrip(b'=').decode()}"
    signature = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign(signed.encode(), signing_key())
    rejected(shared, f"{signed}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}")


def test_a_token_that_is_too_long_is_not_even_read(shared: GuestWorld) -> None:
    rejected(shared, forged(shared, user={"username": "guest", "attributes": {f"a{i}": "x" * 250 for i in range(60)}}))


def test_a_token_without_rules_opens_only_what_it_was_minted_to_show_whole(shared: GuestWorld) -> None:
    guest = shared.host.as_guest(forged(shared, rls_rules=[], all_rows=[2]))
    with pytest.raises(errors.DatasetAccessError, match="no row rule for dataset 1"):
        guest.charts.data(1)
    assert len(shared.host.as_guest(forged(shared, rls_rules=[], all_rows=True)).charts.data(1).results[0].data) == 5
    assert len(shared.host.as_guest(forged(shared, rls_rules=[], all_rows=[1])).charts.data(1).results[0].data) == 5


# ----------------------------------------------------------------------------------------------------- life and time
def test_a_token_ends_at_its_time_by_the_clock_of_the_host(world: GuestWorld) -> None:
    token = world.token("acme")
    guest = world.host.as_guest(token)
    later(world, 299.9)
    assert opens(world, token)
    assert guest.charts.get(1).id == 1
    later(world, 0.1)
    assert "expired" in rejected(world, token)
    with pytest.raises(errors.GuestTokenError, match="expired"):
        guest.charts.get(1)


def test_a_namespace_that_was_kept_ends_with_its_token(world: GuestWorld) -> None:
    charts, dashboards = world.guest().charts, world.guest().dashboards
    assert charts.get(1).id == 1
    later(world, 300)
    for call in (lambda: charts.get(1), charts.list, lambda: charts.data(1), lambda: dashboards.get(1)):
        with pytest.raises(errors.GuestTokenError, match="expired"):
            call()


def test_another_now_for_queries_revives_no_token(world: GuestWorld) -> None:
    token, guest = world.token("acme"), world.guest()
    past = world.clock.now() - timedelta(days=1)
    later(world, 400)
    with pytest.raises(errors.GuestTokenError):
        world.host.as_of(past).as_guest(token)
    with pytest.raises(errors.GuestTokenError):
        guest.as_of(past).charts.get(1)


@for_each(("iat", "exp"), [(0, 3_601), (0, 10_000_000), (31, 300), (0, 0), (10, 5)])
def test_times_that_no_minted_token_has_open_nothing(shared: GuestWorld, iat: float, exp: float) -> None:
    now = shared.clock.now().timestamp()
    rejected(shared, forged(shared, iat=now + iat, exp=now + exp))


@pytest.mark.parametrize(("iat", "exp"), [(0, 3_600), (29, 300), (-3_000, 1)])
def test_times_that_a_minted_token_may_have_open(shared: GuestWorld, iat: float, exp: float) -> None:
    now = shared.clock.now().timestamp()
    assert opens(shared, forged(shared, iat=now + iat, exp=now + exp))


@for_each("life_s", [0, -1, 3_601, float("nan"), float("inf"), True, "60"])
def test_a_life_beyond_the_cap_is_not_minted(shared: GuestWorld, life_s: Any) -> None:
    with pytest.raises(errors.LimitError, match="3600"):
        shared.token("acme", life_s=life_s)


def test_life_cap_audience_and_size_come_from_the_settings(tmp_path: Path) -> None:
    choices = {"guest_token_life_s": 10, "guest_token_max_life_s": 20, "guest_token_audience": "shop"}
    with guest_world(f"sqlite:///{tmp_path}/shop.db", guest_token_max_bytes=1_000, **choices) as world:
        token = world.token("acme")
        assert opens(world, token)
        assert "not one" in rejected(world, forged(world))
        assert opens(world, forged(world, aud="shop", exp=world.clock.now().timestamp() + 20))
        with pytest.raises(errors.LimitError, match="bytes"):
            world.token("acme", attributes={"a": "x" * 250, "b": "y" * 250, "c": "z" * 250})
        later(world, 10)
        rejected(world, token)


@pytest.mark.parametrize(
    "bad", [{"guest_token_life_s": 0}, {"guest_token_life_s": 4_000}, {"guest_token_audience": ""}]
)
def test_settings_that_make_no_sense_do_not_start(bad: dict[str, Any]) -> None:
    with pytest.raises(errors.SettingsError, match="guest_token"):
        Settings(secret_key=KEY, **bad)


# -------------------------------------------------------------------------------------------------------- revocation
def test_a_cut_off_of_a_dashboard_ends_the_tokens_minted_before_it(world: GuestWorld) -> None:
    token, guest = world.token("acme"), world.guest()
    later(world, 1)
    world.admin.embedded.revoke_guest_tokens(dashboard_id=2)
    assert opens(world, token)
    world.admin.embedded.revoke_guest_tokens(dashboard_id=1)
    assert "revoked" in rejected(world, token)
    with pytest.raises(errors.GuestTokenError, match="revoked"):
        guest.charts.get(1)
    later(world, 1)
    assert opens(world, world.token("acme"))


def test_a_cut_off_of_a_guest_ends_their_tokens_only(world: GuestWorld) -> None:
    anna, bert = world.token("acme", username="anna"), world.token("acme", username="bert")
    later(world, 1)
    world.admin.embedded.revoke_guest_tokens(subject="anna")
    rejected(world, anna)
    assert opens(world, bert)
    later(world, 1)
    world.admin.embedded.revoke_guest_tokens(subject="anna")
    later(world, 1)
    assert opens(world, world.token("acme", username="anna"))


def test_a_cut_off_of_another_process_counts_after_a_moment(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/store.db"
    with guest_world(f"sqlite:///{tmp_path}/shop.db", metadata_url=store, metadata_freshness_s=5) as world:
        guest = world.guest()
        later(world, 1)
        with AnalyticsCore(Settings(secret_key=KEY), metadata_url=store, clock=world.clock) as other:
            other.as_user("admin").embedded.revoke_guest_tokens(dashboard_id=1)
        later(world, 5)
        with pytest.raises(errors.GuestTokenError, match="revoked"):
            guest.charts.get(1)


def test_revoking_names_exactly_one_thing_and_needs_the_right(world: GuestWorld) -> None:
    for options in ({}, {"dashboard_id": 1, "subject": "anna"}):
        with pytest.raises(errors.PayloadSchemaError, match="either"):
            world.admin.embedded.revoke_guest_tokens(**options)
    with pytest.raises(errors.NotFoundError):
        world.admin.embedded.revoke_guest_tokens(dashboard_id=99)
    world.admin.users.create({"username": "reader", "roles": []})
    reader = world.host.as_user("reader").embedded
    with pytest.raises(errors.OwnershipError):
        reader.revoke_guest_tokens(dashboard_id=1)
    with pytest.raises(errors.AccessError):
        reader.revoke_guest_tokens(subject="anna")


@for_each("subject", ["", 5, ["anna"], "x" * 65, "a\x00", "\ud800"])
def test_revoking_what_no_guest_is_called_is_told_and_not_done(world: GuestWorld, subject: Any) -> None:
    with pytest.raises(errors.PayloadError) as rejection:
        world.admin.embedded.revoke_guest_tokens(subject=subject)
    assert "revoke_guest_tokens" in str(rejection.value)


@for_each("all_rows", [5, None, "1", ["1"], [True], [1.0], [[1]], {"1": 1}])
def test_a_token_that_would_open_nothing_is_not_minted(world: GuestWorld, all_rows: Any) -> None:
    with pytest.raises(errors.PayloadSchemaError, match="all_rows: must be"):
        world.admin.embedded.guest_token(world.request(RULE), all_rows=all_rows)


def test_each_rule_of_a_token_is_read_with_values_of_its_own(world: GuestWorld) -> None:
    by_city = {"clause": "city = {{ value('city') }}", "values": {"city": "Bonn"}}
    guest = world.host.as_guest(world.admin.embedded.guest_token(world.request(RULE, by_city)))
    assert [row[0] for row in guest.charts.data(1).results[0].rows()] == ["Bonn"]


def test_ids_without_an_end_are_more_than_a_token_may_hold(world: GuestWorld) -> None:
    with pytest.raises(errors.LimitError, match="guest_token_max_bytes"):
        world.admin.embedded.guest_token(world.request(RULE), all_rows=itertools.count(1))


@for_each("key", [None, [1], 1.5, True, 10**30, "9999999999"])
def test_what_is_no_id_and_no_uuid_is_embedded_nowhere(world: GuestWorld, key: Any) -> None:
    with pytest.raises(errors.NotFoundError):
        world.admin.embedded.get(key)


def test_a_stored_cut_off_that_cannot_be_read_lets_nobody_in(world: GuestWorld) -> None:
    token = world.token("acme")
    world.admin.embedded.revoke_guest_tokens(dashboard_id=2)
    with world.host._runtime.content.store.unit_of_work() as unit:
        found = unit.key_values.find(kind="guest-cutoff", key="dashboard 2")
        assert found is not None
        unit.key_values.update(replace(found, key="dashboard 1", value="{}"), actor_id=None)
    with pytest.raises(errors.StoredDataError, match="revoke once more"):
        world.host.as_guest(token)
    world.admin.embedded.revoke_guest_tokens(dashboard_id=1)
    with pytest.raises(errors.GuestTokenError, match="revoked"):
        world.host.as_guest(token)


def test_a_token_ends_when_its_dashboard_is_embedded_no_more_also_when_it_is_again(world: GuestWorld) -> None:
    token = world.token("acme")
    world.admin.embedded.delete(1)
    assert "embedded" in rejected(world, token)
    world.admin.embedded.create(1, {"allowed_domains": []})
    assert "embedded" in rejected(world, token)


def test_a_token_with_a_rule_on_a_dataset_that_is_gone_opens_nothing(world: GuestWorld) -> None:
    assert "gone" in rejected(world, forged(world, rls_rules=[{**RULE, "dataset": 99}]))


# ----------------------------------------------------------------------------------------------------------- origins
ALLOWED = ["https://shop.example", "http://localhost:8080"]


@for_each(
    ("origin", "is_open"),
    [
        ("https://shop.example", True),
        ("https://SHOP.example", True),
        ("https://shop.example:443", True),
        ("http://localhost:8080", True),
        ("https://shop.example:8443", False),
        (443, False),
        (b"https://shop.example", False),
        (["https://shop.example"], False),
        ("http://shop.example", False),
        ("https://shop.example.evil.example", False),
        ("https://evil.example/https://shop.example", False),
        ("https://shop.example@evil.example", False),
        ("https://evil.example\\@shop.example", False),
        ("https://a.shop.example", False),
        ("https://shop.example.", False),
        ("http://localhost", False),
        ("null", False),
        ("*", False),
        ("", False),
        ("shop.example", False),
        (" https://shop.example", False),
        (None, False),
    ],
)
def test_only_pages_of_the_allowed_domains_show_the_dashboard(world: GuestWorld, origin: Any, is_open: bool) -> None:
    world.admin.embedded.update(1, {"allowed_domains": ALLOWED})
    token = world.token("acme")
    if is_open:
        assert world.host.as_guest(token, origin=origin).charts.get(1).id == 1
        return
    with pytest.raises(errors.GuestAccessError) as rejection:
        world.host.as_guest(token, origin=origin)
    assert rejection.value.status == 403


def test_a_dashboard_without_domains_is_shown_on_every_page(shared: GuestWorld) -> None:
    for origin in (None, "https://anything.example", "null"):
        assert shared.guest(origin=origin).dashboards.get(1).id == 1


def test_domains_are_asked_again_at_each_call(world: GuestWorld) -> None:
    guest = world.guest(origin="https://old.example")
    world.admin.embedded.update(1, {"allowed_domains": ["https://new.example"]})
    with pytest.raises(errors.GuestAccessError):
        guest.charts.get(1)


def test_of_several_dashboards_those_that_the_page_may_show_are_open(world: GuestWorld) -> None:
    world.admin.embedded.update(2, {"allowed_domains": ["https://b.example"]})
    resources = [{"type": "dashboard", "id": world.uuid}, {"type": "dashboard", "id": "2"}]
    token = world.admin.embedded.guest_token({"resources": resources, "rls": []}, all_rows=True)
    assert [d.id for d in world.host.as_guest(token, origin="https://a.example").dashboards.list()] == [1]
    assert [d.id for d in world.host.as_guest(token, origin="https://b.example").dashboards.list()] == [1, 2]


# -------------------------------------------------------------------------------------------------------------- mint
def test_only_administrators_mint(world: GuestWorld) -> None:
    role = world.admin.roles.create({"name": "readers"})
    world.admin.roles.grant(role, on=("database", 1))
    owner = world.admin.users.create({"username": "owner", "roles": [role.id]})
    world.admin.dashboards.update(1, {"owners": [owner.id]})
    for acting in ("owner", owner.id):
        with pytest.raises(errors.AccessError) as rejection:
            world.host.as_user(acting).embedded.guest_token(world.request(RULE))
        assert rejection.value.status == 403


@for_each(
    ("changes", "path"),
    [
        ({"resources": []}, "resources"),
        ({"resources": None}, "resources"),
        ({"rls": None}, "rls"),
        ({"rls": []}, "rls"),
        ({"rls": [{"clause": " "}]}, "rls.0.clause"),
        ({"rls": [{**RULE, "dataset": 2}]}, "rls.0.dataset"),
        ({"rls": [{**RULE, "values": {"tenant": True}}]}, "rls.0.values"),
        ({"rls": [{**RULE, "values": {"tenant": [1]}}]}, "rls.0.values"),
        ({"rls": [{**RULE, "group_key": "x"}]}, "rls.0.group_key"),
        ({"user": {"username": "a", "id": 1}}, "user.id"),
        ({"life_s": 10}, "life_s"),
    ],
)
def test_a_request_that_says_too_little_or_too_much_is_refused_with_its_place(
    shared: GuestWorld, changes: dict[str, Any], path: str
) -> None:
    with pytest.raises(errors.PayloadSchemaError) as rejection:
        shared.admin.embedded.guest_token({**shared.request(RULE), **changes})
    assert any(problem.path.startswith(path) for problem in rejection.value.problems)


@for_each("key", ["99", "", "shown", "00000000-0000-0000-0000-000000000000", "1 OR 1=1"])
def test_a_resource_must_be_an_embedded_dashboard(shared: GuestWorld, key: str) -> None:
    with pytest.raises(errors.NotFoundError):
        shared.admin.embedded.guest_token({**shared.request(RULE), "resources": [{"type": "dashboard", "id": key}]})


@for_each(
    ("clause", "error"),
    [
        ("1 = 1; DROP TABLE sales", errors.FragmentError),
        ("tenant = 'a') OR (1 = 1", errors.FragmentError),
        ("tenant =", errors.FragmentError),
        ("*", errors.FragmentError),
        ("SUM(amount) > 1", errors.FragmentError),
        ("tenant IN (SELECT word FROM secrets)", errors.SubqueryNotAllowedError),
        ("EXISTS (SELECT 1 FROM secrets)", errors.SubqueryNotAllowedError),
        ("no_such_column = 1", errors.UnknownColumnError),
        ("tenant = {{ value('nobody') }}", errors.TemplateError),
        ("tenant = {{ current_user_attribute('team') }}", errors.TemplateError),
        ("id = {{ current_user_id() }}", errors.TemplateError),
        ("tenant = {{ ''.__class__ }}", errors.TemplateError),
    ],
)
def test_a_clause_that_is_no_condition_is_neither_minted_nor_obeyed(
    shared: GuestWorld, clause: str, error: type[errors.AnalyticsError]
) -> None:
    with pytest.raises(error):
        shared.admin.embedded.guest_token(shared.request({"clause": clause}))
    guest = shared.host.as_guest(forged(shared, rls_rules=[{"clause": clause}]))
    with pytest.raises(errors.QueryError) as rejection:
        guest.charts.data(1).raise_for_error()
    assert clause not in str(rejection.value)


@pytest.mark.parametrize(
    "clause", ["tenant = 'drop table; --'", "tenant <> 'select * from secrets'", "tenant = 'x' -- y", "(1 = 1)"]
)
def test_a_clause_that_only_looks_hostile_is_minted(shared: GuestWorld, clause: str) -> None:
    assert shared.host.as_guest(shared.admin.embedded.guest_token(shared.request({"clause": clause}))).charts.get(1)


def test_a_dataset_without_a_rule_must_be_named_as_seen_whole(world: GuestWorld) -> None:
    both = {
        "resources": [{"type": "dashboard", "id": "1"}, {"type": "dashboard", "id": "2"}],
        "rls": [{**RULE, "dataset": 1}],
    }
    with pytest.raises(errors.PayloadSchemaError, match="datasets 2"):
        world.admin.embedded.guest_token(both)
    guest = world.host.as_guest(world.admin.embedded.guest_token(both, all_rows=[2]))
    assert guest.charts.data(3).results[0].data == [{"word": "hidden-word"}]
    assert {row["city"] for row in guest.charts.data(1).results[0].data} == {"Bonn", "Kiel"}


def test_minting_and_revoking_are_logged_without_the_token(world: GuestWorld) -> None:
    token = world.token("acme", username="anna")
    world.admin.embedded.revoke_guest_tokens(subject="anna")
    with world.host._runtime.content.store.unit_of_work() as unit:
        _, entries = unit.logs.list(ListQuery(page_size=500))
    by_action = {entry.action: entry for entry in entries}
    assert by_action["embedded.guest_token"].dashboard_id == 1
    assert "anna" in (by_action["embedded.guest_token"].json or "")
    assert by_action["embedded.revoke_guest_tokens"].user_id == 1
    assert not any(part in (entry.json or "") for entry in entries for part in token.split("."))
