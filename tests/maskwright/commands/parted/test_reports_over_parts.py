"""SVRL and codebooks of a run over parts are, to the byte, those of a run in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from lxml import etree

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

LOCAL = {"engine": "local", "block_size": 50}
RULES = [
    {"rule": "if sex == 'f' then town != 'Elx'", "name": "town", "severity": "warning"},
    {"rule": "level != 'high'", "name": "level", "severity": "warning"},
    {"rule": "if sex == 'f' then net >= 0", "name": "kept"},
]
VARIABLES: dict[str, Any] = {
    "sex": {"role": "other", "release": "as is", "labels": {"f": "women", "m": "men"}},
    "level": {"role": "other", "release": "as is", "type": "ordinal", "categories": ["low", "middle", "high", "top"]},
    "town": {"role": "other", "release": "as is"},
    "net": {"label": "Net income", "unit": "EUR", "missing": {"-9": "refused"}},
}


def people(seed: int, n: int = 60) -> pd.DataFrame:
    """Towns differ from part to part; no part has each level."""
    rng = np.random.default_rng(seed)
    net = rng.integers(100, 9000, n)
    net[rng.random(n) < 0.1] = -9
    return pd.DataFrame(
        {
            "net": net,
            "tax": rng.integers(0, 3000, n),
            "sex": rng.choice(["f", "m"], n),
            "level": rng.choice([["low", "middle"], ["high", "middle"], ["high"]][seed], n),
            "town": rng.choice([["Alba", "Elx"], ["Elx", "Vic"], ["Reus & Co"]][seed], n),
        }
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    for number in range(3):
        people(number).to_csv(tmp_path / "in" / f"part-{number}.csv", index=False)
    people(0).head(0).to_csv(tmp_path / "in" / "part-9.csv", index=False)
    return tmp_path


def settings(folder: Path, name: str, **changes: Any) -> dict[str, Any]:
    output = {
        "data": str(folder / name / "data/"), "svrl": str(folder / name / "violations.svrl"),
        "codebook": str(folder / name / "codebook.xml"), **changes.pop("output", {}),
    }  # fmt: skip
    (folder / name).mkdir()
    return {
        "maskwright": 1,
        "data": {"source": str(folder / "in"), "variables": VARIABLES},
        "edits": RULES,
        "protect": [{"method": "rounding", "variables": ["net", "tax"], "params": {"base": 10, "kind": "random"}}],
        "output": output,
        "measure": ["sse"],
        "seed": 5,
        **changes,
    }


def files(folder: Path) -> dict[str, bytes]:
    return {each.relative_to(folder).as_posix(): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


@pytest.mark.covering(2)
@pytest.mark.parametrize("parts", [{}, {"parts": 25}, {"parts": ["sex"]}])
@pytest.mark.parametrize("codebook", ["codebook.xml", "codebook.csv"])
def test_reports_are_those_of_a_run_in_memory(folder: Path, parts: dict[str, Any], codebook: str) -> None:
    for name, execution in (("out", LOCAL), ("memory", {})):
        output = {**parts, "codebook": str(folder / name / codebook)}
        mw.run(settings(folder, name, execution=execution, output=output))
    found, expected = files(folder / "out"), files(folder / "memory")
    assert found.keys() == expected.keys()
    assert found["violations.svrl"] == expected["violations.svrl"]
    # What it says of the order of the work is another thing than what it says of the file.
    assert found[codebook] == expected[codebook]


def test_violations_are_placed_in_the_files_and_counted(folder: Path) -> None:
    mw.run(settings(folder, "out", execution=LOCAL))
    report = folder / "out" / "violations.svrl"
    assert report.stat().st_mode & 0o777 == 0o600
    places = [each.get("location") for each in etree.parse(report).iter("{*}failed-assert")]
    expected = []
    for rule in (lambda row: row.sex == "f" and row.town == "Elx", lambda row: row.level == "high"):
        for number in range(3):
            masked = pd.read_csv(folder / "out" / "data" / f"part-{number}.csv")
            rows = masked.index[masked.apply(rule, axis=1)]
            expected += [f"doc('part-{number}.csv')/records/record[{row + 1}]" for row in rows]
    assert places == expected
    assert len(expected) > 20


def test_reports_and_joined_parts_do_not_depend_on_engine_and_workers(folder: Path) -> None:
    for name, execution in (("out", LOCAL), ("two", {"engine": "processes", "workers": 2, "block_size": 50})):
        mw.run(settings(folder, name, execution=execution, output={"parts": 25}))
    assert files(folder / "out") == files(folder / "two")


def test_a_report_that_was_changed_on_the_way_releases_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from maskwright.commands import run
    from maskwright.commands.running.publish import refuse_results as whole

    def meddled(*arguments: Any) -> None:
        (share,) = folder.glob("out/.scratch-maskwright-*/finish/1/svrl")
        assert share.stat().st_mode & 0o777 == 0o600
        share.write_bytes(share.read_bytes().replace(b"record[", b"record ["))
        whole(*arguments)

    monkeypatch.setattr(run, "refuse_results", meddled)
    with pytest.raises(mw.DataError, match="was changed by another program"):
        mw.run(settings(folder, "out", execution=LOCAL))
    assert files(folder / "out") == {}


def test_violations_are_placed_in_the_elements_of_xml(folder: Path) -> None:
    for number in range(3):
        (folder / "in" / f"part-{number}.csv").unlink()
        rows = people(number).to_xml(None, index=False, root_name="Microdata", row_name="Record")
        (folder / "in" / f"part-{number}.xml").write_text(str(rows), encoding="utf-8")
    (folder / "in" / "part-9.csv").unlink()
    for name, execution in (("out", LOCAL), ("memory", {})):
        mw.run(settings(folder, name, execution=execution))
    found = files(folder / "out")
    assert found == files(folder / "memory")
    assert b"doc('part-2.xml')/Microdata/Record[" in found["violations.svrl"]


def test_reports_on_a_single_file_name_no_part(folder: Path) -> None:
    source = {"source": str(folder / "in" / "part-1.csv"), "variables": VARIABLES}
    for name, execution in (("out", LOCAL), ("memory", {})):
        output = {"data": str(folder / name / "data.csv")}
        mw.run(settings(folder, name, execution=execution, data=source, output=output))
    found = files(folder / "out")
    assert found == files(folder / "memory")
    assert b'location="/records/record[' in found["violations.svrl"]
