"""Runs that take information away: what is written, what is counted, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lxml import etree, isoschematron

import maskwright as mw
from maskwright.cli.main import main
from maskwright.commands.protect import mask_request
from maskwright.commands.requests import masking_request
from maskwright.data.declaration import VariableDeclaration
from maskwright.data.frames import dataset_from_frame
from maskwright.data.record_groups import with_households

RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern id="sum"><rule context="Record">
<assert test="wages + rents = income">The income is the sum.</assert></rule></pattern>
<pattern id="minor"><rule context="Record">
<assert test="not(age &lt; 16) or wages = 0">No work.</assert></rule></pattern>
</schema>"""
PIPELINE = """maskwright: 1
data: {source: data.xml, record: Record, variables: {
  age: {role: quasi_identifier, release: as is, distortion: 1}, sex: {role: quasi_identifier, release: as is},
  wages: {role: quasi_identifier}, weight: {role: weight}, rents: {release: as is}, income: {release: as is}}}
edits:
  - schematron: rules.sch
  - {rule: income >= 0, name: positive}
protect:
STEPS
output: {data: masked.xml, record: run.json, public_record: about.json, svrl: masked.svrl}
seed: 7
"""
SUPPRESSION = "  - {method: local_suppression, params: {k: 4, keys: [sex, age, wages]}}\n"


def people(n: int = 40) -> pd.DataFrame:
    """Ages in tens, a sum, a weight."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {"sex": rng.choice(["m", "f"], n), "age": rng.choice([10, 20, 30], n), "wages": rng.choice([0, 5, 10], n)}
    )
    frame.loc[frame["age"] < 16, "wages"] = 0
    frame["rents"] = rng.integers(0, 30, n)
    frame["income"] = frame["wages"] + frame["rents"]
    frame["weight"] = 10
    return frame


def pipeline(folder: Path, steps: str) -> Path:
    """Files of a run in a folder."""
    records = "".join(
        "<Record>" + "".join(f"<{name}>{value}</{name}>" for name, value in row.items()) + "</Record>\n"
        for row in people().to_dict("records")
    )
    (folder / "data.xml").write_text(f"<File>\n{records}</File>")
    (folder / "rules.sch").write_text(RULES)
    path = folder / "pipeline.yaml"
    path.write_text(PIPELINE.replace("STEPS\n", steps))
    return path


def schematron(path: Path) -> isoschematron.Schematron:
    """A rule file as lxml understands it."""
    return isoschematron.Schematron(etree.parse(path), error_finder=isoschematron.Schematron.ASSERTS_AND_REPORTS)


def test_the_rules_beside_the_data_hold_where_the_old_ones_fail(tmp_path: Path) -> None:
    """An empty cell makes an XPath sum NaN; the published test asks first whether its variables are present."""
    done = mw.run(pipeline(tmp_path, SUPPRESSION))
    masked = etree.parse(tmp_path / "masked.xml")
    assert done.record["suppressed"]
    assert not schematron(tmp_path / "rules.sch").validate(masked)
    assert schematron(tmp_path / "masked.edits.sch").validate(masked)
    released = mw.read_edits(tmp_path / "masked.edits.sch")
    assert [edit.name for edit in released] == ["sum", "minor", "positive"]
    assert mw.validate(mw.read(tmp_path / "masked.xml", record="Record"), released).ok


def test_published_rules_still_find_mistakes(tmp_path: Path) -> None:
    """A record in which everything is present is judged as before."""
    mw.run(pipeline(tmp_path, SUPPRESSION))
    masked = etree.parse(tmp_path / "masked.xml")
    whole = next(record for record in masked.getroot() if all(cell.text for cell in record))
    whole.find("income").text = "999"
    assert not schematron(tmp_path / "masked.edits.sch").validate(masked)


def test_suppression_is_counted_in_the_record_and_said_in_public(tmp_path: Path) -> None:
    """Cells by variable, records that an edit is no longer about; no value anywhere."""
    done = mw.run(pipeline(tmp_path, SUPPRESSION)).record
    data = mw.read(tmp_path / "masked.xml", record="Record")
    for each in done["suppressed"]:
        assert each["cells"] == int(data[each["variable"]].missing.sum())
    rows = {row["name"]: row for row in done["edits"]}
    gone = np.logical_or.reduce([data[name].missing for name in ("wages", "rents", "income")])
    assert rows["sum"]["not_applicable"] == int(gone.sum()) > 0
    assert rows["positive"]["not_applicable"] == int(data["income"].missing.sum())
    assert all(row["violations"] == 0 for row in rows.values())
    public = json.loads((tmp_path / "about.json").read_text())
    assert public["suppressed"] == done["suppressed"]
    (keys,) = [group for group in done["k"]["groups"] if group["requested"] == 4]
    assert keys["smallest"] >= 4
    assert keys["below"] == 0


def test_screen_and_report_say_of_how_many_records_an_edit_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A column, a sentence, and the kind of the edit as it was stated; nothing of it where no cell is suppressed."""
    path = pipeline(tmp_path, SUPPRESSION)
    path.write_text(path.read_text().replace("- schematron: rules.sch", "- {rule: wages + rents = income, name: sum}")
                    .replace("svrl: masked.svrl", "report: report.html"))  # fmt: skip
    assert main(["run", str(path)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    rows = {row["name"]: row for row in json.loads((tmp_path / "run.json").read_text())["edits"]}
    gone = rows["sum"]["not_applicable"]
    assert rows["sum"]["kind"] == "linear"
    assert "not applicable" in shown
    assert f"sum linear 0 0 {gone} " in shown
    assert f"sum does not apply to {gone} of them" in shown
    report = (tmp_path / "report.html").read_text()
    assert "Not applicable</th>" in report
    assert f"sum does not apply to {gone} of them" in report
    masking = "  - {method: microaggregation, variables: [wages, rents, income]}\n"
    path.write_text(path.read_text().replace(SUPPRESSION, masking)
                    .replace("{role: quasi_identifier}", "{role: quasi_identifier, unchanged: 100}"))  # fmt: skip
    assert main(["run", str(path)]) == 0
    assert "not appl" not in capsys.readouterr().out
    assert "ot applicable" not in (tmp_path / "report.html").read_text()


def test_a_sample_is_paired_by_origin_and_its_weights_grow(tmp_path: Path) -> None:
    """Weighted totals estimate those of the file; measures compare each record with its own original."""
    steps = "  - {method: sampling, params: {fraction: 0.25}}\nmeasure: [sse, pil]\n"
    path = pipeline(tmp_path, steps)
    path.write_text(path.read_text().replace("wages: {role: quasi_identifier}", "wages: {release: as is}"))
    done = mw.run(path).record
    data = mw.read(tmp_path / "masked.xml", record="Record")
    assert len(data) == done["records"] == 10
    assert (data["weight"].values == 40).all()
    assert done["measures"]["sse"]["value"] == 0.0
    assert not (tmp_path / "masked.edits.sch").exists()


def test_records_are_drawn_before_they_are_clustered(tmp_path: Path) -> None:
    """K holds in the sample, also in the strata of conditions, which are made again of the records drawn."""
    steps = (
        "  - {method: sampling, params: {size: 12}}\n"
        "  - {method: microaggregation, params: {k: 3, partition: mdav}, variables: [age, wages, rents, income]}\n"
        "measure: [sse]\n"
    )
    done = mw.run(pipeline(tmp_path, steps)).record
    assert done["records"] == 12
    assert all(row["violations"] == 0 for row in done["edits"])
    groups = [group for group in done["k"]["groups"] if group["requested"] == 3]
    assert groups
    assert all(group["smallest"] >= 3 for group in groups)
    assert done["measures"]["sse"]["value"] < 100


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (SUPPRESSION + "  - {method: microaggregation, params: {k: 3}}\n", "changes values after it"),
        (SUPPRESSION + "  - {method: sampling, params: {fraction: 0.5}}\n", "takes away from its groups"),
        ("  - {method: microaggregation, params: {k: 3}}\n  - {method: sampling, params: {size: 9}}\n", "takes away"),
        ("  - {method: sampling, params: {}}\n", "say how many records to draw"),
        ("  - {method: sampling, params: {fraction: 1.5}}\n", "expected a number <= 1"),
        ("  - {method: sampling, params: {size: 41}}\n", "a sample of 41 records is requested; there are 40"),
        ("  - {method: local_suppression, params: {k: 41, keys: [sex]}}\n", "larger than the number of records"),
        ("  - {method: local_suppression, params: {keys: [sexx]}}\n", "did you mean 'sex'"),
        ("  - {method: local_suppression, params: {keys: [sex], importance: {rents: 2}}}\n", "importance is of keys"),
        ("  - {method: record_suppression, params: {k: 30, keys: [rents]}}\n", "no record would be left"),
        ("  - {method: recoding, params: {recode: {wages: [5]}}}\n", "'release_edits: {drop: \\[wages\\]}'"),
        (
            "  - {method: recoding, params: {recode: {age: [20]}, release_edits: {drop: [wages]}}}\n",
            "drop: no variable",
        ),
        ("  - {method: recoding, params: {recode: {age: [30, 20]}}}\n", "bounds of bands must rise"),
    ],
)
def test_what_breaks_a_promise_is_refused(steps: str, message: str, tmp_path: Path) -> None:
    """With a way out, before anything is written."""
    path = pipeline(tmp_path, steps)
    if not any(each in steps for each in ("microaggregation", "local_suppression", "recoding")):
        # What takes records away masks nothing.
        path.write_text(path.read_text().replace("wages: {role: quasi_identifier}", "wages: {release: as is}"))
    with pytest.raises(mw.InputError, match=message):
        mw.run(path)
    assert not (tmp_path / "masked.xml").exists()


def test_recoding_drops_the_edits_that_are_listed_and_says_so(tmp_path: Path) -> None:
    """Others hold as before; a later step may suppress bands."""
    steps = (
        "  - {method: recoding, params: {recode: {age: [15, 25]}, release_edits: {drop: [age]}}}\n"
        "  - {method: local_suppression, params: {k: 5, keys: [sex, age]}}\n"
    )
    done = mw.run(pipeline(tmp_path, steps)).record
    assert [each["name"] for each in done["dropped_edits"]] == ["minor"]
    assert [row["name"] for row in done["edits"]] == ["sum", "positive"]
    assert any("'minor' is dropped" in notice["message"] for notice in done["notices"])
    assert "minor" not in (tmp_path / "masked.edits.sch").read_text()
    data = mw.read(tmp_path / "masked.xml", record="Record")
    assert set(data["age"].variable.categories) <= {"below 15", "15 to below 25", "25 and above"}
    sizes = data.to_pandas().groupby(["sex", "age"], dropna=False, observed=True).size()
    assert sizes.min() >= 5


def test_whole_households_are_kept_and_counted() -> None:
    """With clusters declared, k counts households, and a sample takes all of a household or nobody."""
    frame = people(60)
    frame["home"] = np.arange(60) // 3
    declared = {name: VariableDeclaration(release="as is") for name in frame}
    original = with_households(dataset_from_frame(frame, declared), "home").without(["home"])
    sample = mask_request(masking_request(original, "sampling", params={"fraction": 0.4}, seed=2)).masked
    assert sample.origin is not None
    assert (np.bincount(sample.origin // 3, minlength=20)[np.unique(sample.origin // 3)] == 3).all()
    assert len(sample) == 24
    done = mask_request(
        masking_request(
            original, "local_suppression", params={"k": 5, "keys": ["sex", "age"]}, variables=["age"], seed=2
        )
    )
    keys = done.masked.to_pandas()[["sex", "age"]].astype(str).agg("/".join, axis=1)
    assert pd.Series(np.arange(60) // 3).groupby(keys).nunique().min() >= 5


def test_variables_that_complementary_suppression_may_empty_are_not_called_published_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor does the plan warn that edits give away what is suppressed: the other cells go too."""
    path = pipeline(tmp_path, SUPPRESSION.replace("params", "variables: [sex, age, wages], params"))
    assert main(["plan", str(path), "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["may_lose_cells"] == ["rents", "income"]
    assert not any("determine" in each["message"] for each in plan["warnings"])
    assert main(["run", str(path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "published unmasked: income (confidential), weight (weight)" in said
    assert "rents: 9 cells emptied as complementary suppression of wages" in said
    assert "masked.edits.sch the rules that hold in the masked data, to publish with it" in said
    suppressed = {each["variable"] for each in json.loads((tmp_path / "run.json").read_text())["suppressed"]}
    assert suppressed - {"age", "sex", "wages"} <= set(plan["may_lose_cells"])
    readme = (Path(__file__).parents[4] / "README.md").read_text(encoding="utf-8")
    assert "masked.edits.yaml" in readme.partition("| written by a run |")[2]


def test_an_emptied_cell_of_a_key_with_one_category_for_all_hides_nothing() -> None:
    """Two of forty are alone with their region; all their keys go, and of age nothing but the star was left."""
    frame = pd.DataFrame({"region": ["N"] * 18 + ["S"] * 18 + ["E"] * 2 + ["W"] * 2, "age": np.arange(40) % 9 + 20})
    declared = {
        "region": {"role": "quasi_identifier", "type": "nominal"},
        "age": {"role": "quasi_identifier", "hierarchy": {"table": [[str(age), "*"] for age in range(20, 29)]}},
    }
    params = {"k": 3, "suppression_limit": 0.2, "levels": {"age": 1}}
    rules = ["age in [18, 99]", "if region == 'E' then age >= 18"]
    masked = mw.protect(frame, "generalisation", edits=rules, declared=declared, params=params, seed=1)
    assert masked["age"].isna().sum() == 4
