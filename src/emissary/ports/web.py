"""The web, one exchange at a time."""

from dataclasses import dataclass, field
from typing import Protocol

from emissary.model.pages import Reply, Unreachable, WebUrl

__all__ = ["Ask", "Web"]


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. There is no method but GET for reading; `body` is for telling: a webhook's POST.

    A body beyond `max_bytes` is an `Unreachable` with the code too_large; with `truncate`, it is cut there instead.
    """

    url: WebUrl
    timeout: float
    max_bytes: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    truncate: bool = False


class Web(Protocol):
    """Sends one request and follows nothing. It presents who we are, and dials no address that the guard forbids."""

    async def ask(self, ask: Ask) -> Reply | Unreachable: ...
