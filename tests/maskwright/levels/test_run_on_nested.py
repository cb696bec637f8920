"""Runs on nested XML: the masked values of the other forms, judged by an independent Schematron processor."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
import yaml
from lxml import etree

import maskwright as mw
from maskwright.cli.main import main
from maskwright.commands.demo.levels.files import LevelsDemoFiles, write_levels_demo
from maskwright.commands.running import release_files
from maskwright.release import data_file

sys.path.insert(0, str(Path(__file__).parent))
from pandas_evaluator import read_flat, violations
from schematron_counts import schematron_counts

if TYPE_CHECKING:
    from collections.abc import Callable

SVRL = "{http://purl.oclc.org/dsdl/svrl}"
STEPS = [
    {
        "method": "microaggregation",
        "variables": ["child_benefit", "capital", "tax", "total", "disp"],
        "params": {"k": 5, "structural_zeros": ["capital"]},
    },
    {"method": "microaggregation", "variables": ["wages", "selfe", "pens", "bene", "income"], "params": {"k": 5}},
]
RULES: dict[str, list[dict[str, str]]] = {"yaml": [{"yaml": "edits.yaml"}], "sch": [{"schematron": "survey.sch"}]}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> LevelsDemoFiles:
    return write_levels_demo(tmp_path_factory.mktemp("nested"), 200)


@pytest.fixture(scope="module")
def folder(files: LevelsDemoFiles) -> Path:
    return files.edits.parent


def pipeline(folder: Path, form: str, **changes: Any) -> Path:
    """Pipeline with the data of one form of the example and the steps of this module."""
    settings = yaml.safe_load((folder / f"{form}.yaml").read_text(encoding="utf-8"))
    flat = yaml.safe_load((folder / "flat.yaml").read_text(encoding="utf-8"))
    settings["data"]["variables"] = flat["data"]["variables"]
    settings |= {"protect": STEPS, "measure": [], "seed": 7, "edits": RULES["yaml"]}
    settings.pop("thresholds", None)
    settings.pop("waive", None)
    settings |= changes
    path = folder / f"own_{form}.yaml"
    path.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    return path


def read_nested(path: Path) -> pd.DataFrame:
    """Persons with the cells of their household, as lxml reads the texts."""
    rows = []
    for household in etree.parse(path).getroot().iterchildren("Household"):
        own = {cell.tag: cell.text or "" for cell in household if cell.tag != "Person"}
        rows += [own | {cell.tag: cell.text or "" for cell in person} for person in household.iterchildren("Person")]
    return pd.DataFrame(rows)


def undone(released: pd.DataFrame, keys: Path) -> pd.DataFrame:
    """Records under their old keys, in the order of the original persons."""
    old = pd.read_csv(keys, dtype=str)
    assert (old["new hhid"] == released["hhid"]).all()
    assert (old["new pno"] == released["pno"]).all()
    known = released.assign(hhid=old["hhid"], pno=old["pno"]).drop(columns=["spouse", "mother"])
    return known.iloc[old["original_person"].astype(int).argsort(kind="stable")].reset_index(drop=True)


@pytest.fixture(scope="module")
def released(folder: Path) -> pd.DataFrame:
    output = {"data": "n.xml", "key_map": "n_keys.csv", "svrl": "n.svrl.xml", "record": "n.json", "codebook": "b.csv"}
    mw.run(pipeline(folder, "nested", edits=RULES["sch"], output=output))
    return read_nested(folder / "n.xml")


def test_the_three_forms_have_the_same_masked_values(folder: Path, released: pd.DataFrame) -> None:
    mw.run(pipeline(folder, "flat", output={"data": "f.csv", "key_map": "f_keys.csv"}))
    data = {"household": "h.csv", "person": "p.csv"}
    mw.run(pipeline(folder, "linked", output={"data": data, "key_map": "l_keys.csv"}))
    mw.run(pipeline(folder, "nested", output={"data": "y.xml", "key_map": "y_keys.csv"}))
    flat = pd.read_csv(folder / "f.csv", dtype=str, keep_default_na=False)
    households, persons = (pd.read_csv(folder / name, dtype=str, keep_default_na=False) for name in ("h.csv", "p.csv"))
    linked = persons.merge(households, on="hhid", how="left")
    of_forms = {
        "linked": (linked[flat.columns], folder / "l_keys.csv"),
        "nested": (released[flat.columns], folder / "n_keys.csv"),
        "nested, rules in YAML": (read_nested(folder / "y.xml")[flat.columns], folder / "y_keys.csv"),
    }
    expected = undone(flat, folder / "f_keys.csv")
    for form, (table, keys) in of_forms.items():
        pd.testing.assert_frame_equal(undone(table, keys), expected, obj=form)


def test_an_independent_processor_finds_nothing_broken(folder: Path, released: pd.DataFrame) -> None:
    found = schematron_counts(folder / "survey.sch", folder / "n.xml")
    assert len(found) == 17
    assert all(failed == 0 and fired > 0 for failed, fired in found.values()), found
    before = schematron_counts(folder / "survey.sch", folder / "survey.xml")
    assert sum(failed for failed, _ in before.values()) > 0
    released.to_csv(folder / "of_nested.csv", index=False)
    by_pandas = violations(read_flat(folder / "of_nested.csv"))
    assert by_pandas == dict.fromkeys(by_pandas, 0)


def test_rules_with_a_condition_in_their_context_are_kept(folder: Path, released: pd.DataFrame) -> None:
    assert len(released)
    record = yaml.safe_load((folder / "n.json").read_text(encoding="utf-8"))
    fired = {each["name"]: (each["fired"], each["kept_by"]) for each in record["edits"]}
    assert fired["benefit-for-children"][0] == (released.drop_duplicates("hhid")["child_benefit"] != "0").sum()
    assert fired["benefit-for-children"][1] == "adjustment"
    assert fired["spouse-of-spouse"][0] == (released["spouse"] != "0").sum()


def test_the_file_is_written_as_it_was(folder: Path, released: pd.DataFrame) -> None:
    assert len(released)
    before, after = ((folder / name).read_text(encoding="utf-8").splitlines() for name in ("survey.xml", "n.xml"))
    assert after[:2] == before[:2]
    assert after[-1] == before[-1]
    tags = [[re.sub(r">[^<]*</", "></", line) for line in lines] for lines in (before, after)]
    assert set(tags[1]) == set(tags[0])
    weights = [set(re.findall(r"<weight>(.*?)</weight>", "\n".join(lines))) for lines in (before, after)]
    assert weights[1] <= weights[0]
    assert "<variable>" not in after
    assert (folder / "b.csv").read_text(encoding="utf-8").count("\n") > len(released.columns)


ODD = """<?xml version="1.0" encoding="UTF-8"?>
<S>
{}
</S>
"""
HOUSEHOLD = """  <Household>
    <hhid>{key}</hhid>
    <name>N{key}</name>{persons}
    <region>{region}</region>
    <fee>{fee}</fee>
  </Household>"""
PERSON = """
      <Person><pno>{number}</pno><code>{code}</code>{note}<income>{income}</income></Person>"""


def odd_survey() -> str:
    """Members among the cells of their household, codes with zeros before them, numbers with zeros behind, markup."""
    notes = ("<note>a &amp; b</note>", "<note/>", "", "<note> x </note>", "<note><![CDATA[<q>]]></note>")
    households = []
    for key in range(40):
        persons = "".join(
            PERSON.format(number=n + 1, code=("007", "7", "01")[n % 3], note=notes[(key + n) % 5], income=key * 37 + n)
            for n in range((key + 1) % 4)
        )
        households.append(
            HOUSEHOLD.format(key=key, persons=persons, region="NS"[key % 2], fee=("1.50", "2.00", "0.25")[key % 3])
        )
    return ODD.format("\n".join(households))


def odd_pipeline(folder: Path, **changes: Any) -> Path:
    (folder / "odd.xml").write_text(odd_survey(), encoding="utf-8")
    nominal = {"type": "nominal", "role": "other"}
    settings: dict[str, Any] = {
        "maskwright": 1,
        "data": {
            "source": "odd.xml",
            "levels": {
                "household": {"record": "Household", "key": "hhid"},
                "person": {"record": "Person", "key": "pno", "in": "household"},
            },
            "variables": {
                "name": {"role": "identifier"}, "code": nominal, "note": nominal, "region": nominal,
                "fee": {"role": "other"},
            },
        },
        "edits": ["income >= 0"],
        "protect": [{"method": "microaggregation", "variables": ["income"], "params": {"k": 3}}],
        "output": {"data": "odd_masked.xml", "key_map": "odd_keys.csv"},
        "seed": 5,
    }  # fmt: skip
    path = folder / "odd.yaml"
    path.write_text(yaml.safe_dump(settings | changes, sort_keys=False), encoding="utf-8")
    return path


def test_untouched_cells_and_the_order_of_elements_stay(tmp_path: Path) -> None:
    """Members stay among the cells of their household, though the element before them is not published."""
    mw.run(odd_pipeline(tmp_path))
    text = (tmp_path / "odd_masked.xml").read_text(encoding="utf-8")
    assert "<name>" not in text
    homes = [list(each) for each in etree.fromstring(text.encode()).iterchildren("Household")]
    assert len(homes) == 40
    for cells in homes:
        tags = [cell.tag for cell in cells]
        assert tags == ["hhid", *["Person"] * (len(tags) - 3), "region", "fee"]
    before, after = read_nested(tmp_path / "odd.xml"), read_nested(tmp_path / "odd_masked.xml")
    keys = pd.read_csv(tmp_path / "odd_keys.csv", dtype=str)
    paired = before.iloc[keys["original_person"].astype(int) - 1].reset_index(drop=True)
    for name in ("code", "note", "region", "fee"):
        assert (paired[name].fillna("absent") == after[name].fillna("absent")).all(), name
    assert not (paired["income"] == after["income"]).all()
    assert after["note"].isna().any()


def test_the_demo_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(folder / "nested.yaml")]) == 0, capsys.readouterr().err
    found = schematron_counts(folder / "survey.sch", folder / "masked.xml", phase="released")
    assert len(found) == 9
    assert all(failed == 0 and fired > 0 for failed, fired in found.values()), found
    edits = ("--edits", str(folder / "survey.sch"), "--option", "phase=released")
    assert main(["validate", str(folder / "masked.xml"), *edits]) == 0
    rules = yaml.safe_load((folder / "masked.edits.yaml").read_text(encoding="utf-8"))
    assert len(rules) == 9
    published = ("--edits", str(folder / "masked.edits.yaml"), "--pipeline", str(folder / "nested.yaml"))
    assert main(["validate", str(folder / "masked.xml"), *published]) == 0


def test_suppressed_cells_are_empty_elements(folder: Path) -> None:
    settings = yaml.safe_load((folder / "nested.yaml").read_text(encoding="utf-8"))
    settings["protect"][0]["params"]["k"] = 20
    settings["output"] = {"data": "sup.xml"}
    (folder / "sup.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    mw.run(folder / "sup.yaml")
    households = read_nested(folder / "sup.xml").drop_duplicates("hhid")
    emptied = (households[["region", "tenure"]] == "").any(axis=1)
    assert 0 < emptied.sum() < len(households)
    counts = households[~emptied].groupby(["region", "tenure"]).size()
    assert counts.min() >= 20
    found = schematron_counts(folder / "survey.sch", folder / "sup.xml", phase="released")
    assert all(failed == 0 and fired > 0 for failed, fired in found.values()), found


def strict_cents(folder: Path, test: str) -> Path:
    """A survey in cents, of which a household's total is the sum of its members' incomes; its pipeline."""
    homes = []
    for key in range(120):
        cents = [key * 7 + n * 10 + 10 for n in range(3)]
        persons = "".join(
            f"<Person><pno>{n + 1}</pno><income>{each / 100:.2f}</income></Person>" for n, each in enumerate(cents)
        )
        homes.append(f"<Household><hhid>{key}</hhid><total>{sum(cents) / 100:.2f}</total>{persons}</Household>")
    (folder / "cents.xml").write_text(f"<S>{''.join(homes)}</S>", encoding="utf-8")
    rule = f'<pattern id="sum"><rule context="Household"><assert test="{test}">Sum.</assert></rule></pattern>'
    schema = f'<schema xmlns="http://purl.oclc.org/dsdl/schematron">{rule}</schema>'
    (folder / "cents.sch").write_text(schema, encoding="utf-8")
    step = {"method": "microaggregation", "params": {"k": 3}}
    settings = {
        "maskwright": 1,
        "data": {
            "source": "cents.xml",
            "levels": {
                "household": {"record": "Household", "key": "hhid"},
                "person": {"record": "Person", "key": "pno", "in": "household"},
            },
        },
        "edits": [{"schematron": "cents.sch"}],
        "protect": [step | {"variables": ["total"]}, step | {"variables": ["income"]}],
        "output": {"data": "cents_masked.xml"},
        "seed": 2,
    }
    (folder / "cents.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    return folder / "cents.yaml"


def test_the_engine_has_the_last_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A sum that is equal to the cent, and not to the last bit of a binary number, is not released."""
    path = strict_cents(tmp_path, "sum(Person/income) = number(total)")
    assert main(["run", str(path)]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "lxml finds it broken" in said
    assert said.count("give it a tolerance") == 1
    assert "tolerance, sum(Person/x) - total" in said
    assert not (tmp_path / "cents_masked.xml").exists()


def test_a_sum_with_a_tolerance_is_derived_and_released(tmp_path: Path) -> None:
    near = "sum(Person/income) - number(total)"
    path = strict_cents(tmp_path, f"{near} &lt;= 0.001 and {near} >= -0.001")
    record = mw.run(path).record
    kept = {each["name"]: each["kept_by"] for each in record["edits"]}
    assert kept["sum"] == "derivation"
    assert schematron_counts(tmp_path / "cents.sch", tmp_path / "cents_masked.xml") == {"sum": (0, 120)}


def test_a_rule_that_no_engine_applies_stops_the_release(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rules without a prefix are about no element of a namespace: with them nobody could check the document."""
    text = (folder / "survey.xml").read_text(encoding="utf-8")
    (folder / "spaced.xml").write_text(text.replace("<Survey>", '<Survey xmlns="urn:survey">', 1), encoding="utf-8")
    settings = yaml.safe_load((folder / "nested.yaml").read_text(encoding="utf-8"))
    settings["data"]["source"] = "spaced.xml"
    settings["output"] = {"data": "spaced_masked.xml"}
    path = folder / "spaced.yaml"
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    assert main(["run", str(path)]) == 1
    assert "lxml finds no record that it is about" in " ".join(capsys.readouterr().err.split())
    assert not (folder / "spaced_masked.xml").exists()
    settings["edits"] = ["sum(person.income) + child_benefit + capital == total"]
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    mw.run(path)
    assert '<Survey xmlns="urn:survey">' in (folder / "spaced_masked.xml").read_text(encoding="utf-8")


def with_another_code(text: str) -> str:
    return text.replace("<code>01</code>", "<code>1</code>", 1)


def with_a_member_elsewhere(text: str) -> str:
    person = re.findall(r"\s*<Person>.*?</Person>", text)[0]
    without = text.replace(person, "", 1)
    place = without.rindex("\n    <region>")
    return without[:place] + person + without[place:]


@pytest.mark.parametrize(("wrong", "column"), [(with_another_code, "code"), (with_a_member_elsewhere, "hhid")])
def test_what_is_written_wrong_stops_the_release(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    wrong: Callable[[str], str],
    column: str,
) -> None:
    plain = data_file.write_nested

    def write(tables: Any, groups: Any, path: Path, *others: Any, **named: Any) -> Any:
        held = plain(tables, groups, path, *others, **named)
        path.write_text(wrong(path.read_text(encoding="utf-8")), encoding="utf-8")
        return held

    monkeypatch.setattr(release_files, "write_nested", write)
    assert main(["run", str(odd_pipeline(tmp_path))]) == 3
    said = " ".join(capsys.readouterr().err.split())
    assert "source 'xml'" in said
    assert re.search(
        rf"does not give back what it was given to write: .*row \d+( and \d+ more)?, column {column}", said
    )
    assert not (tmp_path / "odd_masked.xml").exists()


def failures(path: Path) -> list[str]:
    return [each.get("location", "") for each in etree.parse(path).iter(f"{SVRL}failed-assert")]


def with_warning(folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """A rule about an unmasked variable that many persons break, as a warning: in YAML and in Schematron."""
    (folder / "w.yaml").write_text(
        "- {name: old, rule: age <= 60, severity: warning}\n- {name: sign, rule: income >= 0}\n",
        encoding="utf-8",
    )
    rules = '<assert id="old" role="warning" test="number(age) &lt;= 60">Old.</assert>'
    rules += '<assert id="sign" test="number(income) >= 0">Sign.</assert>'
    (folder / "w.sch").write_text(
        f'<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Household/Person">{rules}</rule>'
        "</pattern></schema>",
        encoding="utf-8",
    )
    return {"yaml": "w.yaml"}, {"schematron": "w.sch"}


def test_reports_name_the_household_and_the_member(folder: Path) -> None:
    in_yaml, in_schematron = with_warning(folder)
    expected: list[str] = []
    unmasked = {"waive": [{"doubt": "not-masked", "variable": STEPS[0]["variables"], "because": "a test"}]}
    for name, rules in (("engine", [in_schematron]), ("model", [in_yaml])):
        output = {"data": f"{name}.xml", "svrl": f"{name}.svrl.xml"}
        mw.run(pipeline(folder, "nested", edits=rules, protect=STEPS[1:], output=output, **unmasked))
        found = failures(folder / f"{name}.svrl.xml")
        document = etree.parse(folder / f"{name}.xml")
        ages = [float(document.xpath(f"number({place}/age)")) for place in found]
        assert min(ages) > 60
        assert len(found) == document.xpath("count(//Person[age > 60])")
        assert expected in ([], found)
        expected = found
    flat = {"data": "w.csv", "svrl": "flat.svrl.xml"}
    mw.run(pipeline(folder, "flat", edits=[in_yaml], protect=STEPS[1:], output=flat, **unmasked))
    data = {"household": "wh.csv", "person": "wp.csv"}
    mw.run(
        pipeline(
            folder,
            "linked",
            edits=[in_yaml],
            protect=STEPS[1:],
            output={"data": data, "svrl": "linked.svrl.xml"},
            **unmasked,
        )
    )
    same = [place.replace("/Survey/Household", "/records/household").replace("Person", "person") for place in expected]
    assert failures(folder / "flat.svrl.xml") == same
    assert failures(folder / "linked.svrl.xml") == same
    rows = pd.read_csv(folder / "w.csv")
    number, member = map(int, re.findall(r"\d+", same[0]))
    home = rows["hhid"].drop_duplicates().iloc[number - 1]
    assert rows[rows["hhid"] == home]["age"].iloc[member - 1] > 60


@pytest.mark.waived("edit-may-be-wrong")
def test_a_rule_about_suppressed_cells_holds_where_they_are(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An engine knows a rule as it is stated only: it is not asked about one that has become narrower."""
    listed = " or ".join(f"region = '{name}'" for name in ("Coast", "North", "Hills", "Plain", "City", "South"))
    stated = f'<rule context="Household"><assert test="{listed} or size > 99">.</assert></rule>'
    rule = f'<pattern id="named">{stated}</pattern>'
    schema = (folder / "survey.sch").read_text(encoding="utf-8")
    schema = schema.replace('<active pattern="members', '<active pattern="named"/><active pattern="members', 1)
    schema = schema.replace('<pattern id="any-adult">', f'{rule}<pattern id="any-adult">', 1)
    (folder / "named.sch").write_text(schema, encoding="utf-8")
    settings = yaml.safe_load((folder / "nested.yaml").read_text(encoding="utf-8"))
    settings["edits"][0]["schematron"]["file"] = "named.sch"
    settings["protect"][0]["params"]["k"] = 20
    settings["waive"] = [{"doubt": "many-records-dropped", "because": "the rule is about few"}]
    settings["output"] = {"data": "named.xml", "svrl": "named.svrl.xml"}
    (folder / "named.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    assert main(["run", str(folder / "named.yaml")]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "hold in another form than they are stated: named" in said
    published = {each["name"]: each for each in yaml.safe_load((folder / "named.edits.yaml").read_text("utf-8"))}
    assert published["named"]["when"] == "region is not missing"
    assert failures(folder / "named.svrl.xml") == []


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ({"data": "never.csv"}, "never.csv cannot hold records inside each other"),
        ({"data": {"household": "never.csv", "person": "p.csv"}}, "expected one file name"),
        ({"data": "never.xml", "edits": "rules.sch"}, "written in YAML"),
    ],
)
def test_outputs_that_cannot_be(
    folder: Path, capsys: pytest.CaptureFixture[str], output: dict[str, Any], said: str
) -> None:
    assert main(["run", str(pipeline(folder, "nested", output=output))]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert not list(folder.glob("never.*"))
