"""What the owners of sites have told us: to stay away, or that a site is the operator's own and may be read faster."""

from datetime import timedelta

from emissary.model.lanes import LaneKey, Pace
from emissary.model.pages import Code, Refusal, Reply, WebUrl
from emissary.model.site_owners import OptOut, Ownership
from emissary.ports.clock import Clock
from emissary.ports.reading_records import SiteOwners
from emissary.ports.web import Ask, Web
from emissary.reading.urls import parse

__all__ = ["OWNER_PATH", "OwnersBook", "proves"]

OWNER_PATH = "/.well-known/emissary-owner.txt"
_PROOF_HOLDS = timedelta(days=30)
_PROOF_BYTES = 4096


class OwnersBook:
    """Knows by heart what owners said; `refresh` learns what is new, and is called more than once a minute."""

    def __init__(self, records: SiteOwners, clock: Clock) -> None:
        self._records = records
        self._clock = clock
        self._away: frozenset[str] = frozenset()
        self._owned: dict[str, Ownership] = {}

    async def refresh(self) -> None:
        self._away = await self._records.opted_out()
        self._owned = await self._records.owned()

    async def opt_out(self, host: str, contact: str, reason: str) -> str:
        """Stay away from the host, from this moment here and within a minute everywhere; returns it as it was read."""
        name = parse(f"https://{host.strip()}").host
        await self._records.opt_out(OptOut(name, self._clock.now(), contact, reason))
        self._away |= {name}
        return name

    def refusal(self, url: WebUrl) -> Refusal | None:
        """Whether the owner of the host, or of a domain above it, wants us to stay away."""
        if not self._away:
            return None
        labels = url.host.split(".")
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
        owned = self._owned.get(lane.removeprefix("host:").partition(":")[0]) if self._owned else None
        if owned is None or self._clock.now() - owned.proven_at > _PROOF_HOLDS:
            return usual
        return Pace(min(owned.gap, usual.gap), max(owned.concurrency, usual.concurrency))


async def proves(web: Web, host: str, token: str) -> bool:
    """Whether the host shows the token that only its owner could have put there."""
    asked = Ask(parse(f"https://{host}{OWNER_PATH}"), 10.0, _PROOF_BYTES, truncate=True)
    reply = await web.ask(asked)
    return isinstance(reply, Reply) and reply.status == 200 and token in reply.body.decode("utf-8", "replace").split()
