"""The text of a pipeline to start from: what was found in a file, with comments on what is uncertain."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import yaml

from maskwright.data.date_texts import ISO
from maskwright.edits.edit_set import EditSet
from maskwright.edits.suggestions.model import flow_text
from maskwright.foundation.files import split_name
from maskwright.release.wording import count, plural

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from maskwright.commands.describe_data import Description
    from maskwright.data.profiling.column_profile import ColumnProfile
    from maskwright.edits.suggestions.model import Suggestion


WIDTH = 118
BANDS = 5
"""Bands of a quasi-identifier that has more numbers: what few have is not emptied, which would move its mean."""


@dataclass(frozen=True)
class PlannedDoubt:
    """A doubt of the plan of the pipeline that is being written.

    `variable`: '' for what is about none. `text`: its id, name and message.
    """

    variable: str
    kind: str
    text: str
    remedy: str

    @property
    def with_variable(self) -> str:
        """What it says, behind the variable that it is about."""
        return f"{self.variable}: {self.text}" if self.variable else self.text


@dataclass(frozen=True)
class LinkedFiles:
    """Two files of a pipeline that is being written: one of groups, and one of their members.

    `levels`: as ``data: levels:`` has them, the upper first. `seen`: names of the files and numbers of their records.
    `violation`: what the data break on arrival, where no step can mend it. `drops`: whether groups that break an edit
    on arrival are left out; otherwise a comment says how.
    """

    levels: Mapping[str, Mapping[str, object]]
    seen: str = ""
    violation: str = ""
    drops: bool = False

    @property
    def output(self) -> str:
        """Names of the masked files."""
        named = {level: PurePosixPath(str(each["source"])).name for level, each in self.levels.items()}
        return _flow({level: "-masked".join(split_name(name)) for level, name in named.items()})


DECLARE = (
    "Add `role: other` to its braces to publish it as it is; `role: identifier` drops it; `role: quasi_identifier`, "
    "with its name in a step, protects it."
)

CERTAIN = ("equality", "product")
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
    found = _with_new_household(_with_something_to_mask(found))
    top = [
        *_comments(
            "A pipeline to start from, made by looking at",
            [
                f"{PurePosixPath(source).name}; {plural(found.records, 'record')} of {len(found.variables)} variables"
                if linked is None
                else f"{linked.seen}; {len(found.variables)} variables"
            ],
            "",
        ),
        "# What it says is guessed: read it through, decide what is marked 'unsure', then: maskwright plan",
        "# It holds no value of a record, but names, counts and missing codes.",
        *_comments("this plan fails", [problem] if problem else [], ""),
    ]
    below = [
        "maskwright: 1",
        "",
        *_data(found, source, options, doubts, linked, levels),
        *_edits(suggested, {each.name for each in _in_bands(found)}, active=active),
        *_on_violation(linked),
        *_protection(found, zeros),
        *_rest(found, source, linked),
    ]
    lines = top + below
    while (numbered := [*top, *_to_decide(found, doubts, lines), *below]) != lines:
        # The list at the top moves the lines that it numbers.
        lines = numbered
    return "\n".join(lines) + "\n"


def _to_decide(found: Description, doubts: Sequence[PlannedDoubt], lines: Sequence[str]) -> Iterator[str]:
    """What stops the run as the pipeline stands: each doubt with its line, and what to write there."""
    if not doubts:
        return
    many = "1 decision is" if len(doubts) == 1 else f"{len(doubts)} decisions are"
    yield f"# {many} to be made before it runs; until then each of these stops it:"
    written = {each.name: f"    {_scalar(each.name)}: {_flow(_stated(each))}" for each in found.variables}
    numbers = {name: lines.index(own) + 1 for name, own in written.items() if own in lines}
    for each in sorted(doubts, key=lambda doubt: numbers.get(doubt.variable, 0)):
        number = numbers.get(each.variable)
        where = "the file" if number is None else f"line {number}, {each.variable}"
        undeclared = each.kind == "published-undeclared"
        yield from _comments(where, [f"{each.text}. {DECLARE if undeclared else each.remedy}"], "", first="#   ")


def _data(
    found: Description,
    source: str,
    options: Mapping[str, Any],
    doubts: Sequence[PlannedDoubt],
    linked: LinkedFiles | None,
    levels: Sequence[str],
) -> Iterator[str]:
    yield "data:"
    if linked is None:
        yield f"  source: {_scalar(source)}"
    else:
        yield "  levels:  # records of one file belong to those of the other: maskwright explain levels"
        yield from (f"    {level}: {_flow(each)}" for level, each in linked.levels.items())
    for text in found.tried:
        yield from _comments("tried", [text], "  ")
    for name, value in options.items():
        yield f"  {name}: {_scalar(value)}"
    yield from _comments("unsure", found.unsure, "  ")
    if found.household is not None:
        yield f"  cluster: {_scalar(found.household)}  # k counts households"
        yield from _proposed_levels(levels)
    yield "  variables:"
    for each in found.variables:
        yield from _variable(each, [doubt.text for doubt in doubts if doubt.variable == each.name])
    yield ""


def _proposed_levels(levels: Sequence[str]) -> Iterator[str]:
    """What a household has in common as a level of its own: a comment, for it may be the same by chance."""
    if not levels:
        return
    message = (
        "some variables are the same in all records of each household. Where they describe the household, write these "
        "lines in the place of `cluster`, without those that describe its members; they are masked once for each "
        "household then, and rules read both, as in `count(person) == size`: maskwright explain levels"
    )
    yield from _comments("to decide", [message], "  ")
    yield from (f"  # {line}" for line in levels)


def _variable(look: ColumnProfile, doubts: Sequence[str]) -> Iterator[str]:
    facts = [look.looks_like, f"{count(look.cells)} cells with a value, {count(look.distinct)} different"]
    if look.missing:
        facts.append(f"{count(look.missing)} missing")
    if look.decimals:
        facts.append(plural(look.decimals, "decimal"))
    yield from textwrap.wrap(
        f"{'; '.join(facts)}. {look.role or 'No role'}: {look.why}.", WIDTH, initial_indent="    # ",
        subsequent_indent="    #   ",
    )  # fmt: skip
    yield from _comments("unsure", [*look.unsure, *doubts], "    ")
    yield f"    {_scalar(look.name)}: {_flow(_stated(look))}"


def _stated(look: ColumnProfile) -> dict[str, Any]:
    """What is declared of a variable."""
    stated: dict[str, Any] = {}
    if look.looks_like == "code" and look.type == "nominal":
        stated["type"] = "nominal"
    if look.date_format is not None:
        stated |= {"type": "date"} if look.date_format == ISO else {"type": "date", "format": look.date_format}
    if look.role is not None:
        stated["role"] = look.role
    if look.release is not None:
        stated["release"] = look.release
    if look.missing_codes:
        stated["missing"] = [_code(code) for code in look.missing_codes]
    return stated


def _edits(suggested: Sequence[Suggestion], in_bands: set[str], *, active: bool) -> Iterator[str]:
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
        yield "  # suggestions from the data, perhaps coincidences; more: maskwright edits --data FILE --suggest"
    for each in others:
        yield f"  # - {flow_text(each.statement)}  # holds in {count(each.records)} of {count(each.of)} records"
    yield ""


def _on_violation(linked: LinkedFiles | None) -> Iterator[str]:
    """What is done with groups that break an edit on arrival, where some do that no step can mend."""
    if linked is None or not linked.violation:
        return
    top = next(iter(linked.levels))
    yield from _comments("unsure", [linked.violation], "")
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
        yield f"    variables: {_flow(amounts)}"
        held = [name for name in amounts if name in zeros]
        yield "    params: {k: 5}" if not held else f"    params: {{k: 5, structural_zeros: {_flow(held)}}}"
    if many:
        yield "  - method: recoding            # bands instead of numbers that single persons out"
        yield f"    variables: {_flow(many)}"
        yield f"    params: {{bands: {BANDS}}}"
    if keys:
        yield "  - method: local_suppression   # cells are emptied until 3 records share each combination of keys"
        yield f"    variables: {_flow([each.name for each in keys])}"
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
    yield f"measure: {_flow(measures)}"
    yield "# thresholds: {uniqueness: 5}  # nothing is released on the wrong side"
    yield ""
    yield "# waive:                       # doubts that do not stop the release, by name and with a reason"
    yield "#   - {doubt: published-undeclared, variable: NAME, because: why it may be published}"
    yield ""
    yield "output:"
    yield f"  data: {_scalar(masked) if linked is None else linked.output}"
    yield f"  report: {_scalar(f'{begin}-report.html')}"
    yield f"  record: {_scalar(f'{begin}-run.json')}        # holds the seed: confidential"
    yield f"  public_record: {_scalar(f'{begin}-about.json')}  # may be published with the data"


def _with_new_household(found: Description) -> Description:
    """Description in which the variable that is said to name the household is not published as it is."""
    message = (
        "the key of households: it gets new random values, so that members stay together; without `release`, dropped"
    )
    variables = tuple(
        replace(each, role="identifier", release="new", why="it names the household", unsure=(*each.unsure, message))
        if each.name == found.household and each.role == "other" else each for each in found.variables
    )  # fmt: skip
    return replace(found, variables=variables)


def _with_something_to_mask(found: Description) -> Description:
    """Description in which categories are quasi-identifiers where nothing else would be masked."""
    if any(each.role in ("quasi_identifier", "confidential") for each in found.variables):
        return found
    message = "nothing says what it is; taken for a quasi-identifier, since nothing else would be masked"
    variables = tuple(
        replace(each, role="quasi_identifier", why="nothing else would be masked", unsure=(message,))
        if each.role is None else each for each in found.variables
    )  # fmt: skip
    return replace(found, variables=variables)


def _comments(lead: str, texts: Sequence[str], indent: str, first: str = "# ") -> Iterator[str]:
    for text in texts:
        flat = " ".join(text.split())
        yield from textwrap.wrap(
            f"{lead}: {flat}", WIDTH, initial_indent=f"{indent}{first}", subsequent_indent=f"{indent}{first}  ",
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip


def _code(code: str) -> object:
    return int(code) if code.lstrip("-").isdigit() and not code.lstrip("-").startswith("0") else code


def _flow(value: object) -> str:
    text: str = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**6)
    return text.strip()


def _scalar(value: object) -> str:
    return _flow([value])[1:-1]
