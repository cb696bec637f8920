"""A set of edits as a Schematron file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from maskwright.edits.expression import Expression, GroupFunction, InOriginal, children, nodes
from maskwright.edits.languages.conversion.converted import Converted, refusal, silent_rules_note, tree_of
from maskwright.edits.languages.conversion.exact_as_xpath import xpath_test
from maskwright.edits.languages.conversion.inexpressible import Inexpressible
from maskwright.edits.languages.conversion.xpath_as_exact import calculates
from maskwright.edits.languages.conversion.xpath_text import ORIGINAL_FILE, xpath_text
from maskwright.edits.languages.schematron.vocabulary import WRITTEN_FROM
from maskwright.foundation.errors import EditError, Problem
from maskwright.foundation.xml_names import NCNAME

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from maskwright.edits.edit import Edit
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.languages.conversion.binary_comparison import Grids

_PLACEHOLDER = re.compile(rf"\{{({NCNAME})\}}")


def schematron_file(  # noqa: C901 - one note after the other
    edits: EditSet,
    record: str,
    grids: Grids,
    written: Callable[[Edit], tuple[str, Expression]] | None = None,
    rules: Mapping[str, Mapping[str, str]] | None = None,
) -> Converted:
    """Write edits as Schematron, one pattern each.

    `record`: element that holds one record, for rules that do not name one. `written`: gives the context and the test,
    in XPath's types, of an edit that spans records. `rules`: ``rule`` and ``when`` that stand beside a test, for who
    reads the file as rules again.
    """
    notes: list[str] = []
    problems: list[Problem] = []
    patterns: list[str] = []
    taken: set[str] = set()
    renamed: list[str] = []
    silent: list[str] = []
    calculated = False

    def alone(edit: Edit) -> tuple[str, Expression]:
        tree = tree_of(edit)
        if any(isinstance(node, GroupFunction) for node in nodes(tree)):
            raise Inexpressible(
                "it is about members, and nothing says of which level each variable is: `maskwright edits FILE --to "
                "schematron --pipeline PIPELINE` reads it from `data: levels:`"
            )
        return edit.context or record, tree if edit.binding == "xpath1" else xpath_test(tree, grids)

    if not re.fullmatch(NCNAME, record):
        problems.append(Problem(f"{record!r} cannot be the name of an XML element"))
    for edit in edits:
        if edit.shadowed:
            silent.append(edit.name)
            continue
        try:
            context, test = (written or alone)(edit)
            text = xpath_text(test)
        except Inexpressible as reason:
            problems.append(refusal(edit, "XPath 1.0", reason))
            continue
        calculated = calculated or (edit.binding == "exact" and calculates(test))
        identifier = _identifier(edit.name, taken)
        if identifier != edit.name:
            renamed.append(f"{edit.name} -> {identifier}")
        patterns.append(_pattern(edit, identifier, context, text, (rules or {}).get(edit.name, {})))
    if problems:
        raise EditError(problems)
    if silent:
        notes.append(silent_rules_note(silent))
    if renamed:
        notes.append(f"renamed, because an XML id has no such characters: {', '.join(renamed)}")
    if calculated:
        notes.append(_decimals_note(grids))
    if any(_asks_original(edit.expression) for edit in edits):
        notes.append(
            f"{ORIGINAL_FILE} stands for the original file: Maskwright takes it from --original, other engines read it"
        )
    beside = f' xmlns:mw="{WRITTEN_FROM}"' if rules else ""
    # A comment of XML holds no two hyphens in a row.
    remarks = "".join(f"<!-- {re.sub('-(?=-|$)', '- ', note)} -->\n" for note in notes)
    return Converted(
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        + remarks
        + f'<schema xmlns="http://purl.oclc.org/dsdl/schematron"{beside} queryBinding="xslt">\n'
        + "".join(patterns)
        + "</schema>\n",
        tuple(notes),
    )


def _decimals_note(grids: Grids) -> str:
    if grids.known:
        return "what is calculated is compared exactly for the decimals of these data"
    return (
        f"what is calculated is compared exactly for data with up to {grids.otherwise} decimals, as long as binary64 "
        "holds the results"
    )


def _pattern(edit: Edit, identifier: str, context: str, test: str, beside: Mapping[str, str]) -> str:
    title = f"    <title>{escape(edit.label)}</title>\n" if edit.label else ""
    role = ' role="warning"' if edit.severity == "warning" else ""
    message = _message(edit)
    rule = "".join(f" mw:{name}={quoteattr(text)}" for name, text in beside.items())
    return (
        f"  <pattern id={quoteattr(identifier)}>\n{title}    <rule context={quoteattr(context)}>\n"
        f"      <assert test={quoteattr(test)}{role}{rule}>{message}</assert>\n    </rule>\n  </pattern>\n"
    )


def _message(edit: Edit) -> str:
    """Text of the assert; ``{V9}`` of a message is the value of V9, as reading Schematron writes it."""
    if not edit.message:
        return escape(edit.text)
    shown: list[str] = []
    end = 0
    for found in _PLACEHOLDER.finditer(edit.message):
        if found[1] in edit.variables:
            shown += [escape(edit.message[end : found.start()]), f"<value-of select={quoteattr(found[1])}/>"]
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


def _asks_original(expression: Expression) -> bool:
    stack = [expression]
    while stack:
        node = stack.pop()
        if isinstance(node, InOriginal):
            return True
        stack.extend(children(node))
    return False
