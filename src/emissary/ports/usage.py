"""What accounts used."""

from datetime import date
from typing import Protocol

from emissary.model.ids import AccountId
from emissary.model.usage import UsageBy, UsageRow

__all__ = ["Usage"]


class Usage(Protocol):
    """What `Lanes.settle` and `Lanes.forsake` note of jobs that complete, fail or are refused.

    A job counts each time it ends so, on the day in UTC, under its kind and the host of the lane in which it ended; one
    that is cancelled does not. It is noted in the transaction that ends the job, and so neither lost nor counted twice.
    """

    async def of_account(
        self, account: AccountId, first: date, last: date, by: UsageBy, *, after: str = "", most: int = 1_000
    ) -> list[UsageRow]:
        """What the account used from the first day to the last, in the order of the keys, those behind this one."""
        ...

    async def fold(self, *, most: int) -> int:
        """Add up to `most` of the latest notes to what is kept by day; returns how many. Nothing is seen to change."""
        ...
