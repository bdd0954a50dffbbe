"""A benchmark's figures, for people on a terminal, for the documentation, and for machines."""

from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

__all__ = ["Report", "Say"]

Say = Console(stderr=True, highlight=False).print
"""Progress goes to standard error, so that standard output belongs to the figures."""


@dataclass(frozen=True, slots=True)
class Report:
    """One table with what is to be said about it; `figures` holds the same, unrounded."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    figures: dict[str, Any]
    notes: list[str] = field(default_factory=list)

    def as_table(self) -> Table:
        table = Table()
        for place, column in enumerate(self.columns):
            table.add_column(column, justify="right" if place else "left")
        for row in self.rows:
            table.add_row(*row)
        return table

    def as_markdown(self) -> str:
        lines = [f"## {self.title}", "", f"`./emissary bench {self.name}`", ""]
        lines += [_row(self.columns), _row(["---", *["---:"] * (len(self.columns) - 1)])]
        lines += [_row(row) for row in self.rows]
        return "\n".join([*lines, "", *[f"- {note}" for note in self.notes], ""])


def _row(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"
