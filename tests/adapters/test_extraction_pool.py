"""The promise of `ports.extraction.Extraction`, kept by real child processes."""

import asyncio
import os
import signal
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from children import MIB, a_pool, at_work, counted, is_gone, until
from rough import TEXT, page_of, said

from emissary.adapters.extraction.process import ChildLimits
from emissary.compose import the_clock
from emissary.model.errors import ExtractionUnavailable
from emissary.model.extraction import Extracted, Undoing, Unextractable, Wanted
from emissary.model.pages import Format, Page
from emissary.reading.extract import extract
from emissary.telemetry.metrics import Metrics

pytestmark = pytest.mark.anyio

PAGES = Path(__file__).parent.parent / "data" / "pages"
EVERYTHING = frozenset(Format)
SCHEMA = """{
    "title": {"css": "h1"}, "price": {"css": [".price__now", "b"], "type": "number"},
    "when": {"css": "time", "type": "date"}, "spoken": {"xpath": "//p[2]", "type": "date"},
    "sold": {"css": "i", "type": "boolean"}, "link": {"xpath": "//a", "type": "url"},
    "inner": {"css": "p", "type": "html"}, "all": {"xpath": "//p", "type": "list"},
    "many": {"css": "body *", "list": {"name": {"css": "*"}}}
}"""
SAID = """<html lang=de><title>日本 und mehr</title><h1>日本</h1><b>1.299,50 Euro</b><time>3. Mai 2026</time>
<p>eins<p>4 April 2026<i>ja</i><a href=/y>y</a>
<script type="application/ld+json">{"sku": 123456789012345678901234567890}</script>"""


async def test_a_small_page_is_read_in_place() -> None:
    async with a_pool() as pool:
        assert await pool.extract(page_of("light work"), TEXT) == said("work")
        assert pool.pids == frozenset()


@pytest.mark.parametrize("name", ["product", "article", "listing"])
async def test_a_child_takes_from_a_page_what_would_be_taken_in_place(name: str) -> None:
    page, wanted = page_of((PAGES / f"{name}.html").read_bytes()), Wanted(EVERYTHING, SCHEMA)
    async with a_pool(extract) as pool:
        assert await pool.extract(page, wanted) == extract(page, wanted)


@pytest.mark.parametrize("charset", ["utf-8", "utf-16-le", "gb18030", "cp949", "iso2022_jp_2", "utf-7"])
async def test_a_child_knows_every_charset_although_it_can_open_no_file(charset: str) -> None:
    page, wanted = page_of(SAID, charset=charset), Wanted(EVERYTHING, SCHEMA, only_main_content=False)
    async with a_pool(extract) as pool:
        taken = await pool.extract(page, wanted)
    assert taken == extract(page, wanted)
    assert isinstance(taken, Extracted)
    assert "日本" in str(taken.title)


@pytest.mark.parametrize(
    ("deed", "why", "detail"),
    [
        ("eat", Undoing.MEMORY, "256 MiB"),
        ("abort", Undoing.CRASH, "SIGABRT"),
        ("exit 3", Undoing.CRASH, "exit code 3"),
        ("fail it", Undoing.CRASH, "ValueError"),
        ("swell 65", Undoing.SIZE, "too large"),
    ],
)
async def test_a_page_that_breaks_its_reader_is_told_so_and_the_next_is_read(
    deed: str, why: Undoing, detail: str
) -> None:
    metrics = Metrics()
    async with a_pool(metrics=metrics) as pool:
        taken = await pool.extract(page_of(deed), TEXT)
        assert isinstance(taken, Unextractable)
        assert taken.why is why
        assert detail in taken.detail
        assert await pool.extract(page_of("fine"), TEXT) == said("fine")
        assert counted(metrics, "emissary_extraction_children") == 1
    assert counted(metrics, "emissary_extraction_children") == 0
    assert counted(metrics, "emissary_extractions_in_children_total") == 2
    assert counted(metrics, "emissary_extractions_failed_total", why=why.value) == 1


async def test_a_page_that_takes_for_ever_is_ended_and_the_next_is_read() -> None:
    async with a_pool(limits=ChildLimits(seconds=0.5)) as pool:
        taken = await pool.extract(page_of("hang"), TEXT)
        assert taken == Unextractable(Undoing.TIME, "reading the page took longer than 0.5 s")
        assert isinstance(await pool.extract(page_of("fine"), TEXT), Extracted)


async def test_a_real_page_that_needs_more_memory_than_there_is_harms_nobody() -> None:
    crowd = b"<br><hr>" * (2 * MIB)
    async with a_pool(extract) as pool:
        assert isinstance(await pool.extract(page_of(crowd), Wanted(EVERYTHING)), Unextractable)
        assert isinstance(await pool.extract(page_of("<p>fine"), Wanted(EVERYTHING)), Extracted)


async def test_a_child_that_is_killed_in_mid_page_costs_that_page_alone() -> None:
    async with a_pool(processes=1) as pool, asyncio.TaskGroup() as group:
        struck = group.create_task(pool.extract(page_of("hang"), TEXT))
        (pid,) = await at_work(pool, 1)
        waiting = group.create_task(pool.extract(page_of("next"), TEXT))
        os.kill(pid, signal.SIGKILL)
        assert await struck == Unextractable(Undoing.CRASH, "reading the page ended the process that read it (SIGKILL)")
        assert await waiting == said("next")


async def test_a_child_that_died_while_it_was_idle_costs_no_page() -> None:
    async with a_pool() as pool:
        await pool.extract(page_of("first"), TEXT)
        (pid,) = pool.pids
        os.kill(pid, signal.SIGKILL)
        await until(lambda: is_gone(pid))
        assert await pool.extract(page_of("second"), TEXT) == said("second")


async def test_a_hundred_good_pages_beside_bad_ones_are_all_read() -> None:
    bad = ["hang", "eat", "abort", "fail", "hang"]
    async with a_pool(limits=ChildLimits(memory=256 * MIB, seconds=2.0)) as pool, asyncio.TaskGroup() as group:
        tasks = []
        for number in range(100):
            tasks.append(group.create_task(pool.extract(page_of(f"good {number}"), TEXT)))
            if number % 20 == 10:
                group.create_task(pool.extract(page_of(bad[number // 20]), TEXT))
    assert [task.result() for task in tasks] == [said(str(n)) for n in range(100)]


async def test_there_are_never_more_children_than_were_allowed() -> None:
    async with a_pool(processes=2) as pool, asyncio.TaskGroup() as group:
        tasks = [group.create_task(pool.extract(page_of("hang"), TEXT)) for _ in range(4)]
        await at_work(pool, 2)
        assert len(pool.pids) == 2
        for task in tasks:
            task.cancel()


async def test_whoever_stops_waiting_ends_the_work() -> None:
    async with a_pool(processes=1) as pool:
        task = asyncio.create_task(pool.extract(page_of("hang"), TEXT))
        (pid,) = await at_work(pool, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert is_gone(pid)
        assert isinstance(await pool.extract(page_of("fine"), TEXT), Extracted)


async def test_whoever_stops_waiting_while_a_child_starts_leaves_none() -> None:
    async with a_pool(processes=1) as pool:
        for moment in range(0, 60, 5):
            task = asyncio.create_task(pool.extract(page_of("fine"), TEXT))
            await the_clock().sleep(moment / 1000)
            task.cancel()
            await asyncio.wait([task])
        assert isinstance(await pool.extract(page_of("fine"), TEXT), Extracted)


async def test_closing_ends_every_child_even_in_mid_page() -> None:
    async with a_pool(limits=ChildLimits(seconds=600)) as pool:
        work = asyncio.create_task(pool.extract(page_of("hang"), TEXT))
        waiting = [asyncio.create_task(pool.extract(page_of("hang"), TEXT)) for _ in range(3)]
        pids = await at_work(pool, 2)
        await pool.close()
        assert all(map(is_gone, pids))
        for task in (work, *waiting):
            with pytest.raises(ExtractionUnavailable, match="stopping"):
                await task


async def test_a_child_that_cannot_start_is_not_the_pages_fault() -> None:
    async with a_pool(lambda page, _: extract(page, TEXT)) as pool:
        with pytest.raises(ExtractionUnavailable, match="did not get ready"):
            await pool.extract(page_of("fine"), TEXT)
        assert pool.pids == frozenset()


async def test_the_loop_goes_on_while_a_large_page_is_read() -> None:
    """A fifth of the stall is asked for, and a hundredth is usual: other work on the machine must not fail this."""
    large = page_of(b"<p>The tide comes in, and <a href=/t>the tide</a> goes out. </p>\n" * (10 * MIB // 64))
    wanted = Wanted(frozenset({Format.MARKDOWN}))

    async def in_place(page: Page, wanted: Wanted) -> Extracted:
        return extract(page, wanted)

    async with a_pool(extract, limits=ChildLimits()) as pool:
        beside = await _longest_stall(lambda: pool.extract(large, wanted))
        alone = await _longest_stall(lambda: in_place(large, wanted))
    assert beside < alone / 5


async def _longest_stall(work: Callable[[], object]) -> float:
    """The longest time that another task had to wait for its turn while the work was done."""
    clock, done = the_clock(), asyncio.Event()
    turns = [clock.monotonic()]

    async def watch() -> None:
        while not done.is_set():
            await clock.sleep(0.001)
            turns.append(clock.monotonic())

    async with asyncio.TaskGroup() as group:
        group.create_task(watch())
        await clock.sleep(0.01)
        taken = await work()  # type: ignore[misc]
        done.set()
    assert isinstance(taken, Extracted)
    return max(after - before for before, after in pairwise(turns))
