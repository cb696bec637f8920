"""Edits in file order, as one set with unique names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from maskwright.foundation.errors import EditError, InputError, Place, Problem
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from maskwright.edits.edit import Edit
    from maskwright.edits.rule_language.rules import RuleItem


@dataclass(frozen=True)
class EditSet:
    """Edits in file order, names unique.

    Attributes
    ----------
    edits : tuple of Edit
    notes : tuple of str
        What reading the rules did that a person should know.

    Examples
    --------
    >>> from maskwright import EditSet
    >>> edits = EditSet.parse(["wages + pensions == income", {"rule": "age in [0, 120]", "name": "ages"}])
    >>> [edit.name for edit in edits]
    ['edit-1', 'ages']
    >>> len(edits.on(["age"])), "income" in edits.variables
    (1, True)
    """

    edits: tuple[Edit, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        names = [edit.name for edit in self.edits]
        twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
        if twice:
            raise InputError(f"edit names must be unique; twice: {', '.join(twice)}")

    def __iter__(self) -> Iterator[Edit]:
        return iter(self.edits)

    def __len__(self) -> int:
        return len(self.edits)

    def _repr_html_(self) -> str:
        """Table for notebooks: name, kind and text of each edit."""
        from maskwright.foundation.html_tables import block, sentence, table  # of notebooks

        rows = ((edit.name, edit.kind, edit.text, edit.severity) for edit in self.edits)
        title = f"{len(self):,} edit{'' if len(self) == 1 else 's'}"
        return block(title, table(("edit", "kind", "rule", "severity"), rows), sentence(" ".join(self.notes)))

    def __getitem__(self, name: str) -> Edit:
        if not isinstance(name, str):
            raise InputError("an edit is looked up by its name; tuple(edits)[0] is the first one")
        for edit in self.edits:
            if edit.name == name:
                return edit
        raise InputError(unknown_name("edit", name, (edit.name for edit in self.edits)))

    def __add__(self, other: EditSet) -> EditSet:
        return EditSet(self.edits + other.edits, self.notes + other.notes)

    def joined(self, other: EditSet) -> EditSet:
        """Both sets; an edit of `other` whose name is taken gets ``.2``, ``.3``, ..."""
        taken = {edit.name for edit in self.edits}
        renamed = []
        for edit in other:
            name, number = edit.name, 1
            while name in taken:
                number += 1
                name = f"{edit.name}.{number}"
            taken.add(name)
            renamed.append(edit if name == edit.name else replace(edit, name=name))
        return EditSet((*self.edits, *renamed), (*self.notes, *other.notes))

    @property
    def variables(self) -> tuple[str, ...]:
        """Variables used by any edit, in order of first use."""
        return tuple(dict.fromkeys(name for edit in self.edits for name in edit.variables))

    def on(self, names: Sequence[str]) -> EditSet:
        """The edits that use at least one of the named variables."""
        chosen = set(names)
        return EditSet(tuple(edit for edit in self.edits if chosen.intersection(edit.variables)))

    @staticmethod
    def parse(rules: Sequence[object], place_of: Callable[[int], Place] | None = None) -> EditSet:
        """Read edits from YAML-language texts, or mappings ``{rule, name, message, ...}``.

        Parameters
        ----------
        rules : sequence
            Texts, or mappings with the keys of `maskwright.edits.rule_language.rule_entry.RuleEntry`. A rule without a
            name is called ``edit-N``, N its 1-based position.
        place_of : callable, optional
            Place of the rule at a 0-based position, for error messages.

        Raises
        ------
        EditError
            With every mistake in every rule: place, what was expected, the nearest valid name.
        """
        if isinstance(rules, (str, Mapping)):
            raise EditError(Problem("expected a list of rules, found a single one", None, "Put it in a list: [rule]."))
        # The grammar is loaded with the first rule: sets of Schematron edits never need it.
        from maskwright.edits.rule_language.rules import RuleItem

        # Without a file, the rule's number stands for the line.
        return read_items(
            RuleItem(item, place_of(position) if place_of is not None else Place(f"rule {position + 1}"))
            for position, item in enumerate(rules)
        )


class WrongRulesError(EditError):
    """Rules are wrong; `edits` are those that were understood, in which more mistakes can be looked for."""

    def __init__(self, problems: Sequence[Problem], edits: EditSet) -> None:
        super().__init__(problems)
        self.edits = edits


class UnreadRulesError(WrongRulesError):
    """Rules of another language that this one cannot say, and nothing else is wrong: the others stand by themselves."""


def read_items(items: Iterable[RuleItem], notes: tuple[str, ...] = ()) -> EditSet:
    """Edits of rules, in order."""
    from maskwright.edits.rule_language.rules import edit_of

    problems: list[Problem] = []
    edits: list[Edit] = []
    places: dict[str, Place] = {}
    for position, item in enumerate(items):
        try:
            edit = edit_of(item, position)
        except EditError as error:
            problems.extend(error.problems)
            continue
        if edit.name in places:
            first = places[edit.name]
            message = f"the name {edit.name!r} is taken by another rule ({first})"
            problems.append(Problem(message, item.place, "Rename one."))
            continue
        places[edit.name] = item.place
        edits.append(edit)
    understood = EditSet(tuple(edits), notes)
    if problems:
        raise WrongRulesError(problems, understood)
    return understood
