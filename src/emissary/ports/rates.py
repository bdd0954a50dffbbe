"""The buckets of tokens behind the accounts' rates."""

from datetime import datetime
from typing import Protocol

from emissary.model.ids import AccountId
from emissary.model.rates import Rate, Slice

__all__ = ["Rates"]


class Rates(Protocol):
    """One bucket for each account, shared by all processes."""

    async def take(self, account: AccountId, rate: Rate, want: int, now: datetime) -> Slice:
        """Take up to `want` whole tokens out of the account's bucket; it is full when nobody has taken any before.

        However many take at the same time, no token is given out twice.
        """
        ...
