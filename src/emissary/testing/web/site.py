"""A site: a name, and a list of routes that is also its documentation."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from emissary.testing.web.answers import Answer, Request, html, text
from emissary.testing.web.pages.plain import plain_page

__all__ = ["Handler", "Route", "Site", "robots"]

Handler = Callable[[Request], Answer]
_READING = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class Route:
    """A path with `{placeholders}` (`{rest*}` may contain slashes), what is there, and who answers."""

    path: str
    about: str
    handler: Handler
    methods: tuple[str, ...] = _READING
    pattern: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(self.path.partition("?")[0]))
        pattern = re.sub(r"\\{(\w+)\\\*\\}", r"(?P<\1>.*)", pattern)
        object.__setattr__(self, "pattern", re.compile(pattern))


def _nothing_ready(_target: str) -> Answer | None:
    return None


@dataclass(frozen=True, slots=True)
class Site:
    """What one host serves. `ready` may know an answer by the bare target, before any route is looked at."""

    name: str
    about: str
    routes: tuple[Route, ...]
    ready: Callable[[str], Answer | None] = _nothing_ready

    def answer(self, request: Request) -> Answer:
        reading = request.exchange.method in _READING
        if reading and (ready := self.ready(request.target)) is not None:
            return ready
        for route in self.routes:
            if (found := route.pattern.fullmatch(request.path)) is not None:
                if request.exchange.method not in route.methods:
                    allowed = ", ".join(route.methods)
                    return text("That cannot be done here.\n", status=405, headers=(("Allow", allowed),))
                request.places = found.groupdict()
                return route.handler(request)
        return html(plain_page("Not found", "There is no such page here."), status=404)


def robots(rules: str = "User-agent: *\nDisallow:\n", *, about: str = "allows everything") -> Route:
    """The route of a robots.txt; `{origin}` in the rules stands for the host that was asked."""
    return Route("/robots.txt", about, lambda request: text(rules.replace("{origin}", request.origin)))
