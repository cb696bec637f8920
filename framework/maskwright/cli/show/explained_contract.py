"""The contract of plugins as a page: what every record holds, and the legal values, from the types and docstrings."""

from __future__ import annotations

import inspect
import re
import textwrap
from dataclasses import MISSING, Field, fields
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from maskwright.data.dataset import Column, Dataset, Layout, WrittenBatch
from maskwright.data.missing import MissingCells
from maskwright.data.variable import Band, Variable
from maskwright.edits.edit import Edit, GoverningPart, LinearPart, PolynomialPart, ProductPart, RangePart
from maskwright.edits.edit_set import EditSet
from maskwright.edits.languages.conversion.converted import Converted
from maskwright.foundation.errors import Place, Problem
from maskwright.plugins.attack import Attack, Inference, Published
from maskwright.plugins.block import Block, Gathering, Moments
from maskwright.plugins.claims import Claims
from maskwright.plugins.contract import CONTRACT
from maskwright.plugins.cost import Cost
from maskwright.plugins.engine import Engine, EngineTerms, Receipt, Stage
from maskwright.plugins.hooks import Deferred
from maskwright.plugins.legal_values import MEANINGS, legal_values
from maskwright.plugins.measure import Comparison, Measurable, Measure, MeasureClaims, MeasurePart
from maskwright.plugins.measurement import Further, Measurement, MeasureTable, Merging, PartOfFile
from maskwright.plugins.method import Limit, Masked, Method, Removed
from maskwright.plugins.parameter_markers import (
    CompanionVariables,
    DependentVariables,
    IndependentVariables,
    KeyVariables,
    NamesFile,
    NamesPartition,
    NamesVariables,
    PromisesK,
    PublishedIf,
    UsesWeights,
)
from maskwright.plugins.partition import Partition
from maskwright.plugins.report import Report
from maskwright.plugins.rules import RuleLanguage, RulesFor
from maskwright.plugins.source import Format, FormatFacts, NestedFormat, Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

OFFERED = (
    Method, Claims, Partition, Measure, MeasureClaims, Attack, Source, Format, NestedFormat, RuleLanguage, Report,
    Engine, Deferred,
)  # fmt: skip
"""What a hook offers, all by keyword."""

HANDED = (Block, Gathering, Moments, Masked, Removed, Limit, Comparison,
          Measurable, Published, Inference, Measurement, MeasurePart, MeasureTable, Merging, Further, PartOfFile,
          FormatFacts, RulesFor, Converted, EngineTerms, Stage, Receipt)  # fmt: skip
"""What functions of plugins get, and what they give."""

INSIDE = (Cost, Dataset, Column, Variable, Band, MissingCells, Layout, WrittenBatch, EditSet, Edit,
          LinearPart, ProductPart, PolynomialPart, RangePart, GoverningPart, Problem, Place)  # fmt: skip
"""What these hold, and what errors are made of."""

MARKERS = (PromisesK, KeyVariables, DependentVariables, IndependentVariables, CompanionVariables, UsesWeights,
           NamesPartition, NamesVariables, NamesFile, PublishedIf)  # fmt: skip
"""What a parameter means to the planner."""

MADE_FROM = (
    "Made from the types and docstrings of the records; `maskwright explain contract` shows the same. How a plugin is "
    "written, with examples, is in [a first plugin](first-plugin.md) and [plugins of all kinds](plugins.md)."
)
WIDTH = 118
_ENTRY = re.compile(r"(?P<names>\w+(?:, \w+)*)(?: : (?P<type>.*))?")
_SECTION = re.compile(r"Attributes\n-+\n(?P<text>.*?)(?=\n\n[A-Z]\w+\n-+\n|\Z)", re.DOTALL)


def contract_page() -> str:
    """Text of ``maskwright explain contract``."""
    lines = [f"The contract of plugins: {CONTRACT}", "", _policy()]
    for kind, meanings in MEANINGS.items():
        lines += ["", f"Legal values: {kind}", *(f"  {value:12} {message}" for value, message in meanings.items())]
    lines += ["", "Markers of parameters: `Annotated[int, PromisesK()]`"]
    for marker in MARKERS:
        lines += [f"  {marker.__name__}", *_wrapped(_summary(marker), "      ")]
    for title, records in _parts():
        for record in records:
            lines += ["", f"{title}: {record.__name__}", *_wrapped(_summary(record), "  ")]
            for field, message in _described(record):
                lines += [f"  {field.name} ({message.form}; {_default(field)})", *_wrapped(message.text, "      ")]
                legal = _values(field)
                lines += _wrapped(f"Legal: {', '.join(legal)}.", "      ") if legal else []
            for call, form, text in _callables(record):
                lines += [f"  {call} ({form})", *_wrapped(text, "      ")]
    return "\n".join(lines)


def contract_table() -> str:
    """Text of ``docs/plugin-authors/contract.md``."""
    lines = [f"# The contract of plugins: {CONTRACT}", ""]
    lines += [MADE_FROM, "", *_policy_in_markdown(), "", "## Legal values", ""]
    lines += ["| type | values |", "|---|---|"]
    for kind, meanings in MEANINGS.items():
        lines.append(_line((kind, "; ".join(f"`{value}`: {meaning}" for value, meaning in meanings.items()))))
    lines += ["", "## Markers of parameters", "", "| marker | |", "|---|---|"]
    lines += [_line((f"`{each.__name__}`", _in_markdown(_summary(each)))) for each in MARKERS]
    lines.append("")
    for record in OFFERED:
        lines += [
            f"## {record.__name__}",
            "",
            _summary(record),
            "",
            "| field | type | left out | |",
            "|---|---|---|---|",
        ]
        for field, said in _described(record):
            values = _values(field)
            legal = f" **Legal:** {', '.join(f'`{each}`' for each in values)}." if values else ""
            lines.append(_line((f"`{field.name}`", said.form, _default(field), _in_markdown(said.text) + legal)))
        lines.append("")
    lines += ["## What functions get and give", "", "| record | what it is | its fields |", "|---|---|---|"]
    for structure in (*HANDED, *INSIDE):
        names = ", ".join(f"`{each.name}`" for each in fields(structure))
        lines.append(_line((f"`{structure.__name__}`", _in_markdown(_summary(structure)), names)))
    return "\n".join([*lines, ""])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _callables(record: type[Any]) -> Iterator[tuple[str, str, str]]:
    """What a record that functions get can be asked: how, as what, and what it answers."""
    if record in OFFERED:
        return
    for name, member in vars(record).items():
        function = getattr(member, "fget", None) or getattr(member, "func", None) or getattr(member, "__func__", member)
        stated = _first_sentence(function)
        if name.startswith("_") or not stated or not inspect.isroutine(function):
            continue
        if function is not member and not isinstance(member, (staticmethod, classmethod)):
            yield name, "property", stated
        else:
            given = [each for each in inspect.signature(function).parameters if each not in ("self", "cls")]
            yield f"{name}({', '.join(given)})", "method", stated


def _first_sentence(function: object) -> str:
    return " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())


class _FieldText:
    """What a docstring says of a field: its type, and what it is."""

    def __init__(self, form: str, text: str) -> None:
        self.form = form
        self.text = text


def _parts() -> tuple[tuple[str, tuple[type[Any], ...]], ...]:
    return ("What a hook offers", OFFERED), ("What functions get and give", HANDED), ("What is inside of these", INSIDE)


def _described(record: type[Any]) -> Iterator[tuple[Field[Any], _FieldText]]:
    """Fields that an author can give or read, with what is said of them."""
    stated = attribute_descriptions(record)
    for field in fields(record):
        yield field, stated[field.name]


def attribute_descriptions(record: type[Any]) -> Mapping[str, _FieldText]:
    """What the docstrings of a record, and of what it is derived from, say of its attributes."""
    found: dict[str, _FieldText] = {}
    for each in reversed(record.__mro__):
        section = _SECTION.search(inspect.cleandoc(each.__doc__ or ""))
        for names, form, text in _entries(section["text"]) if section is not None else ():
            found |= dict.fromkeys(names, _FieldText(form, text))
    return found


def _entries(section: str) -> Iterator[tuple[list[str], str, str]]:
    """Names, type and text of each entry; entries without a text of their own have that of the next one that has."""
    for entry in re.split(r"\n(?=\S)", section):
        head, _, body = entry.partition("\n")
        parts = _ENTRY.fullmatch(head.strip())
        assert parts is not None, head
        yield parts["names"].split(", "), parts["type"] or "", " ".join(body.split())


def _summary(record: type[Any]) -> str:
    return " ".join((inspect.getdoc(record) or "").partition("\n\n")[0].split())


def _default(field: Field[Any]) -> str:
    if field.default is not MISSING:
        shown = field.default
        if isinstance(shown, frozenset):
            return ", ".join(sorted(shown)) or "none"
        return str(getattr(shown, "__name__", repr(shown) if shown != "" else "empty"))
    return "required" if field.default_factory is MISSING else "empty"


def _values(field: Field[Any]) -> tuple[str, ...]:
    known = legal_values(str(field.type))
    return () if known is None else known[0]


def _policy() -> str:
    return files("maskwright.plugins").joinpath("contract.txt").read_text(encoding="utf-8").rstrip()


def _policy_in_markdown() -> Iterator[str]:
    """The same, with headings: lines of text that stand alone before indented ones."""
    for number, paragraph in enumerate(_policy().split("\n\n")):
        head, _, body = paragraph.partition("\n  ")
        yield from [""] if number else []
        if paragraph.startswith("    "):
            yield from ("```python", paragraph.strip(), "```")
        elif body:
            yield from (f"## {head}", "", " ".join(body.split()))
        else:
            yield " ".join(paragraph.split())


def _in_markdown(text: str) -> str:
    return text.replace("``", "`")


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent) if text else []
