"""The files of the embedded backend: objects written whole, and the locks of those who work here."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from emissary.backends.embedded.blobs import FileBlobs
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.lanes import SqliteLanes
from emissary.backends.embedded.workers import LockedWorkers
from emissary.model.errors import StoreUnavailable
from emissary.model.ids import AccountId, JobId, WorkerId
from emissary.model.jobs import Kind, NewJob
from emissary.model.lanes import Claim

pytestmark = pytest.mark.anyio

# Objects


async def test_an_object_and_every_folder_made_for_it_are_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    sync = os.fsync

    def note(handle: int) -> None:
        synced.append(Path(f"/proc/self/fd/{handle}").readlink())
        sync(handle)

    monkeypatch.setattr(os, "fsync", note)
    await FileBlobs(tmp_path / "objects").put("results/000001/job_1", b"body")
    folder = tmp_path / "objects"
    assert {tmp_path, folder, folder / "results", folder / "results" / "000001"} < set(synced)
    assert synced[-2].name.startswith("."), "the file is synced under its temporary name"
    assert synced[-1] == folder / "results" / "000001", "and after it was renamed, its folder"


async def test_nothing_remains_of_an_object_that_could_not_be_written(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path)
    await blobs.put("results/a", b"body")
    with pytest.raises(StoreUnavailable, match="could not be written"):
        await blobs.put("results", b"a file where a folder is")
    with pytest.raises(StoreUnavailable, match="could not be written"):
        await blobs.put("results/a/b", b"a folder where a file is")
    assert files_in(tmp_path) == [tmp_path / "results" / "a"]


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def test_half_written_objects_are_not_listed(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path)
    await blobs.put("results/a", b"body")
    (tmp_path / "results" / ".tmp123").write_bytes(b"ha")
    assert await blobs.names("") == ["results/a"]


@pytest.mark.parametrize("name", ["", ".", "..", "/etc/passwd", "../x", "a/../b", "a/..", ".hidden", "a/.b", "a\0b"])
async def test_a_name_that_leads_elsewhere_is_refused(name: str, tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path / "objects")
    with pytest.raises(ValueError):  # noqa: PT011 - which of them says it is all the same
        await blobs.put(name, b"body")
    with pytest.raises(ValueError):  # noqa: PT011
        await blobs.get(name)
    with pytest.raises(ValueError):  # noqa: PT011
        await blobs.delete(name)


# Workers

ENLIST = """
import asyncio, sys
from pathlib import Path
from emissary.backends.embedded.database import Database
from emissary.backends.embedded.workers import LockedWorkers

async def main(folder, name):
    database = await Database.open(folder / "emissary.db")
    workers = LockedWorkers(database, folder / "workers")
    await workers.enlist(name)
    print("enlisted", flush=True)
    await asyncio.to_thread(sys.stdin.read)

asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
"""


@asynccontextmanager
async def another_process(folder: Path, worker: WorkerId) -> AsyncIterator[asyncio.subprocess.Process]:
    """A worker of its own process, which has enlisted and would wait for ever."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", ENLIST, str(folder), worker, stdin=pipe, stdout=pipe
    )
    try:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"enlisted\n"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def hold_a_lane(database: Database, worker: WorkerId) -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    job = NewJob(JobId(f"job_{worker}"), AccountId("acc_1"), Kind("test"), f"host:{worker}", b"{}")
    await SqliteLanes(database).submit([job], now)
    await SqliteLanes(database).claim(Claim(worker, now + timedelta(hours=1), lanes=1, items=1), now)


async def test_a_killed_process_is_found_dead_and_a_living_one_is_not(database: Database, tmp_path: Path) -> None:
    workers = LockedWorkers(database, tmp_path / "workers")
    ann, bob = WorkerId("wrk_ann"), WorkerId("wrk_bob")
    async with another_process(tmp_path, ann) as first, another_process(tmp_path, bob):
        await hold_a_lane(database, ann)
        await hold_a_lane(database, bob)
        assert await workers.dead() == []
        first.kill()
        await first.wait()
        assert await workers.dead() == [ann]
        assert await workers.dead() == [ann], "until its lanes are taken back"


async def test_a_worker_of_which_nothing_is_left_is_dead(database: Database, tmp_path: Path) -> None:
    await hold_a_lane(database, WorkerId("wrk_ghost"))
    assert await LockedWorkers(database, tmp_path / "workers").dead() == [WorkerId("wrk_ghost")]


async def test_two_processes_cannot_be_the_same_worker(database: Database, tmp_path: Path) -> None:
    ann = WorkerId("wrk_ann")
    async with another_process(tmp_path, ann):
        with pytest.raises(BlockingIOError):
            await LockedWorkers(database, tmp_path / "workers").enlist(ann)


async def test_a_worker_that_left_leaves_no_file(database: Database, tmp_path: Path) -> None:
    workers = LockedWorkers(database, tmp_path / "workers")
    await workers.enlist(WorkerId("wrk_ann"))
    await workers.leave(WorkerId("wrk_ann"))
    assert list((tmp_path / "workers").iterdir()) == []
