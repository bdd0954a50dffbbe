"""Single pages, maps and the account, in the other format."""

from typing import Any

from fastapi import APIRouter, Request, Response

from emissary.api.answers import as_json
from emissary.api.auth import Caller, Provided
from emissary.api.bodies import JsonRoute
from emissary.api.door import stand_aside
from emissary.api.facade.answers import CreditsAnswer, LinksAnswer, PageAnswer, QueueAnswer
from emissary.api.facade.documents import ABSENT, document_of, read_outcome, refused_document
from emissary.api.facade.requests import MapAsked, ScrapeAsked
from emissary.api.openapi import problems
from emissary.model.jobs import FINAL_STATES, JobState, Priority
from emissary.model.pages import Code, Outcome
from emissary.products.scrape.maps import MappedPage
from emissary.products.scrape.scrapes import Shown

__all__ = ["router", "with_warning"]

router = APIRouter(prefix="/v2", tags=["firecrawl"], route_class=JsonRoute)

# The clients take numbers only. This one, the largest that all of them read exactly, stands for no limit.
_NO_LIMIT = 2**53 - 1


@router.post(
    "/scrape",
    summary="Read one page (Firecrawl v2)",
    operation_id="facadeScrape",
    response_model=PageAnswer,
    responses=problems(400, 401, 402, 408, 413, 415, 429, 503),
)
async def scrape(asked: ScrapeAsked, http: Request, caller: Caller, services: Provided) -> Response:
    """Reads the page and answers with it. A refused page is a document with a `warning` and no content.

    A page that could not be reached has `success: false`; one that did not come in time is a 408.
    """
    undone, order = asked.undone(), asked.to_order()
    stand_aside(http)
    shown = await services.scrapes.scrape(caller, order, Priority.NORMAL)
    if shown.job.state not in FINAL_STATES:
        return _absent(Outcome("unreachable", Code.TIMEOUT, detail="the page did not come in time: its host is busy"))
    outcome = _outcome_of(shown)
    if shown.job.state is JobState.COMPLETED:
        return as_json(with_warning(undone, {"data": document_of(shown.job.id, outcome, shown.result or b"{}")}))
    if shown.job.state is JobState.REFUSED:
        return as_json(with_warning(undone, {"data": refused_document(shown.job.id, asked.url, outcome)}))
    return _absent(outcome)


@router.post(
    "/map",
    summary="List the pages of a site (Firecrawl v2)",
    operation_id="facadeMap",
    response_model=LinksAnswer,
    responses=problems(400, 401, 402, 409, 413, 415, 429, 503),
)
async def map_site(asked: MapAsked, http: Request, caller: Caller, services: Provided) -> Response:
    """Reads the site's sitemaps and one page, and answers with the pages that they name; these are not read."""
    undone = asked.undone()
    stand_aside(http)
    drawn = await services.maps.draw(caller, asked.to_wish())
    links = [_link(page) for page in drawn.pages.values()]
    if drawn.unread:
        first = drawn.unread[0]
        undone.append(f"{first.url} could not be read: {first.outcome.detail or first.outcome.code.value}")
    if not drawn.complete and not drawn.unread:
        undone.append("there may be more pages: time or the limit ended the map")
    return as_json(with_warning(undone, {"id": drawn.id, "links": links}))


@router.get(
    "/team/credit-usage",
    summary="See your credits (Firecrawl v2)",
    operation_id="facadeCredits",
    response_model=CreditsAnswer,
    responses=problems(401, 503),
)
async def see_credits(caller: Caller, services: Provided) -> Response:
    """What further work may use. There are no plans and no billing periods here."""
    balance = (await services.account_book.show(caller)).balance
    left = {
        "remainingCredits": _NO_LIMIT if balance is None else balance.available,
        "planCredits": None,
        "billingPeriodStart": None,
        "billingPeriodEnd": None,
    }
    return as_json({"success": True, "data": left})


@router.get(
    "/team/queue-status",
    summary="See what you have in line (Firecrawl v2)",
    operation_id="facadeQueue",
    response_model=QueueAnswer,
    responses=problems(401, 503),
)
async def see_queue(caller: Caller, services: Provided) -> Response:
    """The account's jobs that have not ended."""
    shown = await services.account_book.show(caller)
    load, most = shown.load, shown.allowance.most_active
    active = min(load.active, load.queued)  # a host may be in hand for a moment longer than there is work for it
    return as_json(
        {
            "success": True,
            "jobsInQueue": load.queued,
            "activeJobsInQueue": active,
            "waitingJobsInQueue": load.queued - active,
            "maxConcurrency": _NO_LIMIT if most is None else most,
            "mostRecentSuccess": None,
        }
    )


def with_warning(undone: list[str], answer: dict[str, Any]) -> dict[str, Any]:
    """An answer that worked, and what of the wish did not; the clients pass on what stands beside a page's content."""
    if not undone:
        return {"success": True, **answer}
    said = "; ".join(undone)
    if "data" in answer:
        page = answer["data"]
        answer = {**answer, "data": {**page, "warning": "; ".join(filter(None, [page.get("warning"), said]))}}
    return {"success": True, **answer, "warning": said}


def _outcome_of(shown: Shown) -> Outcome:
    if shown.job.result is None:
        return Outcome("invalid", Code.INTERNAL, detail="the job was cancelled")
    return read_outcome(shown.job.result.outcome)


def _absent(outcome: Outcome) -> Response:
    code = ABSENT.get(outcome.code, f"SCRAPE_{outcome.code.value.upper()}")
    body = {"success": False, "error": outcome.detail or outcome.code.value, "code": code}
    return as_json(body, 408 if outcome.code is Code.TIMEOUT else 200)


def _link(page: MappedPage) -> dict[str, str]:
    return {"url": page.url, **({} if page.title is None else {"title": page.title})}
