"""The numbered hosts: many of the same kind, with pages rendered before anyone asks, for measuring."""

from functools import cache

from emissary.testing.web.answers import Answer, Prepared, Request, html
from emissary.testing.web.pages.plain import plain_page
from emissary.testing.web.pages.product import product_page
from emissary.testing.web.site import Route, Site, robots

__all__ = ["VARIANTS", "numbered_site"]

VARIANTS = 50
_SIZES = {"/page": 20_000, "/page30": 30_000}


@cache
def _shelf() -> dict[str, tuple[Prepared, ...]]:
    # Without an origin, so that all hosts can share the bytes.
    return {
        folder: tuple(Prepared.of(html(product_page(k, folder=folder, at_least=size))) for k in range(1, VARIANTS + 1))
        for folder, size in _SIZES.items()
    }


@cache
def _small() -> Prepared:
    return Prepared.of(
        html(plain_page("A small page", *["The tide table hangs beside the door of the harbour office."] * 27))
    )


def _page(folder: str, k: str) -> Answer:
    if not k.isdecimal():
        return html(plain_page("Not found", "Pages have numbers."), status=404)
    return _shelf()[folder][int(k) % VARIANTS]


def _ready(target: str) -> Answer | None:
    if target == "/small":
        return _small()
    folder, _, k = target.rpartition("/")
    variants = _shelf().get(folder)
    return variants[int(k) % VARIANTS] if variants is not None and k.isdecimal() else None


def _first(_request: Request) -> Answer:
    links = " ".join(f'<a href="/page/{k}">{k}</a>' for k in range(VARIANTS))
    return html(plain_page("Numbered pages", links))


def numbered_site() -> Site:
    """What every numbered host serves."""
    _shelf()
    return Site(
        "numbered",
        "pages for measuring, the same on every numbered host",
        (
            robots(),
            Route("/", "links to fifty pages", _first),
            Route(
                "/page/{k}",
                "a product page of 20 KB; any number, fifty variants",
                lambda r: _page("/page", r.places["k"]),
            ),
            Route("/page30/{k}", "the same with 30 KB", lambda r: _page("/page30", r.places["k"])),
            Route("/small", "a page of 2 KB", lambda _: _small()),
        ),
        ready=_ready,
    )
