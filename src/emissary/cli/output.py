"""How the command line speaks: answers to standard output, everything else to standard error."""

from enum import IntEnum

from rich.console import Console

__all__ = ["Exit", "complain", "err"]

err = Console(stderr=True, highlight=False)


class Exit(IntEnum):
    """Exit codes for scripts."""

    OK = 0
    USAGE = 2
    REFUSED = 3
    UNREACHABLE = 4
    INTERNAL = 5


def complain(detail: str) -> None:
    """Say what is wrong, and what to do about it."""
    err.print(f"emissary: {detail}", style="red", markup=False, soft_wrap=True)
