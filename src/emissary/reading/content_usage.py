"""What a statement of `Content-Usage` says, whether in a header or in robots.txt. Pure."""

import re
from collections.abc import Mapping

__all__ = ["combine_usage", "read_usage"]

_KEY = re.compile(r"[a-z*][a-z0-9_\-.*]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"')
_ANSWERS = {"y": True, "n": False}
_LONGEST = 8_192  # characters that are read


def read_usage(value: str) -> dict[str, bool]:
    """The dictionary of RFC 9651 as far as this field needs it: keys with the token `y` or `n`, parameters ignored.

    A field that is no dictionary says nothing at all, as the RFC asks; a key with another value says nothing by itself,
    and the last of several equal keys counts.
    """
    said: dict[str, bool | None] = {}
    for member in _STRING.sub('""', value[:_LONGEST]).split(",") if value.strip() else ():
        key, _, rest = member.strip(" \t").partition("=")
        if not _KEY.fullmatch(key.partition(";")[0].rstrip()):
            return {}
        said[key] = _ANSWERS.get(rest.partition(";")[0].strip())
    return {key: answer for key, answer in said.items() if answer is not None}


def combine_usage(*statements: Mapping[str, bool]) -> dict[str, bool]:
    """All that was said, wherever it was said: where one says no, no other makes it a yes."""
    together: dict[str, bool] = {}
    for statement in statements:
        for key, answer in statement.items():
            together[key] = together.get(key, True) and answer
    return together
