"""A process at work: its worker, and what goes on beside it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from emissary.compose.app import App

__all__ = ["at_work"]


@asynccontextmanager
async def at_work(app: App) -> AsyncIterator[None]:
    """Work for as long as the body lasts. Then what has begun is finished, and the rest is given back."""
    await app.upkeep.learn()
    async with asyncio.TaskGroup() as group:
        upkeep = group.create_task(app.upkeep.run())
        group.create_task(app.coordinator.run())
        working = group.create_task(app.worker.run())
        try:
            yield
        finally:
            app.worker.stop()
            await asyncio.wait([working])
            app.coordinator.stop()
            upkeep.cancel()
