"""What CSS and XPath have in common: they find things, and what they find has text, attributes and markup."""

from collections.abc import Callable
from typing import Protocol, TypeVar

__all__ = ["BadSelector", "Dialect", "Query"]

N = TypeVar("N")


class BadSelector(ValueError):
    """A selector that cannot be used; the text says why."""


class Query(Protocol[N]):
    """One compiled selector; asking it never raises, whatever the page."""

    def first(self, node: N) -> N | None: ...

    def every(self, node: N) -> list[N]: ...


class Dialect(Protocol[N]):
    """How to compile a selector, and how to read what it finds."""

    @property
    def name(self) -> str: ...

    @property
    def compile(self) -> Callable[[str], Query[N]]:
        """Raises BadSelector."""

    @property
    def text(self) -> Callable[[N], str]: ...

    @property
    def tag(self) -> Callable[[N], str]: ...

    @property
    def attribute(self) -> Callable[[N, str], str | None]: ...

    @property
    def inner_html(self) -> Callable[[N], str]: ...
