"""The robots.txt of every origin we visit: asked for once, kept for a day, shared by all workers."""

import asyncio
from collections import OrderedDict
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Protocol

from emissary.model.errors import BadRequest
from emissary.model.pages import Code, Refusal, Reply, RobotsNote, Unreachable, WebUrl
from emissary.model.robots import RobotsFile
from emissary.ports.clock import Clock
from emissary.ports.records import HouseRules
from emissary.ports.web import Ask, Web
from emissary.reading.identity import PRODUCT_TOKEN
from emissary.reading.owners import OwnersBook
from emissary.reading.robots import MAX_ROBOTS_BYTES, RobotsRules, Verdict, parse_robots
from emissary.reading.urls import join, parse

__all__ = ["Admission", "HouseRulesBook", "Turn"]


class Turn(Protocol):
    """Waits for this lane's next polite moment; the request is made inside."""

    def __call__(self, gap: timedelta | None = None, /) -> AbstractAsyncContextManager[None]:
        """`gap` is what the site asks for, where its house rules are known by now."""
        ...


_FRESH = timedelta(hours=24)
_FRESH_IF_BROKEN = timedelta(minutes=5)
_MOST_HOPS = 5
_MOST_REMEMBERED = 2_000
_TIMEOUT = 10.0


@dataclass(frozen=True, slots=True)
class Admission:
    """We may read this path; under which rule, and how far apart the site wants our visits."""

    note: RobotsNote
    gap: timedelta | None


class HouseRulesBook:
    """Answers "may I?" for a URL. There is no way to ask a host for a page that does not come through here."""

    def __init__(self, web: Web, records: HouseRules, clock: Clock, owners: OwnersBook | None = None) -> None:
        self._web = web
        self._owners = owners
        self._records = records
        self._clock = clock
        self._elsewhere: dict[str, asyncio.Lock] = {}
        self._remembered: OrderedDict[str, tuple[RobotsFile, RobotsRules]] = OrderedDict()

    async def may_read(self, url: WebUrl, turn: Turn) -> Admission | Refusal | Unreachable:
        """Whether the house rules let us read the URL; asks for them first if they are not known or too old."""
        away = None if self._owners is None else self._owners.refusal(url)
        known = away or await self._rules(url, turn)
        if isinstance(known, Refusal | Unreachable):
            return known
        file, rules = known
        verdict = self._verdict(file, rules, url)
        digest = rules.sha256 if file.status is not None and file.status < 300 else None
        note = RobotsNote(digest, verdict.rule, file.fetched_at)
        if verdict.allowed:
            return Admission(note, rules.gap)
        retry = None if digest else file.fetched_at + _FRESH_IF_BROKEN
        detail = f"robots.txt does not let {PRODUCT_TOKEN} read this: {verdict.rule}"
        return Refusal(url, Code.ROBOTS, detail, None, retry, note)

    def _verdict(self, file: RobotsFile, rules: RobotsRules, url: WebUrl) -> Verdict:
        if _is_broken(file):
            # RFC 9309, 2.3.1.4: a site that cannot say what it allows is taken to allow nothing.
            return Verdict(allowed=False, rule=f"robots.txt answered {file.status}")
        return rules.verdict(url.path)

    async def _rules(self, url: WebUrl, turn: Turn) -> tuple[RobotsFile, RobotsRules] | Unreachable:
        origin = url.origin
        known = self._remembered.get(origin)
        if known is not None and self._is_fresh(known[0]):
            return known
        file = await self._records.rules_of(origin)
        if file is None or not self._is_fresh(file):
            found = await self._fetch(url, turn)
            if isinstance(found, Unreachable):
                return found
            file = found
            await self._records.keep_rules(origin, file)
        return self._remember(origin, file)

    def _remember(self, origin: str, file: RobotsFile) -> tuple[RobotsFile, RobotsRules]:
        known = replace(file, body=b""), parse_robots(file.body, PRODUCT_TOKEN)  # the rules are all that is needed
        self._remembered[origin] = known
        self._remembered.move_to_end(origin)
        if len(self._remembered) > _MOST_REMEMBERED:
            self._remembered.popitem(last=False)
        return known

    def _is_fresh(self, file: RobotsFile) -> bool:
        return self._clock.now() - file.fetched_at < (_FRESH_IF_BROKEN if _is_broken(file) else _FRESH)

    async def _fetch(self, url: WebUrl, turn: Turn) -> RobotsFile | Unreachable:
        asked = parse(f"{url.origin}/robots.txt")
        for _ in range(_MOST_HOPS + 1):
            if asked.authority != url.authority:
                found = await self._fetch_elsewhere(asked)
            else:
                async with turn():
                    found = await self._web.ask(Ask(asked, _TIMEOUT, MAX_ROBOTS_BYTES, truncate=True))
            if isinstance(found, Unreachable) and found.stale:
                continue  # a kept connection broke: once more, in a turn of its own
            if isinstance(found, Unreachable | RobotsFile):
                return found
            onward = _location(asked, found)
            if onward is None:
                return self._file(found)
            asked = onward
        # RFC 9309, 2.3.1.2: after five redirects the file counts as unavailable, which allows.
        return RobotsFile(404, b"", self._clock.now())

    async def _fetch_elsewhere(self, asked: WebUrl) -> RobotsFile | Reply | Unreachable:
        """A file that another host keeps for this one. However many point there, it is asked for once, and kept.

        That host has a lane, which is not ours to wait in: one request a day is the most that goes past it.
        """
        if self._owners is not None and self._owners.refusal(asked) is not None:
            return RobotsFile(503, b"", self._clock.now())  # we stay away, and so do not know what is allowed
        async with self._elsewhere.setdefault(asked.authority, asyncio.Lock()):
            kept = await self._records.rules_of(asked.href)
            if kept is not None and self._is_fresh(kept):
                return kept
            found = await self._web.ask(Ask(asked, _TIMEOUT, MAX_ROBOTS_BYTES, truncate=True))
            if isinstance(found, Unreachable) or _location(asked, found) is not None:
                return found
            file = self._file(found)
            await self._records.keep_rules(asked.href, file)
            return file

    def _file(self, reply: Reply) -> RobotsFile:
        return RobotsFile(reply.status, reply.body if 200 <= reply.status < 300 else b"", self._clock.now())


def _is_broken(file: RobotsFile) -> bool:
    """5xx says nothing about what is allowed; nor does 429, which asks for patience and not for a free hand."""
    return file.status is None or file.status >= 500 or file.status == 429


def _location(asked: WebUrl, reply: Reply) -> WebUrl | None:
    target = reply.headers.get("location")
    if target is None or reply.status not in (301, 302, 303, 307, 308):
        return None
    try:
        return join(asked, target)
    except BadRequest:
        return None
