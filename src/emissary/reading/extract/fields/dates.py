"""Dates as people and machines write them, to ISO 8601.

`03/04/2026` is only read where it is known what it means: if one part is above 12, if the page says it is in `en-US`
(month first), or in any other language (day first). Plain `en` and pages without a language leave it unread.
"""

import re
from datetime import date, datetime
from email.utils import parsedate_to_datetime

__all__ = ["iso_date"]

_LONGEST = 200  # characters that are searched for a date
_YEAR_FIRST = re.compile(r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_DOTTED = re.compile(r"(?<!\d)(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})(?!\d)")
_SLASHED = re.compile(r"(?<!\d)(\d{1,2})[/-](\d{1,2})[/-](\d{4})(?!\d)")
_DAY_FIRST = re.compile(
    r"(?<!\d)(\d{1,2})(?:st|nd|rd|th|er|º)?\.?\s(?:de\s|of\s)?([^\W\d]{3,12})\.?,?\s(?:de\s)?(\d{4})(?!\d)"
)
_MONTH_FIRST = re.compile(r"(?<![^\W\d])([^\W\d]{3,12})\.?\s(\d{1,2})(?:st|nd|rd|th)?,?\s(\d{4})(?!\d)")
_MONTH_NAMES = (
    "january jan januar janvier janv enero ene gennaio gen januari janeiro",
    "february feb februar février févr febrero febbraio februari fevereiro fev",
    "march mar märz mrz mars marzo maart março",
    "april apr avril avr abril abr aprile",
    "may mai mayo maggio mag mei maio",
    "june jun juni juin junio giugno giu junho",
    "july jul juli juillet juil julio luglio lug julho",
    "august aug août agosto ago augustus",
    "september sep sept septembre septiembre settembre set setembro",
    "october oct oktober okt octobre octubre ottobre ott outubro out",
    "november nov novembre noviembre novembro",
    "december dec dezember dez décembre déc diciembre dic dicembre dezembro",
)
_MONTHS = {name: index for index, names in enumerate(_MONTH_NAMES, start=1) for name in names.split()}


def iso_date(text: str, language: str | None) -> str | None:
    """A date, with its time if the text is written for machines; None if there is none to be sure of."""
    text = text[:_LONGEST]
    return _for_machines(text) or _numeric(text, language) or _named(text)


def _for_machines(text: str) -> str | None:
    try:
        if len(text) == 10:
            return date.fromisoformat(text).isoformat()
        if "-" in text:
            return datetime.fromisoformat(text).isoformat()
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(text).isoformat() if ":" in text else None
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _numeric(text: str, language: str | None) -> str | None:
    if found := _YEAR_FIRST.search(text):
        return _iso(int(found[1]), int(found[2]), int(found[3]))
    if found := _DOTTED.search(text):
        return _iso(int(found[3]), int(found[2]), int(found[1]))
    if found := _SLASHED.search(text):
        return _slashed(int(found[1]), int(found[2]), int(found[3]), language)
    return None


def _slashed(first: int, second: int, year: int, language: str | None) -> str | None:
    if first == second:
        return _iso(year, first, second)
    spoken = (language or "").replace("_", "-").lower()
    if second > 12 or (first <= 12 and spoken == "en-us"):
        return _iso(year, first, second)
    if first > 12 or spoken not in ("", "en"):
        return _iso(year, second, first)
    return None


def _named(text: str) -> str | None:
    if found := _DAY_FIRST.search(text):
        return _iso(int(found[3]), _MONTHS.get(found[2].lower(), 0), int(found[1]))
    if found := _MONTH_FIRST.search(text):
        return _iso(int(found[3]), _MONTHS.get(found[1].lower(), 0), int(found[2]))
    return None


def _iso(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None
