"""``roles``, ``types``, ``missing`` and ``undeclared``: what is declared of many variables, by names and patterns."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self, get_args

from pydantic import BaseModel, BeforeValidator, Field, ValidationError, model_validator

from maskwright.data.declaration import VariableDeclaration, codes_with_meanings
from maskwright.data.variable import Role, VariableType
from maskwright.foundation.counts import plural
from maskwright.foundation.errors import Place, Problem
from maskwright.foundation.nearest_names import nearest_name
from maskwright.foundation.yaml_document import Node, from_python, scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

LISTS = ("roles", "types", "missing", "undeclared")
"""Keys of a data section that say something of many variables."""

FACTS = {"roles": "role", "types": "type"}
KNOWN = {"roles": get_args(Role), "types": get_args(VariableType)}
OTHER, UNDECLARED = "other", "undeclared"
MOST_NAMED = 3


Name = Annotated[str, Field(min_length=1)]


def _several(value: Any) -> Any:
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


Names = Annotated[
    tuple[Annotated[str, Field(min_length=1)], ...],
    BeforeValidator(_several, json_schema_input_type=str | list[str]),
]
Numbers = Annotated[
    tuple[Annotated[int, Field(ge=1)], ...], BeforeValidator(_several, json_schema_input_type=int | list[int])
]


class CodeOfVariables(BaseModel, extra="forbid", frozen=True):
    """A missing code that only some variables have."""

    variables: Names = Field(description="Names of variables, or patterns.")
    means: str | None = Field(default=None, description="What the code means, in words.")


def _codes_of_all(value: Any) -> Any:
    """Codes of every variable; those of some are among what is declared of these."""
    if not isinstance(value, dict):
        return codes_with_meanings(value)
    of_all = {}
    for code, meaning in value.items():
        if isinstance(meaning, dict):
            try:
                CodeOfVariables.model_validate(meaning)
            except ValidationError:
                raise ValueError(f"{code}: expected {SOME_CODES}") from None
        elif isinstance(meaning, list):
            if not all(isinstance(each, str) for each in meaning):
                raise ValueError(f"{code}: expected {SOME_CODES}")
        else:
            of_all[code] = meaning
    return codes_with_meanings(of_all)


SOME_CODES = "a text, a list of variables, or {variables: [q1, occ*], means: refused}"
CodesOfAll = Annotated[
    tuple[tuple[str, str], ...],
    BeforeValidator(
        _codes_of_all,
        json_schema_input_type=str
        | float
        | list[str | float]
        | dict[str, str | Annotated[list[str], Field(min_length=1)] | CodeOfVariables | None],
    ),
]


class Declarations(BaseModel, extra="forbid", frozen=True):
    """What is declared of data."""

    variables: dict[Name, VariableDeclaration] = Field(
        default_factory=dict,
        description="Declared facts of variables, by name; whatever is left out is inferred from the file.",
    )
    cluster: Name | None = Field(
        default=None, description="Variable that identifies households: k then counts households."
    )
    roles: dict[Role, Names] = Field(
        default_factory=dict,
        description="Roles of many variables, by names and patterns of names (* any characters, ? one): "
        "{quasi_identifier: [age, sex, occ*], other: [q*]}. A name counts before a pattern, and `variables` before "
        "both; patterns that contradict each other, or that no variable matches, are mistakes.",
    )
    types: dict[VariableType, Names] = Field(
        default_factory=dict,
        description="Types of many variables, as `roles`: {nominal: [region, occ*], integer: age}.",
    )
    undeclared: Literal["other", "stop"] = Field(
        default="stop",
        description="What variables of no declared role are. 'other': all are published as they are, numbers too; the "
        "plan, the report and the record name them. 'stop': numbers are confidential, and text that no step masks "
        "stops the release.",
    )
    missing: CodesOfAll = Field(
        default=(),
        description="Cell texts that mean 'no value' in every variable that declares none of its own: [NA, -9], or "
        "with what each of them means: {-1: does not apply, -2: refused}. Of some variables: {-9: [q*]}, or "
        "{-9: {variables: [q*], means: refused}}.",
    )

    @model_validator(mode="after")
    def _renews_keys_only(self) -> Self:
        for name, each in self.variables.items():
            if each.release == "new" and each.role != "identifier" and name != self.cluster:
                raise ValueError(f"'release: new' is for an identifier or the cluster, and {name!r} is neither")
        return self


class Origin(NamedTuple):
    """Where the role of a variable is declared, and by which words."""

    place: Place
    words: str


@dataclass(frozen=True)
class _Claim:
    """A name or a pattern under a role, a type or a missing code; `meaning`: of the code."""

    fact: str
    value: Node
    listed: Node
    meaning: str = ""

    @property
    def is_pattern(self) -> bool:
        return is_name_pattern(self.listed.raw)

    def matches(self, name: str) -> bool:
        return name == self.listed.raw or bool(_expression(self.listed.raw).fullmatch(name))

    def __str__(self) -> str:
        return f"{self.listed.raw!r} ({self.value.raw})"


def is_name_pattern(text: str) -> bool:
    """Whether a text names variables by ``*`` (any characters) or ``?`` (one)."""
    return "*" in text or "?" in text


@functools.lru_cache(maxsize=4096)
def _expression(pattern: str) -> re.Pattern[str]:
    signs = {"*": ".*", "?": "."}
    return re.compile("".join(signs.get(sign) or re.escape(sign) for sign in pattern), re.DOTALL)


def needs_names(section: Node) -> bool:
    """Whether it depends on the names in the data what the section declares."""
    undeclared = section.get("undeclared")
    claims = (claim for key in ("roles", "types", "missing") for claim in _claims(section, key))
    return (undeclared is not None and undeclared.raw == OTHER) or any(claim.is_pattern for claim in claims)


def names_listed(section: Node) -> Iterator[Node]:
    """Each name, but no pattern, under a role, a type or a missing code."""
    for key in ("roles", "types", "missing"):
        yield from (claim.listed for claim in _claims(section, key) if not claim.is_pattern)


def with_lists(
    section: Node,
    names: Collection[str] | None,
    problems: list[Problem],
    described: Collection[str] = (),
    *,
    may_match_nothing: bool = False,
) -> Node:
    """Section whose ``variables`` say of each variable what the lists say of it.

    What ``variables`` says of one counts before a list, and a name in a list before a pattern. `names`: of the
    variables of the data; None: not known, and patterns mean nothing. `described`: those whose role a codebook says.
    """
    variables = section.get("variables") or Node("mapping", section.place)
    if not variables.is_mapping and variables.value is not None:
        return section
    found = _Variables(variables)
    for key in ("roles", "types"):
        claims = list(_claims(section, key))
        for name, claim in _counting(key, claims, names, problems, found.states):
            found.add(name, claim)
        if names is not None and not may_match_nothing:
            problems.extend(_without_match(key, claims, names))
    codes = list(_claims(section, "missing"))
    _add_codes(section, codes, names, found)
    if names is not None and not may_match_nothing:
        problems.extend(_without_match("missing", codes, names))
    if names is not None:
        _add_undeclared(section, names, described, found)
    return section.with_entry("variables", found.node()) if found.changed else section


def _add_codes(section: Node, codes: Sequence[_Claim], names: Collection[str] | None, found: _Variables) -> None:
    everywhere = [(key, scalar(_meaning(value), key.place)) for key, value in _codes(section) if not _names_of(value)]
    stating = {name for name in found.values if found.states(name, "missing")}
    for claim in codes:
        for name in _named(claim, names):
            if name not in stating:
                found.add_code(name, claim, everywhere)


def _add_undeclared(section: Node, names: Collection[str], described: Collection[str], found: _Variables) -> None:
    undeclared, cluster = section.get("undeclared"), section.get("cluster")
    if undeclared is None or undeclared.raw != OTHER:
        return
    known = {*described, *(() if cluster is None else (cluster.raw,))}
    for name in names:
        if name not in known and not found.states(name, "role"):
            found.state(name, "role", scalar(OTHER, undeclared.place), undeclared.place)


def origins_of_roles(section: Node, expanded: Node) -> dict[str, Origin]:
    """Where the role of each variable is declared, of a section and what `with_lists` made of it."""
    own = section.get("variables")
    listed = {claim.listed.place: claim for claim in _claims(section, "roles")}
    found = {}
    variables = expanded.get("variables")
    for name, declared in () if variables is None else variables.entries:
        role = declared.get("role")
        if role is None:
            continue
        stated = None if own is None else own.at((name.raw, "role"))
        claim = listed.get(role.place)
        words = "variables" if stated is not None else UNDECLARED if claim is None else f"roles: {claim.listed.raw}"
        found[name.raw] = Origin(role.place, words)
    return found


class _Variables:
    """Entries of ``variables:`` that are added to."""

    def __init__(self, variables: Node) -> None:
        self.place = variables.place
        self.keys = {key.raw: key for key, _ in variables.entries}
        self.values = {key.raw: value for key, value in variables.entries}
        self.changed = False

    def states(self, name: str, fact: str) -> bool:
        return name in self.values and fact in self.values[name]

    def state(self, name: str, fact: str, value: Node, place: Place) -> None:
        before = self.values.get(name)
        if before is not None and not before.is_mapping and before.value is not None:
            return
        key = self.keys.setdefault(name, from_python(name, place))
        whole = before if before is not None else Node("mapping", key.place)
        self.values[name] = whole.with_entry(fact, value)
        self.changed = True

    def add(self, name: str, claim: _Claim) -> None:
        if not self.states(name, claim.fact):
            self.state(name, claim.fact, scalar(claim.value.raw, claim.listed.place), claim.listed.place)

    def add_code(self, name: str, claim: _Claim, everywhere: Sequence[tuple[Node, Node]]) -> None:
        stated = self.values[name].get("missing") if self.states(name, "missing") else None
        codes = stated or Node("mapping", claim.listed.place, entries=tuple(everywhere))
        meaning = scalar(claim.meaning, claim.value.place)
        self.state(name, "missing", codes.with_entry(claim.value.raw, meaning), claim.listed.place)

    def node(self) -> Node:
        return Node("mapping", self.place, entries=tuple((self.keys[name], each) for name, each in self.values.items()))


def _claims(section: Node, key: str) -> Iterator[_Claim]:
    if key == "missing":
        for code, value in _codes(section):
            yield from (_Claim("missing", code, listed, _meaning(value)) for listed in _names_of(value))
        return
    node = section.get(key)
    for value, several in () if node is None else node.entries:
        if value.raw in KNOWN[key]:
            yield from (_Claim(FACTS[key], value, listed) for listed in _texts(several))


def _codes(section: Node) -> tuple[tuple[Node, Node], ...]:
    """Codes of the section's ``missing``, each with its meaning or variables."""
    node = section.get("missing")
    if node is None or node.is_mapping:
        return () if node is None else node.entries
    empty = Node("scalar", node.place)
    return tuple((each, empty) for each in (node.elements if node.is_sequence else (node,)) if each.is_scalar)


def _names_of(value: Node) -> tuple[Node, ...]:
    """Names of the variables that have a code: a list, or what stands under ``variables``; none: all have it."""
    several = value.get("variables") if value.is_mapping else value if value.is_sequence else None
    return () if several is None else _texts(several)


def _meaning(value: Node) -> str:
    stated = value.get("means") if value.is_mapping else value
    return "" if stated is None or not stated.is_scalar or stated.value is None else stated.raw


def _texts(node: Node) -> tuple[Node, ...]:
    if node.is_sequence:
        return tuple(each for each in node.elements if each.is_scalar)
    return (node,) if node.is_scalar and node.value is not None else ()


def _named(claim: _Claim, names: Collection[str] | None) -> Iterable[str]:
    """Variables that a name or a pattern means; a name that no variable has is reported where names are used."""
    if names is None:
        return () if claim.is_pattern else (claim.listed.raw,)
    if claim.listed.raw in names or not claim.is_pattern:
        return (claim.listed.raw,)
    return [name for name in names if claim.matches(name)]


def _counting(
    key: str,
    claims: Sequence[_Claim],
    names: Collection[str] | None,
    problems: list[Problem],
    is_stated: Callable[[str, str], bool],
) -> list[tuple[str, _Claim]]:
    """What counts of each variable; two words of one rank that contradict each other are a problem."""
    found: dict[str, _Claim] = {}
    contradicted: dict[tuple[int, int], list[str]] = {}
    for position, claim in enumerate(claims):
        for name in _named(claim, names):
            before = found.get(name)
            if before is None or _is_exact(claim, name) > _is_exact(before, name):
                found[name] = claim
            elif (
                _is_exact(claim, name) == _is_exact(before, name)
                and before.value.raw != claim.value.raw
                and not is_stated(name, claim.fact)
            ):
                contradicted.setdefault((claims.index(before), position), []).append(name)
    settled = {name for name, claim in found.items() if _is_exact(claim, name)}
    for (first, second), several in contradicted.items():
        left = [name for name in several if name not in settled or _is_exact(claims[second], name)]
        if left:
            problems.append(_contradiction(key, claims[first], claims[second], left))
    return list(found.items())


def _is_exact(claim: _Claim, name: str) -> bool:
    return claim.listed.raw == name


def _contradiction(key: str, one: _Claim, other: _Claim, names: Sequence[str]) -> Problem:
    shown = ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
    where = f" in line {one.listed.place.line}" if one.listed.place.line is not None else ""
    message = f"{key}: {other} contradicts {one}{where}: both mean {shown}"
    hint = f"Narrow one of them, or say it of the variable itself: variables: {{{names[0]}: {{{other.fact}: ...}}}}."
    return Problem(message, other.listed.place, hint)


def _without_match(key: str, claims: Iterable[_Claim], names: Collection[str]) -> Iterator[Problem]:
    for claim in claims:
        if claim.is_pattern and not any(claim.matches(name) for name in names):
            near = nearest_name(claim.listed.raw.replace("*", "").replace("?", ""), names)
            meant = f"; did you mean {near!r}?" if near is not None else f", of {plural(len(names), 'variable')}"
            yield Problem(f"{key}: no variable has a name like {claim.listed.raw!r}{meant}", claim.listed.place)


def without_lists(
    declared: Mapping[str, object], names: Collection[str]
) -> tuple[dict[str, object], dict[str, object]]:
    """Declarations of a call, apart: those of single variables, and lists, unless a variable is called like these."""
    lists = {key: value for key, value in declared.items() if key in LISTS and key not in names}
    return {key: value for key, value in declared.items() if key not in lists}, lists
