"""The web, one exchange at a time."""

import re
from dataclasses import dataclass, field
from typing import Literal, Protocol

import msgspec

from emissary.model.pages import Reply, Unreachable, WebUrl

__all__ = ["Ask", "Proxy", "Web"]

# Who we are and how the message is framed is the adapter's to say: no caller can pretend to be somebody else.
_NOT_FOR_CALLERS = frozenset(
    {"accept-encoding", "connection", "content-length", "from", "host", "te", "transfer-encoding", "upgrade"}
    | {"user-agent", "proxy-authorization", "proxy-connection"}
)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2: whatever else may not be what it looks like


@dataclass(frozen=True, slots=True)
class Proxy:
    """A way out that the operator has named. Its own address is his word; the guard looks at the target."""

    name: str
    scheme: Literal["http", "socks5"]
    host: str
    port: int
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    provider: str = ""
    region: str = ""
    labels: frozenset[str] = frozenset()


class Ask(msgspec.Struct, frozen=True, gc=False):  # made for every request: a dataclass would take ten times as long
    """One request. There is no method but GET for reading; `body` is for telling: a webhook's POST.

    A body beyond `max_bytes` is an `Unreachable` with the code too_large; with `truncate`, it is cut there instead.
    No header here can say who we are, sign for us, or frame the message: such an Ask cannot be made.
    """

    url: WebUrl
    timeout: float
    max_bytes: int
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    body: bytes | None = None
    truncate: bool = False
    via: Proxy | None = None  # None leaves by this machine's own address
    session: str | None = None  # asks of one session leave by one egress; without a name, those to one site do
    region: str | None = None  # where it should leave from, if that is possible
    kept_egress: str | None = None  # the egress that the session used before, perhaps in another process

    def __post_init__(self) -> None:
        for name in self.headers:
            lowered = name.lower()
            if lowered in _NOT_FOR_CALLERS or lowered.startswith("signature") or not _TOKEN.fullmatch(name):
                raise ValueError(f"the header {name!r} is not for callers to set")


class Web(Protocol):
    """Sends one request and follows nothing. It presents who we are, and dials no address that the guard forbids.

    What a proxy does wrong is an `Unreachable` with the code proxy: nothing was sent to the site then.
    """

    async def ask(self, ask: Ask) -> Reply | Unreachable: ...
