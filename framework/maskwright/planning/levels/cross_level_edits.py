"""Edits across levels: derived totals, rules about all members, repair by cluster, or adjusting."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from maskwright.edits.algebra.classify import classify
from maskwright.edits.edit import Edit, LinearPart, Part, RangePart, Relation
from maskwright.edits.edit_set import EditSet
from maskwright.edits.expression import Expression, variable_names
from maskwright.edits.levels.member_rules import rules_of_members
from maskwright.edits.levels.structure import MembersColumn, Structure, StructureColumn, changed_columns
from maskwright.edits.levels.structure_edits import sources_of_edit, spans_records
from maskwright.edits.normalisation import conjuncts_as_written, joined
from maskwright.planning.keepers import least_certain
from maskwright.planning.model import Keeper

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.edits.levels.structure_edits import Source


@dataclass(frozen=True)
class DerivedVariable:
    """A variable of the upper level that is computed, not masked: ``total = sum(person.income) + capital``.

    `level`: whose variable it is. `terms`: variables and computed columns of its level; those that are derived
    themselves stand before it.
    """

    level: str
    variable: str
    terms: tuple[tuple[str, Fraction], ...]
    constant: Fraction
    edit: str


@dataclass(frozen=True)
class AcrossLevels:
    """Who keeps the edits, level by level and across levels.

    `inside`: that the steps of the level keep as they do on a file of one level; rules asked of each member among them.
    `derived`: in the order in which they are computed. `repaired`: inequalities that read what is derived or what
    members say together: written in variables that steps mask and in computed columns, to be met by whole clusters.
    `together`: for which the records of a group have to move together; of a conjunction only the operands that ask for
    it. `structure`: names of edits that read nothing that a step masks. `present`: names of edits on records of a group
    of which steps leave cells empty, and change nothing else: they hold where all that they read is published.
    `changed`: computed columns of a level that steps change. `keepers`: of the edits that are not `inside`. `standing`:
    totals onto which members are moved.
    """

    inside: Mapping[str, EditSet]
    derived: tuple[DerivedVariable, ...] = ()
    repaired: tuple[Edit, ...] = ()
    together: tuple[Edit, ...] = ()
    structure: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    changed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    keepers: tuple[Keeper, ...] = ()
    standing: frozenset[str] = frozenset()

    def derived_of(self, level: str) -> tuple[str, ...]:
        """Variables of a level that are derived, in the order in which they are computed."""
        return tuple(each.variable for each in self.derived if each.level == level)

    def of_level(self, level: str) -> AcrossLevels:
        """What is computed, and met by whole clusters, of the records of one level."""
        return replace(
            self, derived=tuple(each for each in self.derived if each.level == level),
            repaired=tuple(edit for edit in self.repaired if edit.level == level),
        )  # fmt: skip

    @property
    def adjusted(self) -> frozenset[str]:
        """Names of the edits for which the records of a group have to move together."""
        return frozenset(edit.name for edit in self.together)


def across_levels(
    bound: BoundEdits,
    structure: Structure,
    masked: Mapping[str, Collection[str]],
    adjust: Collection[str] = (),
    emptied: Mapping[str, Collection[str]] | None = None,
    translated: Collection[str] = (),
    categories: Collection[Source] = (),
    values: BoundEdits | None = None,
) -> AcrossLevels:
    """Decide who keeps each edit.

    `translated`: names of those that are said of published categories and of nothing else that changes. `categories`:
    variables of which edits across records read nothing but the published category, which is the true one. `values`:
    the same edits as they are said of values: what is asked of each member is said of categories by its own level.
    """
    return _Planner(bound, structure, masked, adjust, emptied or {}, translated, categories, values or bound).plan()


@dataclass
class _Planner:
    bound: BoundEdits
    structure: Structure
    masked: Mapping[str, Collection[str]]
    adjust: Collection[str]
    emptied: Mapping[str, Collection[str]]
    translated: Collection[str]
    categories: Collection[Source]
    values: BoundEdits
    inside: dict[str, list[Edit]] = field(default_factory=dict)
    derived: dict[str, DerivedVariable] = field(default_factory=dict)
    repaired: list[Edit] = field(default_factory=list)
    together: list[Edit] = field(default_factory=list)
    structural: list[str] = field(default_factory=list)
    present: list[str] = field(default_factory=list)
    keepers: list[Keeper] = field(default_factory=list)
    member_rules: dict[str, int] = field(default_factory=dict)
    operands: dict[str, int] = field(default_factory=dict)

    def plan(self) -> AcrossLevels:
        *upper, _ = self.structure.names
        self.inside = {name: [] for name in self.structure.names}
        moved = {level: self._moved(level) for level in self.masked}
        self.changed = changed_columns(self.bound.columns, moved)
        waiting = []
        for stated in (edit for name in reversed(self.structure.names) for edit in self.bound.edits[name]):
            every = conjuncts_as_written(stated, self.bound.plain.get(stated.name, stated.expression))
            self.operands[stated.name] = len(every)
            waiting += [edit for edit, plain in every if self._place(edit, plain, one_of=len(every))]
        # A variable that is derived takes the edits that read it along: once more, until nothing is added.
        for level in reversed(upper):
            grown = True
            while grown:
                grown = False
                for edit in list(waiting):
                    if edit.level == level and self._derives(edit):
                        waiting.remove(edit)
                        grown = True
                taken = [edit for edit in self.inside[level] if self.derived.keys() & set(edit.variables)]
                self.inside[level] = [edit for edit in self.inside[level] if edit not in taken]
                waiting += taken
                grown = grown or bool(taken)
        for edit in waiting:
            self._keep_otherwise(edit)
        return AcrossLevels(
            {name: _put_together(edits) for name, edits in self.inside.items()},
            self._in_order(),
            tuple(self.repaired),
            tuple(self.together),
            self._of_whole_edits(self.structural),
            self._of_whole_edits(self.present),
            self.changed,
            _one_for_each(self.keepers),
            frozenset(self.adjust),
        )

    def _of_whole_edits(self, names: Sequence[str]) -> tuple[str, ...]:
        """Those of the names of which no operand is kept anywhere: of others the rest can be."""
        alone = Counter((*self.structural, *self.present))
        return tuple(dict.fromkeys(name for name in names if alone[name] == self.operands[name]))

    def _place(self, edit: Edit, plain: Expression, one_of: int) -> bool:
        """Put an edit where one level keeps it; whether it spans records that change."""
        if edit.name in self.translated:
            self.structural.append(edit.name)
            how = "it is said of the published categories, which hold the true values"
            self.keepers.append(Keeper(edit.name, "construction", how))
            return False
        if self._is_suppressed_only(edit):
            self.present.append(edit.name)
            self.keepers.append(Keeper(edit.name, "construction", "it is kept where all that it reads is published"))
            return False
        every = self._moved(edit.level) if spans_records(self.bound, edit) else set(self.masked.get(edit.level, ()))
        own = every.intersection(edit.variables)
        changed = self.changed[edit.level].intersection(edit.variables)
        if own and self._totals(edit, own):
            return True
        if not own and not changed:
            self.structural.append(edit.name)
            self.keepers.append(Keeper(edit.name, "construction", self._kept_alone(edit)))
            return False
        if not changed:
            self.inside[edit.level].append(edit)
            return False
        return not self._required_of_members(edit, plain, one_of)

    def _moved(self, level: str) -> set[str]:
        """Variables of a level whose published values, or categories, are not the true ones."""
        return {name for name in self.masked.get(level, ()) if (level, name) not in self.categories}

    def _is_suppressed_only(self, edit: Edit) -> bool:
        """Whether it spans records, and steps only leave cells empty of what it reads."""
        if not spans_records(self.bound, edit):
            return False
        read = sources_of_edit(self.bound, edit)
        masked = [(level, name) for level, name in read if name in self.masked.get(level, ())]
        return bool(masked) and all(name in self.emptied.get(level, ()) for level, name in masked)

    def _kept_alone(self, edit: Edit) -> str:
        columns = (each for each in self.bound.columns[edit.level] if each.name in edit.variables)
        if any(isinstance(each, StructureColumn) and each.broken == "varies" for each in columns):
            return f"it is masked once for each {edit.level}, and joined to the records in it"
        return "no step masks a variable that it reads"

    def _totals(self, edit: Edit, own: Collection[str]) -> bool:
        """Whether an equality gives a masked variable as what members say together, as a household's size."""
        read = {column.name for column in self.bound.columns[edit.level]}.intersection(edit.variables)
        part = edit.parts[0] if len(edit.parts) == 1 else None
        return bool(read) and isinstance(part, LinearPart) and part.relation == "==" and part.total in own

    def _required_of_members(self, edit: Edit, plain: Expression, one_of: int) -> bool:
        if one_of == 1 and self.values is not self.bound:
            edit = self.values.edits[edit.level][edit.name]
            plain = self.values.plain.get(edit.name, edit.expression)
        columns = {each.name: each for each in self.values.columns[edit.level]}
        read = [columns[name] for name in edit.variables if name in columns]
        levels = {each.level for each in read if isinstance(each, MembersColumn)}
        if len(levels) != 1:
            return False
        (below,) = levels
        rules = rules_of_members(
            plain, columns, lambda name: self._has_floor(below, name) or self._sums_positive(below, name)
        )
        if rules is None or any(self._reads_members(below, rule) for rule in rules):
            return False
        rules_before = self.member_rules.get(edit.name, 0)
        self.member_rules[edit.name] = rules_before + len(rules)
        for number, rule in enumerate(rules, rules_before + 1):
            name = f"{edit.name} (members)" if len(rules) == one_of == 1 else f"{edit.name} (members, {number})"
            parts = classify(rule, edit.place)
            member_rules = Edit(name, rule, parts, variable_names(rule), edit.text, level=below, place=edit.place)
            self.inside[below].append(member_rules)
        self.keepers.append(Keeper(edit.name, "construction", f"it is asked of each {below}, and kept there"))
        return True

    def _reads_members(self, level: str, rule: Expression) -> bool:
        """Whether a rule on records of a level reads what their own members say, and steps change that."""
        return any(
            isinstance(each, MembersColumn) and each.name in self.changed[level]
            for each in self.bound.columns[level] if each.name in variable_names(rule)
        )  # fmt: skip

    def _reads_below_alone(self, edit: Edit) -> bool:
        """Whether all that it reads of other records, and that steps change, its members say."""
        return all(
            isinstance(each, MembersColumn) for each in self.bound.columns[edit.level]
            if each.name in edit.variables and each.name in self.changed[edit.level]
        )  # fmt: skip

    def _has_floor(self, level: str, name: str) -> bool:
        return any(
            isinstance(part, RangePart) and part.variable == name and part.low is not None and part.low >= 0
            for edit in self.bound.edits[level] for part in edit.parts
        )  # fmt: skip

    def _sums_positive(self, level: str, name: str) -> bool:
        """Whether an equality gives a variable as a sum of others that are never negative."""
        for edit in self.bound.edits[level]:
            for part in edit.parts:
                if isinstance(part, LinearPart) and part.relation == "==" and part.total == name and not part.constant:
                    own = dict(part.coefficients)
                    others = [other for other in own if other != name and own[other] * own[name] < 0]
                    if len(others) == len(own) - 1 and all(self._has_floor(level, other) for other in others):
                        return True
        return False

    def _derives(self, edit: Edit) -> bool:
        """Take a variable of an equality as derived, if one can be."""
        if len(edit.parts) != 1 or not isinstance(edit.parts[0], LinearPart):
            return False
        part = edit.parts[0]
        if part.relation != "==" or not self._spans(edit) or not self._reads_below_alone(edit):
            return False
        free = [name for name, value in part.coefficients if abs(value) == 1 and self._may_be_derived(name, edit.level)]
        total = part.total
        if len(part.coefficients) == 2 and total in {column.name for column in self.bound.columns[edit.level]}:
            # Both sides are alone: what members say is computed, and the other one is their total.
            total = next(name for name, _ in part.coefficients if name != total)
        # A total that no step masks, or that is not to be derived, stands: what it is the sum of moves.
        if not free or (total is not None and total not in free):
            return False
        chosen = free[-1] if total is None else total
        own = dict(part.coefficients)[chosen]
        terms = tuple((name, -value / own) for name, value in part.coefficients if name != chosen)
        self.derived[chosen] = DerivedVariable(edit.level, chosen, terms, part.constant / own, edit.name)
        sources = " and ".join(name for name, _ in terms)
        self.keepers.append(Keeper(edit.name, "derivation", f"{chosen} is computed from {sources}"))
        return True

    def _spans(self, edit: Edit) -> bool:
        read = {column.name for column in self.bound.columns[edit.level]}
        return bool((read | self.derived.keys()) & set(edit.variables))

    def _may_be_derived(self, name: str, level: str) -> bool:
        is_masked = name in self.masked.get(level, ()) and name not in self.emptied.get(level, ())
        return is_masked and name not in self.derived and name not in self.adjust

    def _keep_otherwise(self, edit: Edit) -> None:
        bounds = [bound for part in edit.parts for bound in _bounds(part)]
        written: list[LinearPart] = []
        has_members = edit.level != self.structure.names[-1]
        if has_members and self._reads_below_alone(edit) and bounds and None not in bounds:
            written = [self._written_out(bound) for bound in bounds if bound is not None]
        own = set(self.masked.get(edit.level, ()))
        if written and all(own.intersection(_names([bound])) for bound in written):
            self.repaired.append(replace(edit, parts=tuple(written), variables=_names(written)))
            how = "clusters are moved to where it holds for all of their records"
            self.keepers.append(Keeper(edit.name, "adjustment", how))
            return
        self.together.append(edit)
        self.keepers.append(Keeper(edit.name, "adjustment", "the records of a group are moved together"))

    def _written_out(self, bound: LinearPart) -> LinearPart:
        """Bound in which what a derived variable is computed from stands in its place."""
        coefficients, constant = dict(bound.coefficients), bound.constant
        for each in reversed(self._in_order()):
            factor = coefficients.pop(each.variable, Fraction(0))
            if factor:
                constant -= factor * each.constant
                for name, value in each.terms:
                    coefficients[name] = coefficients.get(name, Fraction(0)) + factor * value
        return replace(bound, coefficients=tuple((n, v) for n, v in coefficients.items() if v), constant=constant)

    def _in_order(self) -> tuple[DerivedVariable, ...]:
        """Derived variables, each after those that it reads."""
        done: dict[str, DerivedVariable] = {}
        waiting = dict(self.derived)
        while waiting:
            ready = [name for name, each in waiting.items() if not waiting.keys() & {term for term, _ in each.terms}]
            for name in ready or list(waiting)[:1]:
                done[name] = waiting.pop(name)
        return tuple(done.values())


def _put_together(found: Sequence[Edit]) -> EditSet:
    """Edits of one level, of conjunctions what the level keeps of them."""
    named: dict[str, list[Edit]] = {}
    for edit in found:
        named.setdefault(edit.name, []).append(edit)
    return EditSet(tuple(joined(each) for each in named.values()))


def _one_for_each(keepers: Iterable[Keeper]) -> tuple[Keeper, ...]:
    """One keeper for each edit, also where the operands of a conjunction have several."""
    named: dict[str, list[Keeper]] = {}
    for keeper in keepers:
        named.setdefault(keeper.edit, []).append(keeper)
    return tuple(map(least_certain, named.values()))


def _names(parts: Iterable[LinearPart]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for part in parts for name, _ in part.coefficients))


def _bounds(part: Part) -> tuple[LinearPart | None, ...]:
    """A part as ``sum <= constant``; None where it is no bound."""
    match part:
        case LinearPart(coefficients, relation, constant) if relation != "==":
            if relation in ("<", "<="):
                return (part,)
            turned: Relation = "<" if relation == ">" else "<="
            opposite = tuple((name, -value) for name, value in coefficients)
            return (replace(part, coefficients=opposite, relation=turned, constant=-constant),)
        case RangePart(name, low, high, low_closed, high_closed, None, None, False):
            found = []
            if low is not None:
                found.append(LinearPart(((name, Fraction(-1)),), "<=" if low_closed else "<", -low))
            if high is not None:
                found.append(LinearPart(((name, Fraction(1)),), "<=" if high_closed else "<", high))
            return tuple(found)
        case _:
            return (None,)
