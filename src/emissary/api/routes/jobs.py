"""The jobs of an account, in a list."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from emissary.api.answers import as_json
from emissary.api.auth import Caller, Provided
from emissary.api.job_schemas import JobsAnswer, line_answer
from emissary.api.openapi import problems
from emissary.model.errors import BadRequest
from emissary.model.ids import BatchId, JobId, ulid_of
from emissary.model.job_list import JobWish
from emissary.model.jobs import JobState
from emissary.model.lanes import host_lane

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["scrape"])

_NAME_LENGTH = len("job_") + 26
_Status = Annotated[JobState | None, Query(description="Only those that are so now.")]
_Batch = Annotated[str | None, Query(max_length=100, description="Only those of this batch or crawl.")]
_Host = Annotated[
    str | None,
    Query(min_length=1, max_length=300, description="Only those that stand, or ended, at this host (with its port)."),
]
_After = Annotated[str, Query(max_length=100, description="The `next` of an earlier answer; go on behind it.")]
_Limit = Annotated[int, Query(ge=1, le=1_000, description="How many at most.")]


async def _wished(caller: Caller, status: _Status = None, *, batch: _Batch = None, host: _Host = None) -> JobWish:
    lane = None if host is None else host_lane(host.lower())
    return JobWish(caller, status, None if batch is None else BatchId(batch), lane)


@router.get(
    "/jobs",
    summary="List jobs",
    operation_id="listJobs",
    response_model=JobsAnswer,
    responses=problems(400, 401, 503),
)
async def list_jobs(
    wish: Annotated[JobWish, Depends(_wished)], services: Provided, *, after: _After = "", limit: _Limit = 100
) -> Response:
    """Your jobs, the newest first, without what they left behind.

    One request looks at 10,000 jobs at most, those of all accounts or of the batch: where few of them are as you wish,
    a page may be short, or even empty, and still have a `next`.
    """
    page = await services.jobs.listed(wish, before=_before(after), most=limit)
    return as_json({"data": [line_answer(line) for line in page.jobs], "next": page.next})


def _before(after: str) -> JobId | None:
    if not after:
        return None
    if not after.startswith("job_") or len(after) != _NAME_LENGTH or ulid_of(after) is None:
        raise BadRequest(f"{after!r} is not a cursor: use the `next` of an earlier answer", "invalid_cursor")
    return JobId(after)
