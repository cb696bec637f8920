"""Cells that went beside others are not told by single values where edits tell the others by them.

An intruder written with pandas reads off the released files what he can, and computes the rest by the edit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.waived("adjustment-distorts")  # What is suppressed differs from the rest here.

SUM = ("benefit", "fee", "transfer")


def households(seed: int, n: int) -> pd.DataFrame:
    """One person each; of those with one status the benefit is 0, and of nothing else is anything told."""
    rng = np.random.default_rng(seed)
    told = rng.random(n) < 0.4
    frame = pd.DataFrame({"home": np.arange(n), "nr": 1, "status": np.where(told, "z", rng.choice(["x", "y"], n))})
    frame["sex"] = rng.choice(["f", "m"], n)
    frame["benefit"] = np.where(told, 0, rng.integers(1, 6, n))
    frame["fee"] = rng.integers(0, 6, n)
    return frame.assign(transfer=frame["benefit"] + frame["fee"])


def pipeline(folder: Path, form: str, k: int, declared: str) -> Path:
    if form == "flat":
        data, total, output = "  source: flat.csv", "transfer", "out.csv"
        declared += "    home: {role: identifier}\n    nr: {role: identifier}\n"
    else:
        data = "  levels:\n    home: {source: h.csv, key: home}\n    person: {source: p.csv, key: nr, in: home}"
        total, output = "sum(person.transfer)", "{home: ho.csv, person: po.csv}"
    path = folder / "p.yaml"
    path.write_text(
        f"maskwright: 1\ndata:\n{data}\n  variables:\n    benefit: {{role: other}}\n    fee: {{role: other}}\n"
        f"    sex: {{role: other}}\n    transfer: {{role: quasi_identifier}}\n{declared}"
        f"edits:\n  - benefit + fee == {total}\n"
        "protect:\n  - {method: local_suppression, variables: [transfer], "
        f"params: {{k: {k}, keys: [transfer, sex]}}}}\n"
        f"output: {{data: {output}}}\nseed: 1\n",
        encoding="utf-8",
    )
    return path


def released(folder: Path, form: str, frame: pd.DataFrame, k: int, declared: str = "") -> pd.DataFrame:
    """Released records, those of both levels beside each other."""
    frame.to_csv(folder / "flat.csv", index=False)
    frame[["home", "benefit", "fee"]].to_csv(folder / "h.csv", index=False)
    frame[["home", "nr", "status", "sex", "transfer"]].to_csv(folder / "p.csv", index=False)
    assert mw.run(pipeline(folder, form, k, declared or "    status: {role: other}\n")).ok
    if form == "flat":
        return pd.read_csv(folder / "out.csv")
    return pd.read_csv(folder / "po.csv").merge(pd.read_csv(folder / "ho.csv"), on="home")


def intruder(frame: pd.DataFrame) -> pd.DataFrame:
    """The records with what single values tell, and then the edit, filled in as often as there is anything."""
    known = frame.copy()
    while True:
        before = known.isna().sum().sum()
        for name in SUM:
            for other in ("status", "sex", *(each for each in SUM if each != name)):
                for value, rows in known.groupby(other):
                    shown = rows[name].dropna()
                    shares = shown.value_counts(normalize=True)
                    # Fewer records are alike by chance.
                    if len(shown) >= 20 and shares.iloc[0] >= 0.95:
                        known.loc[known[name].isna() & (known[other] == value), name] = shares.index[0]
        for name, others in (("transfer", (1, 1, 0)), ("benefit", (0, -1, 1)), ("fee", (-1, 0, 1))):
            terms = [sign * known[each] for sign, each in zip(others, SUM, strict=True) if sign]
            known[name] = known[name].fillna(sum(terms))
        if known.isna().sum().sum() == before:
            return known


@pytest.mark.parametrize("form", ["flat", "levels"])
@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_computed_by_what_single_values_tell(tmp_path: Path, form: str, seed: int) -> None:
    frame = households(seed, 200 + 40 * seed)
    out = released(tmp_path, form, frame, 10 + seed)
    gone = out["transfer"].isna()
    assert gone.sum() > 5
    assert out.loc[gone, ["benefit", "fee"]].isna().any(axis=1).all(), "the edit alone tells none"
    assert intruder(out).loc[gone, "transfer"].isna().all()


@pytest.mark.parametrize("form", ["flat", "levels"])
def test_what_tells_nothing_beside_the_edit_stays(tmp_path: Path, form: str) -> None:
    frame = households(0, 300)
    frame["status"] = np.random.default_rng(9).choice(["x", "y", "z"], len(frame))
    out = released(tmp_path, form, frame, 10)
    assert out["transfer"].isna().sum() > 5
    assert not out["status"].isna().any()


def test_what_cannot_be_emptied_stops_the_release(tmp_path: Path) -> None:
    """A weight tells the benefit."""
    frame = households(0, 300)
    frame["status"] = np.where(frame["status"] == "z", 1, 1 + np.random.default_rng(9).integers(1, 4, len(frame)))
    with pytest.raises(mw.OpenDoubts, match=r"W302 suppressed-cells-follow: benefit: \d+ of \d+ .*status"):
        released(tmp_path, "levels", frame, 10, "    status: {role: weight}\n")
