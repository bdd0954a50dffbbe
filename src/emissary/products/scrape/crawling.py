"""Which links of a page, and which lines of a sitemap, a crawl follows. Pure."""

from functools import lru_cache
from typing import Any, Literal

import msgspec
import re2

from emissary.model.errors import BadRequest
from emissary.model.pages import WebUrl

__all__ = ["CrawlRules", "SitemapMode", "check_rules", "follows", "is_on_site"]

SitemapMode = Literal["include", "skip", "only"]

_LONGEST_PATTERN = 500
_MOST_MEMORY = 1 << 20


class CrawlRules(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """How far a crawl goes. Patterns are regular expressions, looked for anywhere in the path and query."""

    start: WebUrl
    limit: int = 1_000
    max_depth: int = 10
    include_paths: tuple[str, ...] = ()
    exclude_paths: tuple[str, ...] = ()
    allow_subdomains: bool = False
    sitemap: SitemapMode = "skip"
    lists: bool = False  # what is found is only listed, and not read: a map
    below: str = ""  # follow only what is under this path


def check_rules(rules: CrawlRules) -> None:
    """Raises BadRequest for a pattern that cannot be used."""
    for name, patterns in (("includePaths", rules.include_paths), ("excludePaths", rules.exclude_paths)):
        for place, pattern in enumerate(patterns):
            pointer = f"/{name}/{place}"
            if len(pattern) > _LONGEST_PATTERN:
                raise BadRequest(f"{pointer}: a pattern has at most {_LONGEST_PATTERN} characters")
            try:
                _compiled(pattern)
            except re2.error as error:
                raise BadRequest(f"{pointer}: {pattern!r} is not a regular expression: {_reason(error)}") from None


def follows(rules: CrawlRules, url: WebUrl, depth: int) -> bool:
    """Whether the crawl reads this page, found so many links away from where it began."""
    if depth > rules.max_depth or not is_on_site(rules, url) or not url.path.startswith(rules.below):
        return False
    if any(_compiled(pattern).search(url.path) for pattern in rules.exclude_paths):
        return False
    return not rules.include_paths or any(_compiled(pattern).search(url.path) for pattern in rules.include_paths)


def is_on_site(rules: CrawlRules, url: WebUrl) -> bool:
    """Whether the URL belongs to the site that is crawled."""
    start = rules.start
    if url.host == start.host:
        # http and https of one host are one site; another port is another one.
        return url.port == start.port or {url.port, start.port} == {80, 443}
    return rules.allow_subdomains and url.host.endswith("." + start.host.removeprefix("www."))


def _reason(error: Exception) -> str:
    """What RE2 says, which it says in bytes."""
    said = error.args[0]
    return said.decode(errors="replace") if isinstance(said, bytes) else str(said)


@lru_cache(maxsize=1_000)
def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.max_mem = _MOST_MEMORY
    options.log_errors = False
    return re2.compile(pattern, options)
