"""What reasoning is about: values of free variables, and why there are none."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.edits.reasoning.clauses import Atom

Value = Fraction | str

# Branch-and-bound nodes, values of sets and choices tried before an answer is left open.
MOST_NODES = 200
MOST_CHOICES = 20_000


@dataclass
class Effort:
    """What a search may still spend: the same for the same question on any machine, so it is no time.

    `left`: conditions that may still be looked at; below 0, every further answer is left open.
    """

    left: int

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self.left < 0

    def spend(self, conditions: int) -> None:
        """Say that so many conditions are looked at."""
        self.left -= conditions


@dataclass(frozen=True)
class Space:
    """What values free variables may take.

    `steps`: Grids: values are multiples of the step. Other numeric variables take any rational number. `texts`:
    categories of nominal and ordinal variables, those to try first in front.
    """

    steps: Mapping[str, Fraction] = field(default_factory=dict)
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Reason:
    """One way out that is closed.

    `variables`: fixed variables whose values close it. `atom`: what these values break, whatever the free ones are;
    true of any record with the same fixed variables. None: it was only found for these values.
    """

    variables: frozenset[str]
    atom: Atom | None = None


@dataclass(frozen=True)
class Refutation:
    """Why no values of the free variables do.

    `reasons`: all closed ways; one of them has to be opened. `clauses`: positions of the clauses used. `is_open`:
    nothing was found, but it was not proven that there is nothing.
    """

    reasons: tuple[Reason, ...]
    clauses: frozenset[int]
    is_open: bool = False

    @property
    def variables(self) -> frozenset[str]:
        """Fixed variables of which at least one has to be freed."""
        return frozenset().union(*(reason.variables for reason in self.reasons))


@dataclass(frozen=True)
class Chosen:
    """An atom that has to hold.

    `tag`: position of the clause whose alternative was chosen; below 0, the choice of a value in a set. `clauses`:
    choices that it rests on. `basis`: fixed variables whose values are already in the atom's numbers; None when the
    atom is as the edit states it.
    """

    tag: int
    atom: Atom
    clauses: frozenset[int]
    basis: frozenset[str] | None = None
