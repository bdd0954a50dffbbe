"""What happens in a batch or crawl, while it does: server-sent events, taken up again where they broke off."""

from collections.abc import AsyncIterator
from typing import Annotated, Any, assert_never

import structlog
from fastapi import APIRouter, Header, Request, Response
from starlette.responses import StreamingResponse

from emissary.api.answers import batch_answer, encode, item_answer
from emissary.api.auth import Caller, Provided
from emissary.api.door import stand_aside
from emissary.api.openapi import problems
from emissary.api.routes.batch import After, Named, Noun
from emissary.api.services import Services
from emissary.model.batches import Batch, Finished
from emissary.model.errors import NotFound, StoreUnavailable
from emissary.model.ids import AccountId, BatchId
from emissary.products.scrape.following import Event, Over, Progress, Silence

__all__ = ["events_of"]

log = structlog.get_logger(__name__)

_ITEM = ("id", "index", "url", "status", "outcome")
# What stands here is what each event is, and not the stream of them.
_EVENT_SCHEMA = {
    "type": "object",
    "description": "One event of the stream.",
    "properties": {
        "event": {"type": "string", "enum": ["progress", "item", "end"]},
        "id": {"type": "string", "description": "Of an `item`: its cursor among the results."},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["event", "data"],
}


class _EventStream(Response):
    media_type = "text/event-stream"


async def list_events(
    request: Request,
    batch: Named,
    caller: Caller,
    services: Provided,
    *,
    after: After = "",
    last_event_id: Annotated[str, Header(max_length=100, description="The `id` of the last event that came.")] = "",
) -> Response:
    """Tells of each page when it has ended, of the counts once a second while they change, and of the end.

    The `id` of an `item` is its cursor among the results: with `Last-Event-ID`, or as `after`, it leads on behind it.
    """
    since = last_event_id or after
    # What is wrong is told before anything is sent.
    await services.batches.finished(caller, batch, after=since, most=1)
    stand_aside(request)
    return StreamingResponse(_told(services, caller, batch, since), media_type=_EventStream.media_type)


def events_of(noun: Noun) -> APIRouter:
    """The route /v1/{noun}/{id}/events."""
    router = APIRouter(prefix=f"/v1/{noun}/{{id}}", tags=["batches"])
    router.add_api_route(
        "/events",
        list_events,
        operation_id=f"list{noun.capitalize()}Events",
        summary=f"Follow a {noun}",
        response_class=_EventStream,
        responses={200: {"content": {"text/event-stream": {"schema": _EVENT_SCHEMA}}}, **problems(400, 401, 404, 503)},
    )
    return router


async def _told(services: Services, caller: AccountId, batch: BatchId, after: str) -> AsyncIterator[bytes]:
    try:
        async for event in services.following.follow(caller, batch, after):
            yield _written(event, services)
    except (NotFound, StoreUnavailable) as error:  # the stream breaks off, and can be taken up again
        log.warning("a batch cannot be followed any further", batch=batch, reason=error.detail)


def _written(event: Event, services: Services) -> bytes:
    match event:
        case Finished():
            told = item_answer(event.line)
            return _event("item", {name: told[name] for name in _ITEM}, event.cursor)
        case Progress():
            return _event("progress", _counted(event.batch, services))
        case Over():
            return _event("end", _counted(event.batch, services))
        case Silence():
            return b": still here\n\n"
        case _:
            assert_never(event)


def _counted(batch: Batch, services: Services) -> dict[str, Any]:
    told = batch_answer(batch, services.clock.now(), ())
    del told["whyWaiting"]
    return told


def _event(name: str, told: dict[str, Any], cursor: str | None = None) -> bytes:
    """JSON has no line breaks outside its strings, and in them they are escaped: one line of data is all."""
    identity = b"" if cursor is None else f"id: {cursor}\n".encode()
    return identity + f"event: {name}\ndata: ".encode() + encode(told) + b"\n\n"
