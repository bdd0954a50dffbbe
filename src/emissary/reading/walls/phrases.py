"""What challenges, waiting rooms and plain blocks say."""

from emissary.reading.walls.lexicon import Lexicon

__all__ = [
    "ASKS_FOR_SCRIPT",
    "A_LINE",
    "CHALLENGE_TEXT",
    "CHALLENGE_TITLE",
    "DENIED_TEXT",
    "DENIED_TITLE",
    "IN_LINE",
    "PLEASE_WAIT",
    "WAITING_TITLE",
    "WHILE_WAITING",
]

_WORDS = Lexicon("gates")

CHALLENGE_TITLE = _WORDS.pattern("challenge title")
CHALLENGE_TEXT = _WORDS.pattern("challenge text")
ASKS_FOR_SCRIPT = _WORDS.pattern("asks for script")
WAITING_TITLE = _WORDS.pattern("waiting title")
IN_LINE = tuple(_WORDS.pattern(section) for section in ("in line", "how long", "which place"))
A_LINE = _WORDS.pattern("a line")  # its name alone
PLEASE_WAIT = _WORDS.pattern("please wait")  # said by all who make one wait, in a line or not
WHILE_WAITING = _WORDS.pattern("while waiting")
DENIED_TITLE = _WORDS.pattern("denied title")
DENIED_TEXT = _WORDS.pattern("denied text")
