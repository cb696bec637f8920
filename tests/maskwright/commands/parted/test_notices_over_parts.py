"""What a run over parts says of a file is what a run in memory says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import maskwright as mw

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

RECORDS = 300
STEPS = [
    {"method": "additive_noise", "variables": ["wages"], "params": {"sd": 300, "correction": "none"}},
    {"method": "rounding", "variables": ["rent"], "params": {"base": 10}},
]


def people(records: int = RECORDS) -> pd.DataFrame:
    """Wages near 0, missing codes, names that are identifiers, and remarks that begin like formulas."""
    rng = np.random.default_rng(8)
    rent = rng.integers(100, 900, records).astype(str)
    rent[rng.random(records) < 0.1] = "-9"
    rent[:40] = "-8"
    return pd.DataFrame(
        {
            "name": [f"person {number}" for number in range(records)],
            "wages": rng.integers(0, 2000, records),
            "rent": rent,
            "remark": rng.choice(["=1+1", "none", "-x"], records),
        }
    )


def settings(folder: Path, name: str, **changes: Any) -> dict[str, Any]:
    return {
        "maskwright": 1,
        "data": {
            "source": str(folder / "in"),
            "variables": {
                "name": {"role": "identifier"},
                "rent": {"missing": ["-9", "-8", "-7"]},
                "remark": {"role": "other", "release": "as is"},
            },
        },
        "protect": STEPS,
        "output": {"data": str(folder / name) + "/", "record": str(folder / name) + ".json"},
        "measure": ["sse"],
        "seed": 3,
        **changes,
    }


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Records of the run in memory, and of that over parts."""
    folder = tmp_path_factory.mktemp("notices")
    (folder / "in").mkdir()
    frame = people()
    for number in range(3):
        frame[100 * number : 100 * (number + 1)].to_csv(folder / "in" / f"part-{number}.csv", index=False)
    memory = mw.run(settings(folder, "memory")).record
    return memory, mw.run(settings(folder, "parts", execution={"engine": "local", "block_size": 100})).record


@pytest.mark.parametrize(
    "said",
    [
        "masked values below 0, where the original has none: wages (",
        "masked values beyond the smallest or largest one of the original: wages (",
        "missing cells, of 300 records: rent ",
        "declared missing codes that no cell holds: '-7' (rent)",
        "name is an identifier: it is not published",
        "read from 3 files, part-0.csv to part-2.csv",
        "remark: ",
    ],
)
def test_it_is_said_with_the_same_counts(said: str, both: tuple[Mapping[str, Any], Mapping[str, Any]]) -> None:
    in_memory, over_parts = (
        [note["message"] for note in each["notices"] if note["message"].startswith(said)] for each in both
    )
    assert len(in_memory) == 1
    assert over_parts == in_memory


def test_cautions_and_columns_that_are_left_out_are_the_same(both: tuple[Mapping[str, Any], Mapping[str, Any]]) -> None:
    in_memory, over_parts = both
    own, others = ([note for note in each["notices"] if note["is_caution"]] for each in both)
    assert own
    assert others == own
    assert over_parts["plan"]["dropped"] == in_memory["plan"]["dropped"] == ["name"]


def test_texts_of_one_part_may_be_held_otherwise_than_those_of_another(tmp_path: Path) -> None:
    """Pandas writes large strings, and other programs strings."""
    (tmp_path / "in").mkdir()
    frame = people(90).astype({"rent": int})
    for number, kind in enumerate([pa.string(), pa.large_string(), pa.string()]):
        table = pa.Table.from_pandas(frame[30 * number : 30 * (number + 1)], preserve_index=False)
        for name in ("name", "remark"):
            at = table.schema.get_field_index(name)
            table = table.set_column(at, name, table.column(name).cast(kind))
        pq.write_table(table, tmp_path / "in" / f"part-{number}.parquet")
    for engine in ({"engine": "local", "block_size": 40}, {}):
        name = "parts" if engine else "memory"
        mw.run(settings(tmp_path, name, execution=engine))
        masked = pd.read_parquet(tmp_path / name)
        assert list(masked["remark"]) == list(frame["remark"])
        assert not np.array_equal(masked["wages"], frame["wages"])


def spiky(records: int = 600) -> pd.DataFrame:
    """Three in ten earn nothing, which noise does not keep; rents of four records are errors that an edit corrects."""
    rng = np.random.default_rng(4)
    wages = np.where(rng.random(records) < 0.3, 0, rng.integers(500, 2000, records))
    rent = rng.integers(100, 900, records)
    rent[[5, 205, 405, 590]] = 100_000
    return pd.DataFrame({"wages": wages, "rent": rent})


@pytest.mark.waived("spike-lost")
def test_lost_spikes_and_mended_records_are_said_as_in_memory(tmp_path: Path) -> None:
    """Counted over all parts: no part alone knows the share, and the errors move no mean that is in doubt."""
    (tmp_path / "in").mkdir()
    frame = spiky()
    for number in range(3):
        frame[200 * number : 200 * (number + 1)].to_csv(tmp_path / "in" / f"part-{number}.csv", index=False)
    noise = {"method": "additive_noise", "variables": ["wages", "rent"], "params": {"sd": 30, "correction": "none"}}
    changes = {"protect": [noise], "edits": ["rent <= 1000"]}
    said = {}
    for name, execution in (("memory", {}), ("parts", {"execution": {"engine": "local", "block_size": 200}})):
        described = settings(tmp_path, name, **changes, **execution)
        described["data"]["variables"] = {}
        done = mw.run(described)
        assert done.ok
        masked = pd.concat(pd.read_csv(each) for each in sorted((tmp_path / name).glob("*.csv")))
        zeros = 100 * (masked["wages"] == 0).mean()
        messages = [each["message"] for each in done.record["doubts"]]
        (spike,) = (each for each in messages if "of the values of wages are 0" in each)
        assert f"{100 * (frame['wages'] == 0).mean():.1f} % of the values of wages are 0, and {zeros:.1f} %" in spike
        mended = [each["message"] for each in done.record["notices"] if each["kind"] == "mended-violations"]
        assert [each["variable"] for each in done.record["notices"] if each["message"] in mended] == ["rent"]
        said[name] = mended[0]
        drift = {each["variable"]: each for each in done.record["moment_drift"]["variables"]}
        moved = (masked["rent"].mean() - frame["rent"].mean()) / frame["rent"].std()
        assert drift["rent"]["mean"] + drift["rent"]["method_mean"] == pytest.approx(moved, abs=1e-4)
    assert said["memory"].partition("(")[0] == said["parts"].partition("(")[0]


@pytest.mark.parametrize("kind", ["follows-from-published", "weights-tell-categories", None])
def test_what_order_and_weights_say_of_masked_categories_is_a_doubt_as_in_memory(
    tmp_path: Path, kind: str | None
) -> None:
    """Parts sorted by the variable that is perturbed; weights of its strata, which two in three records have."""
    rng = np.random.default_rng(2)
    region = rng.choice(list("ABCD"), 900)
    region = np.sort(region) if kind == "follows-from-published" else region
    weight = np.round(rng.uniform(1, 50, 900), 2)
    if kind == "weights-tell-categories":
        weight = np.where(np.arange(900) % 3 > 0, pd.Series(region).map({"A": 10.5, "B": 20, "C": 31.5, "D": 47}), 99)
    (tmp_path / "in").mkdir()
    frame = people(900).assign(region=region, weight=weight)
    for number in range(3):
        frame[300 * number : 300 * (number + 1)].to_csv(tmp_path / "in" / f"part-{number}.csv", index=False)
    pram = {"method": "pram", "variables": ["region"], "params": {"retain": 0.7}}
    found = []
    for name, execution in (("memory", {}), ("parts", {"engine": "local", "block_size": 200})):
        described = settings(tmp_path, name, protect=[pram, *STEPS], execution=execution)
        described["data"]["variables"] |= {"weight": {"role": "weight"}, "region": {"role": "other"}}
        try:
            found.append([(each["kind"], each["subject"]) for each in mw.run(described).record["doubts"]])
        except mw.OpenDoubts as error:
            found.append([(each.finding.kind, each.finding.subject) for each in error.problems if each.finding])
            assert not (tmp_path / name).exists()
    assert ((kind, "region") in found[0]) == (kind is not None)
    assert found[1] == found[0]


def test_edits_on_identifiers_check_the_original_as_in_memory(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    people(90).assign(number=range(90)).to_csv(tmp_path / "in" / "part-0.csv", index=False)
    found = []
    for name, execution in (("memory", {}), ("parts", {"engine": "local"})):
        described = settings(tmp_path, name, edits=["number >= 1"], execution=execution)
        described["data"]["variables"]["number"] = {"role": "identifier"}
        found.append(
            [each for each in mw.run(described).record["notices"] if each["kind"] == "checks-the-original-only"]
        )
    assert found[0] == found[1]
    assert "1 of 90 records violate it" in found[0][0]["message"]


@pytest.mark.parametrize(("rows", "value"), [(slice(200, None), ""), (slice(200, None), 0), (slice(None), 0)])
def test_weights_are_those_of_the_whole_file(tmp_path: Path, rows: slice, value: object) -> None:
    """Missing in one part they are used in none; zero in one part they are used, and zero everywhere they are not."""
    rng = np.random.default_rng(2)
    frame = people().assign(region=rng.choice(list("ABCD"), RECORDS), weight=rng.integers(1, 50, RECORDS))
    frame = frame.astype({"weight": object})
    frame.loc[frame.index[rows], "weight"] = value
    (tmp_path / "in").mkdir()
    for number in range(3):
        frame[100 * number : 100 * (number + 1)].to_csv(tmp_path / "in" / f"part-{number}.csv", index=False)
    found = []
    for name, execution in (("memory", {}), ("parts", {"engine": "local", "block_size": 100})):
        described = settings(tmp_path, name, measure=["individual_risk", "k_anonymity"], execution=execution)
        described["data"]["variables"] |= {
            "weight": {"role": "weight"}, "region": {"role": "quasi_identifier", "release": "as is"},
        }  # fmt: skip
        found.append(mw.run(described).record["measures"])
    for label in ("individual_risk", "k_anonymity"):
        assert found[1][label]["value"] == pytest.approx(found[0][label]["value"], rel=1e-12)
        assert found[1][label]["notes"] == found[0][label]["notes"]
    used = not any("no weights are used" in note for note in found[0]["k_anonymity"]["notes"])
    assert used == (rows.start is not None and value == 0)
