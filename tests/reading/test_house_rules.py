"""House rules that are kept elsewhere, that want patience, and that are known for a while."""

from dataclasses import replace
from datetime import timedelta
from email.utils import format_datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import KeptRules, ScriptedWeb, Traveller, answer, closed_to_all, moved_to

from emissary.backends.embedded.database import Database
from emissary.backends.embedded.reading_records import SqliteSiteOwners
from emissary.model.pages import Code, Elsewhere, Page, Refusal, Reply, Unreachable
from emissary.reading.owners import OwnersBook
from emissary.reading.urls import parse
from emissary.reading.visit import MAX_DETOURS, MAX_HOPS
from emissary.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

Answers = dict[str, Reply | Unreachable]

_MINUTE, _DAY = timedelta(minutes=1), timedelta(days=1)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def _travelling(
    answers: Answers, clock: FakeClock, *, kept: KeptRules | None = None, owners: OwnersBook | None = None
) -> Traveller:
    return Traveller(ScriptedWeb(answers), clock, kept, owners)


def _refused(outcome: object) -> Refusal:
    assert isinstance(outcome, Refusal)
    assert outcome.code is Code.ROBOTS
    return outcome


# Kept elsewhere


async def test_rules_that_another_host_keeps_are_asked_for_in_that_hosts_lane(clock: FakeClock) -> None:
    traveller = _travelling({"http://a.example/robots.txt": moved_to("http://b.example/rules.txt")}, clock)
    visit = await traveller.read("http://a.example/page")
    assert isinstance(visit.outcome, Page)
    assert traveller.lanes == ["a.example", "b.example", "a.example"]
    assert traveller.web.asked == [
        "http://a.example/robots.txt",
        "http://b.example/rules.txt",
        "http://a.example/page",
    ]


async def test_a_refusal_is_told_where_it_was_found(clock: FakeClock) -> None:
    answers = {"http://a.example/robots.txt": moved_to("http://b.example/r"), "http://b.example/r": closed_to_all()}
    traveller = _travelling(answers, clock)
    refusal = _refused((await traveller.read("http://a.example/page")).outcome)
    assert refusal.url.href == "http://a.example/page"
    assert refusal.robots is not None
    assert refusal.robots.rule == "Disallow: /"
    assert traveller.lanes == ["a.example", "b.example"]


async def test_a_second_site_that_points_to_the_same_file_does_not_ask_for_it_again(clock: FakeClock) -> None:
    answers = {f"http://{name}.example/robots.txt": moved_to("http://keeper.example/r") for name in "abc"}
    answers["http://keeper.example/r"] = closed_to_all()
    traveller = _travelling(answers, clock)
    for name in "abc":
        _refused((await traveller.read(f"http://{name}.example/page")).outcome)
    assert traveller.web.asked.count("http://keeper.example/r") == 1
    assert traveller.lanes == ["c.example"], "what is known takes no move"


async def test_other_pages_of_the_site_take_neither_a_move_nor_a_question(clock: FakeClock) -> None:
    traveller = _travelling({"http://a.example/robots.txt": moved_to("http://b.example/r")}, clock)
    await traveller.read("http://a.example/1")
    await traveller.read("http://a.example/2")
    assert traveller.lanes == ["a.example"]
    assert traveller.web.asked[3:] == ["http://a.example/2"]


async def test_what_one_process_learned_another_knows(clock: FakeClock) -> None:
    answers: Answers = {"http://a.example/robots.txt": moved_to("http://b.example/r")}
    first = _travelling(answers, clock)
    await first.read("http://a.example/1")
    second = _travelling(answers, clock, kept=first.kept)
    await second.read("http://a.example/2")
    assert second.web.asked == ["http://a.example/2"]


async def test_while_one_job_is_away_the_next_does_not_ask_the_site_again(clock: FakeClock) -> None:
    traveller = _travelling({"http://a.example/robots.txt": moved_to("http://b.example/r")}, clock)
    page = Elsewhere(parse("http://a.example/page"))
    for _ in range(2):
        away = (await traveller.visit(page)).outcome
        assert isinstance(away, Elsewhere)
        assert away.place.href == "http://b.example/r"
    assert traveller.web.asked == ["http://a.example/robots.txt"]


async def test_rules_are_followed_over_several_hosts(clock: FakeClock) -> None:
    answers: Answers = {
        "http://a.example/robots.txt": moved_to("http://b.example/1"),
        "http://b.example/1": moved_to("/2"),
        "http://b.example/2": moved_to("http://c.example/3"),
        "http://c.example/3": moved_to("http://d.example/robots.txt"),
        "http://d.example/robots.txt": closed_to_all(),
    }
    traveller = _travelling(answers, clock)
    _refused((await traveller.read("http://a.example/page")).outcome)
    assert traveller.lanes == ["a.example", "b.example", "c.example", "d.example"]
    _refused((await traveller.read("http://d.example/page")).outcome)
    assert traveller.web.asked.count("http://d.example/robots.txt") == 1, "a host's own file is its own, whoever asked"


@pytest.mark.parametrize(("hops", "kind"), [(5, Refusal), (6, Page)])
async def test_after_five_hops_in_all_the_file_counts_as_missing(clock: FakeClock, hops: int, kind: type) -> None:
    places = ["http://a.example/robots.txt", *(f"http://h{n}.example/r" for n in range(1, hops + 1))]
    answers: Answers = {here: moved_to(there) for here, there in pairwise(places)}
    traveller = _travelling({**answers, places[-1]: closed_to_all()}, clock)
    assert isinstance((await traveller.read("http://a.example/page")).outcome, kind)
    assert traveller.web.rules_asked == places[:6]


async def test_a_ring_ends_and_nobody_in_it_is_asked_twice(clock: FakeClock) -> None:
    answers: Answers = {
        "http://a.example/robots.txt": moved_to("http://b.example/robots.txt"),
        "http://b.example/robots.txt": moved_to("http://a.example/robots.txt"),
    }
    traveller = _travelling(answers, clock)
    assert isinstance((await traveller.read("http://a.example/page")).outcome, Page)
    assert isinstance((await traveller.read("http://b.example/page")).outcome, Page)
    assert traveller.web.rules_asked == list(answers)


async def test_from_http_to_https_of_the_same_name_no_lane_is_left(clock: FakeClock) -> None:
    answers: Answers = {
        "http://a.example/robots.txt": moved_to("https://a.example/robots.txt"),
        "http://a.example/page": moved_to("https://a.example/page"),
    }
    traveller = _travelling(answers, clock)
    assert isinstance((await traveller.read("http://a.example/page")).outcome, Page)
    assert traveller.lanes == ["a.example"]
    assert traveller.web.asked.count("https://a.example/robots.txt") == 1


async def test_from_http_to_https_on_other_ports_the_way_is_made_once(clock: FakeClock) -> None:
    answers: Answers = {
        "http://a.example:8080/robots.txt": moved_to("https://a.example:8443/robots.txt"),
        "http://a.example:8080/1": moved_to("https://a.example:8443/1"),
        "http://a.example:8080/2": moved_to("https://a.example:8443/2"),
    }
    traveller = _travelling(answers, clock)
    assert isinstance((await traveller.read("http://a.example:8080/1")).outcome, Page)
    assert traveller.lanes == ["a.example:8080", "a.example:8443", "a.example:8080", "a.example:8443"]
    assert isinstance((await traveller.read("http://a.example:8080/2")).outcome, Page)
    assert traveller.lanes == ["a.example:8080", "a.example:8443"], "as many moves as the page itself takes"
    assert traveller.web.asked.count("https://a.example:8443/robots.txt") == 1


async def test_a_keeper_that_does_not_answer_is_unreachable_and_asked_again_by_the_next(clock: FakeClock) -> None:
    keeper = "http://b.example/r"
    answers: Answers = {
        "http://a.example/robots.txt": moved_to(keeper),
        keeper: Unreachable(parse(keeper), Code.TIMEOUT, "nothing came"),
    }
    traveller = _travelling(answers, clock)
    for _ in range(2):
        visit = await traveller.read("http://a.example/page")
        assert isinstance(visit.outcome, Unreachable)
        assert visit.outcome.url.href == keeper
        assert traveller.lanes[-1] == "b.example"
    assert traveller.web.asked == ["http://a.example/robots.txt", keeper, keeper]


@pytest.mark.parametrize("when", ["before", "while the job is on its way"])
async def test_a_keeper_whose_owner_wants_us_away_is_not_asked(clock: FakeClock, tmp_path: Path, when: str) -> None:
    database = await Database.open(tmp_path / "emissary.db")
    owners = OwnersBook(SqliteSiteOwners(database), clock)
    traveller = _travelling(
        {"http://a.example/robots.txt": moved_to("http://b.example/robots.txt")}, clock, owners=owners
    )
    there = Elsewhere(parse("http://a.example/page"))
    if when != "before":
        moved = (await traveller.visit(there)).outcome
        assert isinstance(moved, Elsewhere)
        there = moved
    await owners.opt_out("b.example", "", "")
    await database.close()
    refusal = _refused((await traveller.visit(there)).outcome)
    assert "b.example, whose owner has asked us to stay away" in refusal.detail
    assert traveller.web.asked == ["http://a.example/robots.txt"]


# The bound


async def test_a_job_whose_rules_are_forgotten_at_every_turn_comes_to_an_end(clock: FakeClock) -> None:
    traveller = _travelling(
        {"http://a.example/robots.txt": moved_to("http://b.example/r")}, clock, kept=KeptRules(forgetful=True)
    )
    refusal = _refused((await traveller.read("http://a.example/page")).outcome)
    assert "moves from host to host" in refusal.detail
    assert len(traveller.lanes) - 1 == MAX_DETOURS
    assert "http://a.example/page" not in traveller.web.asked


_HOSTS = [f"http://h{n}.example" for n in range(4)]
_targets = st.sampled_from([f"{host}{path}" for host in _HOSTS for path in ("/robots.txt", "/r", "/page")])
_replies = st.one_of(
    st.builds(moved_to, _targets),
    st.sampled_from([answer(), answer(503, retry_after="60"), answer(404), closed_to_all()]),
)


@given(
    web=st.fixed_dictionaries(
        {f"{host}{path}": _replies for host in _HOSTS for path in ("/robots.txt", "/r", "/page")}
    ),
    forgetful=st.booleans(),
)
async def test_on_any_web_a_job_ends_and_asks_every_host_in_its_own_lane(
    web: Answers,
    forgetful: bool,  # noqa: FBT001 - drawn by the test
) -> None:
    traveller = _travelling(web, FakeClock(), kept=KeptRules(forgetful=forgetful))
    await traveller.read("http://h0.example/page")
    assert len(traveller.lanes) - 1 <= MAX_HOPS + (MAX_HOPS + 1) * MAX_DETOURS
    if not forgetful:
        rules = traveller.web.rules_asked
        assert len(rules) == len(set(rules)), "no robots.txt is asked for twice while it is fresh"


# Patience


def _busy(status: int, value: str | None) -> Answers:
    fields = {} if value is None else {"retry_after": value}
    return {"http://a.example/robots.txt": answer(status, **fields)}


@pytest.mark.parametrize("status", [429, 500, 503])
@pytest.mark.parametrize(
    ("value", "rests", "known"),
    [
        (None, None, 5 * _MINUTE),
        ("soon", None, 5 * _MINUTE),
        ("60", _MINUTE, 5 * _MINUTE),
        ("7200", 120 * _MINUTE, 120 * _MINUTE),
        ("99999999", _DAY, _DAY),
        (format_datetime(FakeClock().now() + 30 * _MINUTE, usegmt=True), 30 * _MINUTE, 30 * _MINUTE),
        (format_datetime(FakeClock().now() - 30 * _MINUTE, usegmt=True), timedelta(), 5 * _MINUTE),
    ],
)
async def test_rules_that_want_patience_get_it(
    *, clock: FakeClock, status: int, value: str | None, rests: timedelta | None, known: timedelta
) -> None:
    began = clock.now()
    traveller = _travelling(_busy(status, value), clock)
    refusal = _refused((await traveller.read("http://a.example/page")).outcome)
    assert refusal.retry_at == began + known
    assert refusal.rest_until == (None if rests is None else began + rests)
    clock.advance(known.total_seconds() - 0.001)
    again = _travelling(_busy(status, value), clock, kept=traveller.kept)
    assert _refused((await again.read("http://a.example/page")).outcome).retry_at == began + known
    assert again.web.asked == [], "another worker knows as well"
    clock.advance(0.001)
    await again.read("http://a.example/page")
    assert again.web.asked == ["http://a.example/robots.txt"]


async def test_patience_is_owed_to_the_host_that_asked_for_it(clock: FakeClock) -> None:
    answers: Answers = {
        "http://a.example/robots.txt": moved_to("http://b.example/r"),
        "http://b.example/r": answer(503, retry_after="3600"),
    }
    traveller = _travelling(answers, clock)
    there = _refused((await traveller.read("http://a.example/1")).outcome)
    assert traveller.lanes[-1] == "b.example"
    assert there.rest_until == clock.now() + 60 * _MINUTE
    here = _refused((await traveller.read("http://a.example/2")).outcome)
    assert traveller.lanes == ["a.example"]
    assert (here.retry_at, here.rest_until) == (there.retry_at, None)


async def test_a_retry_after_on_a_good_file_means_nothing(clock: FakeClock) -> None:
    traveller = _travelling({"http://a.example/robots.txt": answer(404, retry_after="3600")}, clock)
    assert isinstance((await traveller.read("http://a.example/page")).outcome, Page)
    assert traveller.kept.files["http://a.example"].retry_at is None


# How long they are known


@pytest.mark.parametrize("aged", ["http://a.example/robots.txt", "http://b.example/r"])
async def test_each_part_of_the_way_is_asked_for_again_after_a_day(clock: FakeClock, aged: str) -> None:
    traveller = _travelling({"http://a.example/robots.txt": moved_to("http://b.example/r")}, clock)
    await traveller.read("http://a.example/1")
    kept = dict(traveller.kept.files)
    clock.advance(_DAY.total_seconds() - 1)
    place = "http://a.example" if aged.startswith("http://a.") else aged
    for other in kept.keys() - {place}:
        traveller.kept.files[other] = replace(kept[other], fetched_at=clock.now())
    clock.advance(1)
    traveller.web.asked.clear()
    await traveller.read("http://a.example/2")
    assert traveller.web.asked == [aged, "http://a.example/2"]


async def test_the_way_to_the_rules_is_not_known_for_longer_because_the_rules_are_younger(clock: FakeClock) -> None:
    traveller = _travelling({"http://a.example/robots.txt": moved_to("http://b.example/r")}, clock)
    away = (await traveller.visit(Elsewhere(parse("http://a.example/1")))).outcome
    assert isinstance(away, Elsewhere)
    clock.advance(3600)
    await traveller.visit(away)
    clock.advance(_DAY.total_seconds() - 3600)
    traveller.web.asked.clear()
    await traveller.read("http://a.example/2")
    assert traveller.web.asked == ["http://a.example/robots.txt", "http://a.example/2"]


async def test_what_robots_txt_says_of_use_goes_with_the_page(clock: FakeClock) -> None:
    rules = answer(body="User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /free/ train-ai=y\n")
    traveller = _travelling({"http://a.example/robots.txt": rules}, clock)
    for path, usage in (("/page", {"train-ai": False}), ("/free/page", {"train-ai": True})):
        page = (await traveller.read(f"http://a.example{path}")).outcome
        assert isinstance(page, Page)
        assert page.usage == usage
