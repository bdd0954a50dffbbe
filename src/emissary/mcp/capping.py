"""Long answers, cut: a model has room for so much, and gets a cursor for the rest."""

from typing import Any, ClassVar

from emissary.model.errors import BadRequest

__all__ = ["MOST_CHARACTERS", "Rests"]

MOST_CHARACTERS = 20_000
_MOST_KEPT = 16


class Rests:
    """What was cut off of the latest long answers of a conversation."""

    NAME: ClassVar = "more"

    def __init__(self) -> None:
        self._kept: dict[int, str] = {}
        self._count = 0

    def described(self) -> dict[str, Any]:
        cursor = {"type": "string", "description": "The cursor at the end of the answer that was cut."}
        return {
            "name": self.NAME,
            "description": "Read on in an answer that was cut.",
            "inputSchema": {
                "type": "object",
                "properties": {"cursor": cursor},
                "required": ["cursor"],
                "additionalProperties": False,
            },
            "annotations": {"readOnlyHint": True, "openWorldHint": False},
        }

    def cut(self, text: str) -> str:
        """The text, or its beginning and a cursor."""
        if len(text) <= MOST_CHARACTERS:
            return text
        self._count += 1
        self._kept[self._count] = text
        while len(self._kept) > _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return self._part(self._count, 0)

    def more(self, cursor: object) -> str:
        """The part behind the cursor; raises BadRequest where it leads nowhere."""
        number, _, begin = str(cursor).partition(":")
        if not (number.isdecimal() and begin.isdecimal() and int(number) in self._kept):
            raise BadRequest(f"{cursor!r} leads nowhere (any longer): ask for the answer anew", "invalid_cursor")
        return self._part(int(number), int(begin))

    def _part(self, number: int, begin: int) -> str:
        text, end = self._kept[number], begin + MOST_CHARACTERS
        if end >= len(text):
            return text[begin:]
        return f"{text[begin:end]}\n[{len(text) - end} characters more: call more with cursor {f'{number}:{end}'!r}]"
