"""One page now, or some time."""

from typing import Any

from fastapi import APIRouter, Request, Response

from emissary.api.answers import as_json, parts_of
from emissary.api.auth import Caller, Provided
from emissary.api.bodies import JsonRoute
from emissary.api.door import stand_aside
from emissary.api.openapi import problems
from emissary.api.schemas import JobAnswer, ScrapeAnswer, ScrapeRequest, WaitingAnswer
from emissary.model.errors import NotFound
from emissary.model.ids import JobId
from emissary.model.jobs import FINAL_STATES, JobState
from emissary.model.lanes import WhyWaiting
from emissary.products.scrape.scrapes import Shown

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["scrape"], route_class=JsonRoute)

# What one may do next with a job, for whoever reads the document as a map.
_LINKS = {
    operation: {"operationId": operation, "parameters": {"job": "$response.body#/id"}}
    for operation in ("seeJob", "cancelJob")
}
_RECEIPT = {"seeReceipt": {"operationId": "seeReceipt", "parameters": {"receipt": "$response.body#/receipt/id"}}}


@router.post(
    "/scrape",
    summary="Read one page",
    operation_id="scrape",
    response_model=ScrapeAnswer,
    responses={
        200: {"links": {**_LINKS, **_RECEIPT}},
        202: {"model": WaitingAnswer, "description": "Accepted; not ended yet", "links": _LINKS},
        **problems(400, 401, 402, 413, 415, 429, 503),
    },
)
async def scrape(request: ScrapeRequest, http: Request, caller: Caller, services: Provided) -> Response:
    """Reads the page and answers with it; with `async`, answers at once with the job.

    A page that was refused or could not be reached is a 200 as well, with its outcome: the call itself worked.
    """
    order, priority = request.to_order(), request.to_priority()
    if request.asynchronous:
        shown = await services.scrapes.submit(caller, order, priority)
        return as_json(_waiting(shown), 202)
    stand_aside(http)
    shown = await services.scrapes.scrape(caller, order, priority)
    if shown.job.state in FINAL_STATES:
        return as_json(_ended(shown))
    return as_json(_waiting(shown), 202)


@router.get(
    "/jobs/{job}",
    summary="See a job",
    operation_id="seeJob",
    response_model=JobAnswer,
    responses=problems(401, 404, 503),
)
async def see_job(job: str, caller: Caller, services: Provided) -> Response:
    """The job as it is now: what came of it, or why it waits."""
    return as_json(_whole(await services.scrapes.show(caller, JobId(job))))


@router.delete(
    "/jobs/{job}",
    summary="Cancel a job",
    operation_id="cancelJob",
    response_model=JobAnswer,
    responses=problems(401, 404, 409, 503),
)
async def cancel_job(job: str, caller: Caller, services: Provided) -> Response:
    """Ends the job, unless it has ended."""
    return as_json(_whole(await services.scrapes.cancel(caller, JobId(job))))


@router.get(
    "/receipts/{receipt}",
    summary="See a receipt",
    operation_id="seeReceipt",
    response_model=dict[str, Any],
    responses=problems(401, 404, 503),
)
async def see_receipt(receipt: str, caller: Caller, services: Provided) -> Response:
    """Who asked for a page, under which rule, what came and when. It bears the name of its job."""
    found = None
    if receipt.startswith("rec_"):
        shown = await services.scrapes.show(caller, JobId("job_" + receipt.removeprefix("rec_")))
        found = _result(shown)["receipt"]
    if found is None or bytes(found) == b"null":
        raise NotFound(f"there is no receipt {receipt}")
    return Response(bytes(found), media_type="application/json")


def _waiting(shown: Shown) -> dict[str, Any]:
    return {"id": shown.job.id, "status": shown.job.state, "whyWaiting": _why(shown.why_waiting)}


def _ended(shown: Shown) -> dict[str, Any]:
    used = 1 if shown.job.state is JobState.COMPLETED else 0
    return {"id": shown.job.id, "status": shown.job.state, **_result(shown), "creditsUsed": used}


def _whole(shown: Shown) -> dict[str, Any]:
    job = shown.job
    return {
        "id": job.id,
        "kind": job.kind,
        "status": job.state,
        "attempts": job.failures + (job.started_at is not None or job.state is JobState.ACTIVE),
        "createdAt": job.created_at,
        "startedAt": job.started_at,
        "finishedAt": job.finished_at,
        "whyWaiting": _why(shown.why_waiting),
        **_result(shown),
    }


def _result(shown: Shown) -> dict[str, Any]:
    outcome = None if shown.job.result is None else shown.job.result.outcome
    return parts_of(outcome, shown.result)


def _why(why: WhyWaiting | None) -> dict[str, Any] | None:
    return None if why is None else {"lane": why.lane, "reason": why.reason, "until": why.until, "ahead": why.ahead}
