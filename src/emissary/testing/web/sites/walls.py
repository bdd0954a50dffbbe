"""A site of refusals that look like pages, and of pages that look like refusals."""

from collections.abc import Mapping

from emissary.testing.web.answers import Whole, html
from emissary.testing.web.pages.plain import plain_page
from emissary.testing.web.pages.walls import CHALLENGES, ORDINARY, WALLS
from emissary.testing.web.site import Handler, Route, Site, robots

__all__ = ["walls_site"]

_MEMBERS = Whole(302, (("Location", "/login?next=/members"),))
_NEWS = Whole(302, (("Location", "/consent?continue=/news"),))


def _ready(answer: Whole) -> Handler:
    return lambda _: answer


def _routes(answers: Mapping[str, tuple[str, Whole]]) -> list[Route]:
    return [Route(path, about, _ready(answer)) for path, (about, answer) in answers.items()]


def _index(routes: tuple[Route, ...]) -> str:
    return plain_page("Walls", *(f'<a href="{route.path}">{route.path}</a>' for route in routes))


def walls_site() -> Site:
    """What is refused here is refused by the page, and only sometimes by its status too."""
    routes = (
        robots(),
        *(Route(f"/challenge/{name}", f"as {name} does it", _ready(answer)) for name, answer in CHALLENGES.items()),
        Route("/members", "302 to the sign-in page", _ready(_MEMBERS)),
        Route("/news", "302 to the question about cookies", _ready(_NEWS)),
        *_routes(WALLS),
        *_routes(ORDINARY),
    )
    index = Route("/", "all of it", _ready(html(_index(routes))))
    return Site("walls", "refusals that look like pages, and pages that look like refusals", (index, *routes))
