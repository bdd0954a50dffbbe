"""The agent card says who we are and how we behave."""

import json
from datetime import timedelta
from typing import Any

import pytest

from emissary.reading.agent_card import AgentFacts, Trigger, card_document
from emissary.reading.identity import Identity
from emissary.reading.urls import parse


def _card(
    gap: timedelta = timedelta(seconds=1), trigger: Trigger = "fetcher", purpose: str | None = None
) -> dict[str, Any]:
    facts = AgentFacts(
        agent=parse("https://Bot.example:443/somewhere"),
        identity=Identity("9.9", "https://bot.example/"),
        about="https://bot.example/bot",
        contacts=("mailto:owner@bot.example",),
        gap=gap,
        trigger=trigger,
        purpose=purpose,
    )
    card: dict[str, Any] = json.loads(card_document(facts))
    return card


def test_the_card_is_the_metadata_of_a_client_whose_id_is_where_it_lies() -> None:
    card = _card()
    assert card.pop("web_bot_auth")
    assert card == {
        "client_id": "https://bot.example/.well-known/emissary-agent.json",
        "client_name": "Emissary",
        "client_uri": "https://bot.example/bot",
        "contacts": ["mailto:owner@bot.example"],
        "jwks_uri": "https://bot.example/.well-known/http-message-signatures-directory",
    }


def test_the_card_says_how_we_behave() -> None:
    assert _card(purpose="search")["web_bot_auth"] == {
        "expected-user-agent": "Emissary/9.9 (+https://bot.example/)",
        "rfc9309-product-token": "Emissary",
        "rfc9309-compliance": ["User-Agent", "Allow", "Disallow", "Crawl-delay", "Request-rate"],
        "trigger": "fetcher",
        "purpose": "search",
        "rate-control": "Crawl-delay or Request-rate in robots.txt; 429 or 503, with Retry-After",
        "rate-expectation": "max=1rps per host",
        "known-urls": ["/robots.txt"],
    }


def test_what_nobody_has_said_is_not_in_the_card() -> None:
    assert "purpose" not in _card()["web_bot_auth"]


@pytest.mark.parametrize(
    ("gap", "rate"),
    [
        (timedelta(seconds=1), "max=1rps per host"),
        (timedelta(milliseconds=400), "max=2.5rps per host"),
        (timedelta(seconds=30), "max=0.0333rps per host"),
        (timedelta(0), None),
    ],
)
def test_the_promised_rate_is_the_one_the_gap_allows(gap: timedelta, rate: str | None) -> None:
    assert _card(gap)["web_bot_auth"].get("rate-expectation") == rate


def test_an_installation_that_finds_pages_by_itself_says_so() -> None:
    assert _card(trigger="crawler")["web_bot_auth"]["trigger"] == "crawler"
