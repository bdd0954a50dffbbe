"""The words at which the cheap look stops. Single words, so that a title is looked up in a set and not searched."""

from emissary.reading.walls.lexicon import Lexicon

__all__ = ["IN_TEXT", "IN_TITLES", "LOOKED_FOR", "PAGES", "SOUGHT", "STEM", "STEMS", "THINGS", "WITHOUT_SPACES"]

_WORDS = Lexicon("look")


def _bytes_of(section: str) -> frozenset[bytes]:
    return frozenset(word.encode() for word in _WORDS.words(section))


IN_TITLES = _bytes_of("in titles")
STEM = 7  # bytes, after which most endings begin
STEMS = frozenset(word[:STEM] for word in IN_TITLES if len(word) >= STEM)
# Scripts that put no space between words.
WITHOUT_SPACES = tuple(word.encode() for word in sorted(_WORDS.words("without spaces")))
# Said soon after the first heading of a page that says nothing odd in it.
IN_TEXT = _bytes_of("in text")
# A page, and in the same breath a no or somebody who looks for it.
PAGES = _bytes_of("pages")
THINGS = _bytes_of("things")
SOUGHT = _bytes_of("sought")
LOOKED_FOR = _bytes_of("a no") | SOUGHT
