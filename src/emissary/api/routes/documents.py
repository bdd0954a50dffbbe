"""What a page left behind: its document, and the exchange that it was made from."""

import asyncio
import gzip
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Path, Response

from emissary.api.answers import parts_of
from emissary.api.auth import Caller, Provided
from emissary.api.openapi import problems
from emissary.model.captures import Capture
from emissary.model.errors import NotFound
from emissary.model.ids import JobId

__all__ = ["router"]

router = APIRouter(prefix="/v1/documents", tags=["scrape"])

WARC = "application/warc"
_PREFIX = "doc_"
_RECORDS = {"type": "string", "format": "binary", "description": "WARC 1.1: response, request, metadata."}


class _WarcResponse(Response):
    media_type = WARC


class _Receipt(msgspec.Struct):
    capture: Capture | None = None


_read_receipt = msgspec.json.Decoder(_Receipt | None).decode


async def _parts(
    given: Annotated[str, Path(alias="document")], caller: Caller, services: Provided
) -> tuple[str, dict[str, Any]]:
    """What is there under the name: a document bears that of its job."""
    if not given.startswith(_PREFIX):
        raise NotFound(f"there is no document {given}")
    job = await services.jobs.find(JobId("job_" + given.removeprefix(_PREFIX)), caller)
    if job is None or job.result is None:
        raise NotFound(f"there is no document {given}")
    return given, parts_of(job.result.outcome, await services.jobs.body_of(job))


_Parts = Annotated[tuple[str, dict[str, Any]], Depends(_parts)]


@router.get(
    "/{document}",
    summary="See a document",
    operation_id="seeDocument",
    response_model=dict[str, Any],
    responses=problems(401, 404, 503),
)
async def see_document(found: _Parts) -> Response:
    """The page in the formats that were asked for, as its job left it."""
    name, parts = found
    document = bytes(parts["document"])
    if document == b"null":
        raise NotFound(f"there is no document {name}")
    return Response(document, media_type="application/json")


@router.get(
    "/{document}/capture",
    summary="See what a document was made from",
    operation_id="seeCapture",
    response_class=_WarcResponse,
    responses={200: {"content": {WARC: {"schema": _RECORDS}}}, **problems(401, 404, 503)},
)
async def see_capture(found: _Parts, services: Provided) -> Response:
    """The exchange as it went over the wire. Captures are kept for a day, and not of every page."""
    name, parts = found
    receipt = _read_receipt(bytes(parts["receipt"]))
    packed = None if receipt is None or receipt.capture is None else await services.captures.read(receipt.capture)
    if packed is None:
        raise NotFound(f"there is no capture of {name}: it was not kept, or is gone by now")
    # Many clients stop at the end of the first member, so they are not sent as they are.
    return _WarcResponse(await asyncio.to_thread(gzip.decompress, packed))
