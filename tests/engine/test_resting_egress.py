"""Pages that could not be asked for because every egress rests: they wait until one is back, and lose nothing by it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from scraping import LaneWatch, Scraper, outcome_of, page_job, scraping
from workshop import Workshop, working

from emissary.model.jobs import JobState, NewJob
from emissary.reading.egress import EgressPool
from emissary.testing.clock import FakeClock
from emissary.testing.proxies import TestProxy
from emissary.testing.web import TestWeb

pytestmark = pytest.mark.anyio

_REST = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class _Place:
    """A scraper with one way out, through a proxy that works; whether it rests is up to the test."""

    workshop: Workshop
    scraper: Scraper
    web: TestWeb
    proxy: TestProxy
    pool: EgressPool

    def rest(self) -> None:
        """The proxy fails three times in a row, and has to rest."""
        for _ in range(3):
            self.pool.done(self.proxy.proxy, self.workshop.clock.now(), worked=False)

    def job(self, host: int, page: int, *, attempts: int = 3) -> NewJob:
        return page_job(self.web.host_url(host, f"/small?{page}"), attempts=attempts)

    async def work_until(self, job: NewJob, state: JobState) -> None:
        async with working(self.workshop.worker(self.scraper.play)):
            await self.workshop.until_state(job.id, state)

    async def why(self, job: NewJob) -> str:
        """Why the job waits; all that do here wait until the proxy is back."""
        why = await self.workshop.jobs.why_waiting(job.id)
        assert why is not None
        assert why.until == self.workshop.clock.now() + _REST
        return why.reason


@pytest.fixture
async def place(still: Workshop, tmp_path: Path) -> AsyncIterator[_Place]:
    async with _open(still, tmp_path) as place:
        yield place


@asynccontextmanager
async def _open(workshop: Workshop, folder: Path) -> AsyncIterator[_Place]:
    async with TestWeb.start(hosts=3) as web, TestProxy.start("only") as proxy:
        pool = EgressPool([proxy.proxy])
        async with scraping(folder, workshop, LaneWatch(), pool=pool) as (scraper,):
            yield _Place(workshop, scraper, web, proxy, pool)


async def test_a_page_is_put_off_until_the_first_egress_is_back_and_its_lane_with_it(place: _Place) -> None:
    first, second = place.job(1, 1), place.job(1, 2)
    place.rest()
    await place.workshop.submit(first, second)
    await place.work_until(first, JobState.DELAYED)
    assert [await place.why(first), await place.why(second)] == ["egress", "egress"]
    assert (await place.workshop.see(second.id)).state is JobState.WAITING
    assert place.proxy.asked == []


async def test_no_rest_counts_as_an_attempt_however_many_there_are(place: _Place, clock: FakeClock) -> None:
    asked = [place.job(host, page) for host in (1, 2, 3) for page in (1, 2)]
    await place.workshop.submit(*asked)
    for _ in range(5):
        place.rest()
        for first in asked[::2]:
            await place.work_until(first, JobState.DELAYED)
        clock.advance(_REST.total_seconds())
    async with working(place.workshop.worker(place.scraper.play)):
        ended = await place.workshop.until_end(*asked)
    assert {(each.state, each.failures) for each in ended} == {(JobState.COMPLETED, 0)}


async def test_whoever_wants_one_try_only_is_told_at_once_and_keeps_nobody_waiting(place: _Place) -> None:
    asked = [place.job(1, page, attempts=1) for page in range(3)]
    place.rest()
    await place.workshop.submit(*asked)
    async with working(place.workshop.worker(place.scraper.play)):
        ended = await place.workshop.until_end(*asked)
    assert {each.state for each in ended} == {JobState.FAILED}
    assert {outcome_of(each)["code"] for each in ended} == {"proxy"}
    assert {outcome_of(each)["detail"] for each in ended} == {"every egress rests until 2030-01-01T00:05:00+00:00"}


async def test_nobody_waits_for_a_lane_that_has_no_way_out(place: _Place) -> None:
    first, other = place.job(1, 1), place.job(1, 2, attempts=1)
    place.rest()
    await place.workshop.submit(first)
    await place.work_until(first, JobState.DELAYED)
    async with asyncio.timeout(20):
        seen = await place.workshop.jobs.accept_and_wait(other, timedelta(hours=1))
    assert seen.state is JobState.WAITING
    assert await place.why(other) == "egress"
