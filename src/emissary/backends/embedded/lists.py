"""Lists as statements take and give them: one JSON array, so that a statement is one step however many rows it touches.

The interpreter's lock is given up for the whole of a step; so a busy event loop and the writer thread do not trip each
other at every row.
"""

import sqlite3
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

__all__ = ["as_list", "one", "reader"]

T = TypeVar("T")

_encode = msgspec.json.Encoder().encode


def as_list(values: object) -> str:
    """The values as a statement takes them."""
    return _encode(values).decode()


def reader(row: type[T]) -> Callable[[str], list[T]]:
    """How the rows that a statement gives are read."""
    return msgspec.json.Decoder(list[row]).decode  # type: ignore[valid-type]


def one(connection: sqlite3.Connection, statement: str, values: dict[str, Any] | None = None) -> Any:
    """The one value that the statement gives."""
    return connection.execute(statement, values or {}).fetchone()[0]
