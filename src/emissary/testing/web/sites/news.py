"""The newspaper: articles, a feed, and a robots.txt that asks for patience."""

from emissary.testing.web.answers import Answer, Request, Whole, html, text
from emissary.testing.web.pages import news
from emissary.testing.web.pages.plain import plain_page
from emissary.testing.web.pages.town import ARTICLES, story
from emissary.testing.web.site import Route, Site, robots

__all__ = ["news_site"]

_ROBOTS = "User-agent: *\nCrawl-delay: 0.2\nDisallow: /search\n"


def _article(request: Request) -> Answer:
    number = request.places["slug"].rpartition("-")[2]
    if not number.isdecimal() or not 1 <= int(number) <= ARTICLES:
        return html(plain_page("Not found", "That story was never written."), status=404)
    one = story(int(number))
    if request.path != one.path:
        return Whole(301, (("Location", one.path),))
    others = (story(1 + (one.number + k * 5) % ARTICLES) for k in range(1, 7))
    return html(news.article_page(request.origin, one, others))


def _front(_request: Request) -> Answer:
    return html(news.front_page(story(n) for n in range(ARTICLES, 0, -1)))


def _feed(request: Request) -> Answer:
    newest = (story(n) for n in range(ARTICLES, ARTICLES - 20, -1))
    return text(news.feed(request.origin, newest), kind="application/rss+xml")


def news_site() -> Site:
    """The Saltmere Courier."""
    return Site(
        "news",
        "the newspaper of a small town",
        (
            robots(_ROBOTS, about="Crawl-delay: 0.2; disallows /search"),
            Route("/", "the front page, all forty stories", _front),
            Route(
                "/article/{slug}", "a story, the slug ends in its number 1 to 40 (another slug is sent there)", _article
            ),
            Route("/feed.xml", "RSS of the newest twenty", _feed),
            Route("/search", "closed by robots.txt", lambda _: html(plain_page("Search", "Nothing found."))),
        ),
    )
