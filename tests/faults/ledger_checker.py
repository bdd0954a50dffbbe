"""Compares a batch with its promises over the ports of either backend: each breach is a sentence."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import fields
from datetime import date

from emissary.compose.backends import Backend
from emissary.model.batches import Batch, BatchState, Counts, Finished, LedgerLine
from emissary.model.ids import BatchId, JobId
from emissary.model.jobs import FINAL_STATES, JobState, StoredResult
from emissary.model.usage import UsageBy, UsageRow

__all__ = ["batch_breaches", "ledger_of", "left_behind"]

_PAGE = 500
_MOST_BLAMED = 0.01
_ENDED = frozenset({BatchState.COMPLETED, BatchState.CANCELLED})


async def batch_breaches(
    backend: Backend, batch: BatchId, accepted: Collection[JobId], *, ends: Collection[JobState] = FINAL_STATES
) -> list[str]:
    """Everything that should not be: every job has ended once, in one of these ways, and the batch counts them so."""
    found = await backend.batches.find(batch)
    if found is None:
        return [f"there is no batch {batch}"]
    lines, finished = await ledger_of(backend, batch), await _results_of(backend, batch)
    breaches = [*_of_the_lines(lines, accepted, ends), *_of_the_results(lines, finished)]
    breaches += _of_the_counts(found, lines)
    breaches += await _of_the_usage(backend, found)
    return breaches + await _of_the_records(backend, lines)


async def left_behind(backend: Backend) -> list[str]:
    """What there should not be any more once all has ended and all workers have gone."""
    load = await backend.workload.load(backend.clock.now())
    figures = {
        "jobs have not ended": await backend.jobs.depth(),
        "lanes are ready": load.ready_lanes,
        "lanes are held": load.held_lanes,
        "of the dead hold lanes": len(await backend.workers.dead()),
    }
    return [f"{count} {what}" for what, count in figures.items() if count]


async def ledger_of(backend: Backend, batch: BatchId) -> list[LedgerLine]:
    """All lines of the batch."""
    lines: list[LedgerLine] = []
    while page := await backend.ledger.lines(batch, after=lines[-1].position if lines else -1, most=_PAGE):
        lines += page
    return lines


async def _results_of(backend: Backend, batch: BatchId) -> list[Finished]:
    finished: list[Finished] = []
    while page := await backend.ledger.finished(batch, after=finished[-1].cursor if finished else "", most=_PAGE):
        finished += page
    return finished


def _of_the_lines(lines: list[LedgerLine], accepted: Collection[JobId], ends: Collection[JobState]) -> Iterator[str]:
    times = Counter(line.job for line in lines)
    yield from (f"{job} was accepted, and is not in the ledger" for job in accepted if job not in times)
    yield from (f"{job} is in the ledger {count} times" for job, count in times.items() if count > 1)
    # What was accepted without the caller hearing of it must end as well.
    others = [line for line in lines if line.state not in ends]
    blamed = [line for line in others if line.state is JobState.FAILED and b'"code":"poison"' in (line.outcome or b"")]
    if len(blamed) <= len(lines) * _MOST_BLAMED:  # who was about to be handled when three were killed, by chance
        others = [line for line in others if line not in blamed]
    yield from (f"{line.job} is {line.state}: {line.outcome!r}" for line in others)


def _of_the_results(lines: list[LedgerLine], finished: list[Finished]) -> Iterator[str]:
    results = Counter(each.line.job for each in finished)
    for line in lines:
        wanted = 0 if line.state is JobState.CANCELLED else 1
        if (count := results.pop(line.job, 0)) != wanted:
            yield f"{line.job} is {line.state} and has {count} results"
    yield from (f"there is a result of {job}, which is not in the ledger" for job in results)


def _of_the_counts(batch: Batch, lines: list[LedgerLine]) -> Iterator[str]:
    states = Counter(line.state.value for line in lines)
    # A completed page costs one credit, however often it was begun.
    states["credits"] = states["completed"]
    for name in (each.name for each in fields(Counts)):
        if (counted := getattr(batch.counts, name)) != states[name]:
            yield f"the batch counts {counted} {name}, the ledger {states[name]}"
    # A job that was cancelled while it stood in line came to no outcome.
    codes = Counter(code for line in lines if line.outcome and (code := StoredResult(line.outcome).code))
    for code in codes.keys() | batch.outcomes.keys():
        if (counted := batch.outcomes.get(code, 0)) != codes[code]:
            yield f"the batch counts {counted} {code}, the ledger {codes[code]}"
    if batch.total != len(lines):
        yield f"the batch counts {batch.total} jobs, the ledger {len(lines)}"
    if batch.active or batch.state not in _ENDED:
        yield f"the batch is {batch.state}, and {batch.active} of it are active"


async def _of_the_usage(backend: Backend, batch: Batch) -> list[str]:
    """What the account used is what its batches came to; whatever failed may have been tried anew, and counts again."""
    counts = [each.counts for each in await backend.ledger.of_account(batch.account, before=None, most=_PAGE)]
    rows = await backend.usage.of_account(batch.account, date.min, date.max, UsageBy.KIND)
    used = next((row for row in rows if row.key == batch.kind), UsageRow(""))
    compared = {
        "completed": (used.jobs - used.failed - used.refused, sum(each.completed for each in counts)),
        "credits": (used.credits, sum(each.credits for each in counts)),
        "cached": (used.cached, sum(each.cached for each in counts)),
    }
    return [f"{told} {name} were used, and {here} counted" for name, (told, here) in compared.items() if told != here]


async def _of_the_records(backend: Backend, lines: list[LedgerLine]) -> list[str]:
    now, breaches = backend.clock.now(), []
    for line in lines:
        job = await backend.jobs.job(line.job, now)
        if job is None or job.state is not line.state:
            breaches.append(f"{line.job} is {line.state} in the ledger, and on its own {job and job.state}")
    return breaches
