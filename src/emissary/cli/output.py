"""How the command line speaks: answers to standard output, everything else to standard error."""

from enum import IntEnum

import msgspec
from rich.console import Console

__all__ = ["Exit", "complain", "err", "tell"]

err = Console(stderr=True, highlight=False)


class Exit(IntEnum):
    """Exit codes for scripts."""

    OK = 0
    USAGE = 2
    REFUSED = 3
    UNREACHABLE = 4
    INTERNAL = 5
    INTERRUPTED = 130


def complain(detail: str) -> None:
    """Say what is wrong, and what to do about it."""
    err.print(f"emissary: {detail}", style="red", markup=False, soft_wrap=True)


def tell(answer: object) -> None:
    """An answer of the API as JSON, for scripts."""
    print(msgspec.json.format(msgspec.json.encode(answer), indent=2).decode())
