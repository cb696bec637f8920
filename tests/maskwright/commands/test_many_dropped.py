"""`on_input_violation: drop` that leaves out much of a file is doubted, and how much is left out is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import maskwright as mw
from maskwright import OpenDoubts
from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

RECORDS = 200


def flat(folder: Path, broken: int, more: str = "") -> Path:
    """Wages, taxes and what is left of them; the sum does not hold in the first records."""
    rows = []
    for row in range(RECORDS):
        wage, tax = 1000 + 37 * row % 211, 7 * row % 53
        rows.append(f"{wage},{tax},{wage - tax + (5 if row < broken else 0)}")
    (folder / "in.csv").write_text("\n".join(["wage,tax,net", *rows, ""]), encoding="utf-8")
    path = folder / "p.yaml"
    path.write_text(
        "maskwright: 1\ndata: {source: in.csv}\nedits: [net + tax == wage]\non_input_violation: drop\n"
        f"protect: [{{method: microaggregation, params: {{k: 4}}}}]\n{more}output: {{data: out.csv}}\nseed: 1\n",
        encoding="utf-8",
    )
    return path


def test_a_tenth_of_the_records_is_doubted(tmp_path: Path) -> None:
    with pytest.raises(OpenDoubts) as refused:
        mw.run(flat(tmp_path, 20))
    assert (
        "W106 many-records-dropped: 20 of 200 records (10%) violate an edit (edit-1: 20) and would be dropped"
        in str(refused.value)
    )
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.waived("adjustment-distorts", "edit-may-be-wrong")
def test_it_can_be_waived_and_is_said_beside_released(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = flat(tmp_path, 60, "waive: [{doubt: many-records-dropped, because: known}]\n")
    assert mw.run(path).record["left_out"] == {"record": 60}
    assert main(["run", str(path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Dropped since they violate an edit: 60 records." in said
    assert "waived: many-records-dropped" in said


@pytest.mark.waived("edit-may-be-wrong")
def test_a_few_are_dropped_and_counted(tmp_path: Path) -> None:
    done = mw.run(flat(tmp_path, 19))
    assert done.record["left_out"] == {"record": 19}
    assert done.record["records"] == RECORDS - 19
    assert mw.run(flat(tmp_path, 0)).record["left_out"] == {}


@pytest.mark.parametrize("repeated", [True, False])
def test_no_field_is_adjusted_for_an_edit_about_several_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, repeated: bool
) -> None:
    """The sum that some violate too is adjusted where the numbers of the records differ."""
    path = flat(tmp_path, 3)
    rows = (tmp_path / "in.csv").read_text(encoding="utf-8").split()
    keys = ["number", *(str(1000 + 71 * row % 200) for row in range(RECORDS))]
    keys[-1] = keys[-2] if repeated else keys[-1]
    (tmp_path / "in.csv").write_text("".join(f"{key},{row}\n" for key, row in zip(keys, rows, strict=True)))
    text = path.read_text(encoding="utf-8").replace("[net", "[unique(number), net").replace("drop", "localize")
    path.write_text(text.replace("in.csv}", "in.csv, variables: {number: {role: other}}}"), encoding="utf-8")
    assert main(["run", str(path)]) == int(repeated)
    said = " ".join("".join(capsys.readouterr()).split())
    assert ("(edit-1: 2) edit-1 in records 199, 200; on_input_violation is 'localize'" in said) is repeated
    assert ("`on_input_violation: drop` leaves these records out, with their groups" in said) is repeated
    assert (tmp_path / "out.csv").exists() is not repeated


def levels(folder: Path, declared: str, on_violation: str, more: str = "") -> Path:
    """Households of two; in 3 of 50 the rows differ in their rent, in most in the sex of members."""
    rows = []
    for row in range(100):
        rent = 500 + 13 * (row // 2) % 97 + (1 if row in (10, 20, 30) else 0)
        rows.append(f"{row // 2},{row % 2 + 1},{rent},{'mf'[row % 2 if row // 2 % 4 else 0]},{20 + 7 * row % 61}")
    (folder / "in.csv").write_text("\n".join(["hid,pno,rent,sex,age", *rows, ""]), encoding="utf-8")
    path = folder / "p.yaml"
    path.write_text(
        f"maskwright: 1\ndata:\n  source: in.csv\n  variables: {{sex: {{role: other}}}}\n  levels:\n"
        f"    household: {{key: hid, variables: {declared}}}\n    person: {{key: pno, in: household}}\n"
        f"on_input_violation: {on_violation}\n"
        "protect:\n  - {method: microaggregation, variables: [rent], params: {k: 3}}\n"
        f"  - {{method: microaggregation, variables: [age], params: {{k: 3}}}}\n{more}"
        "output: {data: out.csv}\nseed: 1\n",
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize("on_violation", ["drop", "mask", "localize"])
def test_a_members_variable_declared_of_groups_is_doubted(tmp_path: Path, on_violation: str) -> None:
    with pytest.raises(OpenDoubts) as refused:
        mw.run(levels(tmp_path, "[rent, sex]", on_violation))
    told = str(refused.value)
    assert (
        "W107 varies-within-groups: sex: it is declared of household and differs between the rows of 37 of 50" in told
    )
    assert "varies-within-groups: rent" not in told
    assert ("many-records-dropped" in told) == (on_violation == "drop")
    assert not (tmp_path / "out.csv").exists()


def test_few_groups_that_vary_are_no_doubt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = levels(tmp_path, "[rent]", "drop")
    assert mw.run(path).record["left_out"] == {"household": 3, "person": 6}
    assert main(["run", str(path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Dropped since they violate an edit: 3 of household and 6 of person." in said
    assert mw.run(levels(tmp_path, "[rent]", "mask")).record["left_out"] == {}


@pytest.mark.parametrize("chained", [8, 60])
def test_groups_that_follow_one_another_are_left_out_only_where_they_soon_end(tmp_path: Path, chained: int) -> None:
    """Each record stands in two pairs but the first one: without it its pair breaks the rule, then the next pair."""
    pairs = [(row // 2, (row + 1) // 2) for row in range(chained)]
    pairs += [(1000 + row // 2, 1000 + row // 2) for row in range(400)]
    rows = [f"{g},{h},{10 + 37 * row % 83},1" for row, (g, h) in enumerate(pairs)]
    (tmp_path / "in.csv").write_text("\n".join(["g,h,x,one", *rows, ""]), encoding="utf-8")
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata:\n  source: in.csv\n  variables: {g: {type: nominal, role: other}, "
        "h: {type: nominal, role: other}, one: {role: other}}\n"
        "edits: [sum(one by g) == 2, sum(one by h) == 2]\non_input_violation: drop\n"
        "protect: [{method: additive_noise, variables: [x], params: {p: 2}}]\noutput: {data: out.csv}\nseed: 1\n",
        encoding="utf-8",
    )
    if chained == 8:
        assert mw.run(tmp_path / "p.yaml").ok
        assert len((tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()) == 1 + 400
        return
    with pytest.raises(
        mw.InputError, match=r"each time records are left out, others violate an edit \(edit-1, edit-2\)"
    ):
        mw.run(tmp_path / "p.yaml")
    assert not (tmp_path / "out.csv").exists()
