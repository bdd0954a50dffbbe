"""What a site asks of those who have read a page: robots directives, and preferences about its use. Pure.

None of it decides whether a page may be read; that is robots.txt. Headers alone answer most of the time: the tree is
asked only where there is one.
"""

from collections.abc import Iterator, Mapping

from selectolax.lexbor import LexborHTMLParser

from emissary.model.pages import Directives, UsagePreferences
from emissary.reading.content_usage import combine_usage, read_usage
from emissary.reading.extract.tree import attribute

__all__ = ["directives_of", "usage_preferences_of"]

_NOTHING, _NO_WISH = Directives(), UsagePreferences()
_UNSAID: Mapping[str, bool] = {}
_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_LONGEST = 8_192  # characters of a header or of one element's content that are read


def directives_of(headers: Mapping[str, str], tree: LexborHTMLParser | None, agent: str) -> Directives:
    """`noindex`, `nofollow` and `noarchive`, said to everybody or to us by name, in a header or in the page.

    Where several speak, all of them count: the strictest reading is the one that wrongs nobody.
    """
    name = agent.lower()
    said = set(_of_header(headers.get("x-robots-tag", "")[:_LONGEST], name))
    if tree is not None:
        for content in _metas(tree, ("robots", name)):
            said.update(_words(content))
    if not said:
        return _NOTHING
    nothing = "none" in said
    return Directives(nothing or "noindex" in said, nothing or "nofollow" in said, "noarchive" in said)


def usage_preferences_of(
    headers: Mapping[str, str], tree: LexborHTMLParser | None, *, by_robots: Mapping[str, bool] = _UNSAID
) -> UsagePreferences:
    """`Content-Usage`, with what robots.txt says of it, and the TDM reservation.

    A header overrides the page, as TDMRep says; of header and robots.txt both count, as the drafts of aipref say.
    """
    usage = combine_usage(read_usage(headers.get("content-usage", "")), by_robots)
    reservation, policy = headers.get("tdm-reservation"), headers.get("tdm-policy")
    if tree is not None:
        reservation = reservation or next(_metas(tree, ("tdm-reservation",)), None)
        policy = policy or next(_metas(tree, ("tdm-policy",)), None)
    reserved = {"1": True, "0": False}.get((reservation or "").strip())
    if not usage and reserved is None and not policy:
        return _NO_WISH
    return UsagePreferences(usage, reserved, (policy or "").strip()[:_LONGEST] or None)


def _of_header(value: str, name: str) -> Iterator[str]:
    """The directives for us. A name before a colon speaks to that agent until the next name; several fields are joined
    by commas, so a field for everybody after one for another agent cannot be told apart, and is not taken for ours.
    """
    ours = True
    for part in value.lower().split(","):
        before, colon, after = part.partition(":")
        word = before.strip()
        if colon and word not in _VALUED:
            ours, word = word in (name, "*"), after.strip()
        if ours and word:
            yield word


def _words(content: str) -> list[str]:
    return content.lower().replace(",", " ").split()


def _metas(tree: LexborHTMLParser, names: tuple[str, ...]) -> Iterator[str]:
    for node in tree.css("meta[name][content]"):
        if (attribute(node, "name") or "").strip().lower() in names:
            yield (attribute(node, "content") or "")[:_LONGEST]
