"""JSON-RPC over lines, as the Model Context Protocol has it: one object a line in, one a line out."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import msgspec
import structlog

from emissary import __version__
from emissary.client import AsyncEmissary
from emissary.mcp.capping import Rests
from emissary.mcp.tools import TOOLS
from emissary.model.errors import EmissaryError

__all__ = ["serve"]

Read = Callable[[], Awaitable[bytes]]
Write = Callable[[bytes], None]

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")  # the newest first
_PARSE_ERROR, _INVALID_REQUEST, _NO_METHOD, _INVALID_PARAMS, _INTERNAL = -32700, -32600, -32601, -32602, -32603
_INSTRUCTIONS = (
    "Emissary reads the web openly: under its own name, by robots.txt, at each host's pace. "
    "A refusal is final; do not try to get round it. Long answers are cut and name a cursor for `more`."
)

log = structlog.get_logger(__name__)


class _Message(msgspec.Struct):
    """A request, or a notification if it has no id. Answers to us have no method, and are passed over."""

    method: str | None = None
    id: int | str | msgspec.UnsetType | None = msgspec.UNSET
    params: dict[str, Any] = {}


class _Refused(Exception):
    """An error of the protocol, and not of a tool."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


async def serve(client: AsyncEmissary, read: Read, write: Write) -> None:
    """Answer until there are no more lines. Requests are worked on side by side, and answered as they end."""
    session = _Session(client)

    async def respond(given: Any) -> None:
        if (answer := await session.answer(given)) is not None:
            write(msgspec.json.encode(answer) + b"\n")

    async with asyncio.TaskGroup() as group:
        while line := await read():
            if not line.strip():
                continue
            try:
                given = msgspec.json.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                write(msgspec.json.encode(_error(None, _PARSE_ERROR, f"this is no JSON: {error}")) + b"\n")
                continue
            group.create_task(respond(given))


class _Session:
    """One conversation: what is under way in it, and what of long answers was not said yet."""

    def __init__(self, client: AsyncEmissary) -> None:
        self._client = client
        self._rests = Rests()
        self._under_way: dict[int | str | None, asyncio.Task[Any]] = {}

    async def answer(self, given: Any) -> Any:
        """What is to be said to one line; None where nothing is."""
        if isinstance(given, list) and given:
            answers = [await self._one(each) for each in given]
            return [each for each in answers if each is not None] or None
        return await self._one(given)

    async def _one(self, given: Any) -> dict[str, Any] | None:
        try:
            message = msgspec.convert(given, _Message)
        except msgspec.ValidationError as error:
            return _error(None, _INVALID_REQUEST, f"this is no request: {error}")
        if message.method is None or isinstance(message.id, msgspec.UnsetType):
            self._note(message)
            return None
        try:
            result = await self._tracked(message.id, self._call(message.method, message.params))
        except _Refused as error:
            return _error(message.id, error.code, str(error))
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            return None  # whoever asked has taken it back, and wants no answer
        except Exception:
            log.exception("a call failed", method=message.method)
            return _error(message.id, _INTERNAL, "the call failed on our side; it has been logged")
        return {"jsonrpc": "2.0", "id": message.id, "result": result}

    async def _tracked(self, name: int | str | None, work: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
        task = asyncio.create_task(work)
        self._under_way[name] = task
        try:
            return await task
        finally:
            task.cancel()
            self._under_way.pop(name, None)

    def _note(self, message: _Message) -> None:
        if message.method == "notifications/cancelled":
            task = self._under_way.get(message.params.get("requestId"))
            if task is not None:
                task.cancel()

    async def _call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "initialize":
                return _hello(params)
            case "ping":
                return {}
            case "tools/list":
                return {"tools": [*(tool.described() for tool in TOOLS.values()), self._rests.described()]}
            case "tools/call":
                return await self._use(params.get("name"), params.get("arguments") or {})
            case _:
                raise _Refused(_NO_METHOD, f"there is no method {method}")

    async def _use(self, name: object, arguments: Any) -> dict[str, Any]:
        """What a tool says. What it cannot do is said as well, so that the model can do better."""
        if name != self._rests.NAME and name not in TOOLS:
            raise _Refused(_INVALID_PARAMS, f"there is no tool {name}")
        if not isinstance(arguments, dict):
            raise _Refused(_INVALID_PARAMS, "arguments is an object")
        try:
            if name == self._rests.NAME:
                return _said(self._rests.more(arguments.get("cursor")))
            tool = TOOLS[str(name)]
            tool.check(arguments)
            return _said(self._rests.cut(await tool.work(self._client, dict(arguments))))
        except EmissaryError as error:
            return {**_said(f"{error.code}: {error.detail}"), "isError": True}


def _hello(params: dict[str, Any]) -> dict[str, Any]:
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": "emissary", "title": "Emissary", "version": __version__},
        "instructions": _INSTRUCTIONS,
    }


def _said(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def _error(name: int | str | None, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": name, "error": {"code": code, "message": message}}
