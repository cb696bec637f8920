"""Words and number formats that every report shares, so that terminal and HTML say the same thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from maskwright.foundation import counts as counted
from maskwright.foundation import release_outcomes
from maskwright.release import number_formats

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from maskwright.planning.model import KeptBy
    from maskwright.release.record.measure_record import MeasureRecord
    from maskwright.release.record.record_parts import DoubtRecord, GroupRecord, StepRecord
    from maskwright.release.record.run_record import (
        ClassesRecord,
        ClassSizes,
        EditRecord,
        GroupClassSizes,
        RunRecord,
        VariableRecord,
    )

count = counted.count
duration = number_formats.duration
figure = number_formats.figure
file_size = number_formats.file_size
plural = counted.plural
release_sentence = release_outcomes.release_sentence
with_unit = number_formats.with_unit

KEPT_BY: Mapping[KeptBy, str] = {
    "construction": "the method itself",
    "derivation": "derivation from masked values",
    "adjustment": "adjustment",
    "checked": "only checked",
}
"""What ``kept_by`` means, in two or three words."""

MOST_NAMED = 3
"""Edits that a sentence names before it counts the others."""


DIRECTION = {"lower": "lower is better", "higher": "higher is better"}


def step_line(step: StepRecord, every_parameter: bool = True) -> str:
    """``microaggregation (k 5, partition mdav)``: a step of the plan in a few words."""
    from maskwright.planning.model import PlanningParams  # models of pydantic: other commands have no plan

    defaults = {} if every_parameter else PlanningParams().model_dump(mode="json")
    shown = [
        f"{name} {_setting(value)}"
        for name, value in step.params.items()
        if not _is_empty(value) and not (name in defaults and value == defaults[name])
    ]
    return f"{step.method} ({', '.join(shown)})" if shown else step.method


def _is_empty(value: object) -> bool:
    """Nothing, an empty list, or a mapping of nothing else."""
    if isinstance(value, Mapping):
        return all(_is_empty(inner) for inner in value.values())
    return value is None or value == []


def _setting(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_setting(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_setting(inner) for inner in value) + "]"
    return str(value)


def operator_word(group: GroupRecord, name: str) -> str:
    """How a group's variable is aggregated, ``geometric mean``; or ``computed`` from the others."""
    return "computed" if name in group.computed else group.operators.get(name, "").replace("_", " ")


def verdict(record: RunRecord) -> str:
    """Sentence that says whether the masked file may be released, and why not."""
    return f"{'Released' if record.ok else 'Not released'}: {verdict_reasons(record)}"


def verdict_reasons(record: RunRecord) -> str:
    """What a verdict says after its first word."""
    broken = [edit for edit in record.edits if edit.violations]
    errors = [edit.name for edit in broken if edit.severity == "error"]
    warnings = [edit.name for edit in broken if edit.severity != "error"]
    missed = [f"{label}.{part}" if part else label for label, each in record.measures.items() for part in each.missed]
    if not record.ok:
        reasons = [f"{plural(len(errors), 'edit')} violated ({', '.join(errors)})"] if errors else []
        reasons += [f"{plural(len(missed), 'threshold')} missed ({', '.join(missed)})"] if missed else []
        doubts = [each for each in record.doubts if each.because is None]
        reasons += [f"{plural(len(doubts), 'doubt')} open ({_named(doubts)})"] if doubts else []
        return ("; ".join(reasons) or "see the notices") + "."
    message = f"{_what_holds(len(record.edits), len(warnings))} in {plural(record.records, 'masked record')}"
    unknown = sum(1 for edit in record.edits if edit.unknown)
    message += f"; {_not_decided(unknown)}" if unknown else ""
    without = [(edit.name, edit.not_applicable) for edit in record.edits if edit.not_applicable]
    if without:
        named = [f"{name} does not apply to {count(records)} of them" for name, records in without[:MOST_NAMED]]
        named += [f"nor do {len(without) - MOST_NAMED} more edits to others"] if len(without) > MOST_NAMED else []
        message += f"; {', '.join(named)}, whose cells are suppressed"
    loaded = sum(edit.violations_on_arrival for edit in record.edits)
    message += f" ({plural(loaded, 'violation')} in the original)." if loaded else "."
    message += f" Dropped since they violate an edit: {_left_out(record.left_out)}." if record.left_out else ""
    if warnings:
        are = "warning is" if len(warnings) == 1 else "warnings are"
        message += f" {len(warnings)} {are} violated ({', '.join(warnings)})."
    return message


def release_remarks(record: RunRecord, most: int | None = None) -> tuple[tuple[str, str], ...]:
    """Titles and texts of the remarks on a release: what was waived, is published unmasked, or is not measured."""
    waived = [each for each in record.doubts if each.because is not None]
    unmasked = [f"{each.name} ({each.role})" for each in published_unmasked(record)]
    messages = (
        ("waived", _named(waived, most)),
        ("published unmasked", names(unmasked, most)),
        ("not measured", names(record.not_measured, most) if record.measures else "anything: no measure was requested"),
    )
    return tuple((title, text) for title, text in messages if text)


def published_unmasked(record: RunRecord) -> list[VariableRecord]:
    """Variables that are published as they were: no step masks them, and none of their cells is emptied."""
    return [each for each in record.variables if each.name in record.plan.untouched and not each.altered]


def unmasked_but_changed(record: RunRecord) -> list[VariableRecord]:
    """Variables that no step masks, and of which cells are emptied, or which are changed otherwise."""
    return [each for each in record.variables if each.name in record.plan.untouched and each.altered]


def names(listed: Sequence[str], most: int | None = None) -> str:
    """``age, sex and 37 more``."""
    left = 0 if most is None else len(listed) - most
    return ", ".join(listed) if left <= 0 else f"{', '.join(listed[:most])} and {left} more"


def left_out(measure: MeasureRecord) -> str:
    """What a measure leaves out, to stand beside its value: ``without sex, age``; empty where it is nothing."""
    return f"without {names(measure.leaves_out)}" if measure.leaves_out else ""


def _named(doubts: Iterable[DoubtRecord], most: int | None = None) -> str:
    """``column-not-understood of income, age; ...``."""
    subjects: dict[str, dict[str, None]] = {}
    for each in doubts:
        subjects.setdefault(each.doubt, {})[each.subject] = None
    return "; ".join(name + (f" of {names(list(of), most)}" if any(of) else "") for name, of in subjects.items())


def _not_decided(edits: int) -> str:
    if edits == 1:
        return "1 edit is not judged where a cell that it reads is missing"
    return f"{count(edits)} edits are not judged where a cell that they read is missing"


def _left_out(dropped: Mapping[str, int]) -> str:
    """``2,580 of household and 7,211 of person``; of a file without levels ``12 records``."""
    if list(dropped) == ["record"]:
        return plural(dropped["record"], "record")
    return " and ".join(f"{count(some)} of {level}" for level, some in dropped.items())


def _what_holds(edits: int, warnings: int) -> str:
    if edits == 0:
        return "no edits to keep"
    if warnings:
        return "every edit of severity error holds"
    return "the edit holds" if edits == 1 else f"all {count(edits)} edits hold"


def whose_quasi_identifiers(record: RunRecord) -> str:
    """``all quasi-identifiers``; of data of levels, those of one: ``the quasi-identifiers of plant``."""
    named = () if record.k.quasi_identifiers is None else record.k.quasi_identifiers.variables
    levels = {each.level for each in record.variables if each.name in named and each.level is not None}
    return f"the quasi-identifiers of {', '.join(sorted(levels))}" if levels else "all quasi-identifiers"


class ClassesOn(NamedTuple):
    """Classes of equal records on some variables, and whether a step promises their size."""

    about: str
    sizes: ClassSizes
    is_promised: bool


def classes_of_equal_records(record: RunRecord) -> list[ClassesOn]:
    """Titles and sizes of the classes of records that share masked values, widest promise first.

    On the variables of each group (what the method promises), on all quasi-identifiers, and on every published
    variable; of data of levels, the last two are those of the lowest.
    """
    from maskwright.release.record.run_record import ClassSizes  # models of pydantic: other commands have no record

    k = record.k
    rows: list[ClassesOn] = []
    sizes = sorted({group.expected for group in k.groups}, reverse=True)
    for size in sizes:
        own = [group for group in k.groups if group.expected == size]
        smallest, below = min(group.smallest for group in own), max(group.below for group in own)
        of = "on any one variable group" + (f" of k {size}" if len(sizes) > 1 else "")
        is_promised = all(group.guaranteed for group in own)
        rows.append(ClassesOn(of, ClassSizes(expected=size, smallest=smallest, below=below), is_promised))
    if k.quasi_identifiers:
        found = k.quasi_identifiers
        is_promised = _is_promised(record, found.variables)
        of = f"on {whose_quasi_identifiers(record)} ({', '.join(found.variables)})"
        of += "" if is_promised else ", not promised"
        sizes_of = ClassSizes(expected=found.expected, smallest=found.smallest, below=found.below)
        rows.append(ClassesOn(of, sizes_of, is_promised))
    if k.records:
        names = [each.name for each in record.variables if each.role != "identifier"]
        is_promised = not record.levels and not record.plan.new_keys and _is_promised(record, names)
        of = "on whole records" + ("" if is_promised else " (no method promises this)")
        rows.append(ClassesOn(of, k.records, is_promised))
    return rows


def _is_promised(record: RunRecord, names: Sequence[str]) -> bool:
    """Whether a step promises the size of the classes on variables: of all of them together."""
    return any(group.guaranteed and set(group.variables).issuperset(names) for group in record.k.groups)


def smallest_of_each_k(record: RunRecord) -> list[tuple[str, ClassSizes, str]]:
    """Titles, sizes and what was asked of the classes of groups, for each k; without groups, of the widest classes."""
    k = record.k
    rows = classes_of_equal_records(record)
    requested: dict[int, GroupClassSizes] = {}
    for group in k.groups:
        # Of groups of one size, the one of which least is promised speaks for all.
        if group.expected not in requested or group.requested is None:
            requested[group.expected] = group
    return [
        (title, found, _requested(requested.get(found.expected, k))) for title, found, _ in rows[: len(requested) or 1]
    ]


def _requested(of: ClassesRecord | GroupClassSizes) -> str:
    """``requested: 5``, or ``7 in the mean, 5 promised``."""
    if of.requested == of.expected:
        return f"requested: {of.requested}"
    return f"{of.expected} in the mean, {'not promised' if of.requested is None else f'{of.requested} promised'}"


def promised_classes(record: RunRecord) -> str:
    """What steps promise of classes of equal records, as a sentence: each group of variables with its own k."""
    unit = f"{next(iter(record.levels))} records" if record.levels else "records"
    k = record.k
    promised = {(each.requested, each.expected) for each in k.groups if each.guaranteed}
    if all(each.guaranteed for each in k.groups) and len(promised) == 1:
        ((least, mean),) = promised
        message = f"The method promises at least {least} {unit} with equal values on the variables of one group"
        return message + (f", {mean} in the mean." if mean != least else ".")
    parts = []
    for least, mean in sorted(promised, reverse=True):
        own = [
            each.variables for each in k.groups if each.guaranteed and (each.requested, each.expected) == (least, mean)
        ]
        parts.append(f"at least {least} {unit} with equal values are promised {_on_each(own)}")
    for size in sorted({each.expected for each in k.groups if not each.guaranteed}, reverse=True):
        own = [each.variables for each in k.groups if not each.guaranteed and each.expected == size]
        parts.append(f"groups of {size} {unit} are made, and their size is counted, not promised, {_on_each(own)}")
    message = "; ".join(parts)
    return f"{message[:1].upper()}{message[1:]}."


def _on_each(groups: Sequence[Sequence[str]]) -> str:
    """``on wage, bonus, and on hours``."""
    return ", and ".join(f"on {', '.join(names)}" for names in groups)


def how_classes_are_counted(record: RunRecord) -> str:
    """What makes records equal where cells are empty, and what the size of a class is; of all figures of k of a run."""
    missing = "A missing or emptied cell is a value of its own, one for each way in which it is written."
    if len(record.levels) < 2:
        return missing
    top, low, *deeper = record.levels
    if deeper:
        where = "in records of the level above, or of the one that is named"
        return f"{missing} Classes of the records of each level below {top} are counted {where}."
    return f"{missing} Classes of {low} records are counted in {top} records: one counts once, with all its members."


ONLY_MASKED = "Counted are masked values alone: what is published unmasked tells more groups apart."
"""What k of groups leaves out."""


def groups_told_apart(record: RunRecord) -> str:
    """What the last of the four counts means of data of two levels; empty where whole groups are alike all in all."""
    if not record.k_of_groups:
        return ""
    whole = record.k_of_groups[-1]
    apart = (
        f"{k_among_records(record.k.groups)}Derived totals, and the key that says who belongs together, tell "
        f"whole groups apart: {count(whole.below)} of {count(whole.records)} are unlike k - 1 others."
    )
    return " ".join([apart] * bool(whole.below) + [ONLY_MASKED] * bool(published_unmasked(record)))


def k_among_records(groups: Sequence[GroupClassSizes]) -> str:
    """Whether k holds among the records of each level, as a sentence with a space after it, or where it does not.

    Empty where steps promise groups of a size in the mean only, and none is smaller.
    """
    short = [f"{count(each.below)} on {', '.join(each.variables)}" for each in groups if each.below]
    if short:
        return f"k does not hold among the records of each level: {'; '.join(short)} are in classes that are smaller. "
    if any(each.requested != each.expected for each in groups):
        return ""
    if len({each.expected for each in groups}) > 1:
        return "k holds among the records of each level, for each group of variables its own. "
    return "k holds among the records of each level. "


def kept_as_planned(edit: EditRecord) -> str:
    """Who kept an edit, beside who was to keep it where that was another."""
    kept = KEPT_BY[edit.kept_by] + (f", {edit.form}" if edit.form else "")
    if edit.kept_by == edit.planned == "adjustment" and not edit.adjusted and not edit.violations:
        return f"{kept}, not needed"
    return kept if edit.planned == edit.kept_by else f"{kept} (planned: {KEPT_BY[edit.planned]})"


def loss_by_step(record: RunRecord, *, by_edit: bool = True) -> str:
    """Sentence on what methods, adjustment and rounding cost; empty where records are drawn anew."""
    found = record.loss_by_step
    if found is None:
        return ""
    message = (
        f"{found.method:.4g} % of the variance by the methods, {found.adjustment:+.2g} by adjustment, "
        f"{found.rounding:+.2g} by rounding"
    )
    if not by_edit:
        return message
    edits = [f"{edit.name} {edit.loss:+.2g}" for edit in record.edits if edit.loss]
    if found.several_edits:
        edits.append(f"several at once {found.several_edits:+.2g}")
    drift = record.moment_drift
    moved = (
        f"; adjustment and rounding moved means by at most {drift.mean.sd:.2g} standard deviations, covariances "
        f"by at most {drift.covariance.sd_squared:.2g}"
        if drift
        else ""
    )
    return message + (f" (by edit: {', '.join(edits)})" if edits else "") + moved


def unchanged_shares(record: RunRecord, most: int = 12) -> str:
    """Masked variables with the share of their cells that are as they were, the largest first; empty if none is."""
    if record.loss_by_step is None:
        return ""
    masked = [(each.unchanged, each.name) for each in record.variables if each.masked_by is not None]
    found = sorted(((share, name) for share, name in masked if share), key=lambda each: -each[0])
    shown = ", ".join(f"{name} {share:.3g} %" for share, name in found[:most])
    return shown + (f" and {plural(len(found) - most, 'other')} less" if len(found) > most else "")


def moved_rows(record: RunRecord) -> str:
    """``3 of 212 representatives``: how many rows adjusting moved, each counted once, by level; empty without any."""
    levels: dict[str, list[str]] = {}
    for kind in ("representatives", "records"):
        parts: dict[str, list[str]] = {}
        for each in record.moved:
            if each.acting_on == kind:
                own = level_of(record, (name for names in each.variables for name in names))
                parts.setdefault(own, []).append(f"{each.moved:,} of {each.rows:,}")
        for level, counts in parts.items():
            groups = f" ({len(counts)} variable groups)" if len(counts) > 1 else ""
            levels.setdefault(level, []).append(f"{', '.join(counts)} {kind}{groups}")
    return "; ".join(f"{level + ': ' if level else ''}{'; '.join(text)}" for level, text in levels.items())


def level_of(record: RunRecord, variables: Iterable[str]) -> str:
    """Level of variables that were moved together; empty where there is only one, or they are of several."""
    known = {each.name: each.level or "" for each in record.variables}
    levels = {known.get(name, "") for name in variables}
    return levels.pop() if len(levels) == 1 else ""


def what_adjusted_counts(record: RunRecord) -> str:
    """What the column "adjusted" of the table of edits counts in data of several levels; empty where it has nothing."""
    if len(record.levels) < 2 or not any(each.adjusted or each.infeasible for each in record.edits):
        return ""
    top, low, *deeper = record.levels
    moved, members = ("records of the upper level", "members") if deeper else (f"{top} records", f"{low} records")
    return (
        f"records, not cells, of the level that the edit is about; {moved} where an edit across "
        f"levels moved these with their {members}"
    )
