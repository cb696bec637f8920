"""What is said to help where data of levels break edits on arrival: no step masks keys or pointers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

LEVELS = """
  levels:
    firm: {source: firms.csv, key: firm}
    plant: {source: plants.csv, key: plant, in: firm, pointers: {parent: plant}}
  variables: {grade: {role: other}, sales: {role: confidential}}
"""
STEP = "protect: [{method: microaggregation, variables: [sales], params: {k: 3}}]"
IS_RIGHT = "[{doubt: edit-may-be-wrong, edit: edit-1, because: half of the keys are too low}]"
NO_MASK = "no step masks keys or pointers"


def said(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    edits: str,
    way: str,
    *,
    parent: str = "",
    grade: int = 4,
    waive: str = "[]",
) -> str:
    """What a run says that stops; the parent of one plant of ten firms is as stated, and so is its grade."""
    firms = "firm\n" + "".join(f"{n}\n" for n in range(1, 11))
    plants = [f"{n},{plant},{1 if plant == 2 else ''},{n * 10 + plant},4" for n in range(1, 11) for plant in (1, 2)]
    plants[0] = f"1,1,{parent},11,{grade}"
    (folder / "firms.csv").write_text(firms, encoding="utf-8")
    (folder / "plants.csv").write_text("\n".join(["firm,plant,parent,sales,grade", *plants, ""]), encoding="utf-8")
    text = f"maskwright: 1\ndata:{LEVELS}edits: {edits}\non_input_violation: {way}\n{STEP}\n"
    text += f"waive: {waive}\n"
    output = "output: {data: {firm: firms.out.csv, plant: plants.out.csv}}\nseed: 1\n"
    (folder / "pipeline.yaml").write_text(text + output, encoding="utf-8")
    capsys.readouterr()
    assert main(["run", str(folder / "pipeline.yaml")]) in (1, 2)
    return " ".join("".join(capsys.readouterr()).split())


def test_a_pointer_is_mended_by_localize_and_never_masked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = said(tmp_path, capsys, "[sales >= 0]", "mask", parent="9")
    assert "pointer: parent within firm: 1" in found
    assert "`localize` first adjusts the fewest fields, and empties a pointer or points it to another record" in found
    assert f"; or correct the file: {NO_MASK}" in found
    assert "or mask what" not in found


def test_what_could_be_masked_is_named_beside_a_pointer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = said(tmp_path, capsys, "[grade <= 5]", "mask", parent="9", grade=7)
    assert f"; or mask what edit-1 reads, and correct the file: {NO_MASK}" in found


def test_a_variable_that_no_step_masks_could_be_masked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = said(tmp_path, capsys, "[grade <= 5]", "mask", grade=7)
    assert "`localize` first adjusts the fewest fields; or mask what the edit reads" in found
    assert NO_MASK not in found
    assert "pointer" not in found


def test_neither_masking_nor_localize_is_advised_for_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = said(tmp_path, capsys, "[plant >= 2]", "mask", waive=IS_RIGHT)
    assert f"leaves out whole groups that violate an edit; or correct the file: {NO_MASK}" in found
    assert "localize" not in found


@pytest.mark.parametrize(
    ("edits", "parent", "words"),
    [
        ("[sales >= 15]", "9", "'mask' masks and mends edit-1 where a step masks what an edit reads, 'drop'"),
        ("[sales >= 15]", "", "'mask' masks and mends them where a step masks what an edit reads, 'drop'"),
        (
            "[sales >= 0]",
            "9",
            "'fail'; 'drop' leaves out whole groups, 'localize' first adjusts the fewest fields, and",
        ),
        ("[plant >= 2]", "", f"'fail'; 'drop' leaves out whole groups; or correct the file: {NO_MASK}"),
    ],
)
def test_mask_is_offered_for_edits_that_it_can_mend(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], edits: str, parent: str, words: str
) -> None:
    found = said(tmp_path, capsys, edits, "fail", parent=parent, waive=IS_RIGHT if "plant" in edits else "[]")
    assert words in found
    assert (NO_MASK in found) == bool(parent or "plant" in edits)


@pytest.mark.parametrize("way", ["mask", "fail"])
def test_leaving_out_groups_is_not_advised_where_most_violate_an_edit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    """First that the edit may be wrong: by how many records it is violated, and the nearest edit that holds."""
    found = said(tmp_path, capsys, "[grade <= 3]", way)
    first = "W109 edit-may-be-wrong: edit-1: 20 of the 20 records to which it applies violate it (100 %)"
    assert first in found.partition("records of the original violate edits")[0]
    assert "`grade <= 30` holds in all records" in found
    assert "drop" not in found
