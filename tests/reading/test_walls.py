"""Walls are recognised, and pages that look like walls are left alone."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from benchmarks.refusals import answer_to, cases, code_of, scores, walls_among

from emissary.model.pages import Code, Hop, Page, Refusal, Reply, RobotsNote, Timings
from emissary.reading.refusal import read
from emissary.reading.urls import parse
from emissary.reading.walls import refresh_of
from emissary.reading.walls.gate import is_suspicious
from emissary.reading.walls.way import Reaction
from emissary.testing.web.pages.walls import CHALLENGES, ORDINARY, WALLS

_NOW = datetime(2026, 11, 18, 9, 0, tzinfo=UTC)
_NOTE = RobotsNote(None, None, _NOW)
_CASES = cases()
# A page about a place in a real line, which nothing in it tells from a waiting room. Listed in docs/refusals.md.
_KNOWN = {"fresh-doctor-queue"}
_FLOOR = 0.9
_LEAST_PRECISION = 0.98


def _named(case_id: str) -> dict[str, Any]:
    return next(case for case in _CASES if case["id"] == case_id)


def _read(case_id: str) -> Any:
    url, reply, hops = answer_to(_named(case_id))
    return read(url, reply, _NOTE, _NOW, hops=hops)


def test_at_least_a_third_of_the_cases_are_ordinary_pages() -> None:
    labels = Counter(case["label"] for case in _CASES)
    assert len(_CASES) >= 1_000
    assert labels["page"] * 3 >= len(_CASES)


def test_no_two_cases_have_the_same_name() -> None:
    assert len({case["id"] for case in _CASES}) == len(_CASES)


@pytest.mark.parametrize("case", [case for case in _CASES if case["label"] == "page"], ids=lambda case: case["id"])
def test_an_ordinary_page_is_never_read_as_a_refusal(case: dict[str, Any]) -> None:
    assert (code_of(case) == "page") is (case["id"] not in _KNOWN)


@pytest.mark.parametrize("label", sorted({case["label"] for case in _CASES}))
def test_every_kind_of_wall_is_recognised_often_enough(label: str) -> None:
    assert scores(_CASES)[label].recall >= _FLOOR


def test_what_is_called_a_wall_is_one() -> None:
    walls = [score for label, score in scores(_CASES).items() if label != "page"]
    assert sum(score.right for score in walls) / sum(score.said for score in walls) >= _LEAST_PRECISION


@pytest.mark.parametrize("case", [case for case in _CASES if case["label"] != "page"], ids=lambda case: case["id"])
def test_a_refusal_says_what_gave_it_away(case: dict[str, Any]) -> None:
    outcome = _read(case["id"])
    if isinstance(outcome, Refusal):
        assert outcome.detail
        assert outcome.evidence
        assert outcome.robots is _NOTE


@pytest.mark.parametrize(
    ("said", "is_odd"),
    [
        ("We cannot show you this content.", True),  # a no, and a page
        ("We cannot praise it enough.", False),  # a no alone
        ("An enamelled tin with a lid.", False),
    ],
)
def test_a_no_and_a_page_in_one_breath_are_worth_a_closer_look(said: str, *, is_odd: bool) -> None:
    rest = "<p>Baked twice and cooled slowly.</p>" * 400
    body = f"<title>Bread tin</title><body><h1>Bread tin</h1><p>{said}</p>{rest}".encode()
    reply = Reply(200, {"content-type": "text/html"}, body, "192.0.2.1", "1.1", Timings(1, 1), len(body))
    assert is_suspicious(Reaction(parse("https://shop.example/tin"), reply, ())) is is_odd


def test_a_header_alone_says_that_it_is_a_challenge() -> None:
    outcome = _read("cf-header-only")
    assert outcome.code is Code.CHALLENGE
    assert outcome.evidence == ("cf-mitigated: challenge",)


@pytest.mark.parametrize(
    ("case_id", "seconds"),
    [
        ("cf-wr-default", 20),
        ("cf-wr-custom", 20),
        ("cf-wr-json", 20),
        ("generic-line-503", 10),
        ("holding-high-demand", None),
    ],
)
def test_a_waiting_room_says_when_to_come_back(case_id: str, seconds: int | None) -> None:
    outcome = _read(case_id)
    assert outcome.code is Code.WAITING_ROOM
    assert outcome.retry_at == (None if seconds is None else _NOW + timedelta(seconds=seconds))


def test_a_challenge_that_reloads_itself_makes_no_promise() -> None:
    assert _read("cf-managed-no-header").retry_at is None


def test_a_page_that_says_it_is_not_there_is_still_delivered() -> None:
    outcome = _read("soft-plain")
    assert isinstance(outcome, Page)
    assert outcome.code is Code.SOFT_404
    assert outcome.evidence


def test_the_same_sign_in_page_is_a_wall_only_where_another_was_asked_for() -> None:
    url, reply, hops = answer_to(_named("login-gitlab"))
    assert isinstance(read(url, reply, _NOTE, _NOW, hops=hops), Refusal)
    assert isinstance(read(url, reply, _NOTE, _NOW), Page)


_BANNER = (
    "<div class='cmp'><h2>We value your privacy</h2><p>We and our 80 partners use cookies for personalised advertising."
    " You may withdraw your consent at any time.</p><button>Accept all</button><button>Reject all</button></div>"
)
_FORM = '<form method="post"><input name="user"><input type="password" name="pw"><button>Log in</button></form>'
_CHROME = "<style>" + "p{margin:0} " * 2_000 + "</style>"  # large enough that a small page's signs are not looked for
_MENU = "<ul>" + "<li><a href='/x'>Boats</a></li>" * 8 + "</ul>"


def _shown(body: str, *, title: str = "Harbour", path: str = "/stories/regatta", came_from: str | None = None) -> Any:
    page = f"<html><head><title>{title}</title>{_CHROME}</head><body><div>{_MENU}</div>{body}</body></html>".encode()
    reply = Reply(200, {"content-type": "text/html; charset=utf-8"}, page, "", "1.1", Timings(1, 1), len(page))
    hops = () if came_from is None else (Hop(f"https://harbour.example{came_from}", 302, ""),)
    return read(parse(f"https://harbour.example{path}"), reply, _NOTE, _NOW, hops=hops)


def test_a_question_about_cookies_is_a_wall_only_where_there_is_nothing_beside_it() -> None:
    assert _shown(_BANNER).code is Code.CONSENT_WALL
    assert _shown(f"<h1>Opening hours</h1><p>Nine to five.</p>{_BANNER}").code is Code.OK
    assert _shown(f"<h1>Hours</h1><p>9 to 5</p>{_BANNER}").code is Code.OK
    assert (
        _shown(f"<p>Soup is at one, the boats start at ten, and the band plays if it is dry.</p>{_BANNER}").code
        is Code.OK
    )


def test_a_form_for_a_password_is_a_wall_only_where_it_is_all_there_is() -> None:
    assert _shown(f"<h1>Members only</h1>{_FORM}").code is Code.LOGIN_WALL
    beside = "<h1>Regatta</h1><p>Eleven boats start at ten. Soup is at one, prizes are at four, and the band plays.</p>"
    assert _shown(f"{beside}{_FORM}", title="Regatta | Harbour").code is Code.OK
    assert _shown(f"<header>{_FORM}</header><h1>Regatta</h1><p>At ten.</p>").code is Code.OK


@pytest.mark.parametrize(
    "path",
    [
        "/login",
        "/users/sign_in",
        "/wp-login.php",
        "/konto/anmelden",
        "/connexion/",
        "/index.php?title=Special:UserLogin",
    ],
)
def test_whoever_asks_for_the_door_gets_it(path: str) -> None:
    assert _shown(f"<h1>Log in</h1>{_FORM}", title="Log in", path=path).code is Code.OK


def test_a_page_that_needs_an_account_is_a_wall_under_its_own_title() -> None:
    form = _FORM.replace("Log in", "Go")
    body = f"<h1>Minutes of May</h1><p>You must be logged in to view this page.</p>{form}"
    assert _shown(body, title="Minutes of May | Harbour").code is Code.LOGIN_WALL


@pytest.mark.parametrize(
    "said",
    [
        "<h1>Seite nicht gefunden</h1>",
        "<h1>Boat not found</h1><p>It may have been removed.</p>",
        "<h2>Oups !</h2><p>La page que vous cherchez n’existe plus.</p>",
        "<div class='x'>Nie znaleźliśmy strony, której szukasz.</div>",
        "<h1>Dit artikel is niet meer leverbaar</h1><p>Bekijk onze andere artikelen.</p>",
    ],
)
def test_an_apology_is_found_on_a_large_page_whose_title_names_only_the_site(said: str) -> None:
    outcome = _shown(said)
    assert isinstance(outcome, Page)
    assert outcome.code is Code.SOFT_404


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("Lost property | Harbour", "<h1>Lost property</h1><p>Umbrellas not found by Friday go to the market.</p>"),
        ("Lamps | Harbour", "<h1>Lamps</h1><p>No products were found.</p>"),
        ("Brass lamp | Harbour", "<h1>Brass lamp</h1><p>This product is no longer available. Tin ones are.</p>"),
        ("How to fix a “page not found” | Harbour", "<h1>How to fix a “page not found”</h1><p>Mend the link.</p>"),
        ("We have moved | Harbour", "<h1>We have moved</h1><p>The old address no longer works.</p>"),
    ],
)
def test_a_page_about_something_is_no_apology(title: str, said: str) -> None:
    assert _shown(said, title=title).code is Code.OK


def test_the_front_page_in_place_of_one_thing_says_that_the_thing_is_gone() -> None:
    news = "<h1>News</h1>" + "<p>The ferry was late, and nobody minded but the gulls.</p>" * 40
    outcome = _shown(news, path="/", came_from="/lamps/brass-lamp-with-hook")
    assert isinstance(outcome, Page)
    assert outcome.code is Code.SOFT_404
    assert outcome.evidence == (
        "redirected from https://harbour.example/lamps/brass-lamp-with-hook",
        "to the front page",
    )


@pytest.mark.parametrize(
    ("came_from", "path"),
    [("/index.html", "/"), ("/promo", "/"), ("/en", "/"), ("/old/brass-lamp-with-hook", "/lamps/brass-lamp-with-hook")],
)
def test_a_redirect_that_means_something_else_is_left_alone(came_from: str, path: str) -> None:
    assert _shown("<h1>News</h1><p>The ferry was late.</p>", path=path, came_from=came_from).code is Code.OK


def test_a_page_that_is_hidden_until_it_is_drawn_is_still_read() -> None:
    body = b"<html hidden><body hidden><header hidden><nav>x</nav></header><h1>Page not found</h1></body></html>"
    reply = Reply(200, {"content-type": "text/html"}, body, "", "1.1", Timings(1, 1), len(body))
    assert read(parse("https://harbour.example/x"), reply, _NOTE, _NOW).code is Code.SOFT_404


def test_whoever_has_pages_can_see_what_they_are_taken_for(tmp_path: Path) -> None:
    (tmp_path / "lost.html").write_text("<title>Page not found</title><h1>Page not found</h1>")
    (tmp_path / "news.html").write_text("<title>News</title><h1>News</h1><p>The ferry was late.</p>")
    assert [(file.name, code) for file, code, _ in walls_among(tmp_path)] == [
        ("lost.html", Code.SOFT_404),
        ("news.html", None),
    ]


def test_a_site_that_refuses_by_status_is_believed_whatever_its_page_says() -> None:
    body = b"<title>Hello</title><p>" + b"words " * 2_000
    for status, code in ((401, Code.UNAUTHORIZED), (403, Code.FORBIDDEN), (429, Code.RATE_LIMITED), (451, Code.LEGAL)):
        reply = Reply(status, {"content-type": "text/html"}, body, "", "1.1", Timings(1, 1), 1)
        outcome = read(parse("https://example.org/"), reply, _NOTE, _NOW)
        assert isinstance(outcome, Refusal)
        assert outcome.code is code


@pytest.mark.parametrize(
    "body", [b"", b"<", b"<title", b"<title>", b"\xff\xfe", b"<body><form><input", b"{", b"[1]", b"<p>" * 5_000]
)
@pytest.mark.parametrize("kind", ["text/html", "application/json", "text/html; charset=utf-16"])
@pytest.mark.parametrize("status", [200, 403, 503])
def test_whatever_the_bytes_are_there_is_an_answer(body: bytes, kind: str, status: int) -> None:
    reply = Reply(status, {"content-type": kind, "refresh": "x"}, body, "", "1.1", Timings(1, 1), 1)
    read(parse("https://example.org/login?next=/"), reply, _NOTE, _NOW)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("20", 20), ("5; url=/x", 5), (" 0;/y", 0), ("1.5,URL='/z'", 1), ("soon", None), ("", None), (None, None)],
)
def test_a_refresh_is_read_in_all_its_forms(value: str | None, seconds: int | None) -> None:
    assert refresh_of(value) == seconds


# The local web shows one of each.


def _served(path: str, answer: Any) -> Any:
    headers = {name.lower(): value for name, value in answer.headers}
    reply = Reply(answer.status, headers, answer.body, "", "1.1", Timings(1, 1), 1)
    return read(parse(f"https://walls.example{path}"), reply, _NOTE, _NOW)


@pytest.mark.parametrize("vendor", CHALLENGES)
def test_the_local_web_challenges_as_each_vendor_does(vendor: str) -> None:
    assert _served(f"/challenge/{vendor}", CHALLENGES[vendor]).code is Code.CHALLENGE


@pytest.mark.parametrize(
    ("path", "asked", "code"),
    [
        ("/waiting-room", "/waiting-room", Code.WAITING_ROOM),
        ("/login", "/login?next=/members", Code.LOGIN_WALL),
        ("/login", "/login", Code.OK),
        ("/consent", "/consent?continue=/news", Code.CONSENT_WALL),
        ("/soft-404", "/soft-404", Code.SOFT_404),
        ("/denied", "/denied", Code.FORBIDDEN),
    ],
)
def test_the_local_web_has_every_other_wall(path: str, asked: str, code: Code) -> None:
    assert _served(asked, WALLS[path][1]).code is code


@pytest.mark.parametrize("path", ORDINARY)
def test_the_local_web_has_pages_that_only_look_like_walls(path: str) -> None:
    assert _served(path, ORDINARY[path][1]).code is Code.OK
