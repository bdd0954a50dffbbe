"""Who we say we are: the same on every request, and true."""

from dataclasses import dataclass

__all__ = ["PRODUCT_TOKEN", "Identity"]

PRODUCT_TOKEN = "Emissary"  # noqa: S105 - the name by which robots.txt speaks of us

_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,application/json;q=0.9,text/plain;q=0.8,*/*;q=0.5"


@dataclass(frozen=True, slots=True)
class Identity:
    """`Emissary/<version> (+<contact url>)`."""

    version: str
    contact: str
    email: str | None = None

    @property
    def agent(self) -> str:
        return f"{PRODUCT_TOKEN}/{self.version} (+{self.contact})"

    def headers(self) -> dict[str, str]:
        """What every request carries."""
        said = {"User-Agent": self.agent, "Accept": _ACCEPT, "Accept-Language": "en, *;q=0.5"}
        return said if self.email is None else {**said, "From": self.email}
