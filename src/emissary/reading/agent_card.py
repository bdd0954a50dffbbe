"""Who we say we are, for machines that look us up: OAuth client metadata and a `web_bot_auth` object.

The form is the Signature Agent Card of draft-meunier-webbotauth-registry.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

import msgspec

from emissary.model.pages import WebUrl
from emissary.reading.identity import PRODUCT_TOKEN, Identity
from emissary.reading.signing import directory_url

__all__ = ["CARD_PATH", "AgentCard", "AgentFacts", "Trigger", "WebBotAuth", "agent_card", "card_document", "card_url"]

CARD_PATH = "/.well-known/emissary-agent.json"

Trigger = Literal["fetcher", "crawler"]
"""Whether somebody asks for each page, or the agent finds pages by itself."""

_OBEYED = ("User-Agent", "Allow", "Disallow", "Crawl-delay", "Request-rate")
_RATE_CONTROL = "Crawl-delay or Request-rate in robots.txt; 429 or 503, with Retry-After"


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """What an installation knows of itself. `contacts` are URIs; what the pages are for, only its operator can say."""

    agent: WebUrl
    identity: Identity
    about: str
    contacts: tuple[str, ...]
    gap: timedelta
    trigger: Trigger = "fetcher"
    purpose: str | None = None


class WebBotAuth(msgspec.Struct, frozen=True, rename="kebab", omit_defaults=True):
    """How we behave, in the words of the draft."""

    expected_user_agent: str
    rfc9309_product_token: str
    rfc9309_compliance: tuple[str, ...]
    trigger: Trigger
    rate_control: str
    known_urls: tuple[str, ...]
    rate_expectation: str | None = None
    purpose: str | None = None


class AgentCard(msgspec.Struct, frozen=True):
    """OAuth client metadata; the card's own address is the client's id."""

    client_id: str
    client_name: str
    client_uri: str
    contacts: tuple[str, ...]
    jwks_uri: str
    web_bot_auth: WebBotAuth


def card_url(agent: WebUrl) -> str:
    """Where the card of the installation at this address is."""
    return agent.origin + CARD_PATH


def agent_card(facts: AgentFacts) -> AgentCard:
    """The card; it says only what the installation does."""
    return AgentCard(
        client_id=card_url(facts.agent),
        client_name=PRODUCT_TOKEN,
        client_uri=facts.about,
        contacts=facts.contacts,
        jwks_uri=directory_url(facts.agent),
        web_bot_auth=WebBotAuth(
            expected_user_agent=facts.identity.agent,
            rfc9309_product_token=PRODUCT_TOKEN,
            rfc9309_compliance=_OBEYED,
            trigger=facts.trigger,
            rate_control=_RATE_CONTROL,
            known_urls=("/robots.txt",),
            rate_expectation=_rate(facts.gap),
            purpose=facts.purpose,
        ),
    )


def card_document(facts: AgentFacts) -> bytes:
    """The card as JSON; the same facts always give the same bytes."""
    return msgspec.json.encode(agent_card(facts))


def _rate(gap: timedelta) -> str | None:
    """What one host sees of us at most; without a gap there is nothing to promise."""
    seconds = gap.total_seconds()
    return f"max={1 / seconds:.3g}rps per host" if seconds else None
