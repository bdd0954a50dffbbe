"""What an account may do and what it used, as its owner sees it."""

from dataclasses import dataclass
from datetime import UTC, date

from emissary.model.accounts import AccountLoad, Allowance, Balance
from emissary.model.errors import InsufficientCredits
from emissary.model.ids import AccountId
from emissary.model.usage import UsageBy, UsageRow, add_up
from emissary.ports.accounts import Allowances
from emissary.ports.clock import Clock
from emissary.ports.usage import Usage

__all__ = ["AccountBook", "AccountShown"]


@dataclass(frozen=True, slots=True)
class AccountShown:
    """An account as it is now, and what it used since the first day of the month."""

    allowance: Allowance
    load: AccountLoad
    balance: Balance | None
    first: date
    today: date
    used: UsageRow


class AccountBook:
    """The accounts' allowances, with the limits for all where an account has none of its own, and their usage."""

    def __init__(self, allowances: Allowances, usage: Usage, standard: Allowance, clock: Clock) -> None:
        self._allowances = allowances
        self._usage = usage
        self._standard = standard
        self._clock = clock

    def today(self) -> date:
        """The day it is in UTC."""
        return self._clock.now().astimezone(UTC).date()

    async def show(self, account: AccountId) -> AccountShown:
        allowance = (await self._allowances.allowance_of(account)).or_else(self._standard)
        today = self.today()
        first = today.replace(day=1)
        used = add_up(await self._usage.of_account(account, first, today, UsageBy.KIND))
        load, balance = await self._allowances.load_of(account), await self._allowances.balance_of(account)
        return AccountShown(allowance, load, balance, first, today, used)

    async def expect(self, account: AccountId, amount: int) -> None:
        """Raise InsufficientCredits where the account has fewer; nothing is reserved by this."""
        balance = await self._allowances.balance_of(account)
        if balance is not None and amount > balance.available:
            raise InsufficientCredits(needed=amount, available=balance.available)

    async def used(
        self, account: AccountId, days: tuple[date, date], by: UsageBy, *, after: str, most: int
    ) -> list[UsageRow]:
        """What the account used from the first of these days to the last."""
        return await self._usage.of_account(account, *days, by, after=after, most=most)
