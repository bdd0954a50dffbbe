"""What one report used, as it is noted: a list of rows with one for each account, kind of work and host."""

from collections.abc import Iterable

import msgspec

from emissary.model.jobs import JobState

__all__ = ["Used", "note_of"]

_encode = msgspec.json.Encoder().encode


Used = tuple[int, str, str, JobState, int, bool]
"""A job that came to an end of its own: the number of its account, its kind, its lane, its state, its credits, and
whether it was cached. There is one for every job, so it is as cheap to make as can be."""


def note_of(ends: Iterable[Used]) -> str:
    """`[[tenant, kind, host, jobs, credits, cached, failed, refused], …]`. A lane's host is what its key names."""
    rows: dict[tuple[int, str, str], list[int]] = {}
    for tenant, kind, lane, state, price, cached in ends:
        key = (tenant, kind, lane)
        row = rows.get(key)
        if row is None:
            row = rows[key] = [0, 0, 0, 0, 0]
        row[0] += 1
        row[1] += price
        row[2] += cached
        row[3] += state is JobState.FAILED
        row[4] += state is JobState.REFUSED
    told = [(tenant, kind, lane.partition(":")[2], *row) for (tenant, kind, lane), row in rows.items()]
    return _encode(told).decode()
