"""What one would write by hand: aiohttp, uvloop, selectolax and SQLite, with no robots.txt, no queue and no retry."""

import asyncio
import sqlite3
from collections import defaultdict
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import uvloop
from selectolax.lexbor import LexborHTMLParser

from benchmarks.measuring import Cost, Meter, Task, play
from benchmarks.workload import CSS, check_sample

_BATCH = 100
_Row = tuple[str, str | None, str | None, float, str | None, str | None, float]


class _Store:
    """Rows are written a hundred at a time, in a thread, as durably as Emissary does."""

    def __init__(self, file: Path) -> None:
        self._connection = sqlite3.connect(file, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute(f"CREATE TABLE items (url PRIMARY KEY, {', '.join(CSS)})")
        self._rows: list[_Row] = []
        self._writing = asyncio.Lock()

    async def keep(self, row: _Row) -> None:
        self._rows.append(row)
        if len(self._rows) >= _BATCH:
            await self.flush()

    async def flush(self) -> None:
        rows, self._rows = self._rows, []
        async with self._writing:
            await asyncio.to_thread(self._write, rows)

    def close(self) -> None:
        self._connection.close()

    def _write(self, rows: list[_Row]) -> None:
        with self._connection:
            self._connection.executemany("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


def _extract(url: str, body: bytes) -> _Row:
    tree = LexborHTMLParser(body)
    values: dict[str, str | None] = {}
    for name, (css, attribute) in CSS.items():
        node = tree.css_first(css)
        values[name] = None if node is None else node.attributes[attribute] if attribute else node.text(strip=True)
    title, brand, price, availability, sku, rating = values.values()
    return url, title, brand, float(price or 0), availability, sku, float(rating or 0)


async def _read_host(session: aiohttp.ClientSession, urls: list[str], store: _Store, gap: float) -> None:
    for url in urls:
        async with session.get(url) as answer:
            body = await answer.read()
        await store.keep(_extract(url, body))
        if gap:
            await asyncio.sleep(gap)


async def _read_all(task: Task) -> Cost:
    by_host: dict[str, list[str]] = defaultdict(list)
    for url in task.urls:
        by_host[urlsplit(url).netloc].append(url)
    meter, store = Meter(), _Store(task.folder / "items.db")
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session, asyncio.TaskGroup() as group:
        for urls in by_host.values():
            group.create_task(_read_host(session, urls, store, task.gap))
    await store.flush()
    store.close()
    return meter.read(len(task.urls))


def _run(task: Task) -> Cost:
    cost = uvloop.run(_read_all(task))
    connection = sqlite3.connect(task.folder / "items.db")
    rows = connection.execute("SELECT * FROM items").fetchall()
    check_sample(task.urls, {row[0]: dict(zip(CSS, row[1:], strict=True)) for row in rows})
    return cost


if __name__ == "__main__":
    play(_run)
