"""Rules as YAML lists them: one-line texts, or mappings ``{rule, name, message, severity}``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from maskwright.edits.classify import classify
from maskwright.edits.edit import Edit, EditSet, Severity
from maskwright.edits.expression import variable_names
from maskwright.edits.grammar import parse_expression
from maskwright.errors import EditError, Place, Problem, unknown_name
from maskwright.yaml_document import Node, load_yaml

KEYS = ("rule", "name", "message", "severity")
SEVERITIES = ("error", "warning")
MOST_BYTES = 4_000_000

PlaceOf = Callable[[int], Place]


def parse_rules(rules: Sequence[object], place_of: PlaceOf | None = None) -> EditSet:
    """Read rules of the YAML language.

    Parameters
    ----------
    rules : sequence
        Texts, or mappings with the keys ``rule`` and, optionally, ``name``, ``message`` and ``severity`` (``error``,
        the default, or ``warning``). A rule without a name is called ``edit-N``, N its 1-based position.
    place_of : callable, optional
        Place of the rule at a 0-based position, for error messages.

    Returns
    -------
    EditSet

    Raises
    ------
    EditError
        With every mistake in every rule: place, what was expected, the nearest valid name.
    """
    if isinstance(rules, (str, Mapping)):
        raise EditError(Problem("expected a list of rules, found a single one", None, "Put it in a list: [rule]."))
    problems: list[Problem] = []
    edits: list[Edit] = []
    places: dict[str, Place] = {}
    for position, item in enumerate(rules):
        # Without a file, the rule's number stands for the line.
        place = place_of(position) if place_of is not None else Place(f"rule {position + 1}")
        try:
            edit = _edit(item, position, place)
        except EditError as error:
            problems.extend(error.problems)
            continue
        if edit.name in places:
            first = places[edit.name]
            problems.append(Problem(f"the name {edit.name!r} is taken by another rule ({first})", place, "Rename one."))
            continue
        places[edit.name] = place
        edits.append(edit)
    if problems:
        raise EditError(problems)
    return EditSet(tuple(edits))


def read_edits_yaml(path: str | Path) -> EditSet:
    """Read a YAML file of rules: a list, or a mapping with the list under ``edits``.

    Raises
    ------
    EditError
        With file, line and column of every mistake.
    """
    file = Path(path)
    try:
        if file.stat().st_size > MOST_BYTES:
            raise EditError(Problem(f"the file is larger than {MOST_BYTES:,} bytes", Place(str(path))))
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise EditError(Problem(f"the file cannot be read: {error.strerror}", Place(str(path)))) from None
    except UnicodeDecodeError:
        raise EditError(Problem("the file is not UTF-8 text", Place(str(path)), "Save it as UTF-8.")) from None
    root = load_yaml(text, str(path), EditError)
    listed = _rule_list(root)
    return parse_rules([element.to_python() for element in listed], lambda position: _place_of(listed[position]))


def _rule_list(root: Node) -> tuple[Node, ...]:
    if root.is_mapping:
        for key, _ in root.entries:
            if key.raw != "edits":
                raise EditError(Problem(unknown_name("key", key.raw, ("edits",)), key.place))
        root = root.get("edits") or root
    if not root.is_sequence:
        raise EditError(
            Problem(f"expected a list of rules, found {root.description}", root.place, "Begin each rule with '- '.")
        )
    return root.elements


def _place_of(element: Node) -> Place:
    rule = element.get("rule") if element.is_mapping else None
    return (rule or element).place


def _edit(item: object, position: int, place: Place) -> Edit:
    fields = _fields(item, place)
    rule = fields["rule"]
    expression = parse_expression(rule, place)
    return Edit(
        name=fields.get("name") or f"edit-{position + 1}",
        expression=expression,
        parts=classify(expression, place),
        variables=variable_names(expression),
        text=" ".join(rule.split()),
        message=fields.get("message", ""),
        severity=cast("Severity", fields.get("severity", "error")),
        place=place,
    )


def _fields(item: object, place: Place) -> dict[str, str]:
    if isinstance(item, str):
        return {"rule": item}
    if not isinstance(item, Mapping):
        kind = "nothing" if item is None else f"a {type(item).__name__}"
        raise EditError(
            Problem(
                f"expected a rule as text, or a mapping with the key 'rule'; found {kind}", place,
                "A rule with ': ', brackets or braces inside a mapping must be in quotes.",
            )
        )  # fmt: skip
    problems = [Problem(unknown_name("key", str(key), KEYS), place, _hint(item)) for key in item if key not in KEYS]
    fields: dict[str, str] = {}
    for key in KEYS:
        value: Any = item.get(key)
        if value is None:
            continue
        if not isinstance(value, str) and key in ("name", "message") and isinstance(value, (int, float)):
            value = str(value)
        if not isinstance(value, str):
            problems.append(Problem(f"{key}: expected text", place, "Put it in quotes."))
        else:
            fields[key] = value.strip() if key == "name" else value
    if item.get("rule") is None:
        problems.append(Problem("the key 'rule' is missing", place, "Write {rule: 'V9 + V10 == V14', name: totals}."))
    if fields.get("severity", "error") not in SEVERITIES:
        problems.append(Problem(unknown_name("severity", fields["severity"], SEVERITIES), place))
    if problems:
        raise EditError(problems)
    return fields


def _hint(item: Mapping[object, object]) -> str | None:
    if len(item) == 1:
        return "If this is meant as one rule, put it in quotes: 'like this'."
    return None
