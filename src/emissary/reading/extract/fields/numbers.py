"""Numbers as people write them: `1.299,00 €`, `$1,299.00`, `1 299`, `1'299.50`, `-5%`, `4.5/5`."""

import re

__all__ = ["number"]

_LONGEST = 1_000  # characters that are searched for a number
_NUMBER = re.compile(
    r"(?P<sign>(?<![\w.,])[-−][^\w\s]?)?"
    r"(?P<digits>\d{1,3}(?:[ \u00a0\u2009\u202f'’]\d{3}(?!\d))++(?:[.,]\d++)?|\d++(?:[.,]\d++)*+|(?<!\w)[.,]\d++)"
)
# What machines write into attributes, and what no language reads as anything else.
_UNMISTAKABLE = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,2})?")
_GROUPING = re.compile(r"[ \u00a0\u2009\u202f'’]")
# Languages that write 1.299,00 for what English writes as 1,299.00.
_COMMA_LANGUAGES = "bg ca cs da de el es et fi fr hr hu id is it lt lv nb nl nn no pl pt ro ru sk sl sr sv tr uk vi"
_WRITES_COMMA = frozenset(_COMMA_LANGUAGES.split())


def number(text: str, language: str | None) -> int | float | None:
    """The first number in the text; whole if it is written without decimals."""
    if _UNMISTAKABLE.fullmatch(text):
        return float(text) if "." in text else int(text)
    found = _NUMBER.search(text[:_LONGEST])
    if found is None or len(found["digits"]) > 40:
        return None
    plain = _plain(_GROUPING.sub("", found["digits"]), comma_decimal=_writes_comma(text, language))
    if plain is None:
        return None
    value = float(plain) if "." in plain else int(plain)
    return -value if found["sign"] else value


def _writes_comma(text: str, language: str | None) -> bool:
    """Three decimals of a euro do not exist: `1.299 €` is a thousand, whatever the page's language."""
    primary = (language or "").replace("_", "-").split("-", 1)[0].lower()
    return primary in _WRITES_COMMA or (primary != "en" and "€" in text)


def _plain(digits: str, *, comma_decimal: bool) -> str | None:
    """The digits with at most one decimal point, as Python reads them; None for a version or an address."""
    comma, point = digits.rfind(","), digits.rfind(".")
    if comma >= 0 and point >= 0:
        decimal, grouping = (",", ".") if comma > point else (".", ",")
        whole, _, rest = digits.rpartition(decimal)
        return f"{whole.replace(grouping, '')}.{rest}" if decimal not in whole else None
    if comma < 0 and point < 0:
        return digits
    separator = "," if comma >= 0 else "."
    first, *groups = digits.split(separator)
    if _is_grouping(first, groups, ambiguous=separator == ("." if comma_decimal else ",")):
        return first + "".join(groups)
    return f"{first or 0}.{groups[0]}" if len(groups) == 1 else None


def _is_grouping(first: str, groups: list[str], *, ambiguous: bool) -> bool:
    """`1.234.567` can only be thousands; `1.234` only where the point is not the decimal sign."""
    threes = 1 <= len(first) <= 3 and first != "0" and all(len(group) == 3 for group in groups)
    return threes and (len(groups) > 1 or ambiguous)
