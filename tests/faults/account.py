"""What the faults came to: said while it goes on in the long form, and summed up at the end of the run."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

import pytest

__all__ = ["Account", "summed_up"]

_PROPERTY = "faults"
_SAY_EVERY = 10


@dataclass(slots=True)
class Account:
    """Of one test: what was harmed how often, and what became of the jobs."""

    what: str
    say: Callable[[str], None]
    note: Callable[[str, object], None]
    faults: int = 0

    def one_more(self) -> None:
        """A fault was made."""
        self.faults += 1
        if self.faults % _SAY_EVERY == 0:
            self.say(f"{self.what}: {self.faults}")

    def close(self, jobs: int, breaches: Collection[str]) -> None:
        """All has ended: so many jobs were followed, and the checker found this."""
        self.note(_PROPERTY, [self.what, self.faults, jobs, len(breaches)])
        assert not breaches, "\n".join(breaches)


def summed_up(reports: Collection[pytest.TestReport]) -> Iterator[str]:
    """A line for each test that kept account; with several runners they come with the reports."""
    for report in reports:
        for name, value in report.user_properties:
            if name == _PROPERTY:
                what, faults, jobs, breaches = value
                found = "none lost, none written twice" if not breaches else f"{breaches} breaches"
                yield f"{what}: {faults} faults, {jobs} jobs, {found}"
