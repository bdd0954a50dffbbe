"""Sessions: what a site may remember of an account between two visits."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from emissary.model.ids import AccountId

__all__ = ["SESSION_LIFE", "KeptSession", "SessionKey"]

SESSION_LIFE = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class SessionKey:
    """Whose session, and which."""

    account: AccountId
    name: str

    @property
    def place(self) -> str:
        """What its secrets are sealed to."""
        return f"session:{self.account}:{self.name}"


@dataclass(frozen=True, slots=True)
class KeptSession:
    """A session at rest. `version` grows with every change, so that two at a time do not undo each other's."""

    sealed: bytes
    egress: str | None
    version: int
    expires_at: datetime
