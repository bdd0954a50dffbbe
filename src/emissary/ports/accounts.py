"""What accounts may do, what they have in line, and what they have left."""

from typing import Protocol

from emissary.model.accounts import AccountLoad, Allowance, Balance
from emissary.model.ids import AccountId

__all__ = ["Allowances"]


class Allowances(Protocol):
    """The accounts' own allowances. What is granted holds for whatever is submitted or claimed from then on."""

    async def grant(self, account: AccountId, allowance: Allowance) -> None:
        """From now on the account may do this, in place of what it was granted before."""
        ...

    async def allowance_of(self, account: AccountId) -> Allowance:
        """What the account was granted; the plain allowance if nothing was."""
        ...

    async def load_of(self, account: AccountId) -> AccountLoad:
        """What the account has in line and in hand. It costs the same for ten jobs and for a million."""
        ...

    async def set_credits(self, account: AccountId, amount: int | None) -> None:
        """From now on the account has so many left to use; None is as many as it likes."""
        ...

    async def add_credits(self, account: AccountId, more: int) -> None:
        """The account has so many more; one that had as many as it liked has these from now on."""
        ...

    async def balance_of(self, account: AccountId) -> Balance | None:
        """What the account has left at this moment, all that was settled counted; None is as many as it likes."""
        ...
