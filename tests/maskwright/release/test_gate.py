"""The gate: which doubts are open, and what a pipeline would have to write to have them waived."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

import maskwright as mw
from maskwright.foundation.doubts import DOUBT_KINDS
from maskwright.foundation.yaml_document import load_yaml
from maskwright.pipeline.file_model import Waiver
from maskwright.pipeline.steps import resolve_waivers
from maskwright.release.release_decision import decide_release, waivers_to_write

if TYPE_CHECKING:
    from pathlib import Path

STRANGE = ["plain", "with space", "a: b", "2019", "true", "[x]", 'quote"d', "tab,le", "#x", "é", "-", "a'b"]


def waiver(kind: str, because: str = "so be it", **about: object) -> Waiver:
    return Waiver.model_validate({"doubt": kind, "because": because, **about})


def read_back(text: str) -> tuple[Waiver, ...]:
    problems: list[mw.Problem] = []
    section = load_yaml(text.replace("because: ...", "because: it is so"), "p.yaml").get("waive")
    assert section is not None
    found = resolve_waivers(section, problems)
    assert problems == []
    return found


def test_a_waiver_covers_the_doubts_it_names_and_no_other() -> None:
    doubts = [mw.Doubt("published-undeclared", name, "seen") for name in ("a", "b")]
    doubts.append(mw.Doubt("not-masked", "a", "seen"))
    judged = decide_release([*doubts, doubts[0]], [waiver("W202", variable="a"), waiver("not-masked", variable="c")])
    assert judged.open == (doubts[2], doubts[1])
    assert [each.doubt for each in judged.waived] == [doubts[0]]
    assert [str(each) for each in judged.notices] == [
        "the waiver of not-masked of c was not needed: there is no such doubt"
    ]


def test_doubts_stand_in_the_order_of_their_ids_with_their_remedies() -> None:
    doubts = [mw.Doubt("method-warned", "2", "x"), mw.Doubt("not-masked", "a", "y", hint="do this")]
    problems = decide_release(doubts, []).problems
    assert [problem.message for problem in problems] == ["W201 not-masked: a: y", "W305 method-warned: step 2: x"]
    assert [problem.hint for problem in problems] == ["do this", DOUBT_KINDS["method-warned"].remedy]


@pytest.mark.parametrize("kind", DOUBT_KINDS.values(), ids=lambda kind: kind.id)
def test_what_is_to_be_written_waives_every_kind(kind) -> None:
    subjects = {"file": [""], "step": ["1", "2"]}.get(kind.about, STRANGE)
    doubts = [mw.Doubt(kind.name, subject, "seen") for subject in subjects]
    for some in (doubts[:1], doubts):
        assert decide_release(some, read_back(waivers_to_write(some))).open == ()


def test_a_pipeline_with_the_waivers_that_are_suggested_is_released(tmp_path: Path) -> None:
    columns = {"x": range(8), "a: b": list("aabbccdd"), "2019": list("abcdefgh")}
    pd.DataFrame(columns).to_csv(tmp_path / "d.csv", index=False)
    path = tmp_path / "p.yaml"
    text = (
        "maskwright: 1\n"
        "data: {source: d.csv, header: true, variables: {x: {role: quasi_identifier, release: as is}}}\n"
        "protect: [{method: microaggregation, variables: [x], params: {k: 3}}]\n"
        "output: {data: m.csv, record: r.json}\n"
        "measure: [sse: {as: loss}, uniqueness: {keys: ['2019']}]\nthresholds: {uniqueness: 100}\nseed: 1\n"
    )
    path.write_text(text, encoding="utf-8")
    with pytest.raises(mw.OpenDoubts) as refused:
        mw.run(path)
    assert not (tmp_path / "m.csv").exists()
    hint = refused.value.problems[-1].hint
    assert hint is not None
    written = "\n".join(line.removeprefix("    ") for line in hint.splitlines()[1:])
    path.write_text(text + written.replace("because: ...", "because: tried") + "\n", encoding="utf-8")
    done = mw.run(path)
    assert {each["doubt"] for each in done.record["doubts"]} == {
        "published-undeclared", "risk-leaves-out-quasi-identifiers",
    }  # fmt: skip
    assert {each["because"] for each in done.record["doubts"]} == {"tried"}
