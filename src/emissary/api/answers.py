"""Answers as they leave: results are kept as the JSON that the API speaks, and are passed on without being opened."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from starlette.responses import Response

from emissary.model.batches import Batch, BatchState, Finished, LedgerLine
from emissary.model.jobs import JobState
from emissary.products.scrape.batches import Faulty
from emissary.products.scrape.order import ListingOfCrawl
from emissary.products.scrape.waits import LaneWait

__all__ = ["as_json", "batch_answer", "encode", "faults_answer", "item_answer", "parts_of", "result_answer"]

_FAR_OFF = timedelta(days=3650)  # what would take longer is not worth a date

encode = msgspec.json.Encoder().encode
_decode_page = msgspec.json.Decoder(ListingOfCrawl).decode


class _Parts(msgspec.Struct):
    document: msgspec.Raw = msgspec.Raw(b"null")
    receipt: msgspec.Raw = msgspec.Raw(b"null")


_decode_parts = msgspec.json.Decoder(_Parts).decode


def as_json(body: dict[str, Any], status: int = 200) -> Response:
    """The body as the answer."""
    return Response(encode(body), status, media_type="application/json")


def parts_of(outcome: bytes | None, result: bytes | None) -> dict[str, Any]:
    """What came of a page, of the outcome and the body that its job left behind."""
    parts = _Parts() if result is None else _decode_parts(result)
    told = None if outcome is None else msgspec.Raw(outcome)
    return {"outcome": told, "document": parts.document, "receipt": parts.receipt}


def batch_answer(batch: Batch, now: datetime, waits: Sequence[LaneWait]) -> dict[str, Any]:
    """The batch with its counts and its pace."""
    counts, pace = batch.counts, _pace(batch, now)
    return {
        "id": batch.id,
        "name": batch.name,
        "status": batch.state,
        "total": batch.total,
        "counts": {
            "waiting": max(0, batch.total - counts.ended - batch.active),
            "active": batch.active,
            "completed": counts.completed,
            "refused": counts.refused,
            "failed": counts.failed,
            "cancelled": counts.cancelled,
            "cached": counts.cached,
        },
        "outcomes": batch.outcomes,
        "reason": batch.reason,
        "pagesPerSecond": None if pace is None else round(pace, 3),
        "eta": _eta(batch, pace, now),
        "creditsUsed": counts.credits,
        "createdAt": batch.created_at,
        "finishedAt": batch.finished_at,
        "whyWaiting": [
            {
                "lane": wait.why.lane,
                "reason": wait.why.reason,
                "until": wait.why.until,
                "ahead": wait.why.ahead,
                "items": wait.items,
            }
            for wait in waits
        ],
    }


def _pace(batch: Batch, now: datetime) -> float | None:
    read = batch.counts.ended - batch.counts.cancelled
    took = ((batch.finished_at or now) - batch.created_at).total_seconds()
    return read / took if read and took > 0 else None


def _eta(batch: Batch, pace: float | None, now: datetime) -> datetime | None:
    left = batch.total - batch.counts.ended
    if pace is None or batch.state is not BatchState.RUNNING or left / pace > _FAR_OFF.total_seconds():
        return None
    return now + timedelta(seconds=left / pace)


def item_answer(line: LedgerLine) -> dict[str, Any]:
    """One page of a batch, without what it left behind."""
    page = _decode_page(line.order)
    return {
        "id": line.job,
        "part": page.part,
        "index": line.position,
        "url": page.url,
        "depth": page.depth,
        "status": line.state,
        "attempts": line.failures + (line.outcome is not None or line.state is JobState.ACTIVE),
        "finishedAt": line.finished_at,
        "metadata": page.metadata,
        "outcome": None if line.outcome is None else msgspec.Raw(line.outcome),
    }


def faults_answer(faults: list[Faulty]) -> list[dict[str, Any]]:
    """Lines that were not accepted, each with the reason."""
    return [{"index": fault.index, "url": fault.url, "code": fault.code} for fault in faults]


def result_answer(finished: Finished, body: bytes | None) -> dict[str, Any]:
    """One page of a batch that has ended, with all it left behind."""
    return {"cursor": finished.cursor, **item_answer(finished.line), **parts_of(finished.result.outcome, body)}
