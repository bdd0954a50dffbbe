"""What we present: our name on every request, signed where there is an address to check the signature against."""

from datetime import datetime, timedelta

import msgspec

from emissary.model.errors import StoreUnavailable
from emissary.model.pages import WebUrl
from emissary.ports.clock import Chance, Clock
from emissary.ports.reading_records import Secrets
from emissary.ports.vault import Vault
from emissary.reading.identity import Identity
from emissary.reading.keys import KEPT_FOR, PUBLISHED_AHEAD, KeyRing, SigningKey, drop_retired, rotate
from emissary.reading.signing import Form, directory_document, directory_headers, directory_url, sign_request

__all__ = ["Credentials"]

_PLACE = "signing-keys"
_TRIES = 5


class _StoredKey(msgspec.Struct, array_like=True):
    secret: bytes
    not_before: datetime
    expires: datetime | None


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[_StoredKey]).decode


class Credentials:
    """The identity of this installation and its keys, which all its processes share."""

    def __init__(self, identity: Identity, agent: WebUrl | None, form: Form, *, clock: Clock) -> None:
        self.identity = identity
        self.agent = agent
        self._form = form
        self._clock = clock
        self._ring: KeyRing | None = None
        self._constant = identity.headers()
        # A signature points to a directory; only an https address can be one that others may trust.
        self._directory = directory_url(agent) if agent is not None and agent.scheme == "https" else None

    @property
    def key_id(self) -> str | None:
        """The key that signs now; None if nothing is signed."""
        if self._ring is None or self._directory is None:
            return None
        return self._ring.active(self._clock.now()).key_id

    @property
    def ring(self) -> KeyRing | None:
        """The keys that are published, or would be if there were an address to publish them at."""
        return None if self._ring is None else drop_retired(self._ring, self._clock.now())

    @property
    def directory_url(self) -> str | None:
        """Where the keys are published; None if nothing is signed."""
        return self._directory

    def present(self, method: str, url: WebUrl) -> dict[str, str]:
        """The fields that every request carries."""
        if self._ring is None or self._directory is None:
            return self._constant
        now = self._clock.now()
        key = self._ring.active(now)
        return self._constant | sign_request(
            key, method=method, url=url, agent_directory=self._directory, now=now, form=self._form
        )

    def directory(self) -> tuple[bytes, dict[str, str]] | None:
        """The key directory and the fields that prove each key, for our own address; None if nothing is signed."""
        if self._ring is None or self._directory is None or self.agent is None:
            return None
        now = self._clock.now()
        ring = drop_retired(self._ring, now)
        body = directory_document(ring)
        # The authority is the one from the settings: a Host field is a stranger's word, and proofs are not given on it.
        return body, directory_headers(ring, authority=self.agent.authority, body=body, now=now)

    async def load(self, secrets: Secrets, vault: Vault, chance: Chance) -> None:
        """Take the keys from the store; the first process to come makes the first of them."""
        for _ in range(_TRIES):
            sealed = await secrets.read(_PLACE)
            if sealed is not None:
                self._ring = _ring_of(vault.open(sealed, _PLACE))
                return
            first = KeyRing((SigningKey(chance.draw(32), not_before=self._clock.now()),))
            await secrets.write(_PLACE, vault.seal(_bytes_of(first), _PLACE), None)
        raise StoreUnavailable("the signing keys could not be written")

    async def rotate(self, secrets: Secrets, vault: Vault, chance: Chance, *, stolen: bool = False) -> KeyRing:
        """Publish a new key beside the old. It signs a day later; a stolen key is replaced at once."""
        now, zero = self._clock.now(), timedelta()
        for _ in range(_TRIES):
            sealed = await secrets.read(_PLACE)
            if sealed is None:
                await self.load(secrets, vault, chance)
                continue
            ring = drop_retired(_ring_of(vault.open(sealed, _PLACE)), now)
            new_key = SigningKey(chance.draw(32), not_before=now)
            ahead, keep = (zero, zero) if stolen else (PUBLISHED_AHEAD, KEPT_FOR)
            ring = rotate(ring, new_key, now, ahead=ahead, keep=keep)
            if await secrets.write(_PLACE, vault.seal(_bytes_of(ring), _PLACE), sealed):
                self._ring = ring
                return ring
        raise StoreUnavailable("somebody else is rotating the signing keys: try again")


def _bytes_of(ring: KeyRing) -> bytes:
    return _encode([_StoredKey(key.secret, key.not_before, key.expires) for key in ring.published])


def _ring_of(raw: bytes) -> KeyRing:
    return KeyRing(tuple(SigningKey(key.secret, key.not_before, key.expires) for key in _decode(raw)))
