"""Totals that a computer added: validate, a run's ledger of arrival and its plan count the same, in every format.

The oracle adds the decimals exactly. A total was made in one of the ways in which programs make it; some are wrong by
a unit of the last decimal.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright.commands.options import ReadingOptions
from maskwright.commands.running.preparation import prepare
from maskwright.commands.validate import validate_file
from maskwright.data.binary_decimals import GridFacts
from maskwright.foundation.progress import Quiet
from maskwright.pipeline.reading import read_pipeline

if TYPE_CHECKING:
    from collections.abc import Callable

RULE = "a + b == t"
EDITS = f"edits: [{RULE}]\n"
SCHEMATRON = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern>
<rule context="Record"><assert id="sum" test="a + b = t"/></rule></pattern></schema>"""
WRITERS: dict[str, Callable[[pd.DataFrame, Path], object]] = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "quoted.csv": lambda frame, path: frame.map(repr).to_csv(path, index=False, quoting=1),
    "parquet": lambda frame, path: frame.to_parquet(path),
    "xml": lambda frame, path: frame.to_xml(path, index=False, root_name="Microdata", row_name="Record"),
    "xlsx": lambda frame, path: frame.to_excel(path, index=False),
    "dta": lambda frame, path: frame.to_stata(path, write_index=False),
}
BUDGET = settings(max_examples=12, deadline=None, phases=(Phase.explicit, Phase.generate))


class Heard(Quiet):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.notices: list[str] = []

    def notice(self, message: str) -> None:
        self.notices.append(message)


@st.composite
def totals(draw: st.DrawFn) -> tuple[pd.DataFrame, int]:
    """Records with totals, and how many of these are wrong."""
    places, n = draw(st.integers(0, 4)), draw(st.integers(8, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    units = rng.integers(-(10 ** draw(st.integers(3, 7))), 10**7, (n, 2))
    wrong = rng.random(n) < draw(st.sampled_from([0, 0.2]))
    a, b = (np.array([float(Decimal(int(each)).scaleb(-places)) for each in column]) for column in units.T)
    return pd.DataFrame({"a": a, "b": b, "t": a + b + wrong * 10.0**-places}), int(wrong.sum())


@pytest.mark.parametrize("ending", WRITERS)
@given(drawn=totals())
@example(drawn=(pd.DataFrame({"a": [1.1, 0.1, 0.25], "b": [2.2, 0.7, 0.5], "t": [1.1 + 2.2, 0.1 + 0.7, 0.75]}), 0))
@BUDGET
def test_one_verdict_in_every_format(ending: str, drawn: tuple[pd.DataFrame, int]) -> None:
    frame, wrong = drawn
    with TemporaryDirectory() as name:
        folder = Path(name)
        path, rules = folder / f"in.{ending}", folder / "rules.yaml"
        WRITERS[ending](frame, path)
        rules.write_text(EDITS)
        heard = Heard()
        found = validate_file(path, [rules], reporter=heard)
        variables = {each: {"type": "continuous"} for each in "abt"}
        described = {"maskwright": 1, "data": {"source": str(path), "variables": variables}, "edits": [RULE]}
        step = {"method": "microaggregation", "params": {"k": 3}}
        pipeline = read_pipeline({**described, "protect": [step], "output": {"data": str(folder / "out.csv")}})
        ready = prepare(pipeline, Quiet())
    assert found.counts == ready.arrival.counts == {"edit-1": wrong}
    assert dict(ready.broken).get("edit-1", 0) == wrong
    said = [str(each) for each in ready.notices if "rounding of binary" in str(each)]
    assert said == [each for each in heard.notices if "rounding of binary" in each]
    assert not any("more digits than a number" in str(each) for each in ready.notices)


@given(drawn=totals())
@BUDGET
def test_one_verdict_on_data_frames(drawn: tuple[pd.DataFrame, int]) -> None:
    frame, wrong = drawn
    for data in (frame, pa.Table.from_pandas(frame, preserve_index=False), pa.table(frame).to_batches()[0]):
        assert mw.validate(data, [RULE]).counts == {"edit-1": wrong}


def survey(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    a, b = np.round(rng.uniform(1, 5000, n), 2), np.round(rng.uniform(1, 3000, n), 2)
    return pd.DataFrame({"x": rng.integers(0, 1000, n), "a": a, "b": b, "t": a + b})


def noisy(numbers: pd.Series) -> int:
    return int((numbers != numbers.round(2)).sum())


@pytest.mark.parametrize("ending", ["csv", "quoted.csv", "parquet", "xlsx"])
@pytest.mark.parametrize("masked", [["a", "b", "t"], ["x"]])
def test_the_released_file_holds_the_decimals(ending: str, masked: list[str], tmp_path: Path) -> None:
    frame = survey()
    WRITERS[ending](frame, tmp_path / f"in.{ending}")
    others = [name for name in frame if name not in masked]
    record = mw.run(
        {
            "maskwright": 1,
            "data": {
                "source": str(tmp_path / f"in.{ending}"),
                "variables": {name: {"release": "as is"} for name in others},
            },
            "edits": [RULE],
            "protect": [{"method": "microaggregation", "variables": masked, "params": {"k": 5}}],
            "output": {"data": str(tmp_path / f"out.{ending}")},
            "seed": 1,
        }
    ).record  # fmt: skip
    assert (record["edits"][0]["violations_on_arrival"], record["edits"][0]["violations"]) == (0, 0)
    assert sum("are decimals with 2 places up to rounding" in each["message"] for each in record["notices"]) == 1
    read = {"parquet": pd.read_parquet, "xlsx": lambda path: pd.read_excel(path, engine="openpyxl")}
    out = read.get(ending, pd.read_csv)(tmp_path / f"out.{ending}")
    assert noisy(frame.t) > 20
    assert noisy(out.t) == 0
    if masked == ["x"]:
        assert np.array_equal(out.t, frame.t.round(2))
        assert np.array_equal(out.a, frame.a)


def test_columns_that_only_schematron_reads_keep_their_digits(tmp_path: Path) -> None:
    frame = survey(60)
    WRITERS["xml"](frame, tmp_path / "in.xml")
    (tmp_path / "rules.sch").write_text(SCHEMATRON)
    kept = {name: {"release": "as is"} for name in "abt"}
    result = mw.run(
        {
            "maskwright": 1,
            "data": {"source": str(tmp_path / "in.xml"), "variables": kept},
            "edits": [{"schematron": str(tmp_path / "rules.sch")}],
            "protect": [{"method": "microaggregation", "variables": ["x"], "params": {"k": 5}}],
            "output": {"data": str(tmp_path / "out.xml")},
            "seed": 1,
        }
    )
    assert result.record["edits"][0]["violations_on_arrival"] == 0
    out = pd.read_xml(tmp_path / "out.xml")
    assert np.array_equal(out.t, frame.t)
    assert noisy(out.t) > 5


@pytest.mark.parametrize("engine", [None, "local"])
def test_parts_are_read_as_one_file(engine: str | None, tmp_path: Path) -> None:
    """One remainder among large numbers says little by itself: the other part decides."""
    rng = np.random.default_rng(4)
    a, b = np.round(rng.uniform(1e9, 4e10, 600), 2), np.round(rng.uniform(1e9, 1e10, 600), 2)
    frame = pd.DataFrame({"a": a, "b": b, "t": a + b})
    where = int(np.flatnonzero(frame.t[:300] != frame.t[:300].round(2))[0])
    frame.loc[:299, "t"] = frame.t[:300].round(2).where(np.arange(300) != where, frame.t[:300])
    assert GridFacts.of(frame.t[:300].to_numpy(), 5).places() is None
    frame.loc[400, "t"] += 1
    (tmp_path / "in").mkdir()
    for number in range(2):
        part = frame[300 * number : 300 * number + 300]
        part.to_csv(tmp_path / "in" / f"part-{number}.csv", index=False)
    (tmp_path / "rules.yaml").write_text(EDITS)
    heard = Heard()
    found = validate_file(tmp_path / "in", [tmp_path / "rules.yaml"], reporter=heard, options=ReadingOptions())
    settings_of_run = {
        "maskwright": 1,
        "data": {"source": str(tmp_path / "in")},
        "edits": [RULE],
        "protect": [{"method": "microaggregation", "params": {"k": 5}}],
        "output": {"data": str(tmp_path / "out")},
        "seed": 1,
        **({} if engine is None else {"execution": {"engine": engine}}),
    }
    record = mw.run(settings_of_run).record
    assert found.counts == {"edit-1": 1}
    assert record["edits"][0]["violations_on_arrival"] == 1
    assert {each["name"]: each["decimals"] for each in record["variables"]}["t"] == 2
    assert [each for each in [each["message"] for each in record["notices"]] if "binary" in each] == heard.notices
    out = pd.concat([pd.read_csv(tmp_path / "out" / f"part-{number}.csv") for number in range(2)])
    assert noisy(out.t) == 0


def test_quotients_of_binary64_have_one_verdict_too(tmp_path: Path) -> None:
    """A third has no decimals: it is a number of binary64 for validate as for a run."""
    rng = np.random.default_rng(3)
    total = rng.integers(100, 90_000, 60)
    frame = pd.DataFrame({"total": total, "mean": total / 3})
    frame.loc[:1, "total"] += 1
    path = tmp_path / "d.csv"
    frame.to_csv(path, index=False)
    rules = tmp_path / "rules.yaml"
    rules.write_text("edits: [3 * mean == total]\n")
    assert validate_file(path, [rules], reporter=Quiet()).counts == {"edit-1": 2}
    assert mw.validate(mw.read(path), ["3 * mean == total"]).counts == {"edit-1": 2}


PRODUCTS: dict[str, Callable[[Decimal, Decimal, Decimal], bool]] = {
    "abs(price * quantity - sales) <= 0.01": lambda a, b, t: abs(a * b - t) <= Decimal("0.01"),
    "abs(price * quantity - sales) < 0.01": lambda a, b, t: abs(a * b - t) < Decimal("0.01"),
    "round(price * quantity, 2) == sales": lambda a, b, t: (a * b).quantize(Decimal("0.01"), ROUND_HALF_UP) == t,
    "price * quantity == sales": lambda a, b, t: a * b == t,
    "sales / quantity == price": lambda a, b, t: t / b == a,
    "price * (1 + quantity / 100) <= sales": lambda a, b, t: a * (1 + b / 100) <= t,
}


@pytest.mark.parametrize("ending", WRITERS)
def test_products_have_one_verdict_in_every_format(ending: str, tmp_path: Path) -> None:
    """Of binary products, some of them wrong by a cent, as exact decimals have it; halves are rounded up."""
    rng = np.random.default_rng(6)
    price, quantity = rng.lognormal(1, 0.6, 150).round(2), rng.integers(1, 80, 150) / 4
    sales = (price * quantity).round(2) + rng.choice([0, 0, 0.01], 150)
    frame = pd.DataFrame({"price": price, "quantity": quantity, "sales": sales.round(2)})
    path, rules = tmp_path / f"in.{ending}", tmp_path / "rules.yaml"
    WRITERS[ending](frame, path)
    rules.write_text("\n".join(["edits:", *(f"  - {rule}" for rule in PRODUCTS), ""]))
    exact = [
        tuple(Decimal(repr(each)) for each in row)
        for row in zip(*(frame[name].tolist() for name in frame), strict=True)
    ]
    wrong = {f"edit-{n}": sum(not holds(*row) for row in exact) for n, holds in enumerate(PRODUCTS.values(), 1)}
    described = {"maskwright": 1, "data": {"source": str(path)}, "edits": [*PRODUCTS]}
    step = {"method": "additive_noise", "variables": [*frame]}
    pipeline = read_pipeline({**described, "protect": [step], "output": {"data": str(tmp_path / "out.csv")}})
    ready = prepare(pipeline, Quiet())
    assert len({*wrong.values()}) > 2
    assert dict(validate_file(path, [rules], reporter=Quiet()).counts) == dict(ready.arrival.counts) == wrong
    assert {name: count for name, count in wrong.items() if count} == dict(ready.broken)
