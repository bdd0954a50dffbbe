"""The server's own log over HTTP, for tests and benchmarks that run it in another process."""

import json
from collections.abc import Callable

from emissary.testing.web.answers import Answer, Request, Whole, text
from emissary.testing.web.log import Exchange, Seen
from emissary.testing.web.site import Route, Site, robots

__all__ = ["log_site"]


def log_site(seen: Seen) -> Site:
    """What every host saw so far."""

    def clear(_request: Request) -> Answer:
        seen.clear()
        return Whole(204)

    return Site(
        "log",
        "what the server saw",
        (
            robots(),
            Route("/seen.json", "per address: requests, connections, maxConcurrency, smallestGap", _summary(seen)),
            Route(
                "/exchanges.json?host=", "what an address was asked: at, method, path, headers, body", _exchanges(seen)
            ),
            Route("/clear", "POST: forget it all", clear, methods=("POST",)),
        ),
    )


def _summary(seen: Seen) -> Callable[[Request], Answer]:
    return lambda _: text(json.dumps(seen.summary()), kind="application/json")


def _exchanges(seen: Seen) -> Callable[[Request], Answer]:
    def answer(request: Request) -> Answer:
        asked = seen.of(request.query.get("host", ""))
        return text(json.dumps([_told(each) for each in asked]), kind="application/json")

    return answer


def _told(each: Exchange) -> dict[str, object]:
    body = each.body.decode("latin-1")  # whatever it is, each byte is one character
    return {"at": each.at, "method": each.method, "path": each.path, "headers": each.headers, "body": body}
