"""What a command line declares of files of levels, in all three forms: it is put over the pipeline's declarations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from maskwright.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Validated = Callable[..., tuple[int, str]]

HOMES = [("1", "01.02.2001", "4"), ("2", "05.02.2003", "-9")]
PEOPLE = [("1", "1", "03.04.1950", "6"), ("1", "2", "04.05.1980", "-9"), ("2", "1", "05.06.1990", "8")]
LEVELS = {
    "flat": """  source: flat.csv
  levels:
    home: {key: hid, variables: [moved, rent]}
    person: {key: pno, in: home}""",
    "linked": """  levels:
    home: {source: homes.csv, key: hid}
    person: {source: people.csv, key: pno, in: home}""",
    "nested": """  source: nested.xml
  levels:
    home: {record: Home, key: hid}
    person: {record: Person, key: pno, in: home}""",
}
FILES = {"flat": ["flat.csv"], "linked": ["homes.csv", "people.csv"], "nested": ["nested.xml"]}
VARIABLES = """
  variables:
    moved: {type: date, format: "%d.%m.%Y"}
    born: {type: date, format: "%d.%m.%Y"}
    rent: {missing: [-9]}
    wage: {missing: [-9]}
"""
FORMS = ("flat", "linked", "nested")


def written(folder: Path, moved: str | None = None, born: str | None = None) -> None:
    """The three forms of the same records, in which dates may be the texts of a recoding."""
    homes = [(hid, moved or date, rent) for hid, date, rent in HOMES]
    people = [(hid, pno, born or date, wage) for hid, pno, date, wage in PEOPLE]
    of_home = {hid: (date, rent) for hid, date, rent in homes}
    tables: dict[str, list[tuple[str, ...]]] = {
        "homes.csv": [("hid", "moved", "rent"), *homes],
        "people.csv": [("hid", "pno", "born", "wage"), *people],
        "flat.csv": [
            ("hid", "pno", "moved", "rent", "born", "wage"),
            *((hid, pno, *of_home[hid], date, wage) for hid, pno, date, wage in people),
        ],
    }
    for name, rows in tables.items():
        (folder / name).write_text("".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
    text = ""
    for hid, date, rent in homes:
        members = "".join(
            f"<Person><pno>{pno}</pno><born>{day}</born><wage>{wage}</wage></Person>"
            for group, pno, day, wage in people
            if group == hid
        )
        text += f"<Home><hid>{hid}</hid><moved>{date}</moved><rent>{rent}</rent>{members}</Home>"
    (folder / "nested.xml").write_text(f"<Survey>{text}</Survey>", encoding="utf-8")


@pytest.fixture
def validated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Validated:
    monkeypatch.chdir(tmp_path)

    def validate(
        form: str, *more: str, rules: str = "- wage >= 0\n- rent >= 0\n", steps: str = "protect: []"
    ) -> tuple[int, str]:
        pipeline = f"maskwright: 1\ndata:\n{LEVELS[form]}{VARIABLES}{steps}\n"
        (tmp_path / "pipeline.yaml").write_text(pipeline, encoding="utf-8")
        (tmp_path / "rules.yaml").write_text(rules, encoding="utf-8")
        capsys.readouterr()
        code = main(["validate", *FILES[form], "--edits", "rules.yaml", "--pipeline", "pipeline.yaml", *more])
        return code, "".join(capsys.readouterr())

    return validate


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("recoded", ["moved", "born"])
def test_recoded_dates_of_either_level_are_declared_to_be_texts(
    tmp_path: Path, validated: Validated, form: str, recoded: str
) -> None:
    written(tmp_path, **{recoded: "before 2004"})
    code, said = validated(form)
    assert code == 2
    assert "are no dates of the form" in said
    rules = f"- wage >= 0\n- rent >= 0\n- {recoded} in {{'before 2004', 'later'}}\n"
    code, said = validated(form, "--variable", f"{recoded}={{type: nominal}}", rules=rules)
    assert code == 0, said
    assert "no edit is violated" in said
    rules = f"- {recoded} in {{'later'}}\n"
    assert validated(form, "--variable", f"{recoded}={{type: nominal}}", rules=rules)[0] == 1


@pytest.mark.parametrize("form", FORMS)
def test_missing_codes_of_either_level(tmp_path: Path, validated: Validated, form: str) -> None:
    written(tmp_path)
    assert validated(form)[0] == 0
    for name in ("wage", "rent"):
        code, said = validated(form, "--variable", f"{name}={{missing: [-8]}}")
        assert code == 1, said
        broken = [line.split()[4] for line in said.splitlines() if line.startswith("edit-")]
        assert sorted(broken) == ["0", "1"], said  # what the pipeline says of the other variable holds


@pytest.mark.parametrize("form", FORMS)
def test_wrong_names_are_told_with_the_nearest_one(tmp_path: Path, validated: Validated, form: str) -> None:
    written(tmp_path)
    code, said = validated(form, "--variable", "wages={missing: [-8]}", "--variable", "home.rent={missing: [-8]}")
    assert code == 2
    assert "--variable wages: no variable called 'wages'; did you mean 'wage'?" in said
    assert "--variable home.rent: no variable called 'home.rent'; did you mean 'rent'?" in said
    code, said = validated(form, "--variable", "wage={misssing: [-8]}")
    assert code == 2
    assert "--variable wage: no key called 'misssing'; did you mean 'missing'?" in said
    written(tmp_path, born="before 2004")
    code, said = validated(form, "--variable", "borne={type: nominal}")
    assert code == 2
    assert "--variable borne: no variable called 'borne'; did you mean 'born'?" in said
    assert "are no dates of the form" in said


def test_a_wrong_name_where_an_engine_checks(tmp_path: Path, validated: Validated) -> None:
    written(tmp_path)
    (tmp_path / "rules.sch").write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Person">'
        '<assert test="number(wage) &gt; -10">A wage.</assert></rule></pattern></schema>',
        encoding="utf-8",
    )
    validated("nested")
    given = ["validate", "nested.xml", "--edits", "rules.sch", "--pipeline", "pipeline.yaml", "--variable"]
    assert main([*given, "wage={missing: [-8]}"]) == 0
    assert main([*given, "wages={missing: [-8]}"]) == 2


def test_other_options_hold_too(tmp_path: Path, validated: Validated) -> None:
    written(tmp_path)
    for name in FILES["linked"]:
        text = (tmp_path / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace(",", ";"), encoding="utf-8")
    assert validated("linked", "--delimiter", ";")[0] == 0
    assert validated("linked", "--delimiter", ",")[0] == 2
    code, said = validated("linked", "--cluster", "hid")
    assert code == 2
    assert "--cluster: `cluster` says what `levels` says" in said


def test_a_flat_file_is_told_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("wage,rent\n-9,4\n6,-9\n", encoding="utf-8")
    (tmp_path / "rules.yaml").write_text("- wage >= 0\n- rent >= 0\n", encoding="utf-8")
    pipeline = "maskwright: 1\ndata: {source: data.csv, variables: {wage: {missing: [-9]}, rent: {missing: [-9]}}}\n"
    (tmp_path / "pipeline.yaml").write_text(pipeline, encoding="utf-8")
    given = ["validate", "data.csv", "--edits", "rules.yaml", "--pipeline", "pipeline.yaml"]
    assert main(given) == 0
    assert main([*given, "--variable", "wage={missing: [-9, -8]}"]) == 0
    assert main([*given, "--variable", "wage={missing: [-8]}"]) == 1
    capsys.readouterr()
    assert main([*given, "--variable", "wages={missing: [-8]}"]) == 2
    assert "--variable wages: no variable called 'wages'; did you mean 'wage'?" in capsys.readouterr().err


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("recoded", ["moved", "born"])
def test_dates_that_steps_publish_as_categories_are_told_to_be_declared_so(
    tmp_path: Path, validated: Validated, form: str, recoded: str
) -> None:
    written(tmp_path, **{recoded: "2004"})
    steps = f"protect: [{{method: recoding, params: {{recode: {{{recoded}: year}}}}}}]"
    way = f"--variable '{recoded}={{type: nominal}}'"
    code, said = validated(form)
    assert code == 2
    assert way not in said
    code, said = validated(form, steps=steps)
    assert code == 2
    hint = said.partition("are no dates of the form")[2]
    assert way in " ".join(hint.split())
    assert hint.index("--variable") < hint.index("eclare")
    assert validated(form, "--variable", f"{recoded}={{type: nominal}}", steps=steps)[0] == 0
