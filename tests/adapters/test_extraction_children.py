"""What a child process may do and what not, how long it is kept, and that it never outlives us."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from children import MIB, a_pool, is_gone, until
from rough import TEXT, page_of, rough

from emissary.adapters.extraction.process import ChildLimits, ChildProcess
from emissary.model.extraction import Extracted

pytestmark = pytest.mark.anyio


async def _looked() -> dict[str, object]:
    async with a_pool() as pool:
        taken = await pool.extract(page_of("look", secret="session=1"), TEXT)
    assert isinstance(taken, Extracted)
    assert taken.metadata is not None
    return taken.metadata


async def test_a_child_can_open_no_file_and_no_socket() -> None:
    seen = await _looked()
    assert (seen["file"], seen["socket"]) == ("Too many open files", "Too many open files")


async def test_a_child_knows_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMISSARY_API_KEY", "em_live_not_for_children")
    seen = await _looked()
    assert set(seen["environment"]) <= {"PYTHONPATH", "LC_CTYPE"}  # type: ignore[call-overload]
    assert seen["headers"] == {}


async def test_a_child_gives_way_to_us_and_leaves_no_core_file() -> None:
    seen = await _looked()
    assert seen["niceness"] == min(os.nice(0) + 10, 19)
    assert (seen["memory"], seen["core"]) == (256 * MIB, 0)


async def test_a_signal_to_the_whole_family_is_for_the_parent_alone() -> None:
    async with a_pool() as pool:
        await pool.extract(page_of("fine"), TEXT)
        (pid,) = pool.pids
        assert os.getpgid(pid) != os.getpgid(0)  # so that Ctrl-C does not reach it
        os.kill(pid, signal.SIGTERM)
        assert isinstance(await pool.extract(page_of("fine"), TEXT), Extracted)
        assert pool.pids == {pid}


async def test_what_a_library_prints_is_not_taken_for_an_answer() -> None:
    async with a_pool() as pool:
        for _ in range(3):
            assert await pool.extract(page_of("babble \0\0\0\0"), TEXT) == Extracted(
                "https://a.example/x", text="\0" * 4
            )
        assert len(pool.pids) == 1


async def test_a_child_is_used_again_and_replaced_after_so_many_pages() -> None:
    async with a_pool(limits=ChildLimits(pages=2)) as pool:
        used = []
        for _ in range(4):
            await pool.extract(page_of("fine"), TEXT)
            used.append(pool.pids)
    first, second, third, fourth = used
    assert len(first) == len(third) == 1
    assert first != third
    assert second == fourth == frozenset()


async def test_a_child_that_has_grown_is_replaced() -> None:
    async with a_pool(limits=ChildLimits(memory=512 * MIB)) as pool:
        await pool.extract(page_of("hoard 50"), TEXT)
        (small,) = pool.pids
        await pool.extract(page_of("hoard 250"), TEXT)
        assert pool.pids == frozenset()
        assert is_gone(small)
        assert isinstance(await pool.extract(page_of("hoard 150"), TEXT), Extracted)


async def test_a_child_whose_pipe_ends_goes_by_itself() -> None:
    child = ChildProcess(rough, ChildLimits())
    await child.start()
    assert child._process is not None
    assert child._process.stdin is not None
    child._process.stdin.close()
    assert child._process.wait(10) == 0
    await child.end()


@pytest.mark.parametrize("deed", ["fine", "hang"])
async def test_no_child_outlives_a_parent_that_was_killed(deed: str) -> None:
    """Idle or in the middle of a page that takes for ever."""
    script = str(Path(__file__).with_name("rough_parent.py"))
    parent = await asyncio.create_subprocess_exec(sys.executable, script, deed, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    pid = int(await parent.stdout.readline())
    assert not is_gone(pid)
    parent.kill()
    await parent.wait()
    await until(lambda: is_gone(pid))
