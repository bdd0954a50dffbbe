"""What a site has, and what reading it would come to: maps and plans. No page but one is asked for."""

from datetime import datetime
from typing import Any

from fastapi import APIRouter, Request, Response

from emissary.api.answers import as_json, faults_answer
from emissary.api.auth import Caller, Provided
from emissary.api.bodies import JsonRoute
from emissary.api.door import stand_aside
from emissary.api.openapi import problems
from emissary.api.site_schemas import MapAnswer, MapRequest, PlanAnswer, PlanRequest
from emissary.products.scrape.maps import MappedPage
from emissary.products.scrape.plans import HostPlan, Plan

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["sites"], route_class=JsonRoute)

_MOST_HOSTS = 1_000


@router.post(
    "/map",
    summary="List the pages of a site",
    operation_id="mapSite",
    response_model=MapAnswer,
    responses=problems(400, 401, 402, 409, 413, 415, 429, 503),
)
async def map_site(asked: MapRequest, http: Request, caller: Caller, services: Provided) -> Response:
    """Reads the site's sitemaps and one page, and answers with the pages that they name; these are not read.

    What has not come in time is left out and cancelled: then `complete` is false. A map is kept like a crawl, which
    shows the sitemaps with their receipts.
    """
    stand_aside(http)
    drawn = await services.maps.draw(caller, asked.to_wish())
    unread = [{"url": each.url, "outcome": each.outcome} for each in drawn.unread]
    links = [_mapped(page) for page in drawn.pages.values()]
    return as_json({"id": drawn.id, "complete": drawn.complete, "links": links, "unread": unread})


@router.post(
    "/plan",
    summary="See what reading pages would come to",
    operation_id="planPages",
    response_model=PlanAnswer,
    responses=problems(400, 401, 402, 413, 415, 429, 503),
)
async def plan_pages(asked: PlanRequest, http: Request, caller: Caller, services: Provided) -> Response:
    """Says which of the pages may be read, how long politeness takes and what it costs, and asks for none of them.

    House rules that are not known are read now, each in its host's lane, as far as time allows.
    """
    stand_aside(http)
    return as_json(_planned(await services.plans.make(caller, asked.to_wish()), services.clock.now()))


def _mapped(page: MappedPage) -> dict[str, Any]:
    return {"url": page.url, "title": page.title, "lastModified": page.last_modified, "source": page.source}


def _planned(plan: Plan, now: datetime) -> dict[str, Any]:
    return {
        "urls": plan.urls,
        "duplicates": plan.duplicates,
        "invalidCount": plan.invalid,
        "invalid": faults_answer(plan.faults),
        "hostCount": len(plan.hosts),
        "hosts": [_host(host, now) for host in plan.hosts[:_MOST_HOSTS]],
        "refusedCount": plan.refused,
        "refused": [{"url": each.url, "code": each.code, "detail": each.detail} for each in plan.refusals],
        "seconds": plan.duration.total_seconds(),
        "eta": now + plan.duration,
        "credits": plan.credits,
    }


def _host(host: HostPlan, now: datetime) -> dict[str, Any]:
    return {
        "host": host.host,
        "urls": host.urls,
        "refused": host.refused,
        "robots": host.robots,
        "gap": host.gap.total_seconds(),
        "seconds": host.duration.total_seconds(),
        "eta": now + host.duration,
    }
