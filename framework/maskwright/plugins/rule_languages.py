"""The rule languages that come with Maskwright: what is written in them. They are imported when one is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.plugins.rule_writer import RulesFor, RuleWriter

if TYPE_CHECKING:
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.languages.conversion.convert import Target
    from maskwright.edits.languages.conversion.converted import Converted


def rule_writers() -> tuple[RuleWriter, ...]:
    """Return the rule writers that come with Maskwright."""
    return (
        RuleWriter(
            name="schematron", write=_write_schematron, suffixes=(".sch",),
            summary="ISO Schematron: a pattern with one assert for each edit, in XPath 1.0.",
        ),
        RuleWriter(
            name="yaml", write=_write_yaml, suffixes=(".yaml", ".yml"), summary="Rules as text, in a YAML list."
        ),
        RuleWriter(name="validate", write=_write_validate, summary="Rules of the R package validate, in YAML."),
    )  # fmt: skip


def _write_schematron(edits: EditSet, about: RulesFor) -> Converted:
    return _written(edits, "schematron", about)


def _write_yaml(edits: EditSet, about: RulesFor) -> Converted:
    return _written(edits, "yaml", about)


def _write_validate(edits: EditSet, about: RulesFor) -> Converted:
    return _written(edits, "validate", about)


def _written(edits: EditSet, target: Target, about: RulesFor) -> Converted:
    from maskwright.edits.languages.conversion.convert import convert_edits  # heavy: most runs write no rules

    return convert_edits(
        edits, target, record=about.record, decimals=about.decimals, dates=about.dates, empty=about.empty
    )
