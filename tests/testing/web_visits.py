"""How the tests of the local web visit it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
from lxml import etree, html

from emissary.testing.web import TestWeb

__all__ = ["Visit", "fetch", "read_html", "read_xml", "visit"]

Visit = Callable[[TestWeb, aiohttp.ClientSession], Awaitable[None]]


def visit(told: Visit, **options: Any) -> None:
    async def run() -> None:
        connector = aiohttp.TCPConnector(limit=0)
        timeout = aiohttp.ClientTimeout(total=30)
        async with (
            TestWeb.start(**options) as web,
            aiohttp.ClientSession(connector=connector, timeout=timeout, auto_decompress=False) as client,
        ):
            await told(web, client)

    asyncio.run(run())


async def fetch(client: aiohttp.ClientSession, url: str, **options: Any) -> tuple[int, dict[str, str], bytes]:
    async with client.get(url, allow_redirects=False, **options) as answer:
        return answer.status, {name.lower(): value for name, value in answer.headers.items()}, await answer.read()


def read_html(body: bytes) -> Any:
    return html.fromstring(body)


def read_xml(body: bytes) -> Any:
    return etree.fromstring(body)
