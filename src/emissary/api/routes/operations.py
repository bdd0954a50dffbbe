"""How the installation is: alive, ready, and in figures."""

from typing import Literal

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel

from emissary.api.auth import Provided

__all__ = ["router"]

router = APIRouter(tags=["operations"])


class Alive(BaseModel):
    """The process answers."""

    status: Literal["ok"] = "ok"
    version: str


class Part(BaseModel):
    """How one part is."""

    status: Literal["ok", "degraded", "down"]
    reason: str | None = None


class Ready(BaseModel):
    """How every part is, and all together: no better than the worst part that this installation was set up to have."""

    status: Literal["ok", "degraded", "down"]
    parts: dict[str, Part]


@router.get("/healthz", summary="Is it alive?")
async def healthz(services: Provided) -> Alive:
    """Answers as long as the process does."""
    return Alive(version=services.version)


@router.get("/readyz", summary="Is it ready?", responses={503: {"model": Ready, "description": "Not ready"}})
async def readyz(services: Provided, response: Response) -> Ready:
    """Says of each part whether it is well, and why if not. What is optional and not set up counts for nothing."""
    found = await services.health()
    statuses = {part.status for part in found if part.is_wanted}
    worst: Literal["ok", "degraded", "down"] = "ok"
    if statuses != {"ok"}:
        worst = "down" if "down" in statuses else "degraded"
    if worst == "down":
        response.status_code = 503
    return Ready(status=worst, parts={part.part: Part(status=part.status, reason=part.reason) for part in found})


@router.get(
    "/metrics",
    summary="Figures for Prometheus",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(services: Provided) -> Response:
    """Every metric of docs/metrics.md in Prometheus' text form."""
    services.metrics.open_jobs.set(await services.jobs.depth())
    return Response(generate_latest(services.metrics.registry), media_type=CONTENT_TYPE_LATEST)
