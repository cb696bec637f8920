"""``roles``, ``types``, ``missing`` and ``undeclared``: many variables declared at once, by names and patterns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.cli.main import main
from maskwright.commands.starting_lists import with_patterns
from maskwright.pipeline.reading import read_pipeline

if TYPE_CHECKING:
    from pathlib import Path

REST = """
protect: [{method: local_suppression, variables: [age, sex], params: {k: 2}}]
output: {data: out.csv}
"""

UNKNOWN = (
    "5:19 no variable called 'zz'; there are: age, id, occ1, occ2, q1, q10, q11, q12, q2, q3, q4, q5, ... (17 in all)"
)


def survey(folder: Path) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({
        "id": np.arange(60) + 100, "age": rng.integers(20, 24, 60), "sex": rng.choice(["f", "m"], 60),
        "occ1": rng.integers(1, 4, 60), "occ2": rng.integers(1, 4, 60),
    })  # fmt: skip
    for number in range(1, 13):
        frame[f"q{number}"] = rng.choice([1, 2, 3, -9], 60)
    frame.to_csv(folder / "in.csv", index=False)
    return frame


def pipeline(folder: Path, data: str, rest: str = REST) -> Path:
    path = folder / "p.yaml"
    path.write_text(f"maskwright: 1\ndata:\n  source: in.csv\n{data}{rest}", encoding="utf-8")
    return path


def mistakes(path: Path) -> list[str]:
    with pytest.raises(mw.InputError) as caught:
        read_pipeline(path)
    return [f"{each.place.line}:{each.place.column} {each.message}" for each in caught.value.problems]


def test_patterns_names_and_variables_count_in_this_order(tmp_path: Path) -> None:
    survey(tmp_path)
    path = pipeline(tmp_path, """\
  roles: {other: ["q*"], confidential: q3, quasi_identifier: [age, sex, "occ?"], identifier: id}
  types: {nominal: ["q*", "occ*"], integer: q3}
  missing: {-9: ["q*"], NA: null, -8: {variables: [q1], means: refused}}
  variables: {q7: {role: identifier, missing: [-7]}}
""")  # fmt: skip
    found = read_pipeline(path).data.variables
    assert (found["q1"].role, found["q3"].role, found["q7"].role) == ("other", "confidential", "identifier")
    assert (found["q1"].type, found["q3"].type, found["occ2"].type) == ("nominal", "integer", "nominal")
    assert found["occ1"].role == found["age"].role == "quasi_identifier"
    assert found["q1"].missing == (("NA", ""), ("-9", ""), ("-8", "refused"))
    assert (found["q2"].missing_codes, found["q7"].missing_codes) == (("NA", "-9"), ("-7",))
    assert read_pipeline(path).data.missing == (("NA", ""),)
    assert "missing" not in found["age"].model_fields_set


def test_each_mistake_is_said_with_its_place(tmp_path: Path) -> None:
    survey(tmp_path)
    found = mistakes(pipeline(tmp_path, """\
  roles:
    other: ["q*", zz]
    confidential: ["q1?", q3]
    identifier: [q3]
  types: {nominal: ["w*"], integer: [agee]}
"""))  # fmt: skip
    assert found == [
        UNKNOWN,
        "6:20 roles: 'q1?' (confidential) contradicts 'q*' (other) in line 5: both mean q10, q11, q12",
        "7:18 roles: 'q3' (identifier) contradicts 'q3' (confidential) in line 6: both mean q3",
        "8:21 types: no variable has a name like 'w*', of 17 variables",
        "8:38 no variable called 'agee'; did you mean 'age'?",
    ]


def test_what_is_said_of_one_variable_settles_a_contradiction(tmp_path: Path) -> None:
    survey(tmp_path)
    exact = '  roles: {other: ["q*", q10, q11], identifier: ["q1?"]}\n  variables: {q12: {role: weight}}\n'
    found = read_pipeline(pipeline(tmp_path, exact)).data.variables
    assert [found[name].role for name in ("q9", "q10", "q11", "q12")] == ["other", "other", "other", "weight"]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            "roles: {keys: [age]}",
            "roles: expected 'identifier',",
        ),
        ("roles: [age]", "roles: expected a mapping of keys"),
        ("missing: {-9: {names: [q1]}}", "missing: -9: expected a text, a list of variables"),
        ("undeclared: drop", "undeclared: expected 'other' or 'stop'"),
    ],
)
def test_another_form_is_refused(tmp_path: Path, said: str, expected: str) -> None:
    survey(tmp_path)
    (found,) = mistakes(pipeline(tmp_path, f"  {said}\n"))
    assert expected in found


def test_a_name_with_a_star_is_a_name(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a*": range(9), "ab": range(9), "age": range(9), "sex": range(9)})
    frame.to_csv(tmp_path / "in.csv", index=False)
    found = read_pipeline(pipeline(tmp_path, '  roles: {other: ["a*"]}\n')).data.variables
    assert [*found] == ["a*"]


def test_undeclared_publishes_the_rest_and_names_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    survey(tmp_path)
    roles = "  roles: {quasi_identifier: [age, sex], identifier: [id]}\n"
    assert main(["plan", str(pipeline(tmp_path, roles)), "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["doubts"]) == 14
    path = pipeline(tmp_path, f"{roles}  undeclared: other\n")
    assert main(["plan", str(path), "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    (said,) = [each for each in plan["notices"] if each["kind"] == "undeclared-published"]
    assert said["is_caution"]
    assert said["message"].endswith("occ1, occ2, " + ", ".join(f"q{number}" for number in range(1, 13)))
    assert "q12" in plan["untouched"]
    rows = {each["name"]: each for each in plan["variables"]}
    assert [*rows] == [*pd.read_csv(tmp_path / "in.csv").columns]
    assert rows["q12"] == {
        "name": "q12", "type": "integer", "role": "other", "declared_by": "undeclared", "line": 5, "steps": [],
        "published": "as it is",
    }  # fmt: skip
    assert (rows["age"]["declared_by"], rows["age"]["steps"], rows["age"]["published"]) == ("roles: age", [1], "masked")
    assert rows["id"]["published"] == "no"
    assert main(["plan", str(path), "--variables"]) == 0
    assert "roles: id, line 4" in capsys.readouterr().out


def test_a_codebook_says_less_than_a_list_and_is_no_undeclared_variable(tmp_path: Path) -> None:
    survey(tmp_path)
    (tmp_path / "book.csv").write_text("variable,role\nocc1,quasi_identifier\nq1,quasi_identifier\n", encoding="utf-8")
    said = '  codebook: book.csv\n  roles: {confidential: ["q?"]}\n  undeclared: other\n'
    found = read_pipeline(pipeline(tmp_path, said)).data.variables
    assert [found[name].role for name in ("occ1", "q1", "q10")] == ["quasi_identifier", "confidential", "other"]


def test_parts_are_declared_by_patterns(tmp_path: Path) -> None:
    frame = survey(tmp_path)
    (tmp_path / "in.csv").unlink()
    (tmp_path / "in").mkdir()
    for number in range(2):
        frame[number::2].to_csv(tmp_path / "in" / f"{number}.csv", index=False)
    path = pipeline(tmp_path, '  roles: {other: ["q*", "occ*"], quasi_identifier: [age, sex], identifier: id}\n')
    path.write_text(path.read_text().replace("in.csv", "in").replace("out.csv", "out/"), encoding="utf-8")
    assert main(["plan", str(path)]) == 0


@pytest.mark.parametrize("form", ["flat", "linked"])
def test_levels_are_declared_by_patterns_over_all_files(tmp_path: Path, form: str) -> None:
    home = np.repeat(np.arange(30), 2)
    frame = pd.DataFrame({"hhid": home, "pno": np.tile([1, 2], 30), "h_region": home % 3, "h_rooms": home % 4,
                          "p_age": np.tile([20, 30, 40], 20), "p_sex": np.tile([1, 2], 30)})  # fmt: skip
    frame.to_csv(tmp_path / "in.csv", index=False)
    frame[["hhid", "h_region", "h_rooms"]].drop_duplicates().to_csv(tmp_path / "h.csv", index=False)
    frame[["hhid", "pno", "p_age", "p_sex"]].to_csv(tmp_path / "p.csv", index=False)
    own = ("source: h.csv, ", "source: p.csv, ") if form == "linked" else ("variables: [h_region, h_rooms], ", "")
    data = (
        f"  levels: {{household: {{{own[0]}key: hhid}}, person: {{{own[1]}key: pno, in: household}}}}\n"
        '  roles: {quasi_identifier: ["p_*"], other: ["h_*"]}\n  types: {nominal: ["?_*"]}\n'
    )
    path = pipeline(tmp_path, data, "protect: [{method: local_suppression, variables: [p_age], params: {k: 2}}]\n")
    output = "out.csv" if form == "flat" else "{household: oh.csv, person: op.csv}"
    text = path.read_text() + f"output: {{data: {output}}}\n"
    path.write_text(text if form == "flat" else text.replace("  source: in.csv\n", ""), encoding="utf-8")
    levels = read_pipeline(path).levels
    assert levels is not None
    for source in levels.sources.values():
        assert source.variables["p_sex"].role == "quasi_identifier"
        assert (source.variables["h_rooms"].role, source.variables["h_rooms"].type) == ("other", "nominal")
    path.write_text(path.read_text().replace('"h_*"', '"x_*"'), encoding="utf-8")
    assert mistakes(path)[0].endswith("roles: no variable has a name like 'x_*', of 6 variables")


def test_calls_take_the_same_lists(tmp_path: Path) -> None:
    frame = survey(tmp_path)
    lists = {"roles": {"other": ["q*"]}, "missing": {"-9": ["q*"]},
             "types": {"nominal": ["q?"]}, "q2": {"role": "weight"}}  # fmt: skip
    read = mw.read(tmp_path / "in.csv", variables=lists)
    assert (read["q1"].variable.role, read["q2"].variable.role) == ("other", "weight")
    assert read["q1"].variable.missing_codes == ("-9",)
    assert (read["q1"].variable.type, read["q10"].variable.type) == ("nominal", "integer")
    plan = mw.plan(frame, "local_suppression", variables=["age", "sex"], params={"k": 2}, declared={
        "roles": {"quasi_identifier": ["age", "sex", "occ*"], "identifier": "id"}, "undeclared": "other",
    })  # fmt: skip
    assert plan.variables["q12"].role == "other"
    assert plan.variables["occ1"].role == "quasi_identifier"
    with pytest.raises(mw.InputError, match="no variable has a name like 'w\\*'"):
        mw.plan(frame, "noise", declared={"roles": {"other": ["w*"]}})


def test_a_variable_may_be_called_like_a_list(tmp_path: Path) -> None:
    pd.DataFrame({"roles": ["a", "b"] * 9}).to_csv(tmp_path / "in.csv", index=False)
    read = mw.read(tmp_path / "in.csv", variables={"roles": {"role": "quasi_identifier"}})
    assert read["roles"].variable.role == "quasi_identifier"


def test_what_a_pipeline_declares_holds_for_a_file_that_lacks_some(tmp_path: Path) -> None:
    frame = survey(tmp_path)
    path = pipeline(tmp_path, '  roles: {identifier: ["i?"], other: ["q*"]}\n  missing: {-9: ["q*"]}\n')
    frame.drop(columns="id").to_csv(tmp_path / "released.csv", index=False)
    (tmp_path / "rules.yaml").write_text("edits: ['q1 in [1, 3]']\n", encoding="utf-8")
    words = ["validate", str(tmp_path / "released.csv"), "--edits", str(tmp_path / "rules.yaml"), "--pipeline"]
    assert main([*words, str(path)]) == 0


@pytest.mark.parametrize(
    ("chosen", "every", "expected"),
    [
        (["q1", "q2", "q3"], ["q1", "q2", "q3", "age"], ["q*"]),
        (["q1", "q2", "q3"], ["q1", "q2", "q3", "quota"], ["q1", "q2", "q3"]),
        (["q1", "q3"], ["q1", "q3"], ["q1", "q3"]),
        (["h_a", "h_b", "h_c", "x"], ["h_a", "h_b", "h_c", "x"], ["h_*", "x"]),
        (["a*1", "a*2", "a*3"], ["a*1", "a*2", "a*3"], ["a*1", "a*2", "a*3"]),
    ],
)
def test_a_pattern_stands_for_exactly_its_names(chosen: list[str], every: list[str], expected: list[str]) -> None:
    assert with_patterns(chosen, every) == expected


def panel(folder: Path, columns: int) -> Path:
    rng = np.random.default_rng(columns)
    home = np.repeat(np.arange(100), 3)
    frame = pd.DataFrame({
        "pid": rng.permutation(300) + 9000, "hhid": home + 500, "pno": np.tile([1, 2, 3], 100),
        "line": np.arange(300) + 1, "wave": rng.integers(1, 4, 300), "age": rng.integers(18, 90, 300),
        "visited": [f"2020-{1 + row % 12:02d}-{1 + row % 28:02d}" for row in range(300)],
        "region": rng.integers(1, 6, 100)[home], "wages": rng.lognormal(8, 1, 300).round(2),
    })  # fmt: skip
    frame["wage_rank"] = frame["wages"].rank(method="first").astype(int)
    answers = {f"q{number}": rng.choice([1, 2, 3, -9][: 3 + (number % 3 == 0)], 300) for number in range(1, columns)}
    pd.concat([frame, pd.DataFrame(answers)], axis=1).iloc[:, :columns].to_csv(folder / "wide.csv", index=False)
    return folder / "wide.csv"


def test_init_of_a_wide_panel_is_short_and_one_answer_lets_it_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing that may identify is published: keys, ranks, line numbers and days are dropped."""
    path = tmp_path / "p.yaml"
    assert main(["init", str(panel(tmp_path, 50)), "--to", str(path)]) == 0
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 120
    data = mw.read_settings(path.read_text(encoding="utf-8"))["data"]
    assert {"pid", "hhid", "line", "visited", "wage_rank"} <= set(data["roles"]["identifier"])
    assert data["roles"]["confidential"] == "wages"
    assert "q*" in data["types"]["nominal"]
    capsys.readouterr()
    assert main(["plan", str(path), "--json"]) == 1
    assert {each["doubt"] for each in json.loads(capsys.readouterr().out)["doubts"]} == {"published-undeclared"}
    assert main(["init", str(tmp_path / "wide.csv"), "--to", str(path), "--force", "--answer", "code=other"]) == 0
    assert "to be made before it runs" not in path.read_text(encoding="utf-8")
    assert main(["plan", str(path)]) == 0


def test_what_was_guessed_of_several_variables_is_said_once_without_their_counts(tmp_path: Path) -> None:
    rows = [f"{20 + row % 40},{'many' if row < 2 else 7 * row},{'few' if row == 9 else 5 * row}" for row in range(90)]
    (tmp_path / "in.csv").write_text("\n".join(["age,amount,total", *rows, ""]), encoding="utf-8")
    assert main(["init", str(tmp_path / "in.csv"), "--to", str(tmp_path / "p.yaml")]) in (0, 2)
    text = " ".join((tmp_path / "p.yaml").read_text(encoding="utf-8").replace("\n#", " ").split())
    said = "most cells are numbers and some are not: declare `missing: [...]`, or correct them"
    assert f"amount, total (2 variables): {said}" in text


@pytest.mark.parametrize("answer", ["kode=other", "code=public", "code"])
def test_an_answer_of_another_kind_is_refused(tmp_path: Path, answer: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(panel(tmp_path, 12)), "--to", str(tmp_path / "p.yaml"), "--answer", answer]) == 2
    assert f"--answer {answer}: no " in capsys.readouterr().err


@pytest.mark.parametrize("name", [" income ", 'in"come', "in, come", "it's", "null", "*income"])
def test_init_writes_names_that_its_plan_finds(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({" age ": rng.integers(20, 80, 80), name: rng.normal(2000, 300, 80).round(2)})
    frame.to_csv(tmp_path / "in.csv", index=False)
    assert main(["init", str(tmp_path / "in.csv"), "--to", str(tmp_path / "p.yaml")]) == 0
    assert "no variable called" not in capsys.readouterr().out
    declared = read_pipeline(tmp_path / "p.yaml").data.variables
    assert {" age ", name} <= set(declared)
