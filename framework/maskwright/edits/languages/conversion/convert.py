"""A set of edits as a rule file of another language: Schematron, YAML or validate."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Literal
from xml.sax.saxutils import escape, quoteattr

import yaml

from maskwright.edits.algebra.conditions import conjunction
from maskwright.edits.element_names import NAMESPACE, WrittenNames
from maskwright.edits.expression import (
    Aggregate,
    Expression,
    Function,
    GroupFunction,
    IfThen,
    InOriginal,
    Truth,
    Unique,
    nodes,
)
from maskwright.edits.languages.conversion.binary_comparison import Grids
from maskwright.edits.languages.conversion.code_conditions import conditions_without_codes
from maskwright.edits.languages.conversion.converted import Converted, Inexpressible, each_written, tree_of
from maskwright.edits.languages.conversion.exact_as_xpath import MATCHES, xpath_test
from maskwright.edits.languages.conversion.xpath_as_exact import calculates, exact_rule, rounded_in_xpath
from maskwright.edits.languages.conversion.xpath_text import ORIGINAL_FILE, path_text, xpath_text
from maskwright.edits.languages.conversion.yaml_text import rule_text, simplified_rule
from maskwright.edits.languages.r_validate.writer import LINE, validate_file
from maskwright.edits.languages.schematron.options import WRITTEN_FROM
from maskwright.foundation.errors import EditError, Problem
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.xml_syntax import NCNAME

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from maskwright.edits.edit import Edit
    from maskwright.edits.edit_set import EditSet


_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")


def schematron_file(
    edits: EditSet,
    record: str,
    grids: Grids,
    names: WrittenNames | None = None,
    written: Callable[[Edit], tuple[str, Expression, WrittenNames]] | None = None,
    rules: Mapping[str, Mapping[str, str]] | None = None,
) -> Converted:
    """Write edits as Schematron, one pattern each.

    `record`: expanded name of the element of a record. `written`: context and test of an edit, and how it names
    elements, where each is about records of its own level.
    """
    names = names or WrittenNames()
    taken: set[str] = set()
    renamed: list[str] = []
    newer: list[Edit] = []
    older: list[Edit] = []

    def alone(edit: Edit) -> tuple[str, Expression, WrittenNames]:
        tree = _about_a_record(edit)
        test = tree if edit.binding == "xpath1" else xpath_test(tree, grids)
        return _context(edit, record, names), test, names.about(edit.stated)

    def write(edit: Edit, position: int) -> tuple[str, bool]:  # noqa: ARG001 - patterns have names
        context, test, own = (written or alone)(edit)
        text = xpath_text(test, own)
        if any(isinstance(node, Function) and node.name == MATCHES for node in nodes(test)):
            newer.append(edit)
        elif edit.binding == "xpath1" or calculates(test):
            older.append(edit)
        identifier = _identifier(edit.name, taken)
        if identifier != edit.name:
            renamed.append(f"{edit.name} -> {identifier}")
        pattern = _pattern(edit, identifier, context, text, own, (rules or {}).get(edit.name, {}))
        return pattern, edit.binding == "exact" and calculates(test)

    is_name = re.fullmatch(NCNAME, NAMESPACE.sub("", record)) is not None
    problems = () if is_name else (Problem(f"{record!r} cannot be the name of an XML element"),)
    found, notes = each_written(edits, "XPath 1.0", write, problems)
    language = _binding(newer, older)
    if renamed:
        notes.append(f"renamed, because an XML id has no such characters: {', '.join(renamed)}")
    if any(calculated for _, calculated in found):
        notes.append(_decimals_note(grids))
    if any(isinstance(node, InOriginal) for edit in edits for node in nodes(edit.expression)):
        notes.append(
            f"{ORIGINAL_FILE} stands for the original file: Maskwright takes it from --original, other engines read it"
        )
    prefix = f' xmlns:mw="{WRITTEN_FROM}"' if rules else ""
    # A comment of XML holds no two hyphens in a row.
    remarks = "".join(f"<!-- {re.sub('-(?=-|$)', '- ', note)} -->\n" for note in notes)
    return Converted(
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        + remarks
        + f'<schema xmlns="http://purl.oclc.org/dsdl/schematron"{prefix} queryBinding="{language}">\n'
        + "".join(
            f"  <ns prefix={quoteattr(prefix)} uri={quoteattr(uri)}/>\n" for prefix, uri in names.declared.items()
        )
        + "".join(pattern for pattern, _ in found)
        + "</schema>\n",
        tuple(notes),
    )


def _context(edit: Edit, record: str, names: WrittenNames) -> str:
    """Context of an edit: the records, or the elements that it states itself."""
    if edit.stated is None:
        return names.written(record) if edit.context is None else edit.context
    absolute = edit.context is not None and edit.context.startswith("/") and not edit.context.startswith("//")
    return "/" * absolute + "/".join(map(names.written, edit.stated.steps))


def _binding(newer: list[Edit], older: list[Edit]) -> str:
    """Query language of a file with edits that need XPath 2, and with some that are sure of XPath 1 only."""
    if newer and older:
        why = f"a pattern needs XPath 2, where a rule that calculates may say something else ({older[0].name})"
        hint = "Write the rules with patterns to a file of their own."
        raise EditError([Problem(f"edit {edit.name} cannot be written: {why}", edit.place, hint) for edit in newer])
    return "xslt2" if newer else "xslt"


def _about_a_record(edit: Edit) -> Expression:
    """Tree of an edit that is about one record."""
    tree = tree_of(edit)
    if any(isinstance(node, GroupFunction) for node in nodes(tree)):
        raise Inexpressible(
            "it is about members, and nothing says of which level each variable is: `maskwright edits FILE --to "
            "schematron --pipeline PIPELINE` reads it from `data: levels:`"
        )
    if any(isinstance(node, Aggregate | Unique) for node in nodes(tree)):
        raise Inexpressible("it is about all records together")
    return tree


def _decimals_note(grids: Grids) -> str:
    if grids.known:
        return "what is calculated is compared exactly for the decimals of these data"
    return (
        f"what is calculated is compared exactly for data with up to {grids.otherwise} decimals, as long as binary64 "
        "holds the results"
    )


def _pattern(
    edit: Edit, identifier: str, context: str, test: str, names: WrittenNames, attributes: Mapping[str, str]
) -> str:
    title = f"    <title>{escape(edit.label)}</title>\n" if edit.label else ""
    role = ' role="warning"' if edit.severity == "warning" else ""
    message = _message(edit, names)
    rule = "".join(f" mw:{name}={quoteattr(text)}" for name, text in attributes.items())
    return (
        f"  <pattern id={quoteattr(identifier)}>\n{title}    <rule context={quoteattr(context)}>\n"
        f"      <assert test={quoteattr(test)}{role}{rule}>{message}</assert>\n    </rule>\n  </pattern>\n"
    )


def _message(edit: Edit, names: WrittenNames) -> str:
    """Text of the assert; ``{V9}`` of a message is the value of V9, as reading Schematron writes it."""
    if not edit.message:
        return escape(edit.text)
    shown: list[str] = []
    end = 0
    for found in _PLACEHOLDER.finditer(edit.message):
        if found[1] in edit.variables or found[1] in names.elements:
            shown += [
                escape(edit.message[end : found.start()]),
                f"<value-of select={quoteattr(path_text(found[1], names))}/>",
            ]
            end = found.end()
    return "".join([*shown, escape(edit.message[end:])])


def _identifier(name: str, taken: set[str]) -> str:
    stem = re.sub(r"[^\w.\-]", "-", name)
    if not re.fullmatch(NCNAME, stem):
        stem = f"_{re.sub(r'[^A-Za-z0-9_.-]', '-', stem)}"
    identifier, number = stem, 1
    while identifier in taken:
        number += 1
        identifier = f"{stem}.{number}"
    taken.add(identifier)
    return identifier


def yaml_file(edits: EditSet, grids: Grids | None = None) -> Converted:
    """Write edits in the YAML language; each is for the records in which no cell that it reads holds a code."""
    problems: list[Problem] = []
    # Rules on levels say by their names what they are about.
    contexts = {edit.context for edit in edits if edit.context is not None}
    if not _of_one_element(contexts) and not any(edit.level for edit in edits):
        problems.append(
            Problem(
                f"the rules are about different elements ({', '.join(sorted(contexts))}); "
                "rules in YAML are about every record"
            )
        )
    write = partial(_yaml_entry, grids=grids or Grids())
    entries, notes = each_written(edits, "the YAML language", write, problems)
    if contexts and _of_one_element(contexts):
        named = " and ".join(sorted(contexts))
        notes.append(f"the context {named} is not written: rules in YAML are about every record")
    if rounded := rounded_in_xpath(edits):
        notes.append(
            f"exact in decimals here, rounded to binary64 in XPath (the same for whole numbers): {', '.join(rounded)}"
        )
    head = "".join(f"# {note}\n" for note in notes)
    body = yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=LINE) if entries else "[]\n"
    return Converted(head + body, tuple(notes))


def _of_one_element(contexts: Collection[str]) -> bool:
    """Whether contexts name the same element, with more or less of the path to it."""
    steps = sorted(([step for step in each.split("/") if step] for each in contexts), key=len)
    return all(steps[-1][len(steps[-1]) - len(each) :] == each for each in steps)


def _yaml_entry(edit: Edit, position: int, grids: Grids) -> Any:
    when, rule = _rule_of(edit)
    if edit.level:
        rule = simplified_rule(rule)
    # A test in XPath takes a code for what it is to XPath, and so does the rule that says the same.
    read = [] if edit.binding == "xpath1" else [rule] if when is None else [when, rule]
    without_codes = conditions_without_codes(read, grids)
    if without_codes:
        when = conjunction([*([] if when is None else [when]), *without_codes])
    entry: dict[str, str] = {"rule": rule_text(rule)}
    if edit.name != f"edit-{position}":
        entry["name"] = edit.name
    if edit.label:
        entry["label"] = edit.label
    if when is not None:
        entry["when"] = rule_text(when)
    if edit.message:
        entry["message"] = edit.message
    if edit.severity != "error":
        entry["severity"] = edit.severity
    return entry if len(entry) > 1 else entry["rule"]


def _rule_of(edit: Edit) -> tuple[Expression | None, Expression]:
    """Condition and rule of an edit, as YAML states them."""
    if edit.binding == "xpath1":
        rule = exact_rule(tree_of(edit))
        if isinstance(rule, Truth):
            raise Inexpressible(f"it {'always holds' if rule.value else 'never holds'}, whatever the record")
        return None, rule
    if edit.when is not None and isinstance(edit.expression, IfThen):
        return edit.when, edit.expression.consequent
    return None, edit.expression


Target = Literal["yaml", "schematron", "validate"]
TARGETS: tuple[Target, ...] = ("yaml", "schematron", "validate")


def convert_edits(
    edits: EditSet,
    target: Target,
    *,
    record: str = "Record",
    decimals: int | Mapping[str, int | None] = 4,
    dates: Mapping[str, str] | None = None,
    empty: Mapping[str, tuple[str, ...]] | None = None,
    elements: Mapping[str, str] | None = None,
    namespaces: Mapping[str, str] | None = None,
) -> Converted:
    """Edits as a rule file in YAML, in Schematron or for R's validate, with the same verdict on every record.

    Parameters
    ----------
    edits : EditSet
    target : {"yaml", "schematron", "validate"}
        The last: rules of the R package validate.
    record : str, default "Record"
        Schematron: element that holds one record, for rules that do not name one: ``firm``, ``{urn:office}firm``.
    decimals : int or mapping of name to int or None, default 4
        Schematron: most decimals of the variables. XPath calculates in binary64; half a unit of the last place decides
        its comparisons.
    dates : mapping of name to str, optional
        Schematron: variables that are dates, and how they are written. XPath 1.0 calculates with those written
        ``%Y-%m-%d``; rules on others are refused.
    empty : mapping of name to tuple of str, optional
        YAML and Schematron: texts of cells that mean "no value", besides an empty cell: no rule is false of such a
        cell, though nothing else says what it means.
    elements : mapping of name to str, optional
        Schematron: variables whose elements have a namespace or another name, ``{urn:office}wages``, ``wages/@unit``.
    namespaces : mapping of str to str, optional
        Schematron: prefixes to be used, where they can be, with their URIs.

    Returns
    -------
    Converted

    Raises
    ------
    EditError
        Edits that the target cannot say, each by name with the reason.

    Examples
    --------
    >>> import maskwright as mw
    >>> converted = mw.convert_edits(mw.EditSet.parse(["wages + pensions == income"]), "schematron", decimals=0)
    >>> print(converted.text)
    <?xml version="1.0" encoding="UTF-8"?>
    ...
      <pattern id="edit-1">
        <rule context="Record">
          <assert test="not(number(wages) + number(pensions) &lt; number(income) or ...
    """
    if target not in TARGETS:
        raise EditError(unknown_name("rule language", target, TARGETS))
    known, otherwise = ({}, decimals) if isinstance(decimals, int) else (decimals, Grids.otherwise)
    grids = Grids(known, otherwise, dates or {}, empty or {})
    if target == "yaml":
        return yaml_file(edits, grids)
    if target == "validate":
        return validate_file(edits)
    return schematron_file(edits, record, grids, WrittenNames(elements or {}, namespaces or {}))
