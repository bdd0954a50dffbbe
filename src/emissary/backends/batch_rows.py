"""Batches as both stores read them, column by column."""

import msgspec

from emissary.backends.schedule_rows import Row
from emissary.model.batches import Batch, BatchState, Counts
from emissary.model.ids import AccountId, BatchId
from emissary.model.jobs import Kind, Priority
from emissary.model.moments import from_ms

__all__ = ["batch_of"]

_read_outcomes = msgspec.json.Decoder(dict[str, int]).decode


def batch_of(row: Row) -> Batch:
    """The batch of a row that has its columns, its counts, its outcomes as JSON, and when the last of it ended."""
    state, total = BatchState(row["state"]), row["submitted"]
    ends = {name: row[name] for name in ("completed", "refused", "failed", "cancelled", "cached", "credits")}
    if state is BatchState.CANCELLED:  # the rows of its jobs say so only once they are tidied up
        ends["cancelled"] = total - ends["completed"] - ends["refused"] - ends["failed"]
    counts, finished = Counts(**ends), row["finished_at"]
    if row["sealed"] and state in (BatchState.RUNNING, BatchState.PAUSED) and counts.ended == total:
        state, finished = BatchState.COMPLETED, finished or row["last_end"]  # that is noted a little later
    return Batch(
        id=BatchId(row["id"]),
        account=AccountId(row["account"]),
        kind=Kind(row["kind"]),
        name=row["name"],
        order=row["order"],
        priority=Priority(row["priority"]),
        state=state,
        reason=row["reason"],
        sealed=bool(row["sealed"]),
        total=total,
        active=0 if state is BatchState.CANCELLED else row["active"],
        created_at=from_ms(row["created_at"]),
        finished_at=None if finished is None else from_ms(finished),
        counts=counts,
        outcomes=_read_outcomes(row["outcomes"] or b"{}"),
    )
