"""Sessions: cookies and local storage of one account under a name, sealed at rest, for a day after their last use."""

from dataclasses import dataclass

import msgspec

from emissary.model.errors import StoreUnavailable
from emissary.model.pages import WebUrl
from emissary.model.sessions import SESSION_LIFE, KeptSession, SessionKey
from emissary.ports.clock import Clock
from emissary.ports.reading_records import Sessions
from emissary.ports.vault import Vault
from emissary.reading.cookies import Cookies

__all__ = ["Session", "SessionBook", "SetCookies"]

_TRIES = 100  # each one that fails is another visit's success

SetCookies = tuple[tuple[WebUrl, tuple[str, ...]], ...]
"""The cookies that answers have set, in order, each with the URL it came from."""


class _Contents(msgspec.Struct, frozen=True, omit_defaults=True):
    cookies: Cookies = Cookies()
    local_storage: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)  # by origin; for the browser


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Contents).decode


@dataclass(frozen=True, slots=True)
class Session:
    """An open session."""

    contents: _Contents
    egress: str | None
    version: int

    @property
    def cookies(self) -> Cookies:
        return self.contents.cookies


class SessionBook:
    """Opens and keeps sessions. Two visits of one session at a time both leave their cookies behind."""

    def __init__(self, sessions: Sessions, vault: Vault, clock: Clock) -> None:
        self._sessions = sessions
        self._vault = vault
        self._clock = clock

    async def open(self, key: SessionKey) -> Session:
        """The session as it is; a new one if there is none or its time is over."""
        kept = await self._sessions.find(key, self._clock.now())
        if kept is None:
            return Session(_Contents(), None, 0)
        return Session(_decode(self._vault.open(kept.sealed, key.place)), kept.egress, kept.version)

    async def keep(self, key: SessionKey, session: Session, answers: SetCookies, egress: str | None) -> None:
        """Keep what the answers have set, and the way they came; the session lives on for another day."""
        for _ in range(_TRIES):
            contents, now = session.contents, self._clock.now()
            cookies = contents.cookies
            for url, lines in answers:
                cookies = cookies.after(url, lines, now)
            sealed = self._vault.seal(_encode(msgspec.structs.replace(contents, cookies=cookies)), key.place)
            kept = KeptSession(sealed, session.egress or egress, session.version + 1, now + SESSION_LIFE)
            if await self._sessions.keep(key, kept):
                return
            session = await self.open(key)  # another visit was quicker: its cookies first, then ours
        raise StoreUnavailable("the session is changed by so many visits at a time that ours found no turn")
