"""The plan of a run: groups, strata, operators, adjustment units, and for every edit who keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from maskwright.edits.edit_set import EditSet
from maskwright.planning.model import DisclosureSettings, with_steps
from maskwright.planning.recoded_edits import RecodedVariables
from maskwright.plugins.parameter_markers import files_named, unpublished_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit
    from maskwright.edits.translation.translate import Translation
    from maskwright.foundation.doubts import Doubt
    from maskwright.foundation.findings import Notice
    from maskwright.planning.applicable_edits import StepLimit
    from maskwright.planning.model import AdjustmentUnit, Group, Keeper, Step


@dataclass(frozen=True, eq=False)
class Plan:
    """What a run will do.

    Attributes
    ----------
    steps : tuple of Step
    groups : tuple of Group
        Of all steps, in order.
    units : tuple of AdjustmentUnit
        Of numbers.
    category_units : tuple of AdjustmentUnit
        Of categories.
    keepers : tuple of Keeper
        One for each edit, in file order.
    variables : mapping of name to Variable
    untouched : tuple of str
        Published as they are; among them a variable that names households and is given new values at the end.
    dropped : tuple of str
        Identifiers, not published.
    records : int or None
    warnings : tuple of str
    doubts : tuple of Doubt
    edits : EditSet
        Of the request; what the steps promise besides is in `limits`.
    limits : EditSet
        What steps promise of published values, as edits that hold from then on.
    promised : tuple of StepLimit
        The same, and promises that no edit says.
    recoded : frozenset of str
        Variables that are published as coarser categories.
    coarse : RecodedVariables
        The same, and what may become of edits that read them.
    translations : tuple of Translation
        Edits on recoded variables as they hold of the published categories, where these are known beforehand.
    may_lose_cells : tuple of str
        Variables that no step masks, and of which cells are suppressed where they would give suppressed ones away.
    violated : frozenset of str
        Edits that records of the original violate, where the data are known.
    derived : tuple of Variable
        Totals across levels that no step sees: they are computed from what the steps of all levels publish.
    disclosure : DisclosureSettings
        What is taken to be known of cells that are not shown.

    Examples
    --------
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> plan = mw.plan(pd.DataFrame({"wages": range(20)}), "microaggregation", edits=["wages >= 0"], params={"k": 5})
    >>> plan.masked, [keeper.kept_by for keeper in plan.keepers]
    (('wages',), ['construction'])
    """

    steps: tuple[Step, ...]
    groups: tuple[Group, ...]
    units: tuple[AdjustmentUnit, ...]
    keepers: tuple[Keeper, ...]
    variables: Mapping[str, Variable]
    untouched: tuple[str, ...]
    dropped: tuple[str, ...]
    records: int | None
    warnings: tuple[Notice, ...]
    edits: EditSet
    recoded: frozenset[str] = frozenset()
    may_lose_cells: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    limits: EditSet = field(default_factory=EditSet)
    promised: tuple[StepLimit, ...] = ()
    category_units: tuple[AdjustmentUnit, ...] = ()
    coarse: RecodedVariables = field(default_factory=RecodedVariables)
    translations: tuple[Translation, ...] = ()
    derived: tuple[Variable, ...] = ()
    violated: frozenset[str] = frozenset()
    disclosure: DisclosureSettings = field(default_factory=DisclosureSettings)

    @property
    def edits_on_values(self) -> EditSet:
        """Edits that read no variable that is published as categories."""
        return EditSet(tuple(edit for edit in self.edits if not self.recoded.intersection(edit.variables)))

    @property
    def shaping(self) -> int:
        """Number of steps before the last ones that only remove: those see values as they will be published."""
        changing = [number for number, step in enumerate(self.steps, 1) if not step.only_removes]
        return changing[-1] if changing else 0

    @property
    def draws_records(self) -> bool:
        """Whether a step draws records anew, so that none comes from the original in its row."""
        return any(step.method.claims.draws_records for step in self.steps)

    @property
    def drawn(self) -> frozenset[str]:
        """Variables that a step draws anew."""
        return frozenset(self._of_groups(lambda step: step.method.claims.draws_records))

    @property
    def new_keys(self) -> tuple[str, ...]:
        """Variables that are published with new random values, in file order."""
        return tuple(name for name, variable in self.variables.items() if variable.renewed)

    @property
    def masked(self) -> tuple[str, ...]:
        """Variables that any step looks at or masks, in file order."""
        return self._of_groups(lambda _: True)

    @property
    def changed(self) -> tuple[str, ...]:
        """Those of them of which a step changes or empties cells; the others are published as they are."""
        return self._of_groups(lambda step: step.method.changes_cells)

    @property
    def replaced(self) -> frozenset[str]:
        """Those of which a step puts other values in the place of the original ones, and does more than empty cells."""
        return frozenset(self._of_groups(lambda step: not step.only_removes))

    @property
    def altered(self) -> tuple[str, ...]:
        """Variables whose published values are others than the original ones: masked, or derived from masked ones."""
        return (*self.masked, *(each.name for each in self.derived))

    def _of_groups(self, wanted: Callable[[Step], bool]) -> tuple[str, ...]:
        """Variables of the groups of some steps, in file order."""
        touched = {name for each in self.groups if wanted(self.steps[each.step - 1]) for name in each.variables}
        return tuple(name for name in self.variables if name in touched)

    def _acting_on(self, unit: AdjustmentUnit) -> str:
        step = None if unit.group is None else self.steps[self.groups[unit.group].step - 1]
        return "records" if step is None or not step.method.makes_clusters else "representatives"

    def __repr__(self) -> str:
        """Return what is done in a few words."""
        methods = ", ".join(step.method.name for step in self.steps)
        return f"Plan({methods}: {len(self.masked)} of {len(self.variables)} variables, {len(self.edits)} edits)"

    def _repr_html_(self) -> str:
        """Tables for notebooks: what each step masks together, and who keeps each edit."""
        from maskwright.foundation.html_tables import block, sentence, table  # of notebooks

        groups = [
            (step.number, step.method.name, ", ".join(group.variables), ", ".join(group.edits))
            for group, step in with_steps(self.groups, self.steps)
        ]
        keepers = [(each.edit, each.kept_by.replace("_", " "), each.how) for each in self.keepers]
        doubts = [(each.kind, each.subject, each.message) for each in self.doubts]
        return block(
            "Plan" if self.records is None else f"Plan for {self.records:,} records",
            table(("step", "method", "variables masked together", "edits among them"), groups, (0,)),
            table(("edit", "kept by", "how"), keepers),
            sentence(", ".join(self.untouched), "published as they are:"),
            sentence(", ".join(self.dropped), "not published:"),
            table(("doubt", "of", "because"), doubts),
            *(sentence(str(each)) for each in self.warnings),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain record of the plan, as in `run.json` and for measures."""
        edits = {edit.name: edit for edit in (*self.edits, *self.limits)}
        translated = {each.original.name: each for each in self.translations}
        return {
            "records": self.records,
            "steps": [
                step_json(step, [_group_json(group, step) for group in self.groups if group.step == position])
                for position, step in enumerate(self.steps, 1)
            ],
            "edits": [
                {
                    "name": keeper.edit,
                    "kind": edits[keeper.edit].kind,
                    "text": edits[keeper.edit].text,
                    "kept_by": keeper.kept_by,
                    "how": keeper.how,
                    "form": translated[keeper.edit].form if keeper.edit in translated else None,
                    "becomes": _text(translated[keeper.edit].edit) if keeper.edit in translated else None,
                }
                for keeper in self.keepers
            ],
            "adjustment": [
                {
                    "variables": list(unit.variables),
                    "edits": list(unit.edits),
                    "acting_on": self._acting_on(unit),
                }
                for unit in (*self.units, *self.category_units)
                if unit.edits
            ],
            "grid": {name: self.variables[name].decimals for name in self.masked if name not in self.recoded},
            "untouched": [name for name in self.untouched if name not in self.new_keys],
            "may_lose_cells": list(self.may_lose_cells),
            "dropped": list(self.dropped),
            "new_keys": list(self.new_keys),
            "warnings": [each.to_json() for each in self.warnings],
        }


def step_json(step: Step, groups: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A step as plain data, as it is in `Plan.to_json`."""
    own = step.params.model_dump(mode="json", by_alias=True)
    return {
        "step": step.number,
        "method": step.method.name,
        "params": own
        | {name: path.name for name, path in files_named(step.params).items()}
        | step.planning.model_dump(mode="json")
        | ({"within": list(dict.fromkeys([*step.within, *own.get("within", ())]))} if step.within else {}),
        "unpublished": list(unpublished_fields(step.params)),
        "changes_cells": step.method.changes_cells,
        "takes": None,
        "groups": list(groups),
    }


def computed_json(names: Sequence[str]) -> dict[str, Any]:
    """Variables of a step that are all computed from what other steps publish, as one group in `Plan.to_json`."""
    return {
        "variables": list(names), "operators": {}, "computed": list(names), "edits": [], "cut_by": [], "strata": [],
        "smallest_cluster": None,
    }  # fmt: skip


def _text(edit: Edit | None) -> str | None:
    return None if edit is None else edit.text


def _group_json(group: Group, step: Step) -> dict[str, Any]:
    strata = group.strata.strata if group.strata else ()
    # What neither changes a cell nor looks at keys has nothing to do with the variables that it is handed.
    involved = step.method.changes_cells or step.method.has_keys
    # What takes cells or records away averages nothing.
    applied = [""] * len(group.variables) if step.only_removes else group.operators
    operators = dict(zip(group.variables, applied, strict=True)) if involved else {}
    return {
        "variables": list(operators),
        "operators": operators,
        "computed": list(group.computed),
        "edits": list(group.edits),
        "cut_by": [each.title for each in group.cut_by],
        "strata": [{"label": one.label, "records": one.records, "merged": one.merged} for one in strata],
        "smallest_cluster": step.k,
    }
