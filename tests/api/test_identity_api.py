"""Who we are, as sites see it: signatures that verify, the documents behind them, and owners who want no visit."""

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from served import LOCAL, Answer, Emissary, asked, until
from watching import requests_to

from emissary import __version__
from emissary.compose import open_app
from emissary.reading.urls import parse
from emissary.settings import load_settings
from emissary.testing.web import TestWebProcess

_AGENT = "https://agent.example"
_DIRECTORY = "/.well-known/http-message-signatures-directory"
_SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()


@pytest.fixture(scope="module")
def signing(tmp_path_factory: pytest.TempPathFactory) -> Any:
    settings = {**LOCAL, "EMISSARY_AGENT_URL": _AGENT, "EMISSARY_AGENT_EMAIL": "bot@agent.example"}
    with Emissary(tmp_path_factory.mktemp("signing"), settings) as server:
        yield server


def keys(server: Emissary) -> dict[str, Ed25519PublicKey]:
    """The keys of the directory by their names."""
    found = server.ask("GET", _DIRECTORY).json()["keys"]
    return {key["kid"]: Ed25519PublicKey.from_public_bytes(_unpadded(key["x"])) for key in found}


def _unpadded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def verify(headers: Mapping[str, str], values: Mapping[str, str], published: Mapping[str, Ed25519PublicKey]) -> str:
    """Check every signature of a message as RFC 9421 says; raises InvalidSignature. Returns the parameters."""
    inputs = dict(re.findall(r"(\w+)=(\([^)]*\)[^,]*)", headers["signature-input"]))
    signatures = dict(re.findall(r"(\w+)=:([A-Za-z0-9+/=]+):", headers["signature"]))
    assert inputs
    assert set(inputs) == set(signatures)
    for label, signed in inputs.items():
        covered = re.findall(r'"[^"]+"(?:;[a-z]+(?:="[^"]*")?)*', signed[1 : signed.index(")")])
        lines = [f"{name}: {values[name]}" for name in covered]
        base = "\n".join([*lines, f'"@signature-params": {signed}'])
        (key,) = re.findall(r'keyid="([^"]+)"', signed)
        published[key].verify(base64.b64decode(signatures[label]), base.encode())
    return headers["signature-input"]


def verify_request(request: dict[str, Any], published: Mapping[str, Ed25519PublicKey]) -> str:
    headers = request["headers"]
    agent = f'"{_AGENT}{_DIRECTORY}"'
    assert headers["signature-agent"] == f"sig1={agent}"
    values = {
        '"@method"': request["method"],
        '"@authority"': headers["host"],
        '"@path"': request["path"].partition("?")[0],
        '"signature-agent";key="sig1"': agent,
    }
    return verify(headers, values, published)


def test_every_request_carries_a_signature_that_our_directory_verifies(signing: Emissary, web: TestWebProcess) -> None:
    web.clear()
    answer = signing.scrape(
        web.url("shop", "/listing?page=2"), webhook={"url": web.url("hooks", "/hook"), "secret": _SECRET}
    )
    told = until(lambda: requests_to(web, "hooks"))
    seen = requests_to(web, "shop") + told
    assert [(each["method"], each["path"]) for each in seen] == [
        ("GET", "/robots.txt"),
        ("GET", "/listing?page=2"),
        ("POST", "/hook"),
    ]
    published = keys(signing)
    for request in seen:
        parameters = verify_request(request, published)
        assert f'keyid="{answer["receipt"]["keyId"]}"' in parameters
        assert 'tag="web-bot-auth"' in parameters


def test_a_signature_is_worth_nothing_for_another_page(signing: Emissary, web: TestWebProcess) -> None:
    web.clear()
    signing.scrape(web.url("trouble", "/"))
    request = requests_to(web, "trouble")[-1]
    with pytest.raises(InvalidSignature):
        verify_request({**request, "path": "/status/200"}, keys(signing))


def test_name_and_address_go_with_every_request(signing: Emissary, web: TestWebProcess) -> None:
    web.clear()
    signing.scrape(web.url("news", "/"))
    for request in requests_to(web, "news"):
        assert request["headers"]["user-agent"] == f"Emissary/{__version__} (+{_AGENT}/bot)"
        assert request["headers"]["from"] == "bot@agent.example"


def test_without_an_address_nothing_is_signed_and_nothing_pretended(server: Emissary, web: TestWebProcess) -> None:
    web.clear()
    answer = server.scrape(web.url("trouble", "/"))
    (request,) = requests_to(web, "trouble", "/")
    assert {"signature", "signature-input", "signature-agent", "from"}.isdisjoint(request["headers"])
    assert answer["receipt"]["keyId"] is None
    for path in (_DIRECTORY, "/.well-known/emissary-agent.json"):
        missing = server.ask("GET", path)
        assert (missing.status, missing.json()["code"]) == (404, "not_found")


def test_the_directory_proves_its_keys_whatever_host_it_is_asked_by(signing: Emissary) -> None:
    answer = signing.ask("GET", _DIRECTORY, headers={"Host": "thief.example"})
    assert (answer.status, answer.kind) == (200, "application/http-message-signatures-directory+json")
    digest = base64.b64encode(hashlib.sha256(answer.body).digest()).decode()
    assert answer.headers["content-digest"] == f"sha-256=:{digest}:"
    values = {'"@authority";req': "agent.example", '"content-digest"': f"sha-256=:{digest}:"}
    assert 'tag="http-message-signatures-directory"' in verify(answer.headers, values, keys(signing))


def test_the_directory_shows_no_secret(signing: Emissary) -> None:
    for key in signing.ask("GET", _DIRECTORY).json()["keys"]:
        assert set(key) <= {"kty", "crv", "kid", "x", "use", "nbf", "exp"}


def test_the_same_keys_sign_after_a_new_start(start: Callable[..., Emissary]) -> None:
    first = start(EMISSARY_AGENT_URL=_AGENT)
    before = set(keys(first))
    first.stop()
    assert set(keys(start(EMISSARY_AGENT_URL=_AGENT))) == before


def test_the_agent_card_says_who_we_are(signing: Emissary) -> None:
    card = signing.ask("GET", "/.well-known/emissary-agent.json").json()
    assert card["client_id"] == f"{_AGENT}/.well-known/emissary-agent.json"
    assert card["jwks_uri"] == _AGENT + _DIRECTORY
    assert card["contacts"] == ["mailto:bot@agent.example"]
    assert card["web_bot_auth"]["expected-user-agent"] == f"Emissary/{__version__} (+{_AGENT}/bot)"


def test_owners_find_a_page_about_us(signing: Emissary, server: Emissary) -> None:
    page = signing.ask("GET", "/bot")
    assert (page.status, page.kind) == (200, "text/html")
    for words in (f"Emissary/{__version__} (+{_AGENT}/bot)", "bot@agent.example", _DIRECTORY, "/bot/opt-out"):
        assert words in page.body.decode()
    assert "Web Bot Auth" not in server.ask("GET", "/bot").body.decode()


def test_a_site_that_wants_a_pause_between_requests_gets_it(
    start: Callable[..., Emissary], web: TestWebProcess
) -> None:
    server = start(EMISSARY_HOST_GAP="0")
    web.clear()
    for _ in range(3):
        server.scrape(web.url("news", "/"))
    times = [each["at"] for each in requests_to(web, "news", "/")]
    assert len(times) == 3
    assert min(later - earlier for earlier, later in pairwise(times)) >= 0.19


def opt_out(server: Emissary, host: str, *, form: bool) -> Answer:
    body, kind = (urlencode({"host": host}), "x-www-form-urlencoded") if form else (json.dumps({"host": host}), "json")
    return server.ask("POST", "/bot/opt-out", body.encode(), {"Content-Type": f"application/{kind}"})


@pytest.mark.parametrize("form", [True, False])
def test_an_owner_who_says_so_is_left_alone_at_once(
    *, start: Callable[..., Emissary], web: TestWebProcess, form: bool
) -> None:
    server, url = start(), web.host_url(7, "/small")
    assert server.scrape(url)["status"] == "completed"
    answer = opt_out(server, web.hosts[6], form=form)
    assert answer.status == 200
    assert web.hosts[6] in answer.body.decode()
    assert answer.kind == ("text/html" if form else "application/json")
    before = asked(web, url)
    for _ in range(2):
        refused = server.scrape(url)
        assert (refused["status"], refused["outcome"]["kind"], refused["outcome"]["code"]) == (
            "refused",
            "refusal",
            "opted_out",
        )
        assert refused["document"] is None
    assert asked(web, url) == before
    assert server.scrape(web.host_url(8, "/small"))["status"] == "completed"


@pytest.mark.parametrize(
    "said", ["example.test", "https://example.test/any/page?x", " *.Example.Test ", "example.test."]
)
def test_everything_below_a_host_is_left_alone_and_nothing_beside_it(
    start: Callable[..., Emissary], web: TestWebProcess, said: str
) -> None:
    server = start()
    assert opt_out(server, said, form=False).json()["host"] == "example.test"
    for name in ("example.test", "www.example.test", "a.b.example.test:8080", "WWW.example.test."):
        assert server.scrape(f"http://{name}/")["outcome"]["code"] == "opted_out", name
    for name in ("notexample.test", "test"):
        assert server.scrape(f"http://{name}/", timeoutMs=5000)["outcome"]["code"] != "opted_out", name


def test_another_process_learns_of_it(start: Callable[..., Emissary], tmp_path: Path) -> None:
    server, url = start(), parse("http://www.example.test/")

    async def learn() -> None:
        async with open_app(load_settings(data_dir=tmp_path / "data")) as app:
            await app.upkeep.learn()
            assert app.services.owners.refusal(url) is None
            await asyncio.to_thread(opt_out, server, "example.test", form=True)
            await app.upkeep.learn()
            assert app.services.owners.refusal(url) is not None

    asyncio.run(learn())


@pytest.mark.parametrize("host", ["", "com", "co.uk", "a b", "http://", "ftp://example.test", "x" * 300])
def test_what_is_no_host_of_anybody_is_not_noted(server: Emissary, host: str) -> None:
    for form in (True, False):
        answer = opt_out(server, host, form=form)
        assert answer.status == 400
        assert answer.json()["detail"]


def test_a_word_of_another_kind_is_not_understood(server: Emissary) -> None:
    answer = server.ask("POST", "/bot/opt-out", b"<host/>", {"Content-Type": "text/xml"})
    assert answer.status == 415
