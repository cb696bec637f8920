"""The text of a pipeline to start from: what was found in a file, with comments on what is uncertain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from maskwright.commands.starting_lists import PlannedDoubt, comment, decisions, declared_lists, flow, folded, scalar
from maskwright.data.profiling.column_profile import Unsure
from maskwright.edits.edit_set import EditSet
from maskwright.edits.suggestions.model import flow_text
from maskwright.foundation.files import split_name
from maskwright.release.wording import count, plural

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from maskwright.commands.describe_data import Description
    from maskwright.data.profiling.column_profile import ColumnProfile
    from maskwright.edits.suggestions.model import Suggestion


BANDS = 5
"""Bands of a quasi-identifier that has more numbers: what few have is not emptied, which would move its mean."""


@dataclass(frozen=True)
class LinkedFiles:
    """Groups and their members, of which a pipeline is being written: two files, or one with records inside records.

    `levels`: as ``data: levels:`` has them, the upper first. `seen`: names of the files and numbers of their records.
    `source`: the file that has both; '' where each has its own. `violation`: which edits the original violates, where
    no step can mend it. `drops`: whether groups that violate an edit in the original are left out; otherwise a comment
    says how.
    """

    levels: Mapping[str, Mapping[str, object]]
    seen: str = ""
    source: str = ""
    violation: str = ""
    drops: bool = False

    @property
    def output(self) -> str:
        """Names of the masked files."""
        if self.source:
            return scalar("-masked".join(split_name(PurePosixPath(self.source).name)))
        named = {level: PurePosixPath(str(each["source"])).name for level, each in self.levels.items()}
        return flow({level: "-masked".join(split_name(name)) for level, name in named.items()})


MOST_SHOWN = 2
"""Suggested edits that may be coincidences, as comments."""
CERTAIN = ("equality", "product", "proportion")
"""Kinds of suggestions that are hardly coincidences where they hold in all records."""


def pipeline_text(
    found: Description,
    source: str,
    options: Mapping[str, Any],
    suggested: Sequence[Suggestion],
    *,
    active: bool,
    doubts: Sequence[PlannedDoubt] = (),
    problem: str = "",
    linked: LinkedFiles | None = None,
    levels: Sequence[str] = (),
    zeros: Collection[str] = (),
) -> str:
    """Text of a pipeline; `zeros`: amounts of which many are 0."""
    found = _with_new_household(_with_something_to_mask(_without_unknown_days(found)))
    name = PurePosixPath(source).name
    seen = f"{name}; {plural(found.records, 'record')}" if linked is None else linked.seen
    general = [*(f"tried: {text}" for text in found.tried), *found.unsure, *_about_levels(levels)]
    lines = [
        f"# A pipeline to start from, made from {seen}, {len(found.variables)} variables.",
        "# It holds no value of a record, but names, counts and missing codes. Why each guess: maskwright describe",
        *comment(f"this plan fails: {problem}" if problem else "", "# "),
        *decisions(found.variables, doubts, general),
        "maskwright: 1",
        "",
        *_data(found, source, options, linked, levels),
        *_edits(suggested, {each.name for each in _in_bands(found)}, active=active, of_levels=linked is not None),
        *_on_violation(linked),
        *_protection(found, zeros),
        *_rest(found, source, linked),
    ]
    return "\n".join(lines) + "\n"


def _about_levels(levels: Sequence[str]) -> list[str]:
    """What may be declared as levels."""
    if not levels:
        return []
    message = (
        "some variables are the same in all records of each household: `levels:` in the place of `cluster` says so"
    )
    return [message]


def _data(
    found: Description,
    source: str,
    options: Mapping[str, Any],
    linked: LinkedFiles | None,
    levels: Sequence[str],
) -> Iterator[str]:
    yield "data:"
    if linked is None or linked.source:
        yield f"  source: {scalar(source)}"
    if linked is not None:
        yield "  levels:  # records of one belong to those of the other: maskwright explain levels"
        yield from (f"    {level}: {flow(each)}" for level, each in linked.levels.items())
    for name, value in options.items():
        yield f"  {name}: {scalar(value)}"
    if found.household is not None:
        yield f"  cluster: {scalar(found.household)}  # k counts households"
        yield from (f"  # {line}" for line in levels)
    yield from declared_lists(found.variables)
    yield ""


def _edits(suggested: Sequence[Suggestion], in_bands: set[str], *, active: bool, of_levels: bool) -> Iterator[str]:
    # What holds of values exactly is not said of bands.
    certain = [
        each for each in suggested
        if active and each.kind in CERTAIN and each.records == each.of and in_bands.isdisjoint(_names_of(each))
    ]  # fmt: skip
    others = [each for each in suggested if each not in certain]
    lead = "what must hold in every released record"
    yield f"{'edits:' if certain else 'edits: []':<30} # {lead}{'' if certain else '; none yet'}"
    if certain:
        yield "  # found in the data, and they hold in every record that was looked at: remove those that are no rules"
    yield from (f"  - {flow_text(each.statement)}" for each in certain)
    if others:
        where = "--pipeline THIS_FILE" if of_levels else "--data FILE"
        yield f"  # suggestions from the data, perhaps coincidences; more: maskwright edits {where} --suggest"
    for each in others[:MOST_SHOWN]:
        yield f"  # - {flow_text(each.statement)}  # holds in {count(each.records)} of {count(each.of)} records"
    yield ""


def _on_violation(linked: LinkedFiles | None) -> Iterator[str]:
    """What is done with groups that violate an edit in the original, where no step can mend some."""
    if linked is None or not linked.violation:
        return
    top = next(iter(linked.levels))
    yield from comment(f"unsure: {linked.violation}", "# ")
    lead = "" if linked.drops else "# "
    yield f"{lead}on_input_violation: drop      # leaves out each record of {top} that breaks an edit, with its members"
    yield ""


def _names_of(suggestion: Suggestion) -> Collection[str]:
    """Variables that a suggested rule reads."""
    return EditSet.parse([suggestion.statement]).variables


def _in_bands(found: Description) -> list[ColumnProfile]:
    """Keys that are published in bands."""
    keys = (each for each in found.variables if each.role == "quasi_identifier")
    return [each for each in keys if each.is_numeric and each.distinct > BANDS]


def _protection(found: Description, zeros: Collection[str]) -> Iterator[str]:
    keys = [each for each in found.variables if each.role == "quasi_identifier"]
    many = [each.name for each in _in_bands(found)]
    amounts = [each.name for each in found.variables if each.role == "confidential" and each.is_numeric]
    yield "protect:"
    if amounts:
        yield "  - method: microaggregation    # means of at least 5 similar records; edits hold in the result"
        yield from folded("    variables: ", flow(amounts))
        held = [name for name in amounts if name in zeros]
        yield from folded("    params: ", "{k: 5}" if not held else f"{{k: 5, structural_zeros: {flow(held)}}}")
    if many:
        yield "  - method: recoding            # bands instead of numbers that single persons out"
        yield from folded("    variables: ", flow(many))
        yield f"    params: {{bands: {BANDS}}}"
    if keys:
        yield "  - method: local_suppression   # cells are emptied until 3 records share each combination of keys"
        yield from folded("    variables: ", flow([each.name for each in keys]))
        yield "    params: {k: 3}"
    yield ""


def _rest(found: Description, source: str, linked: LinkedFiles | None) -> Iterator[str]:
    amounts = any(each.role == "confidential" and each.is_numeric for each in found.variables)
    keys = any(each.role == "quasi_identifier" for each in found.variables)
    measures = [
        *(["pil", "distance_record_linkage"] if amounts else []),
        *(["k_anonymity", "uniqueness"] if keys else []),
    ]
    path, masked = PurePosixPath(source), "masked/"
    if "*" in path.name or "?" in path.name or "[" in path.name:
        path = PurePosixPath(path.parent.name or "data")
    elif path.suffix:
        masked = "-masked".join(split_name(path.name))
    begin = split_name(path.name)[0]
    yield f"measure: {flow(measures)}"
    yield "# thresholds: {uniqueness: 5}  # nothing is released on the wrong side"
    yield "output:"
    yield f"  data: {scalar(masked) if linked is None else linked.output}"
    yield f"  report: {scalar(f'{begin}-report.html')}"
    yield f"  record: {scalar(f'{begin}-run.json')}        # holds the seed: confidential"
    yield f"  public_record: {scalar(f'{begin}-about.json')}  # may be published with the data"


def _with_new_household(found: Description) -> Description:
    """Description in which the variable that is said to name the household is not published as it is."""
    unsure = Unsure(
        "the key of households: it gets new random values, so that members stay together; without `release`, dropped"
    )
    variables = tuple(
        replace(each, role="identifier", release="new", why="it names the household", unsure=(*each.unsure, unsure))
        if each.name == found.household and each.role == "other" else each for each in found.variables
    )  # fmt: skip
    return replace(found, variables=variables)


def _without_unknown_days(found: Description) -> Description:
    """Description in which dates of which nothing says what they are are dropped: days single persons out."""
    unsure = Unsure(
        "days of which nothing says what they are: dropped (or recode them to periods, as `quasi_identifier`)"
    )
    variables = tuple(
        replace(each, role="identifier", why="days single persons out", unsure=(unsure,))
        if each.role is None and each.looks_like == "date" and each.type == "date" else each
        for each in found.variables
    )  # fmt: skip
    return replace(found, variables=variables)


def _with_something_to_mask(found: Description) -> Description:
    """Description in which categories are quasi-identifiers where nothing else would be masked."""
    if any(each.role in ("quasi_identifier", "confidential") for each in found.variables):
        return found
    unsure = Unsure("nothing says what it is; taken for a quasi-identifier, since nothing else would be masked")
    variables = tuple(
        replace(each, role="quasi_identifier", why="nothing else would be masked", unsure=(unsure,))
        if each.role is None else each for each in found.variables
    )  # fmt: skip
    return replace(found, variables=variables)
