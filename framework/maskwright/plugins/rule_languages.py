"""The rule languages that Maskwright brings along, offered by the same hook as those of other packages."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from maskwright.edits.languages.r_validate.options import ValidateOptions
from maskwright.edits.languages.schematron.options import SchematronOptions
from maskwright.plugins.hooks import hookimpl
from maskwright.plugins.rules import RuleLanguage, RulesFor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from maskwright.data.levels.linked_data import LevelDeclaration
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.languages.conversion.convert import Target
    from maskwright.edits.languages.conversion.converted import Converted

CONTRACT = 2


@hookimpl
def register_rule_languages() -> Sequence[RuleLanguage]:
    """Offer the built-in rule languages."""
    return (
        RuleLanguage(
            name="schematron",
            read=_read_schematron,
            write=partial(_written, "schematron"),
            suffixes=(".sch",),
            written_suffixes=(".sch",),
            params=SchematronOptions,
            read_leveled=_read_schematron_of_levels,
            summary="ISO Schematron: each assert or report is an edit; each edit is written as an assert in XPath 1.0.",
        ),
        RuleLanguage(
            name="yaml",
            read=_read_edits_yaml,
            write=partial(_written, "yaml"),
            suffixes=(".yaml", ".yml"),
            written_suffixes=(".yaml", ".yml"),
            params=ValidateOptions,
            summary="Rules as text, one to a line of a YAML list.",
        ),
        RuleLanguage(
            name="validate",
            read=_read_validate,
            write=partial(_written, "validate"),
            params=ValidateOptions,
            summary="Rules of the R package validate, in YAML or as R text; written in YAML.",
        ),
        RuleLanguage(
            name="banff",
            read=_read_banff,
            suffixes=(".banff",),
            summary="Linear edits as Banff has them: x1 + x2 = x3; or a table.",
        ),
    )


# A language is imported when a file of it is read: whoever lists plugins reads none.


def _read_schematron(path: Path, options: SchematronOptions | None = None) -> EditSet:
    from maskwright.edits.languages.schematron.reader import read_schematron

    return read_schematron(path, options)


def _read_schematron_of_levels(
    path: Path, options: SchematronOptions | None, levels: Mapping[str, LevelDeclaration]
) -> EditSet:
    from maskwright.edits.languages.schematron.reader import read_schematron

    return read_schematron(path, options, levels=levels)


def _read_edits_yaml(path: Path, options: ValidateOptions | None = None) -> EditSet:
    from maskwright.edits.languages.yaml.files import read_edits_yaml

    return read_edits_yaml(path, options)


def _read_validate(path: Path, options: ValidateOptions | None = None) -> EditSet:
    from maskwright.edits.languages.r_validate.reader import read_validate

    return read_validate(path, options)


def _read_banff(path: Path) -> EditSet:
    from maskwright.edits.languages.banff import read_banff

    return read_banff(path)


def _written(target: Target, edits: EditSet, about: RulesFor) -> Converted:
    from maskwright.edits.languages.conversion.convert import convert_edits

    return convert_edits(
        edits, target, record=about.record, decimals=about.decimals, dates=about.dates, empty=about.empty,
        elements=about.elements, namespaces=about.namespaces,
    )  # fmt: skip
