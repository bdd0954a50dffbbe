"""Request bodies: JSON and nothing else, read by a parser that takes no liberties."""

import json
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import msgspec
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from emissary.model.errors import BadRequest

__all__ = ["JsonRoute", "as_model", "kind_of", "read_as"]

M = TypeVar("M", bound=BaseModel)


class _JsonRequest(Request):
    async def json(self) -> Any:
        """The body as objects; lone surrogates, NaN and endless nesting are refused here, before they get anywhere."""
        try:
            return msgspec.json.decode(await self.body())
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            # FastAPI knows this error, and tells ours from it.
            raise json.JSONDecodeError(str(error), "", 0) from error


class JsonRoute(APIRoute):
    """A route whose body, where one is sent, is JSON and says so."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def handle(request: Request) -> Response:
            asked = _JsonRequest(request.scope, request.receive)
            if self.body_field is not None:
                await _check_type(asked)
            return await answer(asked)

        return handle


def kind_of(request: Request) -> str:
    """The media type of the body, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_as(model: type[M], request: Request) -> M:
    """The body of a route that reads it by itself, since JSON is not all that it takes."""
    await _check_type(request)
    try:
        found = await request.json()
    except json.JSONDecodeError as error:
        raise BadRequest(f"the body is not JSON: {error.msg}", "invalid_json") from error
    return as_model(model, found)


def as_model(model: type[M], found: object) -> M:
    """What was read, as the model; its faults are told as those of any other body."""
    try:
        return model.model_validate(found)
    except ValidationError as error:
        faults = [{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors()]
        raise RequestValidationError(faults) from error


async def _check_type(request: Request) -> None:
    try:
        body = await request.body()
    except ClientDisconnect as error:
        raise HTTPException(400, "the connection ended before the body did") from error
    given = request.headers.get("content-type", "")
    if body and not _is_json(kind_of(request)):
        said = f"{given!r} is not" if given else "the body does not say that it is"
        raise BadRequest(f"{said} JSON: send it with `Content-Type: application/json`", "unsupported_media_type")


def _is_json(kind: str) -> bool:
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
