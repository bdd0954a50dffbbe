"""Compares what callers were promised and saw with what the store holds after all faults: each breach is a sentence."""

import json
import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from emissary.model import zstd

__all__ = ["History", "Sighting", "breaches"]

_FINAL = frozenset({"completed", "failed", "refused", "cancelled"})
_RESULTS = """
SELECT coalesce(jobs.id, 'number ' || results.job), count(*) FROM results
LEFT JOIN jobs ON jobs.number = results.job GROUP BY results.job
"""

_BLAMED = "SELECT id FROM jobs WHERE state = 'failed' AND deaths >= 3 AND outcome ->> 'code' = 'poison'"


class Sighting(NamedTuple):
    """A job as a caller saw it at one moment."""

    status: str
    document: str | None


@dataclass(slots=True)
class History:
    """What callers can testify to. Only what was answered with a 202 counts as accepted."""

    accepted: list[str] = field(default_factory=list)
    sightings: dict[str, list[Sighting]] = field(default_factory=lambda: defaultdict(list))

    def accept(self, job: str) -> None:
        self.accepted.append(job)

    def see(self, job: dict[str, Any]) -> None:
        """Note an answer of GET /v1/jobs/{id}; the answers about one job are noted in the order they came in."""
        document = job["document"]
        self.sightings[job["id"]].append(Sighting(job["status"], None if document is None else document["id"]))


def breaches(history: History, database: Path, *, end: str = "completed") -> list[str]:
    """Everything that should not be: every accepted job has ended once, as `end`, with a document, and for good.

    Who was about to be handled when three processes were killed, one after the other, has ended as their poison.
    """
    with closing(sqlite3.connect(database)) as store:
        blamed = frozenset(job for (job,) in store.execute(_BLAMED))
        found = [*_of_the_ledger(history, store, end, blamed), *_of_the_line(store), *_of_the_events(store)]
        found += _of_the_captures(store, database.parent / "captures")
    return found + list(_of_the_sightings(history, end, blamed))


def _of_the_ledger(history: History, store: sqlite3.Connection, end: str, blamed: frozenset[str]) -> Iterator[str]:
    states: dict[str, str] = dict(store.execute("SELECT id, state FROM jobs"))
    results: dict[str, int] = dict(store.execute(_RESULTS))
    if len(set(history.accepted)) != len(history.accepted):
        yield "an id was given to two jobs"
    for job in history.accepted:
        if job not in states:
            yield f"{job} was accepted, and is not in the ledger"
        elif states[job] != ("failed" if job in blamed else end):
            yield f"{job} was accepted, and is {states[job]}"
    # What was accepted without the caller hearing of it must end as well, and once.
    for job, state in states.items():
        if state not in _FINAL:
            yield f"{job} has not ended: it is {state}"
        if results.get(job, 0) != 1:
            yield f"{job} is {state} and has {results.get(job, 0)} results"
    for job in results.keys() - states.keys():
        yield f"there is a result of {job}, which is not in the ledger"


def _of_the_line(store: sqlite3.Connection) -> Iterator[str]:
    for (job,) in store.execute("SELECT coalesce(jobs.id, items.job) FROM items LEFT JOIN jobs ON number = items.job"):
        yield f"{job} still stands in line"
    for (lane,) in store.execute("SELECT key FROM lanes WHERE state NOT IN ('empty', 'waiting')"):
        yield f"the lane {lane} is ready although nothing stands in it"


def _of_the_events(store: sqlite3.Connection) -> Iterator[str]:
    """There is exactly one event for each that was asked for, also of jobs that the store itself has ended."""
    hooked = "SELECT count(*) FROM jobs WHERE kind <> 'deliver' AND \"order\" ->> 'hook' <> ''"
    (asked,) = store.execute(hooked).fetchone()
    (made,) = store.execute("SELECT count(*) FROM jobs WHERE kind = 'deliver'").fetchone()
    if asked != made:
        yield f"{asked} jobs were to be told of, and {made} events were made"


def _of_the_captures(store: sqlite3.Connection, folder: Path) -> Iterator[str]:
    """A result that points to a capture was settled after it: the exchange stands at that very place."""
    for job, body in store.execute("SELECT job, body FROM results WHERE body IS NOT NULL"):
        result = json.loads(body if body[:1] == b"{" else zstd.decompress(body))
        capture = (result.get("receipt") or {}).get("capture")
        if capture is not None and result["document"]["url"].encode() not in _record_at(folder, **capture):
            yield f"{job} points to a capture that is not there: {capture}"


def _record_at(folder: Path, segment: str, offset: int) -> bytes:
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress((folder / segment).read_bytes()[offset:])
    except (OSError, zlib.error):
        return b""


def _of_the_sightings(history: History, end: str, blamed: frozenset[str]) -> Iterator[str]:
    for job in history.accepted:
        seen = history.sightings[job]
        if job in blamed:
            as_told = bool(seen) and seen[-1] == Sighting("failed", None)
        else:
            as_told = bool(seen) and seen[-1].status == end and seen[-1].document is not None
        if not as_told:
            yield f"{job} was last seen as {seen[-1] if seen else 'nothing'}"
        ends = {sighting for sighting in seen if sighting.status in _FINAL}
        if len(ends) > 1:
            yield f"{job} was seen to end in more than one way: {ends}"
        first = next((place for place, sighting in enumerate(seen) if sighting.status in _FINAL), len(seen))
        if any(sighting.status not in _FINAL for sighting in seen[first:]):
            yield f"{job} was seen again as not ended after its end"
