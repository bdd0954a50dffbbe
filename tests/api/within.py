"""Asks an app in this process, by the rules of ASGI."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from served import Answer

__all__ = ["ask_within", "scope_of"]


def scope_of(path: str, method: str = "GET") -> dict[str, Any]:
    """A request without headers."""
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b""}
    return scope | {
        "headers": [],
        "http_version": "1.1",
        "scheme": "http",
        "server": ("127.0.0.1", 80),
        "root_path": "",
    }


async def ask_within(app: Callable[..., Any], path: str, method: str = "GET", *, has_body: bool = True) -> Answer:
    """What the app answers; without a body, whoever reads it fails."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        assert has_body, "the body was read"
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    with suppress(RuntimeError):  # told to the server as well, which logs it
        await app(scope_of(path, method), receive, send)
    headers = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], headers, b"".join(message.get("body", b"") for message in sent[1:]))
