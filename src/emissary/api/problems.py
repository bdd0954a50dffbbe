"""Errors as problem documents (RFC 9457), from the one table of codes."""

from collections.abc import Sequence
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import compile_path

from emissary.api.schemas import BY_NAME, BY_OBJECT
from emissary.model.errors import (
    PROBLEMS,
    EmissaryError,
    InsufficientCredits,
    Overloaded,
    QueueFull,
    RateLimited,
    RequestInFlight,
)

__all__ = ["ProblemDocument", "install_problems", "overload_headers", "problem"]

log = structlog.get_logger(__name__)

_MOST_TOLD = 5
_NOT_WRITTEN = frozenset({BY_NAME, BY_OBJECT})


class ProblemDocument(BaseModel):
    """What every error looks like."""

    type: str = Field(description="A stable URI of the kind of problem.", examples=["urn:emissary:problem:invalid_url"])
    title: str = Field(description="The kind of problem in a few words.")
    status: int = Field(description="The HTTP status.")
    code: str = Field(description="The stable code; docs/errors.md lists them all.")
    detail: str = Field(description="What is wrong here, and what to do about it.")
    errors: list[dict[str, str]] | None = Field(None, description="Each fault, with a pointer to where it is.")
    needed: int | None = Field(None, description="With `insufficient_credits`: what the request may use.")
    available: int | None = Field(None, description="… what there is that nothing else may use.")
    missing: int | None = Field(None, description="… and what is missing.")


def problem(
    code: str,
    detail: str,
    *,
    errors: list[dict[str, str]] | None = None,
    figures: dict[str, int] | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """The response for a code of the table."""
    row = PROBLEMS[code]
    document: dict[str, object] = {
        "type": f"urn:emissary:problem:{code}",
        "title": row.title,
        "status": row.status,
        "code": code,
        "detail": detail,
        **(figures or {}),
    }
    if errors:
        document["errors"] = errors
    if row.status == 401:
        headers = {"WWW-Authenticate": 'Bearer realm="emissary"', **(headers or {})}
    return JSONResponse(document, row.status, headers, media_type="application/problem+json")


def install_problems(app: FastAPI) -> None:
    """Let every error of the app leave as a problem document."""
    app.add_exception_handler(EmissaryError, _ours)
    app.add_exception_handler(QueueFull, _full)
    app.add_exception_handler(RateLimited, _too_often)
    app.add_exception_handler(RequestInFlight, _too_often)
    app.add_exception_handler(Overloaded, _too_many)
    app.add_exception_handler(InsufficientCredits, _too_poor)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _framework)
    app.add_exception_handler(Exception, _unexpected)


async def _ours(_: Request, error: Exception) -> Response:
    assert isinstance(error, EmissaryError)
    return problem(error.code, error.detail)


async def _full(request: Request, error: Exception) -> Response:
    assert isinstance(error, QueueFull)
    wait = error.wait(request.app.state.services.gap)
    return problem(error.code, error.detail, headers={"Retry-After": str(wait)})


async def _too_often(_: Request, error: Exception) -> Response:
    assert isinstance(error, RateLimited | RequestInFlight)
    return problem(error.code, error.detail, headers={"Retry-After": str(error.wait)})


async def _too_many(request: Request, error: Exception) -> Response:
    assert isinstance(error, Overloaded)
    return problem(error.code, error.detail, headers=overload_headers(error, request.app.state.admission.most_at_once))


def overload_headers(error: Overloaded, most: int) -> dict[str, str]:
    """When to come again, and of what there was too much (draft-ietf-httpapi-ratelimit-headers)."""
    return {
        "Retry-After": str(error.wait),
        "RateLimit-Policy": f'"at-once";q={most};qu="concurrent-requests"',
        "RateLimit": f'"at-once";r=0;t={error.wait}',
    }


async def _too_poor(_: Request, error: Exception) -> Response:
    assert isinstance(error, InsufficientCredits)
    missing = error.needed - error.available
    figures = {"needed": error.needed, "available": error.available, "missing": missing}
    return problem(error.code, error.detail, figures=figures)


async def _framework(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    match error.status_code:
        case 404:
            return problem("not_found", f"there is no route {request.url.path}; /docs lists what there is")
        case 405:
            allowed = ", ".join(_methods_at(request))
            detail = f"{request.url.path} does not take {request.method}, only {allowed}"
            return problem("method_not_allowed", detail, headers={"Allow": allowed})
        case 413:
            return problem("body_too_large", error.detail)
        case _:
            return problem("invalid_request", error.detail)


def _methods_at(request: Request) -> list[str]:
    """All methods that the path takes; the router itself names those of the first route only."""
    there = [
        known
        for known in iter_route_contexts(request.app.routes)
        if compile_path(known.path or "")[0].match(request.url.path)
    ]
    spelled_out = [known for known in there if known.path == request.url.path]  # an id could be spelled like this, too
    return sorted({method for known in spelled_out or there for method in known.methods or ()})


async def _unexpected(request: Request, error: Exception) -> Response:
    log.error("request failed", path=request.url.path, method=request.method, exc_info=error)
    return problem("internal", "the request failed on our side; it has been logged")


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    faults = _as_written(error.errors())
    kinds = {fault["type"] for fault in faults}
    if "json_invalid" in kinds:
        return problem("invalid_json", f"the body is not JSON: {faults[0]['ctx']['error']}")
    code = "invalid_request"
    if kinds == {"extra_forbidden"}:
        code = "unknown_field"
    elif all(fault["type"] == "enum" and "formats" in fault["loc"] for fault in faults):
        code = "unknown_format"
    errors = [{"pointer": _pointer(fault["loc"]), "detail": _say(fault)} for fault in faults]
    told = "; ".join(f"{each['pointer'] or 'the body'}: {each['detail']}" for each in errors[:_MOST_TOLD])
    return problem(code, told, errors=errors)


def _as_written(faults: Sequence[Any]) -> list[dict[str, Any]]:
    """What may be a name or an object is told of at the place where it was written."""
    return [{**fault, "loc": tuple(part for part in fault["loc"] if part not in _NOT_WRITTEN)} for fault in faults]


def _pointer(location: tuple[object, ...]) -> str:
    """Where the fault is, as a JSON pointer (RFC 6901)."""
    parts = location[1:] if location[:1] == ("body",) else location
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def _say(fault: dict[str, object]) -> str:
    if fault["type"] == "extra_forbidden":
        return "there is no such field"
    return str(fault["msg"])
