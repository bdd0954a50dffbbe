"""Files of earlier versions: whatever stood in line still does, and what had ended is still there."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path

import pytest

from emissary.backends.embedded.database import Database
from emissary.backends.embedded.keys import SqliteKeys
from emissary.backends.embedded.lanes import SqliteLanes
from emissary.backends.embedded.records import SqliteJobRecords
from emissary.model.ids import AccountId, JobId, WorkerId
from emissary.model.jobs import JobState, Kind, NewJob, Priority
from emissary.model.keys import ALL_SCOPES
from emissary.model.lanes import Claim, Item, LaneKey, Reason, Release, Report, Settlement

pytestmark = pytest.mark.anyio

_NOW = datetime(2030, 1, 1, tzinfo=UTC)
_LEASE = timedelta(minutes=5)
_ANN, _DEAD = WorkerId("wrk_ann"), WorkerId("wrk_dead")

# As the first versions left it: host:a is ready with work of two accounts, host:b is held by a worker that has died,
# host:c rests, host:d is empty, and in host:e a job is to be tried again later. 2030 begins at 1893456000000.
_OLD_ROWS = """
INSERT INTO accounts VALUES ('acc_1', 'one', 0), ('acc_2', 'two', 0);
INSERT INTO keys VALUES ('key_1', 'acc_1', x'01', 0), ('key_2', 'acc_1', x'02', 0), ('key_3', 'acc_1', x'03', 0);
INSERT INTO lanes (id, key, state, rank, ready_at, rest_until, fence, holder, gap_ms, reason, stretch) VALUES
    (1, 'host:a', 'ready', 50, 0, 0, 0, NULL, NULL, NULL, 1),
    (2, 'host:b', 'waiting', 60, 1893456060000, 0, 7, 'wrk_dead', 2500, 'leased', 1.5),
    (3, 'host:c', 'waiting', 70, 1893456030000, 1893456030000, 3, NULL, NULL, 'retry_after', 1),
    (4, 'host:d', 'empty', 80, 0, 0, 2, NULL, NULL, 'gap', 1),
    (5, 'host:e', 'waiting', 90, 1893456040000, 0, 1, NULL, NULL, 'back_off', 1);
INSERT INTO jobs
    (id, account, kind, state, lane, "order", trail, failures, created_at, started_at, finished_at, outcome) VALUES
    ('job_a1', 'acc_1', 'test', 'waiting', 'host:a', '{"n":1}', NULL, 0, 1893456000000, NULL, NULL, NULL),
    ('job_a2', 'acc_2', 'test', 'waiting', 'host:a', '{"n":2}', NULL, 0, 1893456000000, NULL, NULL, NULL),
    ('job_a3', 'acc_1', 'test', 'waiting', 'host:a', '{"n":3}', NULL, 0, 1893456000000, NULL, NULL, NULL),
    ('job_b1', 'acc_1', 'test', 'waiting', 'host:b', '{"n":4}', '{"hops":[1]}', 0, 1893456000000, NULL, NULL, NULL),
    ('job_c1', 'acc_1', 'test', 'waiting', 'host:c', '{"n":5}', NULL, 0, 1893456000000, NULL, NULL, NULL),
    ('job_d1', 'acc_1', 'test', 'completed', 'host:d', '{"n":6}', NULL, 1, 1, 2, 3, '{"code":"ok"}'),
    ('job_d2', 'acc_2', 'test', 'cancelled', 'host:d', '{"n":7}', NULL, 0, 1, NULL, 3, NULL),
    ('job_e1', 'acc_2', 'test', 'waiting', 'host:e', '{"n":8}', NULL, 2, 1893456000000, NULL, NULL, NULL);
INSERT INTO items (lane, rank, job, not_before, taken) VALUES
    (1, 50, 'job_a3', 0, 0), (1, 51, 'job_a1', 0, 0), (1, 52, 'job_a2', 0, 0), (2, 60, 'job_b1', 0, 7),
    (3, 70, 'job_c1', 0, 0), (5, 90, 'job_e1', 1893456040000, 0);
INSERT INTO results (job, body, blob) VALUES ('job_d1', x'00ff', NULL);
"""


def old_file(path: Path) -> Path:
    """A file from before the engine had flows."""
    scripts = resources.files("emissary.backends.embedded") / "migrations"
    names = sorted(entry.name for entry in scripts.iterdir() if entry.name.endswith(".sql"))
    before = names[: next(place for place, name in enumerate(names) if name.endswith("_engine.sql"))]
    with closing(sqlite3.connect(path)) as store:
        for name in before:
            store.executescript((scripts / name).read_text(encoding="utf-8"))
        store.executescript(_OLD_ROWS)
        store.execute(f"PRAGMA user_version = {len(before)}")
    return path


async def claim(lanes: SqliteLanes, seconds: float) -> dict[LaneKey, list[Item]]:
    """All that can be had at that moment, finished and given back."""
    now = _NOW + timedelta(seconds=seconds)
    leases = (await lanes.claim(Claim(_ANN, now + _LEASE, 10, 10), now)).leases
    told = [
        Settlement(lease.grip, item.job, item.rank, now, JobState.COMPLETED) for lease in leases for item in lease.items
    ]
    await lanes.settle(Report(tuple(told), tuple(Release(lease.grip, now, Reason.GAP) for lease in leases)), now)
    return {lease.grip.lane: list(lease.items) for lease in leases}


async def test_all_that_stood_in_line_is_handed_out(tmp_path: Path) -> None:
    database = await Database.open(old_file(tmp_path / "emissary.db"))
    lanes, jobs = SqliteLanes(database), SqliteJobRecords(database)
    try:
        assert await jobs.depth() == 6
        first = await claim(lanes, 0)
        assert {key: [item.job for item in items] for key, items in first.items()} == {
            "host:a": ["job_a2", "job_a3", "job_a1"]
        }, "each account's work in the order it had, and both in turn"
        assert [item.account for item in first[LaneKey("host:a")]] == ["acc_2", "acc_1", "acc_1"]
        assert [item.order for item in first[LaneKey("host:a")]] == [b'{"n":2}', b'{"n":3}', b'{"n":1}']
        assert await lanes.forsake([_DEAD], _NOW, timedelta(seconds=1)) == 1
        assert await claim(lanes, 2) == {}, "the lane has a longer gap of its own"
        (moved,) = (await claim(lanes, 3))[LaneKey("host:b")]
        assert (moved.job, moved.trail, moved.deaths) == ("job_b1", b'{"hops":[1]}', 0)
        assert [item.job for item in (await claim(lanes, 30))[LaneKey("host:c")]] == ["job_c1"]
        (later,) = (await claim(lanes, 40))[LaneKey("host:e")]
        assert (later.job, later.failures) == ("job_e1", 2)
        assert await jobs.depth() == 0
    finally:
        await database.close()


async def test_what_had_ended_is_still_there(tmp_path: Path) -> None:
    database = await Database.open(old_file(tmp_path / "emissary.db"))
    jobs = SqliteJobRecords(database)
    try:
        found = await jobs.job(JobId("job_d1"), _NOW)
        assert found is not None
        assert (found.account, found.state, found.lane, found.failures) == ("acc_1", JobState.COMPLETED, "host:d", 1)
        assert found.result is not None
        assert (found.result.outcome, found.result.body) == (b'{"code":"ok"}', b"\x00\xff")
        gone = await jobs.job(JobId("job_d2"), _NOW)
        assert gone is not None
        assert (gone.state, gone.result) == (JobState.CANCELLED, None)
    finally:
        await database.close()


async def test_keys_from_before_are_good_for_everything(tmp_path: Path) -> None:
    database = await Database.open(old_file(tmp_path / "emissary.db"))
    try:
        keys = await SqliteKeys(database).of_account(AccountId("acc_1"))
        assert [key.digest for key in keys] == [b"\1", b"\2", b"\3"]
        assert all(key.scopes == ALL_SCOPES and key.is_live(_NOW) for key in keys)
    finally:
        await database.close()


async def test_what_a_lane_had_learned_is_kept(tmp_path: Path) -> None:
    database = await Database.open(old_file(tmp_path / "emissary.db"))
    lanes = SqliteLanes(database)
    try:
        await lanes.forsake([_DEAD], _NOW, timedelta())
        now = _NOW + timedelta(seconds=5)
        leases = {lease.grip.lane: lease for lease in (await lanes.claim(Claim(_ANN, now, 10, 10), now)).leases}
        held = leases[LaneKey("host:b")]
        assert (held.gap, held.stretch, held.grip.fence) == (timedelta(seconds=2.5), 1.5, 8)
    finally:
        await database.close()


async def test_what_comes_after_stands_behind_what_was_there(tmp_path: Path) -> None:
    database = await Database.open(old_file(tmp_path / "emissary.db"))
    lanes = SqliteLanes(database)
    new = NewJob(JobId("job_new"), AccountId("acc_1"), Kind("test"), "host:a", b"{}")
    urgent = NewJob(JobId("job_urgent"), AccountId("acc_1"), Kind("test"), "host:a", b"{}", Priority.INTERACTIVE)
    try:
        assert await lanes.submit([new, urgent], _NOW) == {new.id, urgent.id}
        handed_out = [item.job for item in (await claim(lanes, 0))[LaneKey("host:a")]]
        assert (handed_out[0], handed_out[-1]) == ("job_urgent", "job_new")
    finally:
        await database.close()
