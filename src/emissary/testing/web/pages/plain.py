"""The plainest page: a title and a few paragraphs. And the choosing that makes every other page the same each time."""

import zlib
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["draw", "pick", "plain_page"]

T = TypeVar("T")


def draw(salt: str, n: int, below: int) -> int:
    """A number that looks like chance and is the same on every machine."""
    # The checksum of near numbers differs in few bits; the multiplication spreads them.
    return (zlib.crc32(f"{salt}/{n}".encode()) * 2654435761 % 2**32) * below >> 32


def pick(salt: str, n: int, choices: Sequence[T]) -> T:
    """One of the choices, the same each time."""
    return choices[draw(salt, n, len(choices))]


def plain_page(title: str, *paragraphs: str, lang: str = "en", charset: str = "utf-8") -> str:
    """A small, correct page."""
    told = "\n".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    meta = f'<meta charset="{charset}">\n' if charset else ""
    return f"""<!doctype html>
<html lang="{lang}">
<head>
{meta}<title>{title}</title>
</head>
<body>
<main>
<h1>{title}</h1>
{told}
</main>
</body>
</html>
"""
