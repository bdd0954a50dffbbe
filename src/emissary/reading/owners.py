"""What the owners of sites have told us: to stay away, or that a site is the operator's own and may be read faster."""

import hashlib
import hmac
from datetime import timedelta
from functools import lru_cache

from publicsuffixlist import PublicSuffixList

from emissary.model.errors import BadRequest, StoreUnavailable
from emissary.model.lanes import LaneKey, Pace
from emissary.model.pages import Code, Refusal, Reply, Unreachable, WebUrl
from emissary.model.site_owners import OptOut, Ownership
from emissary.ports.clock import Chance, Clock
from emissary.ports.reading_records import Secrets, SiteOwners
from emissary.ports.vault import Vault
from emissary.ports.web import Ask, Web
from emissary.reading.urls import join, parse

__all__ = ["OWNER_PATH", "OwnersBook", "owner_token", "proves", "site_of"]

OWNER_PATH = "/.well-known/emissary-owner.txt"
_PROOF_HOLDS = timedelta(days=30)
_PROOF_BYTES = 4096
_PLACE = "owner-tokens"
_TRIES = 5


class OwnersBook:
    """Knows by heart what owners said; `refresh` learns what is new, and is called more than once a minute."""

    def __init__(self, records: SiteOwners, clock: Clock) -> None:
        self._records = records
        self._clock = clock
        self._away: frozenset[str] = frozenset()
        self._owned: dict[str, Ownership] = {}

    async def refresh(self) -> None:
        away, owned = await self._records.opted_out(), await self._records.owned()
        # Added to what is known: somebody may have opted out here while the store was being read.
        self._away |= away
        self._owned = owned

    async def opt_out(self, host: str, contact: str, reason: str) -> str:
        """Stay away from the host, from this moment here and within a minute everywhere; returns it as it was read."""
        name = _name(site_of(host.strip().removeprefix("*.")))
        if _suffixes().is_public(name):
            raise BadRequest(f"{name} belongs to many: name the host that is yours")
        await self._records.opt_out(OptOut(name, self._clock.now(), contact, reason))
        self._away |= {name}
        return name

    def refusal(self, url: WebUrl) -> Refusal | None:
        """Whether the owner of the host, or of a domain above it, wants us to stay away."""
        if not self._away:
            return None
        labels = _name(url).split(".")
        names = (".".join(labels[start:]) for start in range(len(labels)))
        found = next((name for name in names if name in self._away), None)
        detail = f"the owner of {found} has asked us to stay away"
        return None if found is None else Refusal(url, Code.OPTED_OUT, detail, evidence=(f"opt-out of {found}",))

    async def prove(self, ownership: Ownership) -> None:
        """Note a proof that was seen."""
        await self._records.prove(ownership)
        self._owned[ownership.host] = ownership

    def pace_of(self, lane: LaneKey, usual: Pace) -> Pace:
        """The pace of a lane: the usual one, or what the operator has set for a host of their own."""
        # A lane is named by host and port: who has shown one port has shown nothing about another.
        owned = self._owned.get(lane.removeprefix("host:")) if self._owned else None
        if owned is None or self._clock.now() - owned.proven_at > _PROOF_HOLDS:
            return usual
        return Pace(min(owned.gap, usual.gap), max(owned.concurrency, usual.concurrency))


def site_of(host: str) -> WebUrl:
    """The site that a person names: `example.org`, or any address on it with its scheme."""
    return parse(host if "://" in host else f"https://{host}")


async def owner_token(secrets: Secrets, vault: Vault, chance: Chance, site: WebUrl) -> str:
    """What the site has to show. It follows from a secret of this installation and the site, so nothing is kept."""
    for _ in range(_TRIES):
        sealed = await secrets.read(_PLACE)
        if sealed is not None:
            secret = vault.open(sealed, _PLACE)
            return "emissary-" + hmac.new(secret, site.authority.encode(), hashlib.sha256).hexdigest()[:40]
        await secrets.write(_PLACE, vault.seal(chance.draw(32), _PLACE), None)
    raise StoreUnavailable("the secret behind the tokens could not be written")


async def proves(web: Web, site: WebUrl, token: str) -> str | None:
    """Whether the site shows the token that only its owner could have put there: None if it does, else what it did."""
    asked = Ask(join(site, OWNER_PATH), 10.0, _PROOF_BYTES, truncate=True)
    reply = await web.ask(asked)
    match reply:
        case Unreachable():
            return reply.detail
        case Reply() if reply.status != 200:
            return f"{asked.url.href} answered {reply.status}"
        case Reply() if token not in reply.body.decode("utf-8", "replace").split():
            return f"{asked.url.href} does not show the token"
        case Reply():
            return None


def _name(url: WebUrl) -> str:
    """The host without the dots that may end a name: `example.org.` is `example.org`."""
    return url.host.rstrip(".")


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList(accept_unknown=False)
