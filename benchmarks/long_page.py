"""The page of the benchmarks that take long: each run at full length writes its own section anew."""

import re
from pathlib import Path

from benchmarks.report import Report

__all__ = ["put"]

_PAGE = Path(__file__).parent.parent / "docs" / "benchmarks-long.md"
_INTRO = """# Long benchmarks

Each section was written by the command that it names, which takes up to an hour or more; `--short` tries it in minutes
and writes nothing. What [the other page](benchmarks.md) says of the machine and of other work on it holds here too.
"""


def put(about: dict[str, str], report: Report) -> None:
    """Write the report in place of the one with the same title, or at the end."""
    before = _PAGE.read_text(encoding="utf-8") if _PAGE.exists() else _INTRO
    intro, *sections = re.split(r"^(?=## )", before, flags=re.MULTILINE)
    fresh = f"{report.as_markdown()}- {'; '.join(f'{name}: {value}' for name, value in about.items())}.\n\n"
    others = [each for each in sections if not each.startswith(f"## {report.title}\n")]
    _PAGE.write_text("\n".join(part.strip() + "\n" for part in (intro, *others, fresh)), encoding="utf-8")
