"""The shapes of keys and of accounts as the operator sees them, in the API's own names."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, Field
from pydantic_core import PydanticCustomError

from emissary.api.account_schemas import AllowanceAnswer, CreditsAnswer
from emissary.api.schemas import Shape
from emissary.engine.key_book import KeyWish
from emissary.model.accounts import LEAST_WEIGHT, MOST_WEIGHT, Account, Allowance
from emissary.model.keys import ApiKey, Scope, told
from emissary.model.rates import MOST_PER_MINUTE, Rate

__all__ = [
    "AccountChange",
    "AccountRequest",
    "AccountsAnswer",
    "HeldAccountAnswer",
    "KeyAnswer",
    "KeyRequest",
    "KeysAnswer",
    "NewKeyAnswer",
    "RotateRequest",
    "account_of",
    "key_answer",
]

_MOST_CREDITS = 10**15
_MOST_JOBS = 10**12
_LONGEST_GRACE = 30 * 86_400


def _printable(value: str) -> str:
    if not value.isprintable() or value != value.strip():
        raise PydanticCustomError("name", "Input should be printable, with no spaces around it")
    return value


_Name = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_printable)]


class KeyRequest(Shape):
    """A key that is to be made."""

    name: _Name = Field(description="What it is for. Two keys of one name may be live at the same time.")
    scopes: list[Scope] = Field(
        default=[Scope.READ, Scope.WRITE], min_length=1, max_length=10, description="What it may be used for."
    )
    expires_at: AwareDatetime | None = Field(None, description="Until when it opens anything; for ever if left out.")

    def to_wish(self) -> KeyWish:
        return KeyWish(self.name, frozenset(self.scopes), self.expires_at)


class RotateRequest(Shape):
    """How a key is to be rotated."""

    grace_seconds: int = Field(
        default=86_400, ge=0, le=_LONGEST_GRACE, strict=True, description="For how long the old key still opens."
    )


class KeyAnswer(Shape):
    """A key, without its secret."""

    id: str
    name: str
    scopes: list[Scope]
    hint: str | None = Field(description="How it begins; null where it is not of our making.")
    live: bool = Field(description="Whether it opens anything.")
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="To the minute.")


class NewKeyAnswer(KeyAnswer):
    """A key with its secret, which is shown this once."""

    key: str = Field(description="Send it as `Authorization: Bearer em_…`. It is kept nowhere.")


class KeysAnswer(Shape):
    """Keys by their ids, and where to go on."""

    data: list[KeyAnswer]
    next: str | None


class RateRequest(Shape):
    """How often an account may ask."""

    per_minute: int = Field(ge=1, le=MOST_PER_MINUTE, strict=True, description="Requests a minute.")
    burst: int | None = Field(
        None, ge=1, le=MOST_PER_MINUTE, strict=True, description="Requests at once; a minute's worth if left out."
    )

    def to_rate(self) -> Rate:
        return Rate(self.per_minute, self.burst or self.per_minute)


class AccountChange(Shape):
    """What is to change of an account; what is left out stays, and null is nothing of its own."""

    name: _Name | None = None
    weight: float | None = Field(
        None, ge=LEAST_WEIGHT, le=MOST_WEIGHT, strict=True, description="Its part of the turns."
    )
    most_active: int | None = Field(None, ge=0, le=_MOST_JOBS, strict=True, description="Hosts at the same time.")
    most_queued: int | None = Field(None, ge=0, le=_MOST_JOBS, strict=True, description="Jobs that have not ended.")
    rate: RateRequest | None = Field(None, description="Requests.")
    credits: int | None = Field(
        None, ge=0, le=_MOST_CREDITS, strict=True, description="What it has left to use, from now on; null is no limit."
    )
    add_credits: int | None = Field(None, ge=1, le=_MOST_CREDITS, strict=True, description="So many more.")

    def applied_to(self, allowance: Allowance) -> Allowance:
        """The allowance with what was said of it."""
        said = self.model_fields_set
        rate = allowance.rate if "rate" not in said else None if self.rate is None else self.rate.to_rate()
        return Allowance(
            (self.weight or 1.0) if "weight" in said else allowance.weight,
            self.most_active if "most_active" in said else allowance.most_active,
            self.most_queued if "most_queued" in said else allowance.most_queued,
            rate,
        )


class AccountRequest(AccountChange):
    """An account that is to be opened."""

    name: _Name


class HeldAccountAnswer(Shape):
    """An account, as the operator sees it."""

    id: str
    name: str
    created_at: datetime
    allowance: AllowanceAnswer = Field(description="What it was granted; null is the limit for all accounts.")
    queued: int = Field(description="Its jobs that have not ended.")
    active: int = Field(description="Hosts that are being read for it.")
    credits: CreditsAnswer | None = Field(description="What it has left; null is as many as it likes.")


class NamedAccountAnswer(Shape):
    """An account in a list."""

    id: str
    name: str
    created_at: datetime


class AccountsAnswer(Shape):
    """Accounts by their ids, and where to go on."""

    data: list[NamedAccountAnswer]
    next: str | None


def key_answer(key: ApiKey, now: datetime) -> dict[str, Any]:
    """A key as it is told."""
    return {
        "id": key.id,
        "name": key.name,
        "scopes": told(key.scopes),
        "hint": key.hint,
        "live": key.is_live(now),
        "createdAt": key.created_at,
        "expiresAt": key.expires_at,
        "revokedAt": key.revoked_at,
        "lastUsedAt": key.last_used_at,
    }


def account_of(account: Account) -> dict[str, Any]:
    """An account as it is told."""
    return {"id": account.id, "name": account.name, "createdAt": account.created_at}
