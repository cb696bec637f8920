"""What an edit's parts say of themselves."""

from __future__ import annotations

import pytest

import maskwright as mw
from maskwright.edits.edit import CheckedPart, DomainPart, GoverningPart, LinearPart, ProductPart, RangePart


@pytest.mark.parametrize(
    ("rule", "kind", "variables"),
    [
        ("b + a == c + 2 * b", LinearPart, {"a", "b", "c"}),
        ("a * b == a * c", ProductPart, {"a", "b", "c"}),
        ("1 <= b <= 5", RangePart, {"b"}),
        ("if a > 1 then b + c <= a else d == 1", GoverningPart, {"a", "b", "c", "d"}),
        ("(a, c) in original", DomainPart, {"a", "c"}),
        ("a + b != c", CheckedPart, {"a", "b", "c"}),
    ],
)
def test_every_kind_of_part_names_its_variables_each_once(rule: str, kind: type, variables: set[str]) -> None:
    (edit,) = mw.EditSet.parse([rule])
    (part,) = edit.parts
    assert isinstance(part, kind)
    assert sorted(part.variables) == sorted(variables)
    assert set(part.variables) <= set(edit.variables)


def test_an_edit_is_looked_up_by_its_name() -> None:
    edits = mw.EditSet.parse(["a <= b", {"rule": "b <= c", "name": "second"}])
    assert edits["second"].text == "b <= c"
    with pytest.raises(mw.InputError, match="did you mean 'second'"):
        edits["secnd"]
    with pytest.raises(mw.InputError, match="looked up by its name"):
        edits[0]  # type: ignore[index] # a mistake that somebody made
