"""Lists of a pipeline to start from: variables by role, type and missing code, and what is left to decide."""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from maskwright.data.date_texts import ISO
from maskwright.pipeline.declared_lists import is_name_pattern
from maskwright.release.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from maskwright.data.profiling.column_profile import ColumnProfile

WIDTH = 118
FEWEST_ALIKE = 3
"""Names from which on a pattern stands for them."""
MOST_NAMED = 6
"""Names, or patterns of names, that a decision lists."""

ROLES = ("identifier", "quasi_identifier", "confidential", "weight", "other")


@dataclass(frozen=True)
class PlannedDoubt:
    """A doubt of the plan of the pipeline that is being written.

    `variable`: '' for what is about none. `label`: its id and name. `message`: with the subject, where that is no
    variable.
    """

    variable: str
    kind: str
    label: str
    message: str
    remedy: str

    @property
    def text(self) -> str:
        """What it says, without the variable that it is about."""
        return f"{self.label}: {self.message}"

    @property
    def with_variable(self) -> str:
        """What it says, behind the variable that it is about."""
        return f"{self.variable}: {self.text}" if self.variable else self.text


def with_patterns(chosen: Sequence[str], every: Iterable[str]) -> list[str]:
    """Names, of which those that share a stem that no other variable has are one pattern."""
    stems: dict[str, list[str]] = defaultdict(list)
    for name in every:
        for stem in _stems(name):
            stems[stem].append(name)
    wanted = set(chosen)
    found: dict[str, None] = {}
    covered: set[str] = set()
    for name in chosen:
        if name in covered:
            continue
        full = [
            stem for stem in _stems(name)
            if len(stems[stem]) >= FEWEST_ALIKE and all(_has_stem(other, stem) <= (other in wanted) for other in every)
        ]  # fmt: skip
        if not full:
            found[name] = None
            continue
        covered.update(other for other in wanted if _has_stem(other, full[0]))
        found[f"{full[0]}*"] = None
    return list(found)


def _stems(name: str) -> tuple[str, ...]:
    """Beginnings that a name may share with others: what is before the first '_', and before its number."""
    if is_name_pattern(name):
        return ()
    numbered = re.fullmatch(r"(.*?\D)\d+\D?", name)
    before, sign, _ = name.partition("_")
    return tuple(dict.fromkeys([*([before + sign] if before and sign else []), *([numbered[1]] if numbered else [])]))


def _has_stem(name: str, stem: str) -> bool:
    return name.startswith(stem)


def declared_lists(variables: Sequence[ColumnProfile]) -> Iterator[str]:
    """Lines of ``roles``, ``types``, ``missing`` and ``variables``: what is to be declared of these."""
    every = [each.name for each in variables]
    roles = {role: [each.name for each in variables if each.role == role] for role in ROLES}
    yield from _listed("roles", roles, every)
    stated = {each.name: type_of(each) for each in variables}
    own = {each.name: details for each in variables if (details := _details(each))}
    types: dict[str, list[str]] = defaultdict(list)
    for name, kind in stated.items():
        if kind is not None and name not in own:
            types[kind].append(name)
    yield from _listed("types", types, every)
    codes: dict[str, list[str]] = defaultdict(list)
    for each in variables:
        for code in each.missing_codes:
            codes[code].append(each.name)
    yield from _listed("missing", codes, every, always_lists=True)
    if own:
        yield "  variables:"
        yield from (f"    {scalar(name)}: {flow(details)}" for name, details in own.items())


def type_of(profile: ColumnProfile) -> str | None:
    """Type to declare; None where it follows from the cells."""
    if profile.looks_like == "code" and profile.type == "nominal":
        return "nominal"
    return None if profile.date_format is None else "date"


def _details(profile: ColumnProfile) -> dict[str, Any]:
    """What has no list."""
    stated: dict[str, Any] = {}
    if profile.date_format is not None and profile.date_format != ISO:
        stated |= {"type": "date", "format": profile.date_format}
    if profile.release is not None:
        stated["release"] = profile.release
        stated["role"] = profile.role
    return stated


def _listed(
    key: str, lists: Mapping[str, Sequence[str]], every: Sequence[str], *, always_lists: bool = False
) -> Iterator[str]:
    filled = {value: with_patterns(names, every) for value, names in lists.items() if names}
    if filled:
        yield f"  {key}:"
    for value, names in filled.items():
        alone = len(names) == 1 and not always_lists
        text = scalar(names[0]) if alone else flow(names)
        yield from folded(f"    {scalar(value)}: ", text)


def folded(lead: str, text: str) -> Iterator[str]:
    """A flow list over as many lines as it needs: it goes on after commas, which quoted names may hold."""
    parts = re.findall(r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,])+,? ?""", text)
    lines, line = [], lead
    for part in parts:
        if len(line) + len(part.rstrip()) > WIDTH and line.strip() and line != lead:
            lines.append(line.rstrip())
            line = " " * 6
        line += part
    yield from (*lines, line.rstrip())


def named(names: Sequence[str], every: Sequence[str]) -> str:
    """Variables of a decision, with patterns, and how many they are."""
    shown = with_patterns(names, every)
    more = f" and {len(shown) - MOST_NAMED} more" if len(shown) > MOST_NAMED else ""
    counted = f" ({plural(len(names), 'variable')})" if len(names) > 1 else ""
    return f"{', '.join(shown[:MOST_NAMED])}{more}{counted}"


UNDECIDED = (
    "`undeclared: other` in the data section publishes them as they are; those that others know are "
    "`quasi_identifier`, and belong into the last step"
)
NO_WORD = "no step masks them, and nothing says what they are"


def decisions(
    variables: Sequence[ColumnProfile], doubts: Sequence[PlannedDoubt], general: Sequence[str]
) -> Iterator[str]:
    """What a person decides: first what stops the run, each kind of doubt once; then what was guessed."""
    every = [each.name for each in variables]
    stops: dict[tuple[str, str], list[str]] = defaultdict(list)
    for doubt in doubts:
        is_undeclared = doubt.kind == "published-undeclared"
        head = doubt.label if is_undeclared else doubt.text
        stops[head, UNDECIDED if is_undeclared else doubt.remedy].append(doubt.variable)
    if stops:
        many = "1 decision is" if len(stops) == 1 else f"{len(stops)} decisions are"
        yield f"# {many} to be made before it runs:"
    for (head, remedy), names in stops.items():
        subject = named(list(dict.fromkeys(names)), every) if names != [""] else "the file"
        why = ""
        if remedy == UNDECIDED:
            why = "no step masks it, and nothing says what it is. " if len(names) == 1 else f"{NO_WORD}. "
        yield from comment(f"{subject}: {head}. {why}{remedy}", "#   ")
    guessed: dict[str, list[tuple[str, str]]] = defaultdict(list)
    open_ones = {doubt.variable for doubt in doubts if doubt.kind == "published-undeclared"}
    for each in variables:
        for unsure in each.unsure:
            if each.role is not None or each.name not in open_ones or not unsure.asks_role:
                guessed[unsure.of_several].append((each.name, unsure.text))
    if guessed or general:
        yield "# Guessed; right what is wrong:"
    yield from (line for text in general for line in comment(text, "#   "))
    for template, several in guessed.items():
        text = several[0][1] if len(several) == 1 else template
        yield from comment(f"{named([name for name, _ in several], every)}: {text}", "#   ")


def comment(text: str, lead: str) -> Iterator[str]:
    """Lines of a comment."""
    flat = " ".join(text.split())
    yield from textwrap.wrap(
        flat, WIDTH, initial_indent=lead, subsequent_indent=f"{lead}  ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def flow(value: object) -> str:
    """YAML between braces or brackets, on one line."""
    text: str = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**6)
    return text.strip()


def scalar(value: object) -> str:
    """YAML of one value, as it may stand between others."""
    return flow([value])[1:-1]
