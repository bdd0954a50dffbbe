"""The pages of figures: a benchmark that ran by itself at full length writes its own section anew."""

import re
from pathlib import Path

from benchmarks.report import Report

__all__ = ["LONG", "USUAL", "put"]

_DOCS = Path(__file__).parent.parent / "docs"
USUAL, LONG = _DOCS / "benchmarks.md", _DOCS / "benchmarks-long.md"


def put(page: Path, about: dict[str, str], report: Report) -> None:
    """Write the report in place of the one of the same benchmark with the same title, or at the end."""
    intro, *sections = re.split(r"^(?=## )", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    fresh = f"{report.as_markdown()}- {'; '.join(f'{name}: {value}' for name, value in about.items())}.\n"
    place = next((n for n, each in enumerate(sections) if each.startswith(f"## {report.title}\n")), len(sections))
    sections[place : place + 1] = [fresh]
    page.write_text("\n".join(part.strip() + "\n" for part in (intro, *sections)), encoding="utf-8")
