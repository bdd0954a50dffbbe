"""The client over TLS: an authority of one's own is named to the system, and no other is trusted."""

from pathlib import Path

import pytest
from front import Front
from served import Emissary as Server

from authority import Authority
from emissary.client import Emissary, Patience, ServerUnreachable
from emissary.testing.web import TestWebProcess

_ONCE = Patience(attempts=1)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def trusted(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """The same, and the system has been told to trust it."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    return authority


def test_a_server_whose_authority_the_system_trusts_is_spoken_to(
    trusted: Authority, server: Server, web: TestWebProcess
) -> None:
    pages = [web.host_url(3, f"/page/{number}?tls") for number in range(20)]
    with Front(server.url, secured=trusted.server("127.0.0.1")) as front, Emissary(front.url, server.key) as client:
        batch = client.batch(pages, formats=["rawHtml"]).id
        client.wait(batch)
        assert {result.url for result in client.results(batch)} == set(pages)
        assert front.connections == 1, "it is kept, and nobody is greeted anew for each call"


@pytest.mark.parametrize(
    ("fixture", "name"), [("authority", "127.0.0.1"), ("trusted", "other.example")], ids=["authority", "name"]
)
def test_an_authority_that_nobody_named_or_another_name_is_not_trusted(
    request: pytest.FixtureRequest, server: Server, fixture: str, name: str
) -> None:
    authority: Authority = request.getfixturevalue(fixture)
    with (
        Front(server.url, secured=authority.server(name)) as front,
        Emissary(front.url, server.key, patience=_ONCE) as client,
        pytest.raises(ServerUnreachable, match="in confidence"),
    ):
        client.account()
