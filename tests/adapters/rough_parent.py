"""Run by test_extraction_children.py, which kills it: a parent with a child, whose id it tells when that is at work."""

import asyncio
import sys

from children import a_pool, at_work
from rough import TEXT, page_of

from emissary.adapters.extraction.pool import ExtractionPool


async def main(deed: str) -> None:
    async with a_pool(processes=1) as pool, asyncio.TaskGroup() as group:
        task = group.create_task(pool.extract(page_of(deed), TEXT))
        (pid,) = await at_work(pool, 1) if deed == "hang" else await _idle(pool, task)
        print(pid, flush=True)  # noqa: T201
        await asyncio.Event().wait()


async def _idle(pool: ExtractionPool, task: asyncio.Task[object]) -> frozenset[int]:
    await task
    return pool.pids


asyncio.run(main(sys.argv[1]))
