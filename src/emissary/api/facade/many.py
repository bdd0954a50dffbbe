"""Batches and crawls, in the other format."""

from typing import Any

import msgspec
from fastapi import APIRouter, Request, Response

from emissary.api.answers import as_json, item_answer
from emissary.api.auth import Caller, Provided
from emissary.api.bodies import JsonRoute
from emissary.api.facade.answers import (
    ActiveAnswer,
    BatchBegunAnswer,
    CancelledAnswer,
    CrawlBegunAnswer,
    ErrorsAnswer,
    StatusAnswer,
)
from emissary.api.facade.documents import document_of, read_outcome
from emissary.api.facade.pages import with_warning
from emissary.api.facade.requests import BatchScrapeAsked, CrawlAsked
from emissary.api.openapi import problems
from emissary.api.routes.batch import BAD_ENDS, After, Limit, Named, fitting, position_of
from emissary.api.routes.batches import portions, take_in
from emissary.model.batches import INTAKE_LOST, Batch, BatchState, LedgerLine
from emissary.model.jobs import JobState
from emissary.model.pages import Code
from emissary.products.scrape.batches import CRAWL_PREFIX, beginning_of
from emissary.products.scrape.order import ScrapeOptions
from emissary.reading.urls import parse

__all__ = ["router"]

router = APIRouter(prefix="/v2", tags=["firecrawl"], route_class=JsonRoute)

_MOST_LOOKED_AT = 200
_GOES_ON = frozenset({BatchState.RUNNING, BatchState.PAUSED})
_STATUS = {BatchState.RUNNING: "scraping", BatchState.PAUSED: "scraping", BatchState.COMPLETED: "completed"}
_BEGINS = problems(400, 401, 402, 409, 413, 415, 429, 503)
_LISTS = problems(400, 401, 404, 503)

_decode_options = msgspec.json.Decoder(ScrapeOptions).decode


@router.post(
    "/batch/scrape",
    summary="Read many pages (Firecrawl v2)",
    operation_id="facadeBeginBatch",
    response_model=BatchBegunAnswer,
    responses=_BEGINS,
)
async def begin_batch(request: Request, asked: BatchScrapeAsked, caller: Caller, services: Provided) -> Response:
    """Has the pages read some time; those that cannot be are named, and end nothing unless you say so."""
    undone = asked.undone()
    if not asked.ignore_invalid_urls:
        for url in asked.urls:
            parse(url)  # says which one
    accepted = await take_in(services, caller, asked.to_wish(), portions(asked.to_lines()))
    begun = {"id": accepted.id, "url": _status_url(request, accepted.id)}
    return as_json(with_warning(undone, {**begun, "invalidURLs": [fault.url for fault in accepted.faults]}))


@router.post(
    "/crawl",
    summary="Read a site (Firecrawl v2)",
    operation_id="facadeBeginCrawl",
    response_model=CrawlBegunAnswer,
    responses=_BEGINS,
)
async def begin_crawl(request: Request, asked: CrawlAsked, caller: Caller, services: Provided) -> Response:
    """Reads the page and those below its path that it leads to, each once, as far as you let it."""
    undone, rules = asked.undone(), asked.to_rules()
    await services.account_book.expect(caller, rules.limit)  # nobody asks again for what it finds
    accepted = await take_in(services, caller, asked.to_wish(rules), portions(beginning_of(rules)))
    return as_json(with_warning(undone, {"id": accepted.id, "url": _status_url(request, accepted.id)}))


@router.get(
    "/crawl/active",
    summary="List the crawls that go on (Firecrawl v2)",
    operation_id="facadeActiveCrawls",
    response_model=ActiveAnswer,
    responses=problems(401, 503),
)
async def list_active(caller: Caller, services: Provided) -> Response:
    """Those among the account's latest two hundred batches and crawls that have not ended."""
    found = await services.batches.ledger.of_account(caller, before=None, most=_MOST_LOOKED_AT)
    crawls = [_active(each) for each in found if each.id.startswith(CRAWL_PREFIX) and each.state in _GOES_ON]
    return as_json({"success": True, "crawls": crawls})


async def see(
    request: Request, batch: Named, caller: Caller, services: Provided, *, after: After = "", limit: Limit = 100
) -> Response:
    """What became of it so far, and the pages that came, some at a time: `next` leads to the others."""
    shown = await services.batches.show(caller, batch)
    # The clients look once more after the end and never again: it is told when all that came can be seen.
    is_told = shown.state in _GOES_ON or await services.batches.ledger.all_told(batch)
    found = await services.batches.finished(caller, batch, after=after, most=limit + 1)
    read = [pair async for pair in fitting(services, found[:limit])]
    more = str(request.url.include_query_params(after=read[-1][0].cursor)) if len(found) > len(read) else None
    data = [
        document_of(each.line.job, read_outcome(each.result.outcome), body)
        for each, body in read
        if body is not None and each.line.state is JobState.COMPLETED and item_answer(each.line)["part"] == "page"
    ]
    standing = _standing(shown) if is_told else {**_standing(shown), "status": "scraping"}
    return as_json({"success": True, **standing, "next": more, "data": data})


async def list_errors(
    request: Request, batch: Named, caller: Caller, services: Provided, *, after: After = "", limit: Limit = 1_000
) -> Response:
    """The pages that failed or were refused; those that robots.txt closes are listed apart."""
    lines = await services.batches.lines(caller, batch, after=position_of(after), most=limit + 1, states=BAD_ENDS)
    more = str(request.url.include_query_params(after=lines[limit - 1].position)) if len(lines) > limit else None
    told = [_error(line) for line in lines[:limit] if item_answer(line)["part"] == "page"]
    blocked = [each["url"] for each in told if each["code"] == Code.ROBOTS]
    errors = [each for each in told if each["code"] != Code.ROBOTS]
    return as_json({"success": True, "errors": errors, "robotsBlocked": blocked, "next": more})


async def cancel(batch: Named, caller: Caller, services: Provided) -> Response:
    """Ends it: what has not been read will not be. What has can still be seen."""
    await services.batches.mark(caller, batch, BatchState.CANCELLED)
    return as_json({"success": True, "status": "cancelled"})


for _path, _noun in (("/batch/scrape/{id}", "Batch"), ("/crawl/{id}", "Crawl")):
    _said = f"a {_noun.lower()} (Firecrawl v2)"
    router.get(
        _path,
        summary=f"See {_said}",
        operation_id=f"facadeSee{_noun}",
        response_model=StatusAnswer,
        responses=_LISTS,
    )(see)
    router.get(
        f"{_path}/errors",
        summary=f"List what failed of {_said}",
        operation_id=f"facade{_noun}Errors",
        response_model=ErrorsAnswer,
        responses=_LISTS,
    )(list_errors)
    router.delete(
        _path,
        summary=f"Cancel {_said}",
        operation_id=f"facadeCancel{_noun}",
        response_model=CancelledAnswer,
        responses=problems(401, 404, 409, 503),
    )(cancel)


def _status_url(request: Request, batch: str) -> str:
    """On the host that was asked, whatever its name is from there."""
    return f"{request.url.replace(query='', fragment='')}/{batch}"


def _standing(batch: Batch) -> dict[str, Any]:
    lost = batch.reason == INTAKE_LOST
    # A crawl finds more than it may read; what is left of that when it ends was never part of it.
    beyond = batch.counts.cancelled if batch.state is BatchState.COMPLETED else 0
    return {
        "status": _STATUS.get(batch.state, "failed" if lost else "cancelled"),
        "total": batch.total - beyond,
        "completed": batch.counts.completed,
        "creditsUsed": batch.counts.credits,
        "createdAt": batch.created_at,
        "completedAt": batch.finished_at,
        "expiresAt": None,
    }


def _error(line: LedgerLine) -> dict[str, Any]:
    outcome = read_outcome(line.outcome or b'{"kind": "invalid", "code": "internal"}')
    return {
        "id": line.job,
        "timestamp": line.finished_at,
        "url": item_answer(line)["url"],
        "code": outcome.code,
        "error": outcome.detail or outcome.code,
    }


def _active(batch: Batch) -> dict[str, Any]:
    rules = _decode_options(batch.order).crawl
    url = "" if rules is None else rules.start.href
    return {"id": batch.id, "teamId": batch.account, "url": url, "created": batch.created_at}
