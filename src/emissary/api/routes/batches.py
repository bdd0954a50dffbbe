"""Many pages: a list that is given, or a site from one page on."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response

from emissary.api.answers import as_json, faults_answer
from emissary.api.auth import Caller, Provided
from emissary.api.batch_schemas import AcceptedAnswer, BatchOptions, BatchRequest, BegunAnswer, CrawlRequest
from emissary.api.bodies import JsonRoute, as_model, kind_of, read_as
from emissary.api.door import stand_aside
from emissary.api.lines import AT_ONCE, NDJSON, first_and_rest, lines_of, options_in
from emissary.api.openapi import problems, reference_to
from emissary.api.routes.batch import links_to
from emissary.api.services import Services
from emissary.model.ids import AccountId
from emissary.products.scrape.batches import Accepted, BatchWish, Faulty, Line, ListsOfSite, beginning_of

__all__ = ["portions", "router", "take_in"]

T = TypeVar("T")

router = APIRouter(prefix="/v1", tags=["batches"], route_class=JsonRoute)


_BODIES = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": reference_to(BatchRequest)},
            NDJSON: {"schema": {"type": "string", "description": "A URL, or an object with `url`, on each line."}},
        },
    }
}


@router.post(
    "/batch",
    summary="Read many pages",
    operation_id="beginBatch",
    status_code=202,
    response_model=AcceptedAnswer,
    responses={202: {"links": links_to("batch")}, **problems(400, 401, 402, 409, 413, 415, 429, 503)},
    openapi_extra=_BODIES,
)
async def begin_batch(request: Request, caller: Caller, services: Provided) -> Response:
    """Accepts the pages, to be read one by one at each site's own pace, and answers when all are on disk.

    As `application/x-ndjson` there may be a million of them, one a line: an object with `url` and `metadata`, or the
    bare URL. Options are then in the query or in the first line. If the lines break off, the batch is cancelled.
    """
    stand_aside(request)  # a long list takes its time
    if kind_of(request) == NDJSON:
        given, chunks = await first_and_rest(lines_of(request))
        options = as_model(BatchOptions, {**options_in(request.query_params), **given})
        accepted = await take_in(services, caller, options.to_wish(), chunks)
    else:
        asked = await read_as(BatchRequest, request)
        accepted = await take_in(services, caller, asked.to_wish(), portions(asked.to_lines()))
    return as_json(_accepted(accepted), 202)


@router.post(
    "/crawl",
    summary="Read a site",
    operation_id="beginCrawl",
    status_code=202,
    response_model=BegunAnswer,
    responses={202: {"links": links_to("crawl")}, **problems(400, 401, 402, 409, 413, 415, 429, 503)},
)
async def begin_crawl(asked: CrawlRequest, caller: Caller, services: Provided) -> Response:
    """Reads the page and the pages of the site that it leads to, each once, as far as you let it.

    The site's sitemaps are looked for as well, unless you say otherwise: those that its robots.txt names, or else
    /sitemap.xml. Each is a `part` of the crawl that is no page, counts against no limit and costs nothing.
    """
    rules = asked.to_rules()
    await services.account_book.expect(caller, rules.limit)  # nobody asks again for what it finds
    accepted = await take_in(services, caller, asked.to_wish(rules), portions(beginning_of(rules)))
    return as_json({"id": accepted.id}, 202)


async def take_in(
    services: Services, caller: AccountId, wish: BatchWish, chunks: AsyncIterator[Sequence[Line | Faulty | ListsOfSite]]
) -> Accepted:
    """Accept all of it, or have nothing of it go on."""
    intake = await services.batches.begin(caller, wish)
    ended = False
    try:
        async with intake.kept_open():
            async for chunk in chunks:
                await intake.add(chunk)
            result = await intake.end()
        ended = True
    finally:
        if not ended:  # whatever the reason: nobody will know this batch by its name
            await intake.abandon()
    return result


async def portions(lines: Sequence[T]) -> AsyncIterator[Sequence[T]]:
    """The lines, as many at a time as are written together."""
    for start in range(0, len(lines), AT_ONCE):
        yield lines[start : start + AT_ONCE]


def _accepted(accepted: Accepted) -> dict[str, Any]:
    return {
        "id": accepted.id,
        "accepted": accepted.accepted,
        "duplicates": accepted.duplicates,
        "invalidCount": accepted.invalid,
        "invalid": faults_answer(accepted.faults),
        "excludedCount": accepted.excluded,
        "excluded": faults_answer(accepted.exclusions),
    }
