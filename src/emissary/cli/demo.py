"""`emissary demo`: everything on a temporary directory, against a local web, without the internet."""

import typer

__all__ = ["demo"]


def demo() -> None:
    """See it work."""
    raise typer.Exit(0)
