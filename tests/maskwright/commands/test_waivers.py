"""Waivers: a doubt by id or name, what it is about, and why; every mistake has its place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.commands.plan import plan_pipeline
from maskwright.pipeline.reading import resolve_file

if TYPE_CHECKING:
    from pathlib import Path

DATA = pd.DataFrame({"x": range(8), "y": range(8), "town": list("aabbccdd"), "street": list("abcdefgh")})


def written(folder: Path, waive: str) -> Path:
    DATA.to_csv(folder / "d.csv", index=False)
    (folder / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: d.csv}\nprotect: [{method: microaggregation, params: {k: 3}}]\n"
        f"measure: [sse]\noutput: {{data: m.csv}}\nseed: 1\nwaive:\n{waive}",
        encoding="utf-8",
    )
    return folder / "p.yaml"


@pytest.mark.parametrize("doubt", ["W202", "published-undeclared"])
@pytest.mark.parametrize("variable", ["[town, street]", "town"])
def test_id_and_name_one_variable_and_several(tmp_path: Path, doubt: str, variable: str) -> None:
    path = written(tmp_path, f"  - {{doubt: {doubt}, variable: {variable}, because: they are public}}\n")
    (waiver,) = resolve_file(path).waivers
    assert waiver.kind.name == "published-undeclared"
    assert waiver.subjects == (("town", "street") if "[" in variable else ("town",))
    assert waiver.because == "they are public"


@pytest.mark.parametrize(
    ("waiver", "said", "at"),
    [
        ("{doubt: published-undeclard, variable: town, because: b}", "did you mean 'published-undeclared'?", "publi"),
        ("{doubt: W999, variable: town, because: b}", "no doubt called 'W999'", "W999"),
        ("{doubt: W202, variable: town}", "because", "{doubt"),
        ("{doubt: W202, variable: town, because: ''}", "because", "''"),
        ("{doubt: W202, variable: town, because: ...}", "'because' is empty", "{doubt"),
        ("{doubt: W202, variable: town, becuase: b}", "did you mean 'because'?", "becuase"),
        ("{doubt: W202, because: b}", "published-undeclared is about a variable: name it with 'variable'", "{doubt"),
        ("{doubt: W202, step: 1, because: b}", "name it with 'variable', and nothing else", "{doubt"),
        ("{doubt: W103, variable: town, because: b}", "header-may-be-a-record is named alone", "{doubt"),
        ("{doubt: W203, step: 2, because: b}", "there is no step 2: the pipeline has 1", "2, because"),
        ("{doubt: W401, measure: see, because: b}", "did you mean 'sse'?", "see"),
        ("{variable: town, because: b}", "doubt", "{variable"),
        ("W202", "expected a mapping of keys", "W202"),
        ("{doubt: W202, variable: [town, steet], because: b}", "no variable called 'steet'; did you mean", "steet"),
    ],
)  # fmt: skip
def test_every_mistake_has_its_place(tmp_path: Path, waiver: str, said: str, at: str) -> None:
    with pytest.raises(mw.InputError) as refused:
        plan_pipeline(written(tmp_path, f"  - {waiver}\n"))
    (problem,) = [each for each in refused.value.problems if said in each.message]
    assert problem.place is not None
    assert (problem.place.line, problem.place.column) == (8, f"  - {waiver}".index(at) + 1)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    lines = "  - {doubt: W999, because: b}\n  - {doubt: W202, because: b}\n  - 3\n"
    with pytest.raises(mw.InputError) as refused:
        plan_pipeline(written(tmp_path, lines))
    assert [problem.place and problem.place.line for problem in refused.value.problems] == [8, 9, 10]


@pytest.mark.parametrize(
    ("waiver", "said"),
    [
        ({"doubt": "published-undeclard", "variable": "town", "because": "b"}, "did you mean 'published-undeclared'?"),
        ({"doubt": "W202", "variable": "town"}, "because"),
        ({"doubt": "W202", "because": "b"}, "name it with 'variable'"),
        ({"doubt": "W202", "variable": "twon", "because": "b"}, "no variable called 'twon'; did you mean 'town'?"),
    ],
)
def test_mistakes_in_a_call(waiver: dict[str, object], said: str) -> None:
    with pytest.raises(mw.InputError, match="argument waive, item 1: ") as refused:
        mw.protect(DATA, "microaggregation", params={"k": 3}, waive=[waiver])
    assert said in str(refused.value)


def test_a_call_is_released_with_its_waivers() -> None:
    waive = [{"doubt": "W202", "variable": ["town", "street"], "because": "they are public"}]
    with pytest.raises(mw.OpenDoubts):
        mw.protect(DATA, "microaggregation", params={"k": 3}, seed=1)
    with pytest.raises(mw.OpenDoubts, match="street"):
        mw.protect(DATA, "microaggregation", params={"k": 3}, seed=1, waive=[{**waive[0], "variable": "town"}])
    assert len(mw.protect(DATA, "microaggregation", params={"k": 3}, seed=1, waive=waive)) == len(DATA)


def test_doubts_of_one_kind_are_waived_in_one_line() -> None:
    """The lines to write waive all of them, each by its name."""
    frame = pd.DataFrame({"a": [5, 6, 4], "b": [5, 6, 4]})
    with pytest.raises(mw.OpenDoubts) as refused:
        mw.protect(frame, "rounding", edits=["a in [3, 7]", "b in [3, 7]"], params={"base": 10})
    assert str(refused.value).count("W311") == 2
    assert "- {doubt: multiples-not-kept, variable: [a, b], because: ...}" in str(refused.value)


def test_a_waiver_of_zeros_covers_no_class_below_k() -> None:
    """Each promise of a step has its own name: the lines that a run prints are those it needs, and cover no more."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.integers(1, 99, (60, 6)) * (rng.random((60, 6)) < 0.5), columns=list("abcdef"))
    frame["a"] = rng.normal(50, 9, 60)
    frame.loc[:2, "a"] = None
    params = {"k": 5, "group_size": "all", "structural_zeros": list("bcdef")}
    asked: dict[str, Any] = {"params": params, "seed": 1}
    k = {"doubt": "promise-not-kept", "step": 1, "because": "who has no value is not secret"}
    with pytest.raises(mw.OpenDoubts, match="W310") as refused:
        mw.protect(frame, "microaggregation", **asked, waive=[k])
    lines = re.search(r"doubt: zeros-not-kept, variable: \[?([^\]}]*?)\]?, because", str(refused.value))
    assert lines is not None
    zeros = {"doubt": "zeros-not-kept", "variable": lines[1].split(", "), "because": "they are few"}
    with pytest.raises(mw.OpenDoubts, match="W304 promise-not-kept: step 1: k = 5"):
        mw.protect(frame, "microaggregation", **asked, waive=[zeros])
    assert len(mw.protect(frame, "microaggregation", **asked, waive=[zeros, k])) == len(frame)
