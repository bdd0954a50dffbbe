"""How long a page of `GET /v1/jobs` takes among many jobs, by what is wanted of them, on both backends."""

import statistics

import uvloop

from benchmarks.lane_stores import LaneStore, OpenStore, postgres_store, sqlite_store
from benchmarks.lane_work import ACCOUNT, CHUNK, Watch, fill, now
from benchmarks.report import Say
from emissary.model.ids import AccountId
from emissary.model.job_list import JobWish
from emissary.model.jobs import JobState
from emissary.model.lanes import LaneKey, host_lane

__all__ = ["STORES", "measure"]

STORES: dict[str, OpenStore] = {"SQLite": sqlite_store, "PostgreSQL": postgres_store}

_LANES = 1_000
_PAGE = 100
_TIMES = 20
_WISHES = {
    "all": JobWish(ACCOUNT),
    "by a status that all have": JobWish(ACCOUNT, state=JobState.WAITING),
    "by a status that none has": JobWish(ACCOUNT, state=JobState.FAILED),
    "by one host of a thousand": JobWish(ACCOUNT, lane=LaneKey(host_lane("h7.example"))),
    "of an account without any": JobWish(AccountId("acc_none")),
}


def measure(jobs: int) -> dict[str, dict[str, float]]:
    """Milliseconds for the first page of each list, the median, by store."""
    return {name: uvloop.run(_on(opened, jobs, name)) for name, opened in STORES.items()}


async def _on(opened: OpenStore, jobs: int, name: str) -> dict[str, float]:
    Say(f"api_load: lists of jobs among {jobs:,} on {name} …")
    async with opened() as store:
        await fill(store.lanes, max(jobs, CHUNK), _LANES, watch=Watch())
        return {what: await _milliseconds(store, wish) for what, wish in _WISHES.items()}


async def _milliseconds(store: LaneStore, wish: JobWish) -> float:
    watch = Watch()
    for _ in range(_TIMES):
        await watch.on(store.records.listed(wish, now(), before=None, most=_PAGE))
    return statistics.median(watch.taken) * 1000
