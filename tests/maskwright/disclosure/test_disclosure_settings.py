"""The section `disclosure` of a pipeline: how sure an intruder has to be, further attacks, and which variables go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

PIPELINE = """
maskwright: 1
data:
  source: people.csv
  variables:
    sex: {role: quasi_identifier}
    edu: {role: quasi_identifier, type: nominal}
    region: {role: quasi_identifier, type: nominal}
protect: [{method: local_suppression, params: {k: 4, importance: {sex: 9, edu: 9}}}]
release: {order: random}
output: {data: masked.csv, record: run.json}
seed: 1
"""


def people(n: int = 1500) -> pd.DataFrame:
    """Two codes of the region, and two coordinates whose quadrants it is."""
    rng = np.random.default_rng(1)
    edu = rng.choice(5, n, p=[0.5, 0.3, 0.17, 0.02, 0.01])
    x, y = rng.random(n), rng.random(n)
    region = (x < 0.5) * 2 + (y < 0.5)
    return pd.DataFrame({
        "sex": rng.choice(["f", "m"], n), "edu": edu, "region": region,
        "town": [f"t{a * 9 + b}" for a, b in zip(region, rng.integers(0, 9, n), strict=True)],
        "x": x.round(6), "y": y.round(6),
    })  # fmt: skip


def run(folder: Path, frame: pd.DataFrame, section: str) -> tuple[int, pd.DataFrame | None]:
    frame.to_csv(folder / "people.csv", index=False)
    (folder / "p.yaml").write_text(PIPELINE + section)
    code = main(["run", str(folder / "p.yaml")])
    path = folder / "masked.csv"
    return code, pd.read_csv(path, dtype=str, keep_default_na=False) if code == 0 else None


def test_the_less_important_variable_loses_its_cells(tmp_path: Path) -> None:
    """A pair determines the region: one of the two goes where the region is suppressed."""
    frame = people()[["sex", "edu", "region"]]
    rng = np.random.default_rng(2)
    frame["a"] = rng.integers(0, 8, len(frame))
    frame["b"] = (frame["region"] + frame["a"]) % 4
    for less, more in (("a", "b"), ("b", "a")):
        code, masked = run(tmp_path, frame, f"disclosure: {{importance: {{{more}: 5}}}}\n")
        assert code == 0
        assert masked is not None
        assert (masked["region"] == "").sum() > 5
        assert (masked[less] == "").sum() >= (masked["region"] == "").sum()
        assert (masked[more] == "").sum() == 0


def test_an_attack_of_the_pipeline_stops_what_it_is_certain_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three in one: the region is the parity of two numbers' halves, which only a tree finds out."""
    rng = np.random.default_rng(3)
    frame = people(3000)[["sex", "edu"]]
    for name in "uvw":
        frame[name] = rng.integers(0, 2, len(frame))
    frame["region"] = frame["u"] * 4 + frame["v"] * 2 + frame["w"]
    code, masked = run(tmp_path, frame, "")
    assert code == 0
    assert masked is not None
    assert (masked["region"] == "").sum() > 5
    capsys.readouterr()
    code, _ = run(tmp_path, frame, "disclosure: {attacks: [learned]}\n")
    assert code == 1
    said = " ".join("".join(capsys.readouterr()).split())
    assert "suppressed-cells-follow: region" in said
    assert "a tree that learned it from all other variables" in said


def test_certainty_decides_what_goes(tmp_path: Path) -> None:
    """A town names its region in 97 of 100 records: that is known at 0.8, and not at 0.995."""
    frame = people(4000)[["sex", "edu", "region"]]
    rng = np.random.default_rng(4)
    place = np.where(rng.random(len(frame)) < 0.035, rng.integers(0, 4, len(frame)), frame["region"])
    frame["town"] = [f"t{a * 9 + b}" for a, b in zip(place, rng.integers(0, 9, len(frame)), strict=True)]
    gone = {}
    for certainty in (0.8, 0.995):
        waived = "waive: [{doubt: published-undeclared, variable: town, because: it is made up}]"
        code, masked = run(tmp_path, frame, f"disclosure: {{certainty: {certainty}}}\n{waived}\n")
        assert code == 0
        assert masked is not None
        gone[certainty] = int((masked["town"] == "").sum())
    assert gone[0.8] > 0
    assert gone[0.995] == 0


@pytest.mark.parametrize(("section", "said"), [
    ("disclosure: {attacks: [lerned]}", "did you mean 'learned'"),
    ("disclosure: {certainty: 1}", "certainty"),
    ("disclosure: {importance: {agee: 3}}", "agee"),
    ("disclosure: {sure: 3}", "sure"),
])  # fmt: skip
def test_mistakes_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], section: str, said: str) -> None:
    assert run(tmp_path, people(60), section)[0] == 2
    assert said in "".join(capsys.readouterr())
