"""House rules that other hosts keep, on real workers and the local web: each request in its host's lane and pace."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from scraping import LaneWatch, outcome_of, page_job, scraping
from workshop import Workshop, working

from emissary.model.jobs import JobState
from emissary.model.lanes import Pace
from emissary.testing.web import TestWeb
from emissary.testing.web.answers import Answer, Request, Whole, html, text
from emissary.testing.web.pages.plain import plain_page
from emissary.testing.web.site import Route, Site

pytestmark = pytest.mark.anyio

_GAP = timedelta(milliseconds=40)
_HOSTS = 12


def _keeping(place: str) -> Site:
    """Hosts that all point to the first one: `{n}` in the place stands for the number of the host that points."""

    def rules(request: Request) -> Answer:
        address, _, port = request.origin.removeprefix("http://").rpartition(":")
        number = address.rpartition(".")[2]
        if number == "1":
            return text("User-agent: *\nDisallow:\n")
        return Whole(301, (("Location", f"http://127.0.1.1:{port}{place.format(n=number)}"),))

    return Site(
        "keeping",
        "house rules in one place",
        (
            Route("/robots.txt", "at the first host", rules),
            Route("/rules/{n}", "the rules of one host", lambda _: text("User-agent: *\nDisallow: /private/\n")),
            Route("/{rest*}", "a page", lambda _: html(plain_page("A page", "With words on it."))),
        ),
    )


async def test_hosts_that_point_to_one_host_do_not_crowd_it(workshop: Workshop, tmp_path: Path) -> None:
    watch = LaneWatch()
    async with (
        TestWeb.start(hosts=_HOSTS, numbered=_keeping("/rules/{n}")) as web,
        scraping(tmp_path, workshop, watch, workers=2) as (ann, bob),
    ):
        jobs = [page_job(web.host_url(n, f"/{page}")) for n in range(1, _HOSTS + 1) for page in range(2)]
        await workshop.submit(*jobs)
        async with working(
            workshop.worker(ann.play, "wrk_ann", pace=Pace(_GAP)), workshop.worker(bob.play, "wrk_bob", pace=Pace(_GAP))
        ):
            ended = await workshop.until_end(*jobs)
        assert {each.state for each in ended} == {JobState.COMPLETED}
        keeper = web.hosts[0]
        asked = web.seen.paths(keeper)
        assert sorted(asked) == sorted(["/robots.txt", "/0", "/1", *(f"/rules/{n}" for n in range(2, _HOSTS + 1))])
        assert min(web.seen.gaps(keeper)) >= _GAP.total_seconds()
        assert web.seen.max_concurrency(keeper) == 1
        assert all(web.seen.paths(host).count("/robots.txt") == 1 for host in web.hosts)
    assert len(watch.left) == len(asked) + (_HOSTS - 1) * 3
    assert watch.astray == []


async def test_a_file_that_many_sites_point_to_is_asked_for_once(workshop: Workshop, tmp_path: Path) -> None:
    watch = LaneWatch()
    async with (
        TestWeb.start(hosts=_HOSTS, numbered=_keeping("/rules/all")) as web,
        scraping(tmp_path, workshop, watch, workers=2) as (ann, bob),
    ):
        jobs = [page_job(web.host_url(n, path)) for n in range(2, _HOSTS + 1) for path in ("/x", "/private/x")]
        await workshop.submit(*jobs)
        async with working(workshop.worker(ann.play, "wrk_ann"), workshop.worker(bob.play, "wrk_bob")):
            ended = await workshop.until_end(*jobs)
        assert [each.state for each in ended] == [JobState.COMPLETED, JobState.REFUSED] * (_HOSTS - 1)
        assert web.seen.paths(web.hosts[0]) == ["/rules/all"]
    assert watch.astray == []


async def test_jobs_that_stand_in_a_lane_at_the_same_time_ask_for_its_rules_once(
    workshop: Workshop, tmp_path: Path
) -> None:
    async with (
        TestWeb.start(latency=timedelta(milliseconds=20)) as web,
        scraping(tmp_path, workshop, LaneWatch()) as (ann,),
    ):
        jobs = [page_job(web.url("lentrobots", f"/open/{page}")) for page in range(4)]
        await workshop.submit(*jobs)
        async with working(workshop.worker(ann.play, pace=Pace(timedelta(), concurrency=4))):
            await workshop.until_end(*jobs)
        assert web.seen.paths("lentrobots").count("/robots.txt") == 1
        assert web.seen.paths("closed") == ["/robots.txt"]


@pytest.mark.parametrize(
    ("site", "path", "state", "asked"),
    [
        ("lentrobots", "/x", JobState.REFUSED, {"lentrobots": 1, "closed": 1}),
        ("lentrobots", "/open/x", JobState.COMPLETED, {"lentrobots": 2, "closed": 1}),
        ("farrobots", "/x", JobState.REFUSED, {"farrobots": 1, "moved": 1, "lentrobots": 1, "closed": 1}),
        ("farrobots", "/open/x", JobState.COMPLETED, {"farrobots": 2, "moved": 1, "lentrobots": 1, "closed": 1}),
        ("ringrobots", "/x", JobState.COMPLETED, {"ringrobots": 2, "moved": 1}),
    ],
)
async def test_the_way_to_the_rules_is_gone_in_lanes(
    *, workshop: Workshop, tmp_path: Path, site: str, path: str, state: JobState, asked: dict[str, int]
) -> None:
    watch = LaneWatch()
    async with TestWeb.start() as web, scraping(tmp_path, workshop, watch) as (ann,):
        asked_for = page_job(web.url(site, path))
        await workshop.submit(asked_for)
        async with working(workshop.worker(ann.play)):
            (ended,) = await workshop.until_end(asked_for)
        assert ended.state is state
        assert {name: web.seen.requests(name) for name in web.addresses.sites if web.seen.requests(name)} == asked
    assert watch.astray == []


async def test_a_lane_whose_robots_txt_wants_patience_rests(workshop: Workshop, tmp_path: Path) -> None:
    async with TestWeb.start() as web, scraping(tmp_path, workshop, LaneWatch(), workers=2) as (ann, bob):
        first, second = page_job(web.url("busyrobots", "/1")), page_job(web.url("busyrobots", "/2"))
        began = workshop.clock.now()
        await workshop.submit(first)
        async with working(workshop.worker(ann.play, "wrk_ann")):
            (ended,) = await workshop.until_end(first)
        other = page_job(web.url("shop", "/"))
        await workshop.submit(second, other)
        async with working(workshop.worker(bob.play, "wrk_bob")):
            await workshop.until_end(other)  # by then, whatever lane was ready has been claimed
        back = datetime.fromisoformat(outcome_of(ended)["retryAt"])
        assert (ended.state, (await workshop.see(second.id)).state) == (JobState.REFUSED, JobState.WAITING)
        assert timedelta(hours=1) <= back - began < timedelta(hours=1, minutes=1)
        why = await workshop.jobs.why_waiting(second.id)
        assert why is not None
        assert why.reason == "retry_after"
        assert why.until is not None
        assert abs(why.until - back) < timedelta(milliseconds=2)
        assert web.seen.paths("busyrobots") == ["/robots.txt"]
