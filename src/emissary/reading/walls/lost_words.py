"""How pages say that they are not there: what is gone, what it was, and the small words around it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from emissary.reading.walls.lexicon import Lexicon

__all__ = ["INTERJECTIONS", "SHOWS_THE_WAY", "lost_phrase", "lost_statement"]

_WORDS = Lexicon("lost")

_GONE = _WORDS.pattern("gone")  # there is nothing here: a no, and soon after it a word for finding or being
_AWAY = _WORDS.pattern("away")  # it may have been here once: no proof, for shops and towns say so of other things too
_LOST = _WORDS.pattern("lost")  # of a page it says enough; a dog and an umbrella are lost as well
_MAYBE = _WORDS.pattern("maybe")
_OR = _WORDS.pattern("or")  # who gives two reasons does not know
_SOUGHT = _WORDS.pattern("sought")  # what somebody does who came for something
_THIS_ONE = _WORDS.pattern("this one")
_SHELF = _WORDS.pattern("shelf")  # "no products found" is a shelf, and a shelf is a page
SHOWS_THE_WAY = _WORDS.pattern("shows the way")  # how to go on from here: the address, the search, the way home

_APOLOGIES = _WORDS.words("apologies")
# Nobody writes about these.
INTERJECTIONS = _APOLOGIES - {
    "error",
    "errors",
    "http",
    "err",
    "error404",
    "erreur",
    "errore",
    "erro",
    "fehler",
    "fout",
}
_PAGES = _WORDS.words("pages")
_THINGS = _WORDS.words("things")
_THIS = _WORDS.words("this")
_KNOWN = _WORDS.words("small") | _PAGES | _THINGS | _APOLOGIES
_STEM = 5  # letters, after which most endings begin
_STEMS = frozenset(word[:_STEM] for word in _KNOWN if len(word) >= _STEM)
_LAST_PARTS = tuple(word for word in _PAGES | _THINGS if len(word) >= _STEM)
_QUOTED = re.compile(r"[\"“”„«»‘]")
_ASKED = re.compile(
    r"^(?:how|why|what|when|where|wie|warum|was|wann|wo|comment|pourquoi|que|quand|où|cómo|por qué|qué|come|"
    r"perché|cosa|hoe|waarom|wat|jak|dlaczego|co|como|porquê|porque)\b"
)
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_LONGEST_PHRASE = 140
_A_FEW = 4  # words
_BARE = frozenset({"404", "410"})


def lost_phrase(phrase: str) -> float:
    """How clearly a title or a heading says that there is nothing here: up to 3, 0 if it speaks of anything else.

    What matters is that little else is said: "page not found" and "recipe not found", but no "404 songs about the sea".
    """
    if not phrase or len(phrase) > _LONGEST_PHRASE or _SHELF.search(phrase) or _is_spoken_of(phrase):
        return 0
    rest, gone = _GONE.subn(" ", phrase)
    rest, away = _AWAY.subn(" ", rest)
    rest, lost = _LOST.subn(" ", rest)
    strange = sum(1 for word in _WORD.findall(rest) if not _is_known(word))
    said = _Said.of(phrase)
    if gone:
        return _how_clearly(strange, said)
    if strange:
        return (2 if said.named else 1.5) if away and strange == 1 and said.this else 0
    return _if_little_else(said, away=away > 0, lost=lost > 0)


def _is_spoken_of(phrase: str) -> bool:
    """Whether somebody asks about it, or writes about it; a server may quote its own number."""
    return _ASKED.search(phrase) is not None or (_QUOTED.search(phrase) is not None and "404" not in phrase)


@dataclass(frozen=True, slots=True)
class _Said:
    """The words of a phrase, and what they speak of."""

    words: tuple[str, ...]
    numbered: bool
    page: bool
    named: bool  # a page, or something else of the web
    this: bool  # this one, and not such things: "sorry, this page ..."

    @classmethod
    def of(cls, phrase: str) -> Self:
        words = tuple(word.rpartition("'")[2] for word in _WORD.findall(phrase))
        page = any(_is_one_of(_PAGES, word) for word in words)
        return cls(
            words,
            numbered=not _BARE.isdisjoint(words),
            page=page,
            named=page or any(_is_one_of(_THINGS, word) for word in words),
            this=next((word in _THIS for word in words if word not in _APOLOGIES), False),
        )


def _how_clearly(strange: int, said: _Said) -> float:
    """What is gone may have any name: "object not found" is as clear as can be. The rest must be small words."""
    sure = said.page or said.numbered or said.this
    if strange == 0:
        return 3 if sure else 2
    if strange == 1:
        return 2 if sure or len(said.words) <= _A_FEW else 1.5
    return (1.5 if sure else 1) if strange == 2 else 0


def _if_little_else(said: _Said, *, away: bool, lost: bool) -> float:
    if lost and "link" not in said.words and (said.numbered or said.page or (said.this and said.named)):
        return 2
    if away:
        return 2 if said.numbered or said.named else 0
    if said.numbered:
        return 1 if len(said.words) == 1 else 2
    return 0 if _APOLOGIES.isdisjoint(said.words) else 0.5


def lost_statement(text: str, headings: Iterable[str]) -> tuple[float, str]:
    """How clearly the text, headings aside, says so in one sentence, and that sentence."""
    for heading in headings:
        if heading:
            text = text.replace(heading, ". ", 1)
    if not any(each.search(text) for each in (_GONE, _AWAY, _LOST)):  # the rule
        return 0, ""
    sentences = _SENTENCE.split(text)
    told = [(_weight(sentence), sentence) for sentence in sentences]
    # What was looked for may stand in the sentence before: "We looked for the page. It does not exist."
    told += [(2, both) for both in map(" ".join, pairwise(sentences)) if _GONE.search(both) and _is_named(both)]
    return max(told, default=(0, ""), key=lambda each: each[0])


def _is_known(word: str) -> bool:
    """Whether it is one of those words, as its language writes it: "l'annuncio", "adresie", "stellenangebot"."""
    word = word.rpartition("'")[2]
    return word in _KNOWN or word[:_STEM] in _STEMS or word.endswith(_LAST_PARTS)


def _is_one_of(nouns: frozenset[str], word: str) -> bool:
    return word in nouns or (
        word.endswith(_LAST_PARTS) and any(word.endswith(noun) for noun in nouns if len(noun) >= _STEM)
    )


def _weight(sentence: str) -> float:
    gone, away, lost = (each.search(sentence) is not None for each in (_GONE, _AWAY, _LOST))
    if not (gone or away or lost) or _SHELF.search(sentence):
        return 0
    maybe = _MAYBE.search(sentence) is not None
    if not _is_named(sentence):
        return 1 if gone or maybe else 0
    if gone or (lost and not _PAGES.isdisjoint(_WORD.findall(sentence))):
        return 2
    return _if_away(sentence, maybe=maybe) if away else 0


def _if_away(sentence: str, *, maybe: bool) -> float:
    if _SOUGHT.search(sentence) or _THIS_ONE.search(sentence):
        return 2
    return 1.5 if maybe or _OR.search(sentence) else 1


def _is_named(sentence: str) -> bool:
    """Whether the sentence says what is gone, and it is something of the web."""
    if _SHELF.search(sentence):
        return False
    return (
        "404" in sentence
        or _SOUGHT.search(sentence) is not None
        or any(_is_one_of(_PAGES, word) or _is_one_of(_THINGS, word) for word in _WORD.findall(sentence))
    )
