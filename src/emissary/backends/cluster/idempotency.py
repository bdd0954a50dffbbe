"""The first answers on PostgreSQL."""

from datetime import datetime

from emissary.backends.cluster.database import Database
from emissary.model.idempotency import ANSWER_KEPT, IN_FLIGHT, ClaimedKey, InFlight, KeptAnswer, Remembered
from emissary.model.moments import to_ms

__all__ = ["PostgresFirstAnswers"]

_CLAIM = """
INSERT INTO first_answers (account, place, token, route, until) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (account, place) DO UPDATE
SET token = excluded.token, until = excluded.until, asked = NULL, status = NULL, sealed = NULL
WHERE first_answers.until <= $6
"""

_LOOK = "SELECT asked, status, sealed FROM first_answers WHERE account = $1 AND place = $2"

_OURS = "WHERE account = $1 AND place = $2 AND token = $3 AND sealed IS NULL"

_RENEW = f"UPDATE first_answers SET until = $4 {_OURS}"  # noqa: S608

_KEEP = f"UPDATE first_answers SET until = $4, asked = $5, status = $6, sealed = $7 {_OURS}"  # noqa: S608

_RELEASE = f"DELETE FROM first_answers {_OURS}"  # noqa: S608

# What somebody is just claiming anew is passed over.
_FORGET = """
DELETE FROM first_answers WHERE (account, place) IN (
    SELECT account, place FROM first_answers WHERE until <= $1 ORDER BY until LIMIT $2 FOR UPDATE SKIP LOCKED)
"""


class PostgresFirstAnswers:
    """Keeps the promise of `ports.idempotency.FirstAnswers`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def claim(self, key: ClaimedKey, now: datetime) -> Remembered | None:
        values = (*_named(key), key.route, to_ms(now + IN_FLIGHT), to_ms(now))
        while True:
            if await self._database.write(_CLAIM, *values):
                return None
            row = await self._database.read_one(_LOOK, key.account, key.place)
            if row is not None:  # else it was let go in this moment: it can be had
                return InFlight() if row["sealed"] is None else KeptAnswer(row["asked"], row["status"], row["sealed"])

    async def renew(self, key: ClaimedKey, now: datetime) -> bool:
        return await self._database.write(_RENEW, *_named(key), to_ms(now + IN_FLIGHT)) > 0

    async def keep(self, key: ClaimedKey, answer: KeptAnswer, now: datetime) -> bool:
        told = (answer.asked, answer.status, answer.sealed)
        return await self._database.write(_KEEP, *_named(key), to_ms(now + ANSWER_KEPT), *told) > 0

    async def release(self, key: ClaimedKey) -> None:
        await self._database.write(_RELEASE, *_named(key))

    async def forget(self, now: datetime, *, most: int) -> int:
        return await self._database.write(_FORGET, to_ms(now), most)


def _named(key: ClaimedKey) -> tuple[str, bytes, bytes]:
    return key.account, key.place, key.token
