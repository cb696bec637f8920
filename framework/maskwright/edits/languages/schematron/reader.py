"""Schematron rule files: asserts and reports on records, read as edits.

Both namespaces are read: ISO/IEC 19757-3 (``http://purl.oclc.org/dsdl/schematron``) and Schematron 1.5
(``http://www.ascc.net/xml/schematron``). What would change the meaning of a rule and is not understood stops the
reading, by name and place; what is for people only is left out with a note.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.edits.edit_set import EditSet
from maskwright.edits.languages.schematron.binding import LATER_BINDINGS, XPATH_1_BINDINGS
from maskwright.edits.languages.schematron.document import Element, read_document
from maskwright.edits.languages.schematron.expansion import expand
from maskwright.edits.languages.schematron.lets import lets_of
from maskwright.edits.languages.schematron.leveled_patterns import LeveledPatternReader
from maskwright.edits.languages.schematron.options import SchematronOptions
from maskwright.edits.languages.schematron.patterns import PatternReader
from maskwright.edits.languages.schematron.state import Reading
from maskwright.edits.languages.xpath.nested_levels import NestedLevels
from maskwright.foundation.errors import EditError, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.data.levels.declaration import LevelDeclaration

ISO_NAMESPACE = "http://purl.oclc.org/dsdl/schematron"
ASCC_NAMESPACE = "http://www.ascc.net/xml/schematron"


def read_schematron(
    path: str | Path,
    options: SchematronOptions | None = None,
    *,
    for_engine: bool = False,
    levels: Mapping[str, LevelDeclaration] | None = None,
) -> EditSet:
    """Read a Schematron file.

    `path`: a schema in the ISO or the 1.5 namespace, without a DOCTYPE. `options`: the phase, the folder for included
    files, and limits. `for_engine`: whether an engine gets every test, understood or not: for files that are no flat
    records. `levels`: of data whose records are inside each other: tests are then read as rules of the language of
    levels. Returns one edit for every assert and report, in file order. A report holds where its test is false. `notes`
    say what was left out.

    Names: the assert's ``id``, else its pattern's id (or name) with ``.2``, ``.3`` for the next ones without an id,
    else ``edit-N`` with N the position in the file. ``role`` (then ``flag``, then ``severity``) ``warning`` or
    ``info`` makes an edit a warning. Within a pattern only the first rule that matches a record fires
    (ISO/IEC 19757-3, section 6.5), so later rules with the same context are `shadowed`.

    A test outside the understood subset, or one that XPath 1.0 and the file's later ``queryBinding`` may answer
    differently, is given to an engine: lxml for XSLT 1, Saxon for the others (the extra ``maskwright[xpath3]``).
    What neither can check is an error.
    """
    path = Path(path)
    chosen = options or SchematronOptions()
    schema = read_document(path, chosen)
    reading = Reading(path, chosen, for_engine=for_engine)
    _check_root(reading, schema)
    schema, notes = expand(schema, chosen)
    reading.notes += notes
    _read_references(reading, schema)
    scope = lets_of(reading, schema, {}, in_rule=False)
    asserts = [child for pattern in schema for rule in pattern for child in rule if child.name in ("assert", "report")]
    reading.names.update(child.attributes["id"] for child in asserts if "id" in child.attributes)
    patterns = [child for child in reading.children(schema) if child.name == "pattern"]
    for number, pattern in enumerate(patterns, start=1):
        if levels is None:
            PatternReader(reading, pattern, number, scope).read()
        else:
            LeveledPatternReader(reading, pattern, number, scope, NestedLevels.of(levels)).read()
    reading.compile()
    if not reading.edits and not reading.problems:
        reading.refuse(schema, "the schema holds no assert and no report")
    if reading.problems:
        raise EditError(reading.problems)
    if reading.left_out:
        left_out = ", ".join(f"{name} (line {line})" for name, line in reading.left_out.items())
        reading.notes.append(f"{path}: not used: {left_out}")
    return EditSet(tuple(reading.edits), tuple(reading.notes))


def _check_root(reading: Reading, schema: Element) -> None:
    if schema.name != "schema" or schema.namespace not in (ISO_NAMESPACE, ASCC_NAMESPACE):
        found = f"<{schema.name}>" + (
            f" in the namespace {schema.namespace}" if schema.namespace else " in no namespace"
        )
        hint = f'the first element must be <schema xmlns="{ISO_NAMESPACE}">'
        raise EditError(Problem(f"expected a Schematron schema, found {found}", reading.place(schema), hint))
    reading.check_attributes(schema)
    binding = schema.attributes.get("queryBinding", "xslt").strip().lower()
    if binding in LATER_BINDINGS:
        reading.later_binding = binding
    elif binding not in XPATH_1_BINDINGS:
        known = ", ".join(sorted(XPATH_1_BINDINGS | LATER_BINDINGS))
        reading.refuse(schema, f"the queryBinding {binding!r} is not understood", f"understood are: {known}")


def _read_references(reading: Reading, schema: Element) -> None:
    """What asserts refer to: namespaces, diagnostics and properties."""
    for child in schema:
        if child.namespace != schema.namespace:
            continue
        if child.name == "ns":
            prefix, uri = child.attributes.get("prefix", ""), child.attributes.get("uri", "")
            if not prefix or not uri:
                reading.refuse(child, "<ns> needs a prefix and a uri")
            reading.namespaces[prefix] = uri
        elif child.name in ("diagnostics", "properties"):
            single = "diagnostic" if child.name == "diagnostics" else "property"
            for each in child:
                if each.name != single or "id" not in each.attributes:
                    reading.refuse(each, f"expected <{single} id=...> in <{child.name}>, found <{each.name}>")
                    continue
                reading.references.setdefault(child.name, {})[each.attributes["id"]] = each
