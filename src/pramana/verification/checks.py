"""What a verification finds: checks in three states, and the verdict over all of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from pramana.base.text import Shown
from pramana.types import Form

__all__ = ["Check", "State", "Verdict"]


class State(StrEnum):
    """How much a check is worth to whoever runs it."""

    PROVEN = "proven"
    """Computed again here, from the folder and what else was given."""

    STATED = "stated"
    """The owner's word, which nothing at hand contradicts and nothing at hand can show."""

    FAILED = "failed"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    state: State
    detail: str

    @classmethod
    def of(cls, name: str, good: bool, detail: str) -> Check:
        """One that is settled here, this way or that."""
        return cls(name, State.PROVEN if good else State.FAILED, detail)

    @classmethod
    def stated(cls, name: str, detail: str) -> Check:
        """One that rests on the owner's word."""
        return cls(name, State.STATED, detail)

    @property
    def ok(self) -> bool:
        """Whether it did not fail."""
        return self.state is not State.FAILED

    def to_json(self) -> Form:
        """The entry in the JSON of verify."""
        return {"name": self.name, "ok": self.ok, "state": str(self.state), "detail": self.detail}


@dataclass(frozen=True, repr=False)
class Verdict(Shown):
    """All checks; ``notes`` say what does not make a release invalid but must be known."""

    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether nothing failed."""
        return all(check.ok for check in self.checks)

    def __bool__(self) -> bool:
        return self.valid

    def of_state(self, state: State | str) -> tuple[Check, ...]:
        """The checks of one state."""
        return tuple(check for check in self.checks if check.state == state)

    def with_checks(self, more: Iterable[Check]) -> Verdict:
        """The same verdict with further checks, which settle what was only stated before.

        A check is settled by one of its name, or by those that look at parts of it: ``draws`` by
        ``draws: age left as it was``.
        """
        found = tuple(more)
        settled = {part for check in found for part in (check.name, check.name.split(": ")[0])}
        kept = (c for c in self.checks if c.state is not State.STATED or c.name not in settled)
        return Verdict((*kept, *found), self.notes)

    def shown(self) -> tuple[str, list[str]]:
        """As the prompt and notebooks show it: what failed, then what must be known."""
        failed = self.of_state(State.FAILED)
        counts = ", ".join(f"{len(self.of_state(state))} {state}" for state in State)
        words = (
            "Everything that can be checked holds" if self.valid else "THE RELEASE DOES NOT HOLD"
        )
        lines = [f"failed: {check.name}: {check.detail}" for check in failed]
        return f"{words} ({counts})", [*lines, *self.notes]

    def to_json(self) -> Form:
        """The JSON form of verify."""
        return {
            "valid": self.valid,
            "checks": [check.to_json() for check in self.checks],
            "notes": list(self.notes),
        }
