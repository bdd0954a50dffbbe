"""The first answers: kept for requests that come again."""

from datetime import datetime
from typing import Protocol

from emissary.model.idempotency import ClaimedKey, KeptAnswer, Remembered

__all__ = ["FirstAnswers"]


class FirstAnswers(Protocol):
    """What was answered under which key, shared by all processes."""

    async def claim(self, key: ClaimedKey, now: datetime) -> Remembered | None:
        """Take the key for `IN_FLIGHT`; None if that was done, else what there is under it.

        However many claim it at the same time, one gets it. What is over, a claim that was not renewed or an answer
        that was kept for long enough, is as if it had never been.
        """
        ...

    async def renew(self, key: ClaimedKey, now: datetime) -> bool:
        """Hold the key for `IN_FLIGHT` from now on; False if it is not ours any more."""
        ...

    async def keep(self, key: ClaimedKey, answer: KeptAnswer, now: datetime) -> bool:
        """Keep the answer for `ANSWER_KEPT`; False, and nothing is written, if the key is not ours any more."""
        ...

    async def release(self, key: ClaimedKey) -> None:
        """Let the key go, as if it had never been claimed; nothing happens if it is not ours, or was answered."""
        ...

    async def forget(self, now: datetime, *, most: int) -> int:
        """Drop up to `most` of what is over; returns how many there were."""
        ...
