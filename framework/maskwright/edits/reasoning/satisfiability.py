"""Whether clauses can hold together when some variables are free, decided in exact arithmetic.

A search over alternatives with the exact simplex below it; what fails is explained by the choices it rests on, and a
choice that a failure does not rest on is not tried again (conflict-directed backjumping: P. Prosser, "Hybrid algorithms
for the constraint satisfaction problem", Computational Intelligence 9, 1993). Clauses that hold for the values found so
far are not chosen from: "exactly one of 40 members" is 781 clauses, and nearly all hold by what the members have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits.expression import nodes
from maskwright.edits.reasoning.answers import MOST_CHOICES, Chosen, Effort, Reason, Refutation, Space, Value, holds_on
from maskwright.edits.reasoning.clauses import Atom, Clause, Opaque, TextSet, atom_variables
from maskwright.edits.reasoning.numbers import Numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    from maskwright.edits.reasoning.simplex import Row


class Satisfiability:
    """Whether `clauses` can hold for some values of the variables that are not fixed.

    `fixed`: values of the fixed variables. `hints`: values of free variables to try first. `slack`: by how much a row
    may be broken when its fixed values are only known approximately. `opaque_holds`: whether an opaque condition holds
    for given values; without it such conditions are left open. `most_choices`: alternatives tried before the answer is
    left open. `effort`: what may be spent on this question and others together before answers are left open.
    """

    def __init__(
        self,
        clauses: Sequence[Clause],
        space: Space,
        fixed: Mapping[str, Value],
        hints: Mapping[str, Value] | None = None,
        slack: Callable[[Row], Fraction] | None = None,
        opaque_holds: Callable[[Opaque, Mapping[str, Value]], bool] | None = None,
        most_choices: int = MOST_CHOICES,
        effort: Effort | None = None,
    ) -> None:
        self._clauses, self._space, self._fixed = clauses, space, fixed
        self._hints = hints or {}
        self._slack = slack
        self._opaque_holds = opaque_holds
        self._choices, self._most_choices = 0, most_choices
        self._effort = effort
        self._nodes: dict[Opaque, int] = {}

    def answer(self, which: Sequence[int] | None = None) -> dict[str, Value] | Refutation:
        """Values of the free variables of the clauses (by position; all by default), or why there are none."""
        pending: list[tuple[int, list[list[Atom]], list[Reason]]] = []
        for position in range(len(self._clauses)) if which is None else which:
            alive, dead = self._alternatives(self._clauses[position])
            if alive is None:
                continue
            if not alive:
                return Refutation(tuple(dead), frozenset({position}))
            pending.append((position, alive, dead))
        pending.sort(key=lambda each: len(each[1]))
        return self._search([], pending)

    def _alternatives(self, clause: Clause) -> tuple[list[list[Atom]] | None, list[Reason]]:
        """Alternatives left by the fixed values (None: one of them holds already), and why the others are not."""
        alive: list[list[Atom]] = []
        dead: list[Reason] = []
        for atoms in clause.alternatives:
            left: list[Atom] = []
            for atom in atoms:
                names = atom_variables(atom)
                if not all(name in self._fixed for name in names):
                    left.append(atom)
                elif not self._holds(atom):
                    dead.append(Reason(frozenset(names), atom))
                    break
            else:
                if not left:
                    return None, []
                alive.append(left)
        return alive, dead

    def _holds(self, atom: Atom) -> bool:
        if isinstance(atom, Opaque):
            return self._opaque_holds is None or self._opaque_holds(atom, self._fixed)
        return holds_on(atom, self._fixed, self._slack)

    def _search(
        self, chosen: list[Chosen], pending: list[tuple[int, list[list[Atom]], list[Reason]]]
    ) -> dict[str, Value] | Refutation:
        while pending and len(pending[0][1]) == 1:
            (position, alive, _), *pending = pending
            chosen = chosen + [Chosen(position, atom, frozenset({position})) for atom in alive[0]]
        self._choices += 1
        if self._effort is not None:
            self._effort.spend(sum(map(self._size, chosen)) + len(pending))
        if self._choices > self._most_choices or (self._effort is not None and self._effort.is_spent):
            return Refutation((), frozenset(), True)
        found = self._together(chosen)
        if isinstance(found, Refutation):
            return self._with_dead(found)
        known = self._completed(found, pending)
        at = next((at for at, (_, alive, _) in enumerate(pending) if not self._satisfied(alive, known)), None)
        if at is None:
            atoms_left = (atom for _, alive, _ in pending for atoms in alive for atom in atoms)
            wanted = {name for atom in atoms_left for name in atom_variables(atom)}
            return {name: value for name, value in known.items() if name in wanted and name not in self._fixed} | found
        position, alive, dead = pending[at]
        rest = [*pending[:at], *pending[at + 1 :]]
        reasons, used, is_open = list(dead), {position}, False
        for atoms in alive:
            tried = chosen + [Chosen(position, atom, frozenset({position})) for atom in atoms]
            found = self._search(tried, rest)
            if not isinstance(found, Refutation) or position not in found.clauses:
                return found
            reasons.extend(found.reasons)
            used |= found.clauses
            is_open |= found.is_open
        return Refutation(tuple(dict.fromkeys(reasons)), frozenset(used), is_open)

    def _size(self, chosen: Chosen) -> int:
        """Conditions that are evaluated to see whether an atom can hold."""
        if not isinstance(chosen.atom, Opaque):
            return 1
        if chosen.atom not in self._nodes:
            self._nodes[chosen.atom] = sum(1 for _ in nodes(chosen.atom.expression))
        return self._nodes[chosen.atom]

    def _completed(self, found: Mapping[str, Value], pending: Sequence[object]) -> Mapping[str, Value]:
        """Values found, with those to try first where nothing restricts a variable yet."""
        if not pending:
            return found
        texts = self._space.texts
        hints = {
            name: value for name, value in self._hints.items()
            if not isinstance(value, str) or name not in texts or value in texts[name]
        }  # fmt: skip
        return {**hints, **self._fixed, **found}

    def _satisfied(self, alive: Sequence[Sequence[Atom]], known: Mapping[str, Value]) -> bool:
        """Whether an alternative of a clause holds for values; what can only be evaluated waits until it is chosen."""
        return any(
            all(
                not isinstance(atom, Opaque)
                and all(name in known for name in atom_variables(atom))
                and holds_on(atom, known, self._slack)
                for atom in atoms
            )
            for atoms in alive
        )

    def _with_dead(self, found: Refutation) -> Refutation:
        """Clauses with one way left rest on the values that close their other ways."""
        reasons = dict.fromkeys(found.reasons)
        for position in sorted(found.clauses):
            if position >= 0:
                alive, dead = self._alternatives(self._clauses[position])
                if alive is not None and len(alive) == 1:
                    reasons.update(dict.fromkeys(dead))
        return Refutation(tuple(reasons), found.clauses, found.is_open)

    def _together(self, chosen: Sequence[Chosen]) -> dict[str, Value] | Refutation:
        """Values for a conjunction of atoms."""
        texts = self._texts(chosen)
        if isinstance(texts, Refutation):
            return texts
        numbers = Numbers(self._space, self._fixed, self._hints, self._slack).answer(chosen)
        if isinstance(numbers, Refutation):
            return numbers
        values: dict[str, Value] = {**texts, **numbers}
        opaque = [each for each in chosen if isinstance(each.atom, Opaque)]
        everything = {**self._hints, **self._fixed, **values}
        for each in opaque:
            assert isinstance(each.atom, Opaque)
            if self._opaque_holds is None or not self._opaque_holds(each.atom, everything):
                return Refutation((), each.clauses, True)
        return values

    def _texts(self, chosen: Sequence[Chosen]) -> dict[str, Value] | Refutation:
        """Texts that all atoms on them allow."""
        by_name: dict[str, list[Chosen]] = {}
        for each in chosen:
            if isinstance(each.atom, TextSet):
                by_name.setdefault(each.atom.variable, []).append(each)
        found: dict[str, Value] = {}
        for name, atoms in by_name.items():
            allowed = self._space.texts.get(name)
            conditions = [each.atom for each in atoms if isinstance(each.atom, TextSet)]
            if allowed is None:
                # Unknown texts: those the rules name, and one that they do not.
                allowed = (*dict.fromkeys(text for atom in conditions for text in atom.texts), "")
            left = [text for text in allowed if all((text in atom.texts) == atom.inside for atom in conditions)]
            if not left:
                return Refutation((), frozenset().union(*(each.clauses for each in atoms)))
            present = self._hints.get(name)
            found[name] = present if present in left and present is not None else left[0]
        return found
