"""A real `emissary up` in a process of its own, on a directory of its own."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import aiohttp

__all__ = ["Served", "emissary_up", "scrape"]


@dataclass(frozen=True, slots=True)
class Served:
    """Where the API is, the key to it, and the process that serves it."""

    url: str
    key: str
    process: int


@contextmanager
def emissary_up(**more: str) -> Iterator[Served]:
    """Yields as soon as it says that it is ready; ends it by its id. `more` are settings by their names."""
    with tempfile.TemporaryDirectory(prefix="emissary-bench-") as folder:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("EMISSARY_")}
        settings = {"EMISSARY_HOST_GAP": "0", "EMISSARY_ALLOW_NETWORKS": "127.0.0.0/8", "EMISSARY_LOG_LEVEL": "warning"}
        process = subprocess.Popen(
            [sys.executable, "-m", "emissary", "up", "--json", "--port", "0", "--data-dir", folder],
            env=inherited | settings | more,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            ready = json.loads(process.stdout.readline())
            yield Served(ready["url"], ready["apiKey"], process.pid)
        finally:
            process.terminate()
            process.communicate()


async def scrape(session: aiohttp.ClientSession, served: Served, page: str) -> str:
    """The page as Markdown, waited for."""
    order = {"url": page, "formats": ["markdown"]}
    headers = {"Authorization": f"Bearer {served.key}"}
    async with session.post(f"{served.url}/v1/scrape", json=order, headers=headers) as answer:
        answer.raise_for_status()
        told = await answer.json()
    if told["status"] != "completed":
        raise AssertionError(f"{page}: {told['outcome']}")
    markdown: str = told["document"]["markdown"]
    return markdown
