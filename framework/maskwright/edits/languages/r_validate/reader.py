"""Rule files of the R package validate: YAML with ``rules:``, or R as free text with a header."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lark import Token, Tree

from maskwright.edits.algebra.conditions import with_tolerance
from maskwright.edits.algebra.polynomial import polynomial_of
from maskwright.edits.edit_set import EditSet, UnreadRulesError, WrongRulesError, read_items
from maskwright.edits.expression import Comparison
from maskwright.edits.languages.conversion.converted import Inexpressible
from maskwright.edits.languages.conversion.yaml_text import rule_text
from maskwright.edits.languages.r_validate.r_rules import Translator
from maskwright.edits.languages.r_validate.r_syntax import NotR, assignment, group_of, parse_statement, subtrees
from maskwright.edits.languages.yaml.documents import Inclusion, listed_nodes, load_rule_file, rule_text_of
from maskwright.edits.rule_language.rules import RuleItem
from maskwright.foundation.errors import EditError, Place, Problem
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.yaml_document import Node, load_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from maskwright.edits.expression import Expression
    from maskwright.edits.languages.r_validate import r_syntax
    from maskwright.edits.languages.r_validate.options import ValidateOptions


_COMMENT = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)|#.*""")
_QUOTED = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)""")
_GOES_ON = re.compile(r"(?:[-+*/^&|<>=!,~({]|:=|%[^%]*%|\belse)\s*$")


def header_and_statements(text: str, file: str) -> tuple[str | None, list[tuple[str, Place]]]:
    """Split a file of rules."""
    lines = text.splitlines()
    header = None
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if lines and lines[first].rstrip() == "---":
        end = next((n for n in range(first + 1, len(lines)) if lines[n].rstrip() == "---"), len(lines))
        header = "\n" * (first + 1) + "\n".join(lines[first + 1 : end])
        lines = [""] * (end + 1) + lines[end + 1 :]
    found: list[tuple[str, Place]] = []
    open_text, open_place, depth = "", Place(file), 0
    for number, line in enumerate(lines, start=1):
        code = _COMMENT.sub(lambda match: match[1] or "", line)
        for piece in code.split(";") if not _QUOTED.search(code) else [code]:
            if not piece.strip() and not open_text:
                continue
            if not open_text:
                column = len(code) - len(code.lstrip()) + 1 if piece is code else line.find(piece.strip()) + 1
                open_place = Place(file, number, column, line)
            open_text = f"{open_text}\n{piece}" if open_text else piece.strip()
            bare = _QUOTED.sub("", piece)
            depth += sum(bare.count(bracket) for bracket in "({[") - sum(bare.count(bracket) for bracket in ")}]")
            if depth <= 0 and not _GOES_ON.search(bare):
                found.append((open_text.strip(), open_place))
                open_text, depth = "", 0
    if open_text.strip():
        found.append((open_text.strip(), open_place))
    return header, found


MOST_COPIES = 1_000
_UNDERSTOOD = ("expr", "name", "label", "description", "meta")
_SEVERITIES = {"error": "error", "warning": "warning", "info": "warning"}
_CHANGES_MEANING = {
    "na.value": "it decides what a rule says of missing values, and here that is 'unknown'",
    "na.condition": "it decides what a rule says of missing values, and here that is 'unknown'",
}


def read_validate(path: str | Path, options: ValidateOptions | None = None) -> EditSet:
    """Read a rule file of the R package validate as edits in exact arithmetic.

    ``name``, ``label``, ``description`` (the message) and ``meta: {severity}`` are kept; ``:=`` is written out, and
    ``var_group`` makes one edit for each variable. What R says of missing values is what an edit says. The option
    ``lin.eq.eps`` (``lin.ineq.eps``) becomes a tolerance of linear rules; without it, rules are exact, where validate
    allows 1e-8.

    A rule that is refused does not take the others with it: the error holds them. Rules that `options` name may be
    left out; a note says of each that it was.
    """
    file = Path(path)
    reading = _Reading(file.parent.resolve(), allowed=frozenset(() if options is None else options.allow_unread))
    items = reading.items(file, ())
    unused = sorted(reading.allowed - reading.left_out)
    if unused:
        wrong = f"allow_unread: {unknown_name('rule that is not read', unused[0], reading.unread)}"
        reading.problems.append(Problem(wrong, Place(str(path))))
    if reading.refused:
        hint = "Write them in the YAML language, or leave them out by name: --allow-unread NAME."
        count = f"{reading.refused} of {reading.refused + len(items)} rules are not understood"
        reading.problems.append(Problem(count, Place(str(path)), hint))
    if not items and not reading.problems:
        raise EditError(Problem("there is no rule in this file", Place(str(path))))
    notes = (*reading.notes, *reading.closing_notes(str(path)))
    try:
        edits = read_items(items, notes) if items else EditSet((), notes)
    except WrongRulesError as error:
        raise WrongRulesError([*reading.problems, *error.problems], error.edits) from error
    if reading.problems:
        only_unread = len(reading.problems) == reading.refused + 1 and not unused
        raise (UnreadRulesError if only_unread else WrongRulesError)(reading.problems, edits)
    return edits


@dataclass
class _Reading(Inclusion):
    defined: dict[str, r_syntax.Node] = field(default_factory=dict)
    groups: dict[str, list[r_syntax.Node]] = field(default_factory=dict)
    equality: Fraction | None = None
    inequality: Fraction | None = None
    refused: int = 0
    allowed: frozenset[str] = frozenset()
    left_out: set[str] = field(default_factory=set)
    unread: list[str] = field(default_factory=list)
    linear: int = 0
    unused: dict[str, int] = field(default_factory=dict)

    def items(self, file: Path, chain: tuple[Path, ...]) -> list[RuleItem]:
        """Rules of a file and, before them, of the files it includes."""
        self.opened(file)
        here = (*chain, file)
        if file.suffix.lower() in (".yaml", ".yml"):
            root = load_rule_file(file)
            found = self._header(root, here)
            for element in listed_nodes(root.get("rules")):
                found += self._rule(element)
            return found
        header, statements = header_and_statements(rule_text_of(file), str(file))
        found = [] if header is None else self._header(load_yaml(header, str(file), EditError), here)
        for text, place in statements:
            found += self._statement(text, place, {})
        return found

    def closing_notes(self, file: str) -> Iterator[str]:
        """What a person should know when all is read."""
        if self.unused:
            unused = ", ".join(f"{name} ({count})" for name, count in self.unused.items())
            yield f"{file}: not used: {unused}"
        if self.linear and self.equality is None and self.inequality is None:
            yield (
                f"{file}: {self.linear} linear rules are exact here; validate lets them miss by 1e-8 (lin.eq.eps, "
                "lin.ineq.eps)"
            )

    def _header(self, root: Node, here: tuple[Path, ...]) -> list[RuleItem]:
        found: list[RuleItem] = []
        if not root.is_mapping:
            self.problems.append(Problem("expected 'rules:', 'options:' or 'include:'", root.place))
            return found
        for key, value in root.entries:
            if key.raw == "options":
                self._options(value)
            elif key.raw == "include":
                for node in listed_nodes(value):
                    target = self.target(node, here)
                    if target is None:
                        continue
                    try:
                        found += self.items(target, here)
                    except EditError as error:
                        self.failed(error, node)
            elif key.raw != "rules":
                self.unused[key.raw] = self.unused.get(key.raw, 0) + 1
        return found

    def _options(self, node: Node) -> None:
        for key, value in node.entries:
            if key.raw in ("lin.eq.eps", "lin.ineq.eps"):
                try:
                    allowed = Fraction(value.raw)
                except ValueError:
                    self.problems.append(Problem(f"{key.raw}: expected a number", value.place))
                    continue
                if key.raw == "lin.eq.eps":
                    self.equality = allowed
                else:
                    self.inequality = allowed
            elif key.raw in _CHANGES_MEANING:
                self.problems.append(
                    Problem(f"the option {key.raw} is refused: {_CHANGES_MEANING[key.raw]}", key.place)
                )
            else:
                self.unused[f"options {key.raw}"] = self.unused.get(f"options {key.raw}", 0) + 1

    def _rule(self, element: Node) -> list[RuleItem]:
        node = element.get("expr") if element.is_mapping else None
        if node is None or not isinstance(node.value, (str, bool)):
            self.refused += 1
            self.problems.append(Problem("expected a rule with 'expr'", element.place, "Write: - expr: x >= 0"))
            return []
        fields: dict[str, Any] = {}
        for name in element.keys:
            if name not in _UNDERSTOOD:
                self.unused[name] = self.unused.get(name, 0) + 1
        for ours, theirs in (("name", "name"), ("label", "label"), ("message", "description")):
            stated = element.get(theirs)
            if stated is not None and stated.is_scalar and stated.raw.strip():
                fields[ours] = " ".join(stated.raw.split())
        meta = element.get("meta")
        for key, value in meta.entries if meta is not None else ():
            if key.raw == "severity" and value.raw in _SEVERITIES:
                fields["severity"] = _SEVERITIES[value.raw]
            else:
                self.unused[f"meta {key.raw}"] = self.unused.get(f"meta {key.raw}", 0) + 1
        return self._statement(node.raw, node.place, fields)

    def _statement(self, text: str, place: Place, fields: Mapping[str, Any]) -> list[RuleItem]:
        """Edits of one statement: none for an assignment, several for a variable group."""
        called = f"the rule {fields['name']!r}" if "name" in fields else f"the rule {' '.join(text.split())[:60]!r}"
        try:
            tree = parse_statement(text)
            named = assignment(tree)
            if named is not None:
                members = group_of(named[1])
                if members is not None:
                    self.groups[named[0]] = members
                else:
                    # What stands on the right is written with what is defined so far.
                    self.defined[named[0]] = _resolved(named[1], self.defined)
                return []
            rules = [self._translated(instance, more) for instance, more in self._instances(tree)]
        except NotR as error:
            self._refuse(fields, Problem(f"{called} is not read: {error}", _at(place, text, error.start)))
            return []
        except Inexpressible as reason:
            self._refuse(fields, Problem(f"{called} is not understood: {reason}", place))
            return []
        if len(rules) == 1:
            return [RuleItem({"rule": rules[0], **fields}, place)]
        return [
            RuleItem({"rule": rule, **fields, **({"name": f"{fields['name']}.{n}"} if "name" in fields else {})}, place)
            for n, rule in enumerate(rules, start=1)
        ]

    def _refuse(self, fields: Mapping[str, Any], problem: Problem) -> None:
        """Take up a rule that is not understood, or note that it is left out, as was allowed."""
        name = str(fields.get("name", ""))
        self.unread.append(name)
        if name and name in self.allowed:
            self.left_out.add(name)
            self.notes.append(f"{problem.place}: left out, as was allowed: {problem.message}")
        else:
            self.refused += 1
            self.problems.append(problem)

    def _translated(self, tree: r_syntax.Node, chosen: Mapping[str, r_syntax.Node]) -> str:
        expression = Translator({**self.defined, **chosen}).condition(tree)
        return rule_text(self._tolerant(expression))

    def _tolerant(self, expression: Expression) -> Expression:
        """Validate lets rules miss that are linear comparisons, and no others."""
        if not isinstance(expression, Comparison):
            return expression
        sides = [polynomial_of(expression.left), polynomial_of(expression.right)]
        if any(side is None or not side.is_affine or side.divisors for side in sides):
            return expression
        self.linear += 1
        return with_tolerance(expression, self.equality or Fraction(0), self.inequality or Fraction(0))

    def _with_named_groups(self, tree: r_syntax.Node) -> r_syntax.Node:
        """Rule in which ``var_group(a, b)`` that stands in it has a name, as one that := defined."""
        for node in subtrees(tree):
            members = group_of(node)
            if members is not None:
                name = f"group {len(self.groups) + 1}"
                self.groups[name] = members
                tree = _replaced(tree, node, name)
        return tree

    def _instances(self, tree: r_syntax.Node) -> Iterator[tuple[r_syntax.Node, dict[str, r_syntax.Node]]]:
        """Copies of a rule with one variable of each group that it uses."""
        tree = self._with_named_groups(tree)
        names = [str(node.children[0]) for node in subtrees(tree) if node.data == "name"]
        used = [name for name in names if name in self.groups]
        if len(set(used)) < len(used):
            raise Inexpressible("it uses a variable group twice, and which variables go together is not said")
        copies = 1
        for name in used:
            copies *= len(self.groups[name])
        if copies > MOST_COPIES:
            raise Inexpressible(f"its variable groups make more than {MOST_COPIES} rules")
        for members in itertools.product(*(self.groups[name] for name in used)):
            yield tree, dict(zip(used, members, strict=True))


def _replaced(tree: r_syntax.Node, node: r_syntax.Node, name: str) -> r_syntax.Node:
    if tree is node:
        found: r_syntax.Node = Tree("name", [Token("NAME", name)])
        return found
    return Tree(tree.data, [_replaced(each, node, name) if isinstance(each, Tree) else each for each in tree.children])


def _resolved(tree: r_syntax.Node, defined: Mapping[str, r_syntax.Node]) -> r_syntax.Node:
    if tree.data == "name" and str(tree.children[0]) in defined:
        return defined[str(tree.children[0])]
    children = [_resolved(child, defined) if isinstance(child, Tree) else child for child in tree.children]
    found: r_syntax.Node = Tree(tree.data, children)
    return found


def _at(place: Place, text: str, start: int) -> Place:
    """Place of an offset, where the file's line shows the rule as it is."""
    if place.text is not None and place.column is not None:
        found = place.text.find(text, place.column - 1)
        if found >= 0:
            return Place(place.file, place.line, found + 1 + start, place.text)
    return place
