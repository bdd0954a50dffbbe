"""How signs are weighed: several have to agree, and words alone never decide."""

from dataclasses import dataclass, field

from emissary.model.pages import Code

__all__ = ["Scale", "Wall"]


@dataclass(frozen=True, slots=True)
class Wall:
    """What stands in place of the page, the sentence for it, what gave it away, and when to come back, in seconds."""

    code: Code
    detail: str
    evidence: tuple[str, ...]
    wait: int | None = None


@dataclass(slots=True)
class Scale:
    """One suspicion, weighed. `needs` is the weight it takes; a mechanism has to be among the signs."""

    needs: float
    weight: float = 0.0
    evidence: list[str] = field(default_factory=list)
    works: bool = False  # some part of the page does something: words are only words

    def add(self, weight: float, says: str | None, *, works: bool = False) -> None:
        """A sign for it. One that was not found (`says` is None) weighs nothing."""
        if says is not None:
            self.weight += weight
            self.evidence.append(says)
            self.works = self.works or works

    def doubt(self, weight: float, *, when: bool) -> None:
        """A sign against it."""
        if when:
            self.weight -= weight

    def may_tip(self, more: float) -> bool:
        """Whether words that weigh so much at most could decide: looking for them costs more than all the rest."""
        return self.works and self.weight + more >= self.needs

    @property
    def tips(self) -> bool:
        return self.works and self.weight >= self.needs
