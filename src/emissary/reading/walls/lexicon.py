"""The words of walls, read from the lists beside this module, in the languages we know them in.

A list has sections, `[gone]`, with one pattern a line, tried where a word begins, or with plain words side by side. A
line that begins with `~` is for scripts that put no space between words. Every section is one sign among several.
"""

import re
from importlib.resources import files

__all__ = ["Lexicon", "found", "plain"]

_LISTS = files("emissary.reading.walls") / "words"
_STRAIGHT = (("’", "'"), ("‘", "'"), ("…", "..."))


class Lexicon:
    """One list, by its name."""

    def __init__(self, name: str) -> None:
        self._sections: dict[str, list[str]] = {}
        lines: list[str] = []
        for line in (_LISTS / f"{name}.txt").read_text(encoding="utf-8").splitlines():
            if line.startswith("["):
                lines = self._sections.setdefault(line.strip("[]"), [])
            elif line and not line.startswith("#"):
                lines.append(line)

    def pattern(self, section: str) -> re.Pattern[str]:
        """Any of these, each tried only where a word begins, which is several times faster."""
        lines = self._sections[section]
        spaced = "|".join(line for line in lines if not line.startswith("~"))
        return re.compile("|".join((rf"\b(?:{spaced})", *(line[1:] for line in lines if line.startswith("~")))))

    def words(self, section: str) -> frozenset[str]:
        """The plain words of a section."""
        return frozenset(" ".join(self._sections[section]).split())


def plain(text: str) -> str:
    """As the patterns expect it: lower case, straight quotes, single spaces."""
    for curly, straight in _STRAIGHT:  # several times faster than `translate`
        text = text.replace(curly, straight)
    return " ".join(text.lower().split())


def found(pattern: re.Pattern[str], text: str) -> str | None:
    """The words that matched, for the evidence."""
    match = pattern.search(text)
    return None if match is None else match[0][:80]
