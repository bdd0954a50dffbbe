"""One account learns nothing of another's things: on every route, a foreign id answers like one that never was."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from served import LOCAL, Answer, Emissary
from watching import opened_by_admin

from emissary.api.app import create_app
from emissary.telemetry.metrics import Metrics
from emissary.testing.web import TestWebProcess

_BODIES: dict[str, object] = {"PATCH": {"name": "taken over"}, "POST": {}}
# Bodies that a route does not go without.
_NEEDED: dict[str, object] = {
    "POST /v1/admin/accounts/{account}/keys": {"name": "a way in"},
    "PATCH /v1/webhooks/{webhook}": {"active": False},
    "POST /v1/webhooks/{webhook}/replay": {"since": "2020-01-01T00:00:00Z"},
}


def _routes() -> list[tuple[str, str]]:
    """Every method and path with an id in it that asks for a key, as the document has them."""
    bare = SimpleNamespace(version="0", metrics=Metrics(), clock=None)
    document = create_app(bare).openapi()  # type: ignore[arg-type]
    return [
        (method.upper(), path)
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if "{" in path and "security" in operation
    ]


@dataclass(frozen=True)
class Town:
    """A server, the keys of two accounts on it, and what the first of them has."""

    ann: Emissary
    bob: Emissary
    things: dict[str, str]  # by the part of the path before the id

    def path_to(self, path: str, spoil: Callable[[str], str]) -> tuple[str, list[str]]:
        """The path with the ids of Ann's things in it, and these ids."""
        ids = []
        while found := re.search(r"([^{]*/)\{[^}]+\}", path):
            kind = re.sub(r"/acc_[^/]+", "/{account}", found[1])
            if kind not in self.things:
                pytest.fail(f"{path}: say in this file how Ann comes by one of these, under {kind!r}")
            ids.append(spoil(self.things[kind]))
            path = path.replace(found[0], found[1] + ids[-1], 1)
        return path, ids


def _never_was(name: str) -> str:
    """An id of the same form that nobody was given: another by its last character."""
    return name[:-1] + ("0" if name[-1] != "0" else "1")


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory, web: TestWebProcess) -> Iterator[Town]:
    with ExitStack() as stack:
        server = stack.enter_context(Emissary(tmp_path_factory.mktemp("town"), LOCAL))
        account, ann = opened_by_admin(server, name="Ann")
        _, bob = opened_by_admin(server, name="Bob")
        key = ann.post("/v1/keys", {"name": "another"}).json()["id"]
        job = ann.scrape(web.host_url(1, "/small"))
        batch = ann.post("/v1/batch", {"urls": [web.host_url(1, "/small?1")]}).json()["id"]
        crawl = ann.post("/v1/crawl", {"url": web.host_url(2, "/small"), "limit": 1}).json()["id"]
        webhook = ann.post("/v1/webhooks", {"url": web.url("hooks", "/hook")}).json()["id"]
        things = {
            "/v1/webhooks/": webhook,
            "/v1/jobs/": job["id"],
            "/v1/receipts/": job["receipt"]["id"],
            "/v1/documents/": job["document"]["id"],
            "/v1/batch/": batch,
            "/v1/crawl/": crawl,
            "/v2/batch/scrape/": batch,
            "/v2/crawl/": crawl,
            "/v1/keys/": key,
            "/v1/admin/accounts/": account["id"],
            "/v1/admin/accounts/{account}/keys/": key,
        }
        yield Town(ann, bob, things)


def _ask(who: Emissary, method: str, path: str, route: str) -> Answer:
    body: Any = _NEEDED.get(f"{method} {route}", _BODIES.get(method))
    headers = dict(who.authority)
    if body is not None:
        headers["Content-Type"] = "application/json"
    return who.ask(method, path, None if body is None else json.dumps(body).encode(), headers)


def _told(answer: Answer, ids: list[str]) -> tuple[int, str, bytes]:
    """What was answered, with the ids taken out; the receipt and the document of a job bear its name."""
    body = answer.body
    for each in ids:
        body = body.replace(each.encode(), b"ID").replace(each.partition("_")[2].encode(), b"NAME")
    return answer.status, answer.kind, body


@pytest.mark.parametrize(("method", "route"), _routes())
def test_a_foreign_id_answers_like_one_that_never_was(town: Town, method: str, route: str) -> None:
    foreign, foreign_ids = town.path_to(route, str)
    made_up, made_up_ids = town.path_to(route, _never_was)
    answers = _ask(town.bob, method, foreign, route), _ask(town.bob, method, made_up, route)
    assert answers[0].status in (403, 404), answers[0].body
    assert _told(answers[0], foreign_ids) == _told(answers[1], made_up_ids)


@pytest.mark.parametrize("route", [path for method, path in _routes() if method == "GET" and "admin" not in path])
def test_the_same_id_is_there_for_its_owner(town: Town, route: str) -> None:
    path, _ = town.path_to(route, str)
    assert _ask(town.ann, "GET", path, route).status == 200


def test_nothing_of_what_the_stranger_tried_had_an_effect(town: Town) -> None:
    for method, route in _routes():
        _ask(town.bob, method, town.path_to(route, str)[0], route)
    assert town.ann.get(f"/v1/batch/{town.things['/v1/batch/']}").json()["status"] in ("running", "completed")
    (key,) = (each for each in town.ann.get("/v1/keys").json()["data"] if each["id"] == town.things["/v1/keys/"])
    assert (key["live"], key["expiresAt"]) == (True, None)
    assert town.ann.get(f"/v1/webhooks/{town.things['/v1/webhooks/']}").json()["active"] is True
