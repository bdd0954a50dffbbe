"""The tide board: nothing to read without JavaScript."""

import json

from emissary.testing.web.answers import Answer, Request, html, text
from emissary.testing.web.pages.odd import app_shell
from emissary.testing.web.pages.plain import draw
from emissary.testing.web.site import Route, Site, robots

__all__ = ["app_site"]

_BOATS = ("Island ferry", "Harbour round trip", "Lighthouse boat", "Night crossing", "Market boat", "Seal watch")


def _items(_request: Request) -> Answer:
    items = [
        {
            "id": n,
            "name": _BOATS[n % len(_BOATS)],
            "departs": f"{6 + n // 2:02d}:{30 * (n % 2):02d}",
            "places": draw("places", n, 60),
        }
        for n in range(24)
    ]
    return text(json.dumps({"title": "Departures today", "items": items}), kind="application/json")


def app_site() -> Site:
    """A page built by its script, and the data that it fetches."""
    return Site(
        "app",
        "a page that is empty without JavaScript",
        (
            robots(),
            Route("/", "an empty shell, filled by a script", lambda _: html(app_shell())),
            Route("/api/items.json", "what the script fetches: 24 departures", _items),
        ),
    )
