"""What doubts say of suppressed cells that other records show is true: an intruder tries all that is possible."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

RELATIONS = ("head", "spouse", "child", "lodger")

PIPELINE = """maskwright: 1
data:
  levels:
    household: {source: h.csv, key: hhid}
    person: {source: p.csv, key: pno, in: householdPOINTERS}
  variables:
    hhid: {type: nominal}
    size: {type: integer, role: other}
    rel: {role: quasi_identifier}
    nat: {role: quasi_identifier}
    MORE
protect: [{method: local_suppression, variables: [KEYS], params: {k: 3, keys: [KEYS], importance: {rel: 1, nat: 9}}}]
output: {data: {household: hm.csv, person: pm.csv}, record: run.json, key_map: keys.csv}
WAIVE
seed: 1
"""
WAIVED = "waive: [{doubt: suppressed-cells-follow, variable: VARIABLES, because: the test}]"


def households(kinds: list[tuple[int, tuple[tuple[str, str], ...]]]) -> pd.DataFrame:
    """Households of some compositions: how many, and relation and nationality of each member."""
    rows = []
    for hhid, members in enumerate(each for count, each in kinds for _ in range(count)):
        rows += [
            {"hhid": f"h{hhid}", "pno": pno, "size": len(members), "rel": rel, "nat": nat}
            for pno, (rel, nat) in enumerate(members, 1)
        ]
    return pd.DataFrame(rows)


def run(folder: Path, frame: pd.DataFrame, keys: str, waived: str = "", more: str = "", pointers: str = "") -> int:
    folder.mkdir(exist_ok=True)
    frame[["hhid", "size"]].drop_duplicates().to_csv(folder / "h.csv", index=False)
    frame.drop(columns="size").to_csv(folder / "p.csv", index=False)
    text = PIPELINE.replace("KEYS", keys).replace("POINTERS", pointers).replace("    MORE\n", more)
    text = text.replace("WAIVE", WAIVED.replace("VARIABLES", waived) if waived else "")
    (folder / "p.yaml").write_text(text, encoding="utf-8")
    return main(["run", str(folder / "p.yaml")])


def released(folder: Path, frame: pd.DataFrame, name: str) -> tuple[pd.DataFrame, list[str]]:
    """Published members with the number of the household, and what each had in one variable."""
    masked = pd.read_csv(folder / "pm.csv", dtype=str, keep_default_na=False)
    known = pd.read_csv(folder / "keys.csv", dtype=str, keep_default_na=False)
    truth = frame[name].iloc[known["original_person"].astype(int) - 1].tolist()
    return masked, truth


def by_size(masked: pd.DataFrame, truth: list[str]) -> int:
    """Empty relations of which one value only agrees with what all whole households of the same size have in common."""
    homes = {str(home): list(rows) for home, rows in masked.groupby("hhid").groups.items()}
    whole: defaultdict[int, list[Counter[str]]] = defaultdict(list)
    for rows in homes.values():
        shown = [str(masked["rel"][row]) for row in rows]
        if "" not in shown:
            whole[len(shown)].append(Counter(shown))
    known = 0
    for rows in homes.values():
        shown = [str(masked["rel"][row]) for row in rows]
        empty = [row for row, value in zip(rows, shown, strict=True) if not value]
        if not empty or not whole[len(rows)]:
            continue
        fixed = {
            value: whole[len(rows)][0][value] for value in RELATIONS
            if len({each[value] for each in whole[len(rows)]}) == 1
        }  # fmt: skip
        ways = [
            filled for filled in itertools.product(RELATIONS, repeat=len(empty))
            if all(Counter([*shown, *filled])[value] == number for value, number in fixed.items())
        ]  # fmt: skip
        for place, row in enumerate(empty):
            known += {filled[place] for filled in ways} == {truth[row]}
    return known


FAMILIES = [
    (40, (("head", "a"),)),
    (30, (("head", "a"), ("spouse", "a"))),
    (30, (("head", "a"), ("child", "a"))),
    (25, (("head", "b"), ("spouse", "b"), ("child", "b"))),
    (25, (("head", "b"), ("child", "b"), ("lodger", "a"))),
]


def test_that_one_of_two_empty_cells_is_the_heads_gives_neither_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The size of the household tells that it has one head and who many others: nobody reads a cell off that."""
    frame = households([*FAMILIES, (2, (("lodger", "c"), ("head", "a"), ("spouse", "a")))])
    assert run(tmp_path, frame, "rel, nat", "[nat]") == 0
    assert "which tells how many" not in "".join(capsys.readouterr())
    masked, truth = released(tmp_path, frame, "rel")
    assert (masked["rel"] == "").sum() >= 4
    assert by_size(masked, truth) == 0


@pytest.mark.parametrize(
    "odd",
    [
        [(1, (("head", "c"),))],
        [(2, (("head", "c"),))],
        [(30, (("head", "a"), ("spouse", "a"), ("child", "a"), ("child", "a"))),
         (1, (("head", "a"), ("spouse", "a"), ("child", "c"), ("child", "a")))],
    ],
    ids=["one alone", "two alone", "one of two children"],
)  # fmt: skip
def test_cells_that_the_size_tells_are_counted_as_an_intruder_counts_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], odd: list[tuple[int, tuple[tuple[str, str], ...]]]
) -> None:
    frame = households([*FAMILIES, *odd, (2, (("lodger", "c"), ("head", "a"), ("spouse", "a")))])
    assert run(tmp_path / "stopped", frame, "rel, nat") == 1
    said = "".join(capsys.readouterr())
    assert run(tmp_path / "waived", frame, "rel, nat", "[rel, nat]") == 0
    masked, truth = released(tmp_path / "waived", frame, "rel")
    total, known = int((masked["rel"] == "").sum()), by_size(masked, truth)
    assert 0 < known < total
    assert f"rel: {known} of {total} suppressed cells can be inferred from" in said


MOTHERS = [
    (60, (("head", "b"), ("child", "b"))),
    (60, (("head", "a"), ("spouse", "a"), ("child", "a"))),
    (60, (("lodger", "a"), ("head", "a"))),
]


def test_what_a_pointer_tells_is_told_and_ends_without_the_pointer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever names a mother is a child; nobody can suppress that somebody names her."""
    frame = households([*MOTHERS, (2, (("head", "c"), ("child", "c")))])
    frame["mother"] = ["1" if rel == "child" else "" for rel in frame["rel"]]
    pointer = ", pointers: {mother: pno}"
    assert run(tmp_path / "stopped", frame, "rel, nat", pointers=pointer) == 1
    said = " ".join("".join(capsys.readouterr()).split())
    assert run(tmp_path / "waived", frame, "rel, nat", "[rel, nat]", pointers=pointer) == 0
    masked, truth = released(tmp_path / "waived", frame, "rel")
    empty = [row for row, value in enumerate(masked["rel"]) if not value]
    children = [row for row in empty if masked["mother"][row] and truth[row] == "child"]
    assert len(children) > 0
    off = "off other records: those that agree in naming a mother show one value"
    assert (
        f"{len(children)} of {len(empty)} suppressed cells can be read {off}" in said
        or f"{len(children)} {off}" in said
    )
    assert "publish without the pointer mother" in said
    capsys.readouterr()
    run(tmp_path / "without", frame, "rel, nat", more="    mother: {role: identifier}\n")
    assert "naming a mother" not in "".join(capsys.readouterr())
