"""Accounts: who they are, what they may do, and what they have left."""

from dataclasses import dataclass
from datetime import datetime

from emissary.model.ids import AccountId
from emissary.model.rates import Rate

__all__ = ["LEAST_WEIGHT", "MOST_WEIGHT", "Account", "AccountLoad", "Allowance", "Balance"]

LEAST_WEIGHT, MOST_WEIGHT = 0.001, 1000.0  # beyond them a turn would be too long, or too short, to be counted


@dataclass(frozen=True, slots=True)
class Account:
    """Whoever jobs belong to."""

    id: AccountId
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Allowance:
    """What an account may do: its part of the turns, hosts in hand at once, jobs that have not ended, requests.

    Where a limit is None, the one for all accounts is meant; where that is None as well, there is none.
    """

    weight: float = 1.0
    most_active: int | None = None
    most_queued: int | None = None
    rate: Rate | None = None

    def __post_init__(self) -> None:
        if not LEAST_WEIGHT <= self.weight <= MOST_WEIGHT:
            raise ValueError(f"a weight is {LEAST_WEIGHT} to {MOST_WEIGHT:g}, and this is {self.weight}")
        if min(self.most_active or 0, self.most_queued or 0) < 0:
            raise ValueError("a limit is not below 0")

    def or_else(self, standard: "Allowance") -> "Allowance":
        """The same, with the limits for all accounts where it has none of its own."""
        active = standard.most_active if self.most_active is None else self.most_active
        queued = standard.most_queued if self.most_queued is None else self.most_queued
        return Allowance(self.weight, active, queued, self.rate or standard.rate)


@dataclass(frozen=True, slots=True)
class AccountLoad:
    """How many jobs of an account have not ended, and how many lanes are in hand for it."""

    queued: int
    active: int


@dataclass(frozen=True, slots=True)
class Balance:
    """The credits of an account that has not as many as it likes.

    What was used has left it; every job that has not ended reserves one, since it may use it.
    """

    left: int
    reserved: int

    @property
    def available(self) -> int:
        """What further work may use."""
        return max(self.left - self.reserved, 0)
