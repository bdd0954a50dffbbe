"""Request bodies: JSON and nothing else, read by a parser that takes no liberties."""

import json
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from emissary.model.errors import BadRequest

__all__ = ["JsonRoute"]


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


async def _check_type(request: Request) -> None:
    try:
        body = await request.body()
    except ClientDisconnect as error:
        raise HTTPException(400, "the connection ended before the body did") from error
    given = request.headers.get("content-type", "")
    if body and not _is_json(given.partition(";")[0].strip().lower()):
        said = f"{given!r} is not" if given else "the body does not say that it is"
        raise BadRequest(f"{said} JSON: send it with `Content-Type: application/json`", "unsupported_media_type")


def _is_json(kind: str) -> bool:
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
