"""The first answers on SQLite."""

import sqlite3
from datetime import datetime
from typing import Any

from emissary.backends.embedded.database import Database
from emissary.model.idempotency import ANSWER_KEPT, IN_FLIGHT, ClaimedKey, InFlight, KeptAnswer, Remembered
from emissary.model.moments import to_ms

__all__ = ["SqliteFirstAnswers"]

_CLAIM = """
INSERT INTO first_answers (account, place, route, token, until) VALUES (:account, :place, :route, :token, :until)
ON CONFLICT (account, place) DO UPDATE
SET token = excluded.token, until = excluded.until, asked = NULL, status = NULL, sealed = NULL
WHERE first_answers.until <= :now
"""

_LOOK = "SELECT asked, status, sealed FROM first_answers WHERE account = :account AND place = :place"

_OURS = "WHERE account = :account AND place = :place AND token = :token AND sealed IS NULL"

_RENEW = f"UPDATE first_answers SET until = :until {_OURS}"  # noqa: S608

_KEEP = f"UPDATE first_answers SET until = :until, asked = :asked, status = :status, sealed = :sealed {_OURS}"  # noqa: S608

_RELEASE = f"DELETE FROM first_answers {_OURS}"  # noqa: S608

_FORGET = """
DELETE FROM first_answers WHERE (account, place) IN (
    SELECT account, place FROM first_answers WHERE until <= :now ORDER BY until LIMIT :most)
"""


class SqliteFirstAnswers:
    """Keeps the promise of `ports.idempotency.FirstAnswers`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def claim(self, key: ClaimedKey, now: datetime) -> Remembered | None:
        values = {**_named(key), "route": key.route, "now": to_ms(now), "until": to_ms(now + IN_FLIGHT)}

        def work(connection: sqlite3.Connection) -> tuple[Any, ...] | None:
            if connection.execute(_CLAIM, values).rowcount > 0:
                return None
            found: tuple[Any, ...] = connection.execute(_LOOK, values).fetchone()
            return found

        row = await self._database.write(work)
        if row is None:
            return None
        return InFlight() if row[2] is None else KeptAnswer(*row)

    async def renew(self, key: ClaimedKey, now: datetime) -> bool:
        return await self._change(_RENEW, {**_named(key), "until": to_ms(now + IN_FLIGHT)}) > 0

    async def keep(self, key: ClaimedKey, answer: KeptAnswer, now: datetime) -> bool:
        told = {"asked": answer.asked, "status": answer.status, "sealed": answer.sealed}
        return await self._change(_KEEP, {**_named(key), **told, "until": to_ms(now + ANSWER_KEPT)}) > 0

    async def release(self, key: ClaimedKey) -> None:
        await self._change(_RELEASE, _named(key))

    async def forget(self, now: datetime, *, most: int) -> int:
        return await self._change(_FORGET, {"now": to_ms(now), "most": most})

    async def _change(self, statement: str, values: dict[str, object]) -> int:
        return await self._database.write(lambda connection: connection.execute(statement, values).rowcount)


def _named(key: ClaimedKey) -> dict[str, object]:
    return {"account": key.account, "place": key.place, "token": key.token}
