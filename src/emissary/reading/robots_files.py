"""Finds the robots.txt of an origin, over however many hosts: each is asked in its own lane, its answer is kept."""

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from weakref import WeakValueDictionary

from emissary.model.errors import BadRequest
from emissary.model.pages import Reply, Unreachable, WebUrl
from emissary.model.robots import RobotsFile
from emissary.ports.clock import Clock
from emissary.ports.records import HouseRules
from emissary.ports.web import Ask, Web
from emissary.reading.owners import OwnersBook
from emissary.reading.refusal import retry_at
from emissary.reading.robots import MAX_ROBOTS_BYTES
from emissary.reading.urls import join, parse

__all__ = ["MAX_ROBOTS_HOPS", "Avoided", "Found", "KeptElsewhere", "RobotsFiles", "Turn"]

MAX_ROBOTS_HOPS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TIMEOUT = 10.0


class Turn(Protocol):
    """Waits for this lane's next polite moment; the request is made inside."""

    def __call__(self, gap: timedelta | None = None, /) -> AbstractAsyncContextManager[None]:
        """`gap` is what the site asks for, where its house rules are known by now."""
        ...


@dataclass(frozen=True, slots=True)
class Found:
    """The file, the host that keeps it, and until when all that led to it counts as known."""

    file: RobotsFile
    keeper: str
    until: datetime


@dataclass(frozen=True, slots=True)
class KeptElsewhere:
    """The next to be asked is another host, and that is done in its own lane."""

    url: WebUrl


@dataclass(frozen=True, slots=True)
class Avoided:
    """The next to be asked is a host whose owner wants us to stay away."""

    url: WebUrl


class RobotsFiles:
    """What each URL answered is kept as it was, a file or the way to one, and serves every origin that leads there."""

    def __init__(self, web: Web, records: HouseRules, clock: Clock, owners: OwnersBook | None = None) -> None:
        self._web = web
        self._records = records
        self._clock = clock
        self._owners = owners
        self._asking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def find(self, url: WebUrl, here: str, turn: Turn) -> Found | KeptElsewhere | Avoided | Unreachable:
        """The file for the URL's origin, as far as it is known or can be asked for `here`: in the lane we are in."""
        asked, way = parse(f"{url.origin}/robots.txt"), list[RobotsFile]()
        for _ in range(MAX_ROBOTS_HOPS + 1):
            file = await (self._learn(asked, turn) if asked.authority == here else self._look_up(asked))
            if not isinstance(file, RobotsFile):
                return file
            way.append(file)
            if file.location is None:
                return Found(file, asked.authority, _until(way))
            asked = parse(file.location)
        # RFC 9309, 2.3.1.2: after five redirects the file counts as unavailable, which allows.
        return Found(RobotsFile(404, b"", self._clock.now()), asked.authority, _until(way))

    async def _look_up(self, asked: WebUrl) -> RobotsFile | KeptElsewhere | Avoided:
        return await self._known(asked) or (Avoided(asked) if self._is_away(asked) else KeptElsewhere(asked))

    async def _learn(self, asked: WebUrl, turn: Turn) -> RobotsFile | Avoided | Unreachable:
        """What is known of it, or what it answers now. A lane is in one worker's hands, so a lock here is enough."""
        place = _place(asked)
        async with self._asking.setdefault(place, asyncio.Lock()):
            known = await self._known(asked)
            if known is not None:
                return known
            if self._is_away(asked):
                return Avoided(asked)
            reply = await self._ask(asked, turn)
            if isinstance(reply, Unreachable):
                return reply
            file = _file(asked, reply, self._clock.now())
            await self._records.keep_rules(place, file)
            return file

    async def _known(self, asked: WebUrl) -> RobotsFile | None:
        file = await self._records.rules_of(_place(asked))
        return file if file is not None and self._clock.now() < file.fresh_until else None

    def _is_away(self, asked: WebUrl) -> bool:
        return self._owners is not None and self._owners.refusal(asked) is not None

    async def _ask(self, asked: WebUrl, turn: Turn) -> Reply | Unreachable:
        ask = Ask(asked, _TIMEOUT, MAX_ROBOTS_BYTES, truncate=True)
        async with turn():
            reply = await self._web.ask(ask)
        if not isinstance(reply, Unreachable) or not reply.stale:
            return reply
        async with turn():  # a kept connection broke: once more, in a turn of its own
            return await self._web.ask(ask)


def _until(way: list[RobotsFile]) -> datetime:
    return min(file.fresh_until for file in way)


def _place(asked: WebUrl) -> str:
    """Under what it is kept: the robots.txt of an origin under the origin, whoever was sent there; others by URL."""
    return asked.origin if asked.path == "/robots.txt" else asked.href


def _file(asked: WebUrl, reply: Reply, now: datetime) -> RobotsFile:
    onward = _location(asked, reply)
    if onward is not None:
        return RobotsFile(None, b"", now, location=onward.href)
    file = RobotsFile(reply.status, reply.body if 200 <= reply.status < 300 else b"", now)
    if not file.is_broken:
        return file
    return RobotsFile(reply.status, b"", now, retry_at(reply.headers.get("retry-after"), now))


def _location(asked: WebUrl, reply: Reply) -> WebUrl | None:
    target = reply.headers.get("location")
    if target is None or reply.status not in _REDIRECTS:
        return None
    try:
        return parse(join(asked, target).href)  # as it will be read again: what is long may be too long by then
    except BadRequest:
        return None
