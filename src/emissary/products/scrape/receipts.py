"""The receipt of a visit: who asked, under which rule, what came and when."""

from datetime import datetime, timedelta

import msgspec

from emissary.engine.handlers import Work
from emissary.model.cache import CachedPage
from emissary.model.captures import Capture
from emissary.model.ids import ReceiptId
from emissary.model.pages import Receipt
from emissary.reading.credentials import Credentials
from emissary.reading.visit import Visit

__all__ = ["receipt_of"]

_MILLISECOND = timedelta(milliseconds=1)


def receipt_of(
    visit: Visit | None,
    work: Work,
    credentials: Credentials,
    now: datetime,
    *,
    copy: CachedPage | None = None,
    capture: Capture | None = None,
) -> Receipt:
    """The account of a visit; without one, that of a copy which was good enough."""
    identity = ReceiptId("rec_" + work.item.job.removeprefix("job_"))
    waited = max((work.started_at - work.item.created_at) // _MILLISECOND, 0)
    agent, hops = credentials.identity.agent, [] if visit is None else list(visit.hops)
    reply = None if visit is None else visit.reply
    robots = None if visit is None else visit.robots
    if reply is None:
        receipt = Receipt(identity, agent, now, waited, hops, robots=robots)
    else:
        receipt = Receipt(
            identity,
            agent,
            now,
            waited,
            hops,
            key_id=credentials.key_id,
            robots=robots,
            address=reply.address,
            tls=reply.tls,
            timings=reply.timings,
            etag=reply.headers.get("etag"),
            last_modified=reply.headers.get("last-modified"),
            bytes=len(reply.body),
            wire_bytes=reply.wire_bytes,
            sha256=reply.sha256,
            egress=reply.egress,
            capture=capture,
        )
    return receipt if copy is None else _of_copy(receipt, copy, asked=visit is not None)


def _of_copy(receipt: Receipt, copy: CachedPage, *, asked: bool) -> Receipt:
    return msgspec.structs.replace(
        receipt,
        fetched_at=copy.fetched_at,
        etag=copy.headers.get("etag"),
        last_modified=copy.headers.get("last-modified"),
        bytes=len(copy.body),
        sha256=copy.sha256,
        engine="http" if asked else "cache",
        engine_reason="the copy still holds" if asked else "the copy was no older than the caller allowed",
        cache="revalidated" if asked else "hit",
    )
