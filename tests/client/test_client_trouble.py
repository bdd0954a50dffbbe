"""What the client does when a server fails, hangs up, asks for patience, or knows more than it does."""

import json
import tracemalloc

import pytest
from scripted_server import ScriptedServer, answer, chunked, problem

from emissary.client import ApiError, Emissary, Patience, ServerUnreachable
from emissary.client.lines import as_pieces

_PAGE = {"id": "job_1", "status": "completed", "creditsUsed": 1}


def _line(cursor: int) -> bytes:
    line = {"cursor": str(cursor), "id": f"job_{cursor}", "index": cursor, "url": "http://a/", "status": "completed"}
    return json.dumps(line).encode() + b"\n"


@pytest.fixture
def client(scripted: ScriptedServer):  # type: ignore[no-untyped-def]
    with Emissary(scripted.url, "em_test_key") as client:
        yield client


def test_whoever_hangs_up_is_asked_again_with_the_same_key(client: Emissary, scripted: ScriptedServer) -> None:
    scripted.script = [b"", b"HTTP/1.1 200 OK\r\nContent-Le", answer(200, _PAGE)]
    assert client.scrape("http://a/").id == "job_1"
    assert len(scripted.asked) == 3
    assert len({asked.headers["idempotency-key"] for asked in scripted.asked}) == 1
    assert {asked.body for asked in scripted.asked} == {b'{"url":"http://a/"}'}
    assert scripted.asked[0].headers["authorization"] == "Bearer em_test_key"


def test_two_calls_have_two_keys(client: Emissary, scripted: ScriptedServer) -> None:
    scripted.script = [answer(200, _PAGE), answer(200, _PAGE)]
    client.scrape("http://a/")
    client.scrape("http://a/")
    assert len({asked.headers["idempotency-key"] for asked in scripted.asked}) == 2


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_asks_for_patience_gets_it(client: Emissary, scripted: ScriptedServer, status: int) -> None:
    scripted.script = [problem(status, "queue_full", Retry_After="0"), answer(200, _PAGE)]
    assert client.scrape("http://a/").id == "job_1"


def test_our_own_first_try_is_waited_for(client: Emissary, scripted: ScriptedServer) -> None:
    """A page may take longer than we have tries; its first call, cut off, is still under way under the same key."""
    under_way = problem(409, "idempotency_in_flight", Retry_After="1")
    scripted.script = [b"", *[under_way] * 5, answer(200, _PAGE)]
    assert client.scrape("http://a/").id == "job_1"
    assert len({asked.headers["idempotency-key"] for asked in scripted.asked}) == 1


def test_more_patience_than_we_have_is_told(client: Emissary, scripted: ScriptedServer) -> None:
    scripted.script = [problem(429, "queue_full", Retry_After="3600")]
    with pytest.raises(ApiError) as caught:
        client.scrape("http://a/")
    assert (caught.value.status, caught.value.code, caught.value.retry_after) == (429, "queue_full", 3600)
    assert caught.value.detail == "this is queue_full"


@pytest.mark.parametrize("status", [400, 401, 402, 404, 409, 422, 500])
def test_what_will_not_change_is_asked_once(client: Emissary, scripted: ScriptedServer, status: int) -> None:
    scripted.script = [problem(status, "x")]
    with pytest.raises(ApiError):
        client.scrape("http://a/")
    assert len(scripted.asked) == 1


def test_patience_ends(scripted: ScriptedServer) -> None:
    patience = Patience(attempts=2)
    with Emissary(scripted.url, "em_test_key", patience=patience) as client, pytest.raises(ServerUnreachable):
        client.account()
    assert len(scripted.asked) == 2


def test_silence_is_not_waited_out(scripted: ScriptedServer) -> None:
    scripted.script = [chunked(_line(1), is_whole=False)]
    patience = Patience(timeout=0.2, attempts=1)
    with Emissary(scripted.url, "em_test_key", patience=patience) as client, pytest.raises(ServerUnreachable):
        list(client.results("bat_1"))


def test_nobody_there_is_a_sentence() -> None:
    patience = Patience(attempts=1)
    with Emissary("http://127.0.0.1:1", "k", patience=patience) as client, pytest.raises(ServerUnreachable) as caught:
        client.account()
    assert "127.0.0.1:1" in caught.value.detail


def test_somebody_between_us_may_answer_in_another_form(client: Emissary, scripted: ScriptedServer) -> None:
    scripted.script = [b"HTTP/1.1 404 X\r\nContent-Length: 15\r\nConnection: close\r\n\r\n<h1>Nothing</h1"]
    with pytest.raises(ApiError, match="<h1>Nothing"):
        client.account()
    scripted.script = [answer(200, "what?")]
    with pytest.raises(ServerUnreachable, match="not what was expected"):
        client.account()


def test_fields_and_words_of_a_newer_server_do_no_harm(client: Emissary, scripted: ScriptedServer) -> None:
    scripted.script = [
        answer(200, {**_PAGE, "status": "dreaming", "mood": 7, "outcome": {"kind": "new", "code": "odd"}})
    ]
    page = client.scrape("http://a/")
    assert page.outcome is not None
    assert (page.status, page.outcome.code) == ("dreaming", "odd")


def test_results_go_on_behind_the_last_line_that_came_whole(client: Emissary, scripted: ScriptedServer) -> None:
    scripted.script = [
        chunked(_line(1) + _line(2), _line(3)[:20], is_whole=False),
        b"",
        chunked(_line(3), _line(4), is_whole=True),
    ]
    assert [result.cursor for result in client.results("bat_1")] == ["1", "2", "3", "4"]
    assert [asked.line.split()[1] for asked in scripted.asked] == [
        "/v1/batch/bat_1/results",
        "/v1/batch/bat_1/results?after=2",
        "/v1/batch/bat_1/results?after=2",
    ]
    assert {asked.headers["accept"] for asked in scripted.asked} == {"application/x-ndjson"}


def test_a_stream_that_is_left_in_the_middle_is_hung_up_on(scripted: ScriptedServer) -> None:
    """Else the server, which has one hand, would go on sending it and answer nobody."""
    scripted.script = [chunked(*[_line(0) * 1_000] * 300, is_whole=True), answer(200, _PAGE)]
    with Emissary(scripted.url, "em_test_key", patience=Patience(timeout=5, attempts=1)) as client:
        results = client.results("bat_1")
        assert next(results).cursor == "0"
        results.close()  # type: ignore[attr-defined] # as leaving a loop does
        assert client.account().id == "job_1"


def test_pages_that_can_be_had_only_once_are_sent_only_once(client: Emissary, scripted: ScriptedServer) -> None:
    with pytest.raises(ServerUnreachable):
        client.batch(f"http://a/{number}" for number in range(3))
    assert len(scripted.asked) == 1
    scripted.script = [b"", answer(202, {"id": "bat_1", "accepted": 1})]
    assert client.batch(["http://a/"], formats=["text"]).id == "bat_1"
    assert scripted.asked[-1].body == b'{"formats":["text"]}\n{"url":"http://a/"}\n'


@pytest.mark.anyio
async def test_a_long_batch_takes_no_memory() -> None:
    pieces = as_pieces({}, (f"http://shop.example/{number}" for number in range(200_000)))
    tracemalloc.start()
    size = sum([len(piece) async for piece in pieces()])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size > 6_000_000
    assert most < 1_500_000
