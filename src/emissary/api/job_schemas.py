"""Lists of jobs, as they are told."""

from datetime import datetime
from typing import Any

import msgspec
from pydantic import Field

from emissary.api.schemas import OutcomeAnswer, Shape
from emissary.model.job_list import JobLine
from emissary.model.jobs import JobState
from emissary.model.lanes import Thing
from emissary.products.scrape.order import PageOfBatch

__all__ = ["JobLineAnswer", "JobsAnswer", "line_answer"]


class JobLineAnswer(Shape):
    """A job in a list, without what it left behind."""

    id: str
    kind: str
    status: JobState
    url: str | None = Field(description="The page, where it is about one.")
    host: str | None = Field(description="The host in whose lane it stands or ended; null where it is no web host.")
    batch: str | None
    attempts: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    outcome: OutcomeAnswer | None


class JobsAnswer(Shape):
    """Some jobs, the newest first, and where to go on."""

    data: list[JobLineAnswer]
    next: str | None = Field(description="Null when there are no more. A page may be short, or empty, and have one.")


class _Single(msgspec.Struct, rename="camel"):
    source_url: str | None = None


_read_single = msgspec.json.Decoder(_Single).decode
_read_page = msgspec.json.Decoder(PageOfBatch).decode


def line_answer(line: JobLine) -> dict[str, Any]:
    """One job of a list."""
    thing, _, authority = line.lane.partition(":")
    return {
        "id": line.id,
        "kind": line.kind,
        "status": line.state,
        "url": _url_in(line.order),
        "host": authority if thing == Thing.HOST else None,
        "batch": line.batch,
        "attempts": line.failures + (line.started_at is not None or line.state is JobState.ACTIVE),
        "createdAt": line.created_at,
        "startedAt": line.started_at,
        "finishedAt": line.finished_at,
        "outcome": None if line.outcome is None else msgspec.Raw(line.outcome),
    }


def _url_in(order: bytes) -> str | None:
    """A page of a batch is kept as a list that begins with its URL; a single one says where it came from."""
    return _read_page(order).url if order.startswith(b"[") else _read_single(order).source_url
