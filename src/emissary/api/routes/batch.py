"""One batch or crawl: seen, read out, paused, cancelled, tried again. Both have the same routes, made in one place."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from typing import Annotated, Any, Literal, NamedTuple

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from starlette.responses import StreamingResponse

from emissary.api.answers import as_json, batch_answer, encode, item_answer, result_answer
from emissary.api.auth import Caller, Provided
from emissary.api.batch_schemas import AgainAnswer, AgainRequest, BatchAnswer, ItemsAnswer, ResultsAnswer
from emissary.api.bodies import JsonRoute
from emissary.api.door import stand_aside
from emissary.api.lines import NDJSON
from emissary.api.openapi import problems
from emissary.api.schemas import Shape
from emissary.api.services import Services
from emissary.model.batches import Batch, BatchState, Finished
from emissary.model.errors import BadRequest, NotFound
from emissary.model.ids import AccountId, BatchId, ulid_of
from emissary.model.jobs import JobState
from emissary.products.scrape.batches import BATCH_PREFIX, CRAWL_PREFIX

__all__ = ["BAD_ENDS", "After", "Limit", "Named", "Noun", "fitting", "links_to", "position_of", "routes_of"]

Noun = Literal["batch", "crawl"]

_PREFIXES = {"batch": BATCH_PREFIX, "crawl": CRAWL_PREFIX}
BAD_ENDS = frozenset({JobState.FAILED, JobState.REFUSED})
_ENOUGH_BYTES = 8 * 1024 * 1024  # of results in one page; the one that goes beyond it is the last
_ULID_LENGTH = 26
_LONGEST_POSITION = 9


async def _named(request: Request, given: Annotated[str, Path(alias="id")]) -> BatchId:
    """The name, if it is one of this noun; a crawl asked for as a batch answers like one that never was."""
    prefix = _PREFIXES[request.url.path.split("/")[2]]
    if not given.startswith(prefix) or len(given) != len(prefix) + _ULID_LENGTH or ulid_of(given) is None:
        raise NotFound(f"there is no batch {given}")
    return BatchId(given)


Named = Annotated[BatchId, Depends(_named)]
After = Annotated[str, Query(max_length=100, description="A cursor of an earlier answer; go on behind it.")]
Limit = Annotated[int, Query(ge=1, le=1_000, description="How many at most.")]


async def see(batch: Named, caller: Caller, services: Provided) -> Response:
    """What is in it, what became of that so far, and how fast it goes."""
    return await _shown(await services.batches.show(caller, batch), services)


async def list_items(
    batch: Named,
    caller: Caller,
    services: Provided,
    *,
    status: Annotated[JobState | None, Query(description="Only those that are so.")] = None,
    after: After = "",
    limit: Limit = 100,
) -> Response:
    """The pages in the order in which they came, without what they left behind."""
    states = None if status is None else {status}
    return await _items(services, caller, batch, states=states, after=after, limit=limit)


async def list_errors(
    batch: Named, caller: Caller, services: Provided, *, after: After = "", limit: Limit = 100
) -> Response:
    """The pages that failed or were refused, each with its outcome."""
    return await _items(services, caller, batch, states=BAD_ENDS, after=after, limit=limit)


async def list_results(
    request: Request, batch: Named, caller: Caller, services: Provided, *, after: After = "", limit: Limit = 100
) -> Response:
    """The pages that have ended, in the order in which they did, with what they left behind.

    With `Accept: application/x-ndjson` all of them come in one stream, whatever the limit. Every page has its cursor:
    whoever was cut off goes on behind the last one that came whole.
    """
    # The first page is read in any case: what is wrong is told before anything is sent.
    found = await services.batches.finished(caller, batch, after=after, most=limit + 1)
    if NDJSON in request.headers.get("accept", "").lower():
        stand_aside(request)
        return StreamingResponse(_streamed(services, caller, batch, after), media_type=NDJSON)
    data = [result_answer(each, body) async for each, body in fitting(services, found[:limit])]
    return as_json({"data": data, "next": data[-1]["cursor"] if len(found) > len(data) else None})


async def pause(batch: Named, caller: Caller, services: Provided) -> Response:
    """Begins no further page until it is resumed."""
    return await _shown(await services.batches.mark(caller, batch, BatchState.PAUSED), services)


async def resume(batch: Named, caller: Caller, services: Provided) -> Response:
    """Goes on where it was paused."""
    return await _shown(await services.batches.mark(caller, batch, BatchState.RUNNING), services)


async def cancel(batch: Named, caller: Caller, services: Provided) -> Response:
    """Ends it: what has not been read will not be. What has can still be seen."""
    return await _shown(await services.batches.mark(caller, batch, BatchState.CANCELLED), services)


async def retry(batch: Named, caller: Caller, services: Provided, asked: AgainRequest | None = None) -> Response:
    """Has the pages that failed read once more, or those that were refused if you say so."""
    states = (asked or AgainRequest()).to_states()
    counts = (await services.batches.show(caller, batch)).counts
    await services.account_book.expect(caller, sum(getattr(counts, state.value) for state in states))
    again = await services.batches.again(caller, batch, states)
    return as_json({"id": batch, "again": again})


class _Way(NamedTuple):
    """One of the routes; `operation` and `summary` get the noun."""

    method: str
    path: str
    endpoint: Callable[..., Awaitable[Response]]
    operation: str
    summary: str
    answer: type[Shape]
    responses: dict[int | str, dict[str, Any]]


_LISTED, _STEERED = problems(400, 401, 404, 503), problems(401, 404, 409, 503)
_RETRIED = {**_STEERED, **problems(400, 402, 413, 415)}
_RESULTS = {200: {"content": {NDJSON: {"schema": {"type": "string", "description": "One page a line."}}}}, **_LISTED}

_WAYS = (
    _Way("GET", "", see, "see{}", "See a {}", BatchAnswer, problems(401, 404, 503)),
    _Way("GET", "/items", list_items, "list{}Items", "List the pages of a {}", ItemsAnswer, _LISTED),
    _Way("GET", "/results", list_results, "list{}Results", "Read out a {}", ResultsAnswer, _RESULTS),
    _Way("GET", "/errors", list_errors, "list{}Errors", "List what failed of a {}", ItemsAnswer, _LISTED),
    _Way("POST", "/pause", pause, "pause{}", "Pause a {}", BatchAnswer, _STEERED),
    _Way("POST", "/resume", resume, "resume{}", "Resume a {}", BatchAnswer, _STEERED),
    _Way("POST", "/retry", retry, "retry{}", "Try a {} again", AgainAnswer, _RETRIED),
    _Way("DELETE", "", cancel, "cancel{}", "Cancel a {}", BatchAnswer, _STEERED),
)


def routes_of(noun: Noun) -> APIRouter:
    """The routes under /v1/{noun}/{id}."""
    router = APIRouter(prefix=f"/v1/{noun}/{{id}}", tags=["batches"], route_class=JsonRoute)
    for way in _WAYS:
        router.add_api_route(
            way.path,
            way.endpoint,
            methods=[way.method],
            operation_id=way.operation.format(noun.capitalize()),
            summary=way.summary.format(noun),
            response_model=way.answer,
            responses=way.responses,
        )
    return router


def links_to(noun: Noun) -> dict[str, Any]:
    """What one may do with it next, for whoever reads the document as a map."""
    names = (way.operation.format(noun.capitalize()) for way in _WAYS)
    return {name: {"operationId": name, "parameters": {"id": "$response.body#/id"}} for name in names}


async def _shown(batch: Batch, services: Services) -> Response:
    return as_json(batch_answer(batch, services.clock.now(), await services.batches.waits(batch)))


async def _items(
    services: Services,
    caller: AccountId,
    batch: BatchId,
    *,
    states: Collection[JobState] | None,
    after: str,
    limit: int,
) -> Response:
    lines = await services.batches.lines(caller, batch, after=position_of(after), most=limit + 1, states=states)
    data = [item_answer(line) for line in lines[:limit]]
    return as_json({"data": data, "next": str(data[-1]["index"]) if len(lines) > limit else None})


def position_of(after: str) -> int:
    """The place that a cursor of the ledger stands for; before the first, where there is none."""
    if not after:
        return -1
    if after.isascii() and after.isdecimal() and len(after) <= _LONGEST_POSITION:
        return int(after)
    raise BadRequest(f"{after!r} is not a cursor: use the `next` of an earlier answer", "invalid_cursor")


async def fitting(services: Services, found: list[Finished]) -> AsyncIterator[tuple[Finished, bytes | None]]:
    """As many of the results as fit into one answer, but at least one, each with what it left behind."""
    size = 0
    for each in found:
        body = await services.batches.body_of(each)
        yield each, body
        size += len(body or b"")
        if size > _ENOUGH_BYTES:
            break


async def _streamed(services: Services, caller: AccountId, batch: BatchId, after: str) -> AsyncIterator[bytes]:
    async for each in services.batches.stream(caller, batch, after):
        yield encode(result_answer(each, await services.batches.body_of(each))) + b"\n"
