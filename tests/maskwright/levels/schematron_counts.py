"""What an independent Schematron processor, lxml.isoschematron, says of nested XML: failed asserts of each pattern."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lxml import etree
from lxml.isoschematron import Schematron

if TYPE_CHECKING:
    from pathlib import Path


def schematron_counts(schema: Path, data: Path, phase: str | None = None) -> dict[str, tuple[int, int]]:
    """Count failed asserts and fired rules of each pattern.

    Parameters
    ----------
    schema, data : Path
        A Schematron schema, a pattern for each edit, and a document.
    phase : str, optional
        Phase of the schema; left out, every pattern.

    Returns
    -------
    dict of str to tuple of int, int
        Failed asserts and fired rules, by the pattern's id.
    """
    processor = Schematron(etree.parse(schema), store_report=True, phase=phase)
    processor.validate(etree.parse(data))
    failed, fired = Counter[str](), Counter[str]()
    pattern = ""
    for element in processor.validation_report.getroot().iterchildren(etree.Element):
        name = etree.QName(element).localname
        if name == "active-pattern":
            pattern = element.get("id")
            failed[pattern] += 0
        elif name == "fired-rule":
            fired[pattern] += 1
        elif name == "failed-assert":
            failed[pattern] += 1
    return {name: (failed[name], fired[name]) for name in failed}
