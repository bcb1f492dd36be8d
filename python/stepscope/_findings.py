"""Finding: a diagnosed problem of a program."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Finding:
    """What is wrong, what it costs, where it is and what to change (docs/findings.md)."""

    id: str
    severity: str  # "critical", "warning" or "info"
    title: str
    where: str  # "file:line function", or ""
    at_stake_fraction: float  # of the step's time, that a perfect fix saves
    evidence: dict[str, Any]  # "figures" and the ids of "slices" that show it
    fix: str
    code: str  # the lines to change, or ""
    includes: list[str]  # ids of findings that are this one, seen from another side

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where and self.where not in self.title else ""
        return f"{self.title}{place}. {self.fix} [{self.id}]"
