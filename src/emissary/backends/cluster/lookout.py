"""Knows where the line begins: as of one snapshot, where the first ready lanes stand, and when the next one wakes.

While somebody reads for long, what has left the line cannot be cleared away, and whoever looks for the front from the
very beginning walks through all of it. So a process remembers where the front was, and from which transaction on it
has not seen what was done. It looks on from there, and at the lanes that were placed by those transactions: whatever
came before the front since then is among them, whoever put it there. That is exact, no matter when they commit.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from emissary.backends.cluster import line_statements as sql
from emissary.backends.cluster.database import Connection
from emissary.backends.cluster.whereabouts import Whereabouts

__all__ = ["Columns", "Lookout", "Sight", "wake"]

_END = (1 << 63) - 1

Columns: TypeAlias = tuple[list[int], list[int], list[int]]
"""Accounts, bands and ranks, as statements take them."""


@dataclass(frozen=True, slots=True)
class Sight:
    """The line as of one snapshot: nothing stands before these ranks, and nothing wakes before `wakes_at`.

    What was placed by a transaction before `seen` is in it.
    """

    seen: int = 0
    wakes_at: int = _END
    fronts: dict[tuple[int, int], int] = field(default_factory=dict)  # by account and band

    def columns(self, bands: Iterable[int] | None = None) -> Columns:
        """Where the first ready lanes stand, of these bands or of all."""
        wanted = None if bands is None else set(bands)
        rows = [(*chain, rank) for chain, rank in self.fronts.items() if wanted is None or chain[1] in wanted]
        return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]

    def lowered(self, woken: Iterable[tuple[int, int, int]]) -> "Sight":
        """The same with lanes that have become ready: account, band and rank of the first of each."""
        fronts = dict(self.fronts)
        for tenant, band, rank in woken:
            fronts[tenant, band] = min(rank, fronts.get((tenant, band), rank))
        return Sight(self.seen, self.wakes_at, fronts)


class Lookout:
    """What this process saw when it last looked: of the line, and of where the lanes are that it took from it.

    Of two looks at once, either is right.
    """

    def __init__(self, sight: Sight | None = None) -> None:
        self._sight = sight or Sight()
        self.whereabouts = Whereabouts()

    async def look(self, connection: Connection) -> Sight:
        """The line as it is now. What the transaction has taken out of the line before may not be undone."""
        last = self._sight
        sight = await _look_on(connection, last)
        if sight.seen < last.seen:  # the server has gone back to an older state of itself
            sight = await _look_on(connection, Sight())
        self._sight = sight
        return sight


async def _look_on(connection: Connection, last: Sight) -> Sight:
    rows = await connection.fetch(sql.LOOK, str(last.seen), *last.columns(), last.wakes_at)
    found = {(tenant, band): value for tenant, band, value in rows}
    seen, wakes_at = found.pop(sql.SEEN), found.pop(sql.WAKES_AT)
    return Sight(seen, _END if wakes_at is None else wakes_at, found)


async def wake(connection: Connection, sight: Sight, now_ms: int) -> tuple[Sight, int]:
    """Wake the lanes whose time has come; returns the line with them in it, and how many they were."""
    if sight.wakes_at > now_ms:
        return sight, 0
    rows = await connection.fetch(sql.WAKE, now_ms, sight.wakes_at)
    return sight.lowered((row[0], row[1], row[2]) for row in rows), sum(row["number"] for row in rows)
