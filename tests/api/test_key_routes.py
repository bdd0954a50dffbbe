"""Keys over HTTP: what each may be used for, how they are rotated, and when they open nothing any more."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from served import Emissary, until
from watching import opened_by_admin, with_key

from emissary.compose import the_clock


def make(server: Emissary, name: str, *scopes: str, **wish: object) -> dict[str, Any]:
    answer = server.post("/v1/keys", {"name": name, "scopes": scopes or ["read", "write"], **wish})
    assert answer.status == 201, answer.body
    made: dict[str, Any] = answer.json()
    return made


def code(answer: Any) -> tuple[int, str]:
    return answer.status, answer.json().get("code", "")


def test_a_key_is_shown_once_and_listed_without_its_secret(server: Emissary) -> None:
    made = make(server, "shown once", "read")
    secret = made.pop("key")
    assert secret.startswith(made["hint"] + "_")
    listed = server.get("/v1/keys?limit=1000")
    (found,) = (key for key in listed.json()["data"] if key["id"] == made["id"])
    assert found == made
    assert (found["name"], found["scopes"], found["live"]) == ("shown once", ["read"], True)
    assert secret.encode() not in listed.body


def test_keys_are_listed_in_pages(server: Emissary) -> None:
    for number in range(3):
        make(server, f"page {number}")
    seen, after = [], ""
    while True:
        page = server.get(f"/v1/keys?limit=2&after={after}").json()
        seen += [key["id"] for key in page["data"]]
        if page["next"] is None:
            break
        after = page["next"]
    assert seen == [key["id"] for key in server.get("/v1/keys?limit=1000").json()["data"]]


@pytest.mark.parametrize(
    ("scope", "opened"),
    [
        ("read", {"GET /v1/account"}),
        ("write", {"POST /v1/scrape"}),
        ("keys", {"GET /v1/keys"}),
        ("admin", {"GET /v1/admin/accounts"}),
    ],
)
def test_a_key_is_good_for_its_scope_and_for_nothing_else(server: Emissary, scope: str, opened: set[str]) -> None:
    limited = with_key(server, make(server, f"only {scope}", scope)["key"])
    answers = {
        "GET /v1/account": limited.get("/v1/account"),
        "POST /v1/scrape": limited.post("/v1/scrape", {"url": "no url"}),
        "GET /v1/keys": limited.get("/v1/keys"),
        "GET /v1/admin/accounts": limited.get("/v1/admin/accounts"),
    }
    assert {route for route, answer in answers.items() if answer.status != 403} == opened
    for answer in answers.values():
        if answer.status == 403:
            assert answer.json()["code"] == "missing_scope"
            assert "scope `" in answer.json()["detail"]


def test_nobody_gives_out_a_scope_they_do_not_have(server: Emissary) -> None:
    keeper = with_key(server, make(server, "keeper", "keys", "read")["key"])
    assert code(keeper.post("/v1/keys", {"name": "x", "scopes": ["admin"]})) == (403, "missing_scope")
    strong = make(server, "strong", "read", "admin")
    assert code(keeper.post(f"/v1/keys/{strong['id']}/rotate", {})) == (403, "missing_scope")
    assert make(keeper, "weak", "read")["scopes"] == ["read"]


def test_two_keys_of_one_name_and_no_third(server: Emissary) -> None:
    for _ in range(2):
        last = make(server, "rotated")
    answer = server.post("/v1/keys", {"name": "rotated"})
    assert code(answer) == (409, "too_many_keys")
    assert "revoke one" in answer.json()["detail"]
    assert server.delete(f"/v1/keys/{last['id']}").status == 200
    make(server, "rotated")


def test_a_rotated_key_opens_beside_the_new_one_for_as_long_as_was_said(server: Emissary) -> None:
    old = make(server, "to rotate")
    answer = server.post(f"/v1/keys/{old['id']}/rotate", {"graceSeconds": 3600})
    assert answer.status == 201
    new = answer.json()
    assert (new["name"], new["scopes"]) == (old["name"], old["scopes"])
    for key in (old["key"], new["key"]):
        assert with_key(server, key).get("/v1/account").status == 200
    (listed,) = (key for key in server.get("/v1/keys?limit=1000").json()["data"] if key["id"] == old["id"])
    left = datetime.fromisoformat(listed["expiresAt"]) - the_clock().now()
    assert timedelta(minutes=55) < left <= timedelta(hours=1)


def test_without_grace_the_old_key_opens_nothing_from_then_on(server: Emissary) -> None:
    old = make(server, "at once")
    assert with_key(server, old["key"]).get("/v1/account").status == 200
    assert server.post(f"/v1/keys/{old['id']}/rotate", {"graceSeconds": 0}).status == 201
    assert code(with_key(server, old["key"]).get("/v1/account")) == (401, "invalid_key")
    assert code(server.post(f"/v1/keys/{old['id']}/rotate", {})) == (409, "key_ended")


def test_a_revoked_key_opens_nothing_at_once_and_says_since_when(server: Emissary) -> None:
    made = make(server, "revoked")
    assert with_key(server, made["key"]).get("/v1/account").status == 200
    revoked = server.delete(f"/v1/keys/{made['id']}").json()
    assert (revoked["live"], revoked["revokedAt"] is not None) == (False, True)
    assert code(with_key(server, made["key"]).get("/v1/account")) == (401, "invalid_key")
    assert server.delete(f"/v1/keys/{made['id']}").json()["revokedAt"] == revoked["revokedAt"]


def test_a_key_may_expire(server: Emissary) -> None:
    soon = the_clock().now() + timedelta(seconds=1)
    made = make(server, "expires", expiresAt=soon.isoformat())
    brief = with_key(server, made["key"])
    until(lambda: brief.get("/v1/account").status == 401)
    assert the_clock().now() >= soon
    past = {"name": "late", "expiresAt": "2020-01-01T00:00:00Z"}
    assert "a time to come" in server.post("/v1/keys", past).json()["detail"]


def test_a_slip_of_the_pen_is_told_as_such(server: Emissary) -> None:
    secret = make(server, "mistyped")["key"]
    slipped = secret[:-10] + ("a" if secret[-10] != "a" else "b") + secret[-9:]
    answer = with_key(server, slipped).get("/v1/account")
    assert code(answer) == (401, "invalid_key")
    assert "checksum" in answer.json()["detail"]
    other = with_key(server, "some-key-of-another-form").get("/v1/account")
    assert "checksum" not in other.json()["detail"]


def test_the_last_use_can_be_seen(start: Callable[..., Emissary]) -> None:
    server = start()
    made = make(server, "used")
    assert made["lastUsedAt"] is None
    with_key(server, made["key"]).get("/v1/account")

    def used() -> str | None:
        (found,) = (key for key in server.get("/v1/keys").json()["data"] if key["id"] == made["id"])
        return found["lastUsedAt"]

    last = datetime.fromisoformat(until(used))
    assert the_clock().now() - last < timedelta(seconds=30)


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        ({}, "/name"),
        ({"name": ""}, "/name"),
        ({"name": " x"}, "no spaces"),
        ({"name": "a\nb"}, "printable"),
        ({"name": "x", "scopes": []}, "/scopes"),
        ({"name": "x", "scopes": ["root"]}, "/scopes/0"),
        ({"name": "x", "expiresAt": "2099-01-01T00:00:00"}, "timezone"),
        ({"name": "x", "colour": "red"}, "/colour"),
    ],
)
def test_a_wish_that_makes_no_sense_is_told_so(server: Emissary, wish: dict[str, object], told: str) -> None:
    answer = server.post("/v1/keys", wish)
    assert answer.status == 400
    assert told in answer.json()["detail"]


# The operator


def test_the_operator_opens_accounts_and_sees_them(server: Emissary) -> None:
    account, customer = opened_by_admin(server, name="A data team", weight=2.0, mostQueued=10, credits=100)
    assert account["allowance"] == {"weight": 2.0, "mostActive": None, "mostQueued": 10, "rate": None}
    assert account["credits"] == {"left": 100, "reserved": 0, "available": 100}
    seen = customer.get("/v1/account").json()
    assert (seen["id"], seen["allowance"], seen["credits"]) == (
        account["id"],
        account["allowance"],
        account["credits"],
    )
    listed = server.get("/v1/admin/accounts?limit=1000").json()["data"]
    assert {"id": account["id"], "name": "A data team", "createdAt": account["createdAt"]} in listed
    assert server.get(f"/v1/admin/accounts/{account['id']}").json() == account


def test_what_is_not_named_stays_as_it_is(server: Emissary) -> None:
    account, _ = opened_by_admin(server, weight=2.0, mostQueued=10, rate={"perMinute": 600})
    path = f"/v1/admin/accounts/{account['id']}"
    assert account["allowance"]["rate"] == {"perMinute": 600, "burst": 600}
    changed = server.patch(path, {"mostActive": 3, "rate": {"perMinute": 60, "burst": 5}}).json()
    rate = {"perMinute": 60, "burst": 5}
    assert changed["allowance"] == {"weight": 2.0, "mostActive": 3, "mostQueued": 10, "rate": rate}
    changed = server.patch(path, {"mostQueued": None, "rate": None, "name": "renamed"}).json()
    assert changed["allowance"] == {"weight": 2.0, "mostActive": 3, "mostQueued": None, "rate": None}
    assert (changed["name"], changed["credits"]) == ("renamed", None)
    assert server.patch(path, {"credits": 5}).json()["credits"]["left"] == 5
    assert server.patch(path, {"addCredits": 7}).json()["credits"]["left"] == 12
    assert code(server.patch(path, {"credits": 1, "addCredits": 1})) == (400, "invalid_request")
    assert server.patch(path, {"credits": None}).json()["credits"] is None


def test_the_operator_handles_the_keys_of_any_account(server: Emissary) -> None:
    account, customer = opened_by_admin(server)
    path = f"/v1/admin/accounts/{account['id']}/keys"
    (key,) = server.get(path).json()["data"]
    assert key["scopes"] == ["read", "write", "keys"]
    assert server.delete(f"{path}/{key['id']}").json()["live"] is False
    assert customer.get("/v1/account").status == 401


def test_what_the_operator_asks_for_in_vain_is_not_there(server: Emissary) -> None:
    account, _ = opened_by_admin(server)
    mine = server.get("/v1/keys").json()["data"][0]["id"]
    for answer in (
        server.get("/v1/admin/accounts/acc_nobody"),
        server.patch("/v1/admin/accounts/acc_nobody", {"weight": 1.5}),
        server.post("/v1/admin/accounts/acc_nobody/keys", {"name": "x"}),
        server.delete(f"/v1/admin/accounts/{account['id']}/keys/{mine}"),
    ):
        assert code(answer) == (404, "not_found")


def test_a_customer_is_no_operator(server: Emissary) -> None:
    account, customer = opened_by_admin(server)
    for answer in (
        customer.get("/v1/admin/accounts"),
        customer.post("/v1/admin/accounts", {"name": "x"}),
        customer.patch(f"/v1/admin/accounts/{account['id']}", {"credits": None}),
    ):
        assert code(answer) == (403, "missing_scope")


# How often, and for how much


def test_a_rate_is_told_with_every_answer_and_kept(server: Emissary) -> None:
    _, customer = opened_by_admin(server, rate={"perMinute": 60, "burst": 5})
    answers = [customer.get(path) for path in ("/v1/account", "/v1/jobs/x", "/v1/admin/accounts", "/v1/usage?by=x")]
    assert [answer.status for answer in answers] == [200, 404, 403, 400]
    for answer in answers:
        assert answer.headers["ratelimit-policy"] == '"default";q=60;w=60'
        assert answer.headers["ratelimit"].startswith('"default";r=')
    assert answers[0].headers["ratelimit"] == '"default";r=4;t=1'
    more = [customer.get("/v1/account") for _ in range(5)]
    refused = [answer for answer in more if answer.status == 429]
    assert refused
    assert code(refused[0]) == (429, "rate_limited")
    assert refused[0].headers["retry-after"] == "1"
    assert refused[0].headers["ratelimit"].startswith('"default";r=0;t=')
    until(lambda: customer.get("/v1/account").status == 200)


def test_without_a_rate_nothing_is_said_of_one(server: Emissary) -> None:
    assert "ratelimit" not in server.get("/v1/account").headers
    assert "ratelimit" not in server.ask("GET", "/healthz").headers


def test_the_rate_for_all_holds_where_an_account_has_none_of_its_own(start: Callable[..., Emissary]) -> None:
    server = start(EMISSARY_ACCOUNT_RATE="600", EMISSARY_ACCOUNT_BURST="50")
    assert server.get("/v1/account").headers["ratelimit-policy"] == '"default";q=600;w=60'
    assert server.get("/v1/account").json()["allowance"]["rate"] == {"perMinute": 600, "burst": 50}


def test_two_servers_keep_one_rate(start: Callable[..., Emissary]) -> None:
    servers = [start(), start()]
    _, customer = opened_by_admin(servers[0], rate={"perMinute": 1, "burst": 20})
    for server in servers:
        server.key = customer.key
    answers = [server.get("/v1/account").status for _ in range(15) for server in servers]
    assert (answers.count(200), answers.count(429)) == (20, 10)


@pytest.mark.parametrize("path", ["/v1/keys?after=%00", "/v1/admin/accounts?after=%00"])
def test_a_cursor_that_leads_nowhere_is_told_so(server: Emissary, path: str) -> None:
    assert code(server.get(path)) == (400, "invalid_cursor")
