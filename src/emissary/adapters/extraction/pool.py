"""Extraction that no page can break: small pages in place, the others in child processes."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self

import structlog

from emissary.adapters.extraction.messages import Answer
from emissary.adapters.extraction.process import ChildLimits, ChildProcess, Extract
from emissary.model.errors import ExtractionUnavailable
from emissary.model.extraction import Extracted, Undoing, Unextractable, Wanted
from emissary.model.pages import Page
from emissary.telemetry.metrics import Metrics

__all__ = ["ExtractionPool"]

log = structlog.get_logger(__name__)


class ExtractionPool:
    """Keeps the promise of `ports.extraction.Extraction`.

    `extract` is a function that a child can import by its name. A child is started when there is work and none is
    free, never more than `processes` of them, and used until a page breaks it or it has grown or served long enough.
    """

    def __init__(
        self,
        extract: Extract,
        is_light: Callable[[Page, Wanted], bool],
        *,
        processes: int,
        limits: ChildLimits,
        metrics: Metrics,
    ) -> None:
        self._extract = extract
        self._is_light = is_light
        self._processes = processes
        self._limits = limits
        self._metrics = metrics
        self._room = asyncio.Semaphore(processes)
        self._children: set[ChildProcess] = set()
        self._idle: list[ChildProcess] = []
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def pids(self) -> frozenset[int]:
        """The children there are."""
        return frozenset(child.pid for child in self._children if child.pid is not None)

    async def extract(self, page: Page, wanted: Wanted) -> Extracted | Unextractable:
        if self._is_light(page, wanted):
            return self._extract(page, wanted)
        async with self._room:
            answer = await self._ask_child(page, wanted)
        if self._closed:
            raise ExtractionUnavailable("the page was not read: we are stopping")
        return self._judge(page, answer)

    async def close(self) -> None:
        """Kill every child, and come back when all are gone."""
        if self._closed:
            return
        self._closed = True
        for child in self._children:
            child.kill()
        for _ in range(self._processes):
            await self._room.acquire()  # whoever was in there has seen off the child it had
        for child in self._idle:
            await self._end(child)

    async def _ask_child(self, page: Page, wanted: Wanted) -> Answer | Unextractable:
        child = await self._take()
        try:
            return await child.extract(page, wanted)
        finally:
            if child.is_fit and not self._closed:
                self._idle.append(child)
            else:
                await self._end(child)

    async def _take(self) -> ChildProcess:
        """One that is free, or else a new one."""
        while self._idle:
            child = self._idle.pop()
            if child.is_fit:
                return child
            await self._end(child)
        if self._closed:
            raise ExtractionUnavailable("the page was not read: we are stopping")
        child = ChildProcess(self._extract, self._limits)
        self._children.add(child)
        self._metrics.extraction_children.set(len(self._children))
        try:
            await child.start()
        except BaseException:
            await self._end(child)
            raise
        return child

    async def _end(self, child: ChildProcess) -> None:
        try:
            await child.end()
        finally:
            self._children.discard(child)
            self._metrics.extraction_children.set(len(self._children))

    def _judge(self, page: Page, answer: Answer | Unextractable) -> Extracted | Unextractable:
        self._metrics.extractions_in_children.inc()
        if isinstance(answer, Answer):
            if answer.extracted is not None:
                return answer.extracted
            log.error("extraction raised an error", host=page.url.host, error=answer.error, trace=answer.trace)
            answer = Unextractable(Undoing.CRASH, f"reading the page failed ({answer.error})")
        self._metrics.extractions_failed.labels(answer.why.value).inc()
        log.warning("a page could not be extracted", host=page.url.host, why=answer.why, detail=answer.detail)
        return answer
