"""A thread with a queue before it: what waits is done together, and nothing ever blocks the event loop."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from emissary.model.errors import StoreUnavailable

__all__ = ["Desk", "Task"]

W = TypeVar("W")

_MOST_AT_ONCE = 256


@dataclass(slots=True, eq=False)
class Task(Generic[W]):
    """Something to do, who waits for it, and what came of it."""

    work: W
    future: asyncio.Future[Any]
    value: Any = None
    error: BaseException | None = None


class Desk(Generic[W]):
    """Hands what waits to `run`, in the thread; `run` leaves a value or an error in every task and raises nothing."""

    def __init__(self, name: str, run: Callable[[list[Task[W]]], None], at_end: Callable[[], None]) -> None:
        self._run = run
        self._at_end = at_end
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Task[W]] = deque()
        self._bell = threading.Semaphore(0)
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    async def do(self, work: W) -> Any:
        if self._closed:
            raise StoreUnavailable("the store is closed")
        task = Task(work, self._loop.create_future())
        self._waiting.append(task)
        self._bell.release()
        return await task.future

    async def close(self) -> None:
        """Finish what waits, then end the thread."""
        self._closed = True
        self._bell.release()
        await asyncio.to_thread(self._thread.join)

    def _serve(self) -> None:
        while True:
            self._bell.acquire()
            if not self._waiting:
                if self._closed:
                    break
                continue  # the task this ring was for has been done together with an earlier one
            tasks = [self._waiting.popleft() for _ in range(min(len(self._waiting), _MOST_AT_ONCE))]
            self._run(tasks)
            try:
                self._loop.call_soon_threadsafe(_tell, tasks)
            except RuntimeError:
                break  # the loop is gone, and with it everyone who waited
        self._at_end()


def _tell(tasks: list[Task[Any]]) -> None:
    for task in tasks:
        if task.future.done():
            continue  # whoever asked has stopped waiting
        if task.error is None:
            task.future.set_result(task.value)
        else:
            task.future.set_exception(task.error)
