"""The way in and out under /v2: errors leave in the other format's shape, and its header for repeats is known."""

from collections.abc import Iterable
from typing import Any

import msgspec
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emissary.api.openapi import reference_to

__all__ = ["FailureAnswer", "InTheirShape", "describe_failures"]

_PREFIX = "/v2/"
_PROBLEM = "application/problem+json"
_THEIR_KEY, _OUR_KEY = b"x-idempotency-key", b"idempotency-key"
_FIGURES: tuple[str, ...] = ("needed", "available", "missing")
_REWRITTEN = (b"content-type", b"content-length")

_decode = msgspec.json.Decoder(dict[str, Any]).decode


class FailureAnswer(BaseModel):
    """What every error under /v2 looks like."""

    success: bool = Field(description="False.")
    error: str = Field(description="What is wrong here, and what to do about it.")
    code: str = Field(description="The stable code; docs/errors.md lists them all.")
    details: list[dict[str, str]] | None = Field(None, description="Each fault, with a pointer to where it is.")
    needed: int | None = Field(None, description="With `insufficient_credits`: what the request may use.")
    available: int | None = Field(None, description="… what there is that nothing else may use.")
    missing: int | None = Field(None, description="… and what is missing.")


_SCHEMA = reference_to(FailureAnswer)  # named before the document is put together, so that it is in there


class InTheirShape:
    """Around everything, so that no error leaves in another shape: not even that of a path which is not there."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(_PREFIX):
            await self._app(scope, receive, send)
            return
        scope["headers"] = _with_our_key(scope["headers"])  # in place: those around us look at the scope afterwards
        await self._app(scope, receive, _Translated(scope, send).send)


class _Translated:
    """Passes answers on as they are, but for problem documents: these are held until they are whole."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope = scope
        self._send = send
        self._problem: Message | None = None
        self._pieces: list[bytes] = []

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_problem(message["headers"]):
            self._problem = message
        elif self._problem is None:
            await self._send(message)
        else:
            self._pieces.append(message.get("body", b""))
            if not message.get("more_body", False):
                await self._tell(self._problem)

    async def _tell(self, start: Message) -> None:
        told = JSONResponse(_failure(_decode(b"".join(self._pieces))), start["status"])
        told.raw_headers += [pair for pair in start["headers"] if pair[0] not in _REWRITTEN]
        await told(self._scope, _nothing_more, self._send)


async def _nothing_more() -> Message:
    return {"type": "http.disconnect"}


def _failure(problem: dict[str, Any]) -> dict[str, Any]:
    figures = {name: problem[name] for name in _FIGURES if name in problem}
    details = {"details": problem["errors"]} if "errors" in problem else {}
    return {"success": False, "error": problem["detail"], "code": problem["code"], **details, **figures}


def _is_problem(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    return any(name == b"content-type" and value == _PROBLEM.encode() for name, value in headers)


def _with_our_key(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    if any(name == _OUR_KEY for name, _ in headers):
        return headers
    return [(_OUR_KEY if name == _THEIR_KEY else name, value) for name, value in headers]


def describe_failures(document: dict[str, Any]) -> None:
    """Say in the OpenAPI document what the translation does."""
    for path, item in document["paths"].items():
        answers = [answer for operation in item.values() for answer in operation["responses"].values()]
        for answer in answers if path.startswith(_PREFIX) else ():
            if _PROBLEM in answer.get("content", {}):
                answer["content"] = {"application/json": {"schema": _SCHEMA}}
