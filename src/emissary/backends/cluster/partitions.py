"""Days of jobs and of results, and months of usage, each in a table of its own: what is old is dropped whole.

Names of jobs begin with the time, and so do the bounds of their days. What has no partition of its own is in `_rest`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import structlog

from emissary.backends.cluster import partition_statements as sql
from emissary.backends.cluster.database import Connection, Database
from emissary.backends.cluster.outages import Misfit
from emissary.model.ids import ulid, ulid_of

__all__ = ["Partitions", "first_job"]

_DAYS_AHEAD = 7
_MOST_OPEN = 10_000
_INDEX_SECONDS = 600
_OF_TABLE = {
    "jobs": {"key": "id", "fill": "80"},
    "results": {"key": "job", "fill": "100"},
    "usage": {"key": "day", "fill": "50"},
}
_NAME = re.compile(r"(jobs|results|usage)_(\d{4})(\d\d)(\d\d)")

log = structlog.get_logger(__name__)


def first_job(when: datetime) -> bytes:
    """The least id that a job of that moment can have."""
    found = ulid_of(ulid(when, bytes(10)))
    assert found is not None
    return found


@dataclass(frozen=True, slots=True, order=True)
class _Part:
    """A partition: its table, its first day, and the day after its last."""

    table: str
    first: date
    end: date

    @property
    def name(self) -> str:
        return f"{self.table}_{self.first:%Y%m%d}"

    @property
    def names(self) -> dict[str, str]:
        """All that statements are to be told of it."""
        first, end = self._bound(self.first), self._bound(self.end)
        return {"name": self.name, "table": self.table, "first": first, "end": end, **_OF_TABLE[self.table]}

    def _bound(self, day: date) -> str:
        if self.table == "usage":
            return day.isoformat()
        return str(UUID(bytes=first_job(datetime(day.year, day.month, day.day, tzinfo=UTC))))


class Partitions:
    """The partitions of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def make(self, today: date) -> None:
        """See to it that today and the next days have partitions.

        What came in before its day had one is in the rest, and so the whole day stays there: it is deleted by the row.
        """
        there = await self._there()
        for part in _wanted(today):
            if part not in there:
                await self._make(part)

    async def drop(self, table: str, before: date) -> int:
        """Drop the partitions of the table that ended before that day; returns how many."""
        old = sorted(part for part in await self._there() if part.table == table and part.end <= before)
        return sum([await self._drop(part) for part in old])

    async def _there(self) -> set[_Part]:
        names = [_NAME.fullmatch(row[0]) for row in await self._database.read(sql.THERE)]
        return {_part(found[1], date(*map(int, found.groups()[1:]))) for found in names if found is not None}

    async def _make(self, part: _Part) -> None:
        names = part.names
        try:
            async with self._database.transaction() as connection:
                await _alone(connection)
                is_there = await connection.fetchval(sql.IS_THERE, part.name)
                if not is_there and not await connection.fetchval(sql.IS_TAKEN.format(**names)):
                    await connection.execute(sql.MAKE.format(**names))
        except Misfit:
            log.info("a day stays in the rest, since something of it came in just now", partition=part.name)

    async def _drop(self, part: _Part) -> bool:
        names = part.names
        if part.table == "jobs":
            await self._index_open(part)
        async with self._database.transaction() as connection:
            await _alone(connection)
            if not await connection.fetchval(sql.IS_THERE, part.name) or not await _may_go(connection, part):
                return False
            await connection.execute(sql.TAKE_OUT.format(**names))
            if part.table == "jobs":
                await connection.execute(sql.KEEP_OPEN.format(**names))
            await connection.execute(sql.DROP.format(**names))
        return True

    async def _index_open(self, part: _Part) -> None:
        """This may take seconds, for which only those wait who change a job of that day; then nobody waits for us."""
        async with self._database.transaction() as connection:
            await _alone(connection)
            if await connection.fetchval(sql.IS_THERE, part.name):
                await connection.execute(sql.INDEX_OPEN.format(**part.names), timeout=_INDEX_SECONDS)


async def _may_go(connection: Connection, part: _Part) -> bool:
    """Objects are deleted first; and a day of which very much has not ended is kept until more has."""
    await connection.execute(sql.CLOSE.format(**part.names))
    match part.table:
        case "jobs":
            waiting: int = await connection.fetchval(sql.OPEN.format(**part.names, most=_MOST_OPEN + 1))
            if waiting > _MOST_OPEN:
                log.warning("an old day is kept, since many of its jobs have not ended", partition=part.name)
            return waiting <= _MOST_OPEN
        case "results":
            return not await connection.fetchval(sql.HAS_BODIES.format(**part.names))
        case _:
            return True


async def _alone(connection: Connection) -> None:
    """Nobody waits long behind us, and two who believe to lead do not get in each other's way."""
    await connection.execute(sql.IMPATIENT)
    await connection.execute(sql.LOCK)


def _wanted(today: date) -> Iterator[_Part]:
    for days in range(_DAYS_AHEAD + 1):
        day = today + timedelta(days=days)
        yield _part("jobs", day)
        yield _part("results", day)
        if days in (0, _DAYS_AHEAD):
            yield _part("usage", day.replace(day=1))


def _part(table: str, first: date) -> _Part:
    if table == "usage":
        return _Part(table, first, (first + timedelta(days=31)).replace(day=1))
    return _Part(table, first, first + timedelta(days=1))
