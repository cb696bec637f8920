"""Looking before declaring: files as offices have them are read, described, and given a pipeline."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pandas as pd
import pytest
import yaml

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

N = 240
ROLES = {
    "persona_id": "identifier", "hogar_id": "identifier", "region": "quasi_identifier",
    "tamano_hogar": "quasi_identifier", "edad": "quasi_identifier", "sexo": "quasi_identifier",
    "estudios": "quasi_identifier", "nacimiento": "identifier", "salario": "confidential", "pension": "confidential",
    "renta_total": "confidential", "antiguedad": "confidential", "cnae": "quasi_identifier", "peso": "weight",
    "observaciones": "identifier", "codigo": None,
}  # fmt: skip
REGIONS = ("Cáceres", "Málaga", "Ávila", "Jaén")


def records() -> list[list[str]]:
    """A survey of persons in households; amounts have digits that no count has."""
    rng = np.random.default_rng(7)
    homes = np.repeat(np.arange(50_101, 50_101 + N), rng.integers(1, 5, N))[:N]
    sizes = np.bincount(homes)
    region, weight = rng.integers(0, 4, sizes.size), rng.uniform(200, 900, sizes.size)
    found = []
    for row, home in enumerate(homes.tolist()):
        wage = 71_000 + round(float(rng.lognormal(9, 0.5)), 2)
        pension = round(float(rng.lognormal(8, 0.5)), 2)
        age = int(rng.integers(16, 95))
        left_out = rng.random() < 0.05
        found.append(
            [
                f"PX{row:06d}", str(home), REGIONS[region[home]], str(sizes[home]), str(age), str(rng.integers(1, 3)),
                str(rng.choice([1, 2, 3, 4, 9])), f"{rng.integers(1, 29):02d}/{rng.integers(1, 13):02d}/{2020 - age}",
                "NA" if left_out else comma(wage), comma(pension), "NA" if left_out else comma(wage + pension),
                "-9" if row % 20 == 0 else str(rng.integers(0, 30)), f"{rng.integers(1, 40):02d}",
                comma(weight[home], 3), f"visita número {row} larga", str(rng.integers(1, 8)),
            ]
        )  # fmt: skip
    return found


def comma(value: float, decimals: int = 2) -> str:
    return f"{value:.{decimals}f}".replace(".", ",")


def office_file(folder: Path, encoding: str = "latin-1") -> Path:
    path = folder / "persons.csv"
    lines = [";".join(ROLES), *(";".join(row) for row in records())]
    path.write_bytes(("\r\n".join(lines) + "\r\n").encode(encoding))
    return path


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return office_file(tmp_path)


def telling_cells() -> set[str]:
    """Cells that no count and no name could be."""
    long = {cell for row in records() for cell in row if len(cell) >= 4}
    return long | {cell.replace(",", ".") for cell in long}


def test_an_office_file_is_read_with_what_it_needs_and_understood(office: Path) -> None:
    found = mw.describe(office)
    assert found.options == {"encoding": "cp1252", "decimal": ","}
    assert any("utf-8" in said for said in found.tried)
    assert any("decimal comma" in said for said in found.tried)
    assert found.household == "hogar_id"
    assert {each.name: each.role for each in found.variables} == ROLES
    looks = {each.name: each for each in found.variables}
    missing = sum(row[8] == "NA" for row in records())
    assert looks["salario"].missing_codes == {"NA": missing}
    assert (looks["salario"].cells, looks["salario"].missing, looks["salario"].decimals) == (N - missing, missing, 2)
    assert looks["antiguedad"].missing_codes == {"-9": 12}
    assert looks["antiguedad"].missing == 12
    assert (looks["sexo"].type, looks["sexo"].looks_like, looks["sexo"].distinct) == ("nominal", "code", 2)
    assert looks["nacimiento"].looks_like == "date"
    assert looks["observaciones"].looks_like == "free text"
    assert any("9" in said.text for said in looks["estudios"].unsure)
    assert looks["codigo"].unsure


def test_no_value_of_a_record_is_shown_unless_asked_for(office: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["describe", str(office)], ["describe", str(office), "--json"], ["init", str(office)]):
        assert main(arguments) == 0
    shown = "".join(capsys.readouterr()) + (office.parent / "pipeline.yaml").read_text(encoding="utf-8")
    assert [cell for cell in telling_cells() if cell in shown] == []
    assert main(["describe", str(office), "--show-values"]) == 0
    shown = capsys.readouterr().out
    assert "confidential" in shown
    assert all(region in shown for region in REGIONS)
    assert main(["describe", str(office), "--show-values", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["shows_values"]
    ages = next(each for each in found["variables"] if each["name"] == "edad")
    assert (ages["lowest"], ages["highest"]) == (min(int(row[4]) for row in records()), max(
        int(row[4]) for row in records()))  # fmt: skip


def test_init_writes_a_pipeline_whose_plan_has_only_doubts_that_its_comments_name(
    office: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", str(office)]) == 0
    printed = capsys.readouterr().out
    path = office.parent / "pipeline.yaml"
    text = path.read_text(encoding="utf-8")
    content = yaml.safe_load(text)
    assert content["data"]["encoding"] == "cp1252"
    assert content["data"]["decimal"] == ","
    assert content["data"]["cluster"] == "hogar_id"
    assert "salario" in content["data"]["roles"]["confidential"]
    assert content["data"]["missing"]["NA"] == ["salario", "renta_total"]
    assert content["data"]["missing"]["-9"] == ["antiguedad"]
    assert content["edits"] == ["salario + pension == renta_total"]
    assert [step["method"] for step in content["protect"]] == ["microaggregation", "recoding", "local_suppression"]
    assert main(["plan", str(path), "--json"]) == 1
    doubts = json.loads(capsys.readouterr().out)["doubts"]
    assert [(doubt["doubt"], doubt["subject"]) for doubt in doubts] == [
        ("published-undeclared", "codigo"), ("follows-from-published", "hogar_id"),
    ]  # fmt: skip
    assert "# codigo: W202 published-undeclared" in " ".join(text.split())
    assert "codigo: W202 published-undeclared" in " ".join(printed.split())
    assert "# hogar_id: W206 follows-from-published" in " ".join(text.split())
    assert "others know it (birth)" in text
    decided = text.replace("  roles:\n", "  undeclared: other\n  roles:\n")
    decided = decided.replace("  variables:\n", "  variables:\n    hogar_id: {role: identifier, release: new}\n")
    path.write_text(decided, encoding="utf-8")
    assert main(["plan", str(path)]) == 0


@pytest.mark.parametrize("seed", [2, 3])
def test_what_init_proposes_for_persons_in_households_is_released(seed: int, tmp_path: Path) -> None:
    """Sizes are published in bands: with the large ones alone suppressed their mean would be another."""
    rng = np.random.default_rng(seed)
    sizes = rng.choice(np.arange(1, 8), 400, p=[0.36, 0.33, 0.13, 0.11, 0.04, 0.02, 0.01])
    size = np.repeat(sizes, sizes)[:400]
    frame = pd.DataFrame({
        "age": rng.integers(0, 95, 400), "household_size": size, "region": rng.choice(list("abcdef"), 400),
        "sex": rng.choice(["f", "m"], 400), "education": rng.choice(["none", "school", "trade", "degree"], 400),
        "income": rng.lognormal(10, 0.6, 400).round(),
    })  # fmt: skip
    frame.sample(frac=1, random_state=seed).to_csv(tmp_path / "people.csv", index=False)
    assert main(["init", str(tmp_path / "people.csv"), "--to", str(tmp_path / "pipeline.yaml")]) == 0
    mw.run(tmp_path / "pipeline.yaml")
    bands = pd.read_csv(tmp_path / "people-masked.csv")["household_size"].dropna().unique()
    assert "below 2" in bands
    assert 2 <= len(bands) <= 5


def test_a_pipeline_that_is_there_is_left_alone_without_force(office: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = office.parent / "pipeline.yaml"
    path.write_text("mine", encoding="utf-8")
    before = office.read_bytes()
    assert main(["init", str(office)]) == 2
    assert "was left alone" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == "mine"
    assert main(["init", str(office), "--to", str(office), "--force"]) == 2
    assert office.read_bytes() == before
    assert main(["init", str(office), "--force"]) == 0
    assert "maskwright: 1" in path.read_text(encoding="utf-8")
    assert main(["init", str(office), "--to", "other/first.yaml"]) == 0
    assert yaml.safe_load((office.parent / "other/first.yaml").read_text(encoding="utf-8"))["data"]["source"] == (
        "../persons.csv"
    )


def test_a_data_file_that_is_not_there_becomes_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "persons.csv"]) == 2
    assert "persons.csv" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_what_is_declared_is_not_guessed(office: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", str(office), "--json", "--variable", "codigo={role: other}", "--encoding", "latin-1",
                 "--cluster", "hogar_id"]) == 0  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    code = next(each for each in found["variables"] if each["name"] == "codigo")
    assert (code["role"], code["why"], code["unsure"]) == ("other", "declared", [])
    assert found["options"] == {"decimal": ","}
    assert main(["init", str(office)]) == 0
    capsys.readouterr()
    assert main(["describe", str(office), "--json", "--pipeline", "pipeline.yaml"]) == 0
    assert json.loads(capsys.readouterr().out)["options"] == {}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "latin-1", "utf-16"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    found = mw.describe(office_file(tmp_path, encoding))
    assert "encoding" not in found.options or found.options["encoding"] == "cp1252"
    assert (found.options.get("encoding") == "cp1252") == (encoding in ("cp1252", "latin-1"))
    assert found.records == N


def described(folder: Path, text: str, name: str = "d.csv") -> mw.Description:
    path = folder / name
    path.write_bytes(text.encode("latin-1"))
    return mw.describe(path)


def test_bytes_that_cp1252_does_not_have_are_latin_1(tmp_path: Path) -> None:
    rows = "".join(f"{row};caf\xe9\x81\n" for row in range(30))
    assert described(tmp_path, "years;drink\n" + rows).options == {"encoding": "latin-1"}


def test_two_delimiters_that_fit_are_tried(tmp_path: Path) -> None:
    found = described(tmp_path, "a,x;b,y\n" + "".join(f"1{row},2;3,4{row}\n" for row in range(30)))
    assert "delimiter" in found.options
    assert any("delimiter" in said for said in found.unsure)


def test_a_first_row_that_may_be_a_record(tmp_path: Path) -> None:
    rows = "".join(f"{row * 37 % 101};{row * 7.5:.1f};x{row % 3}\n" for row in range(1, 40))
    found = described(tmp_path, rows)
    assert found.options == {"header": False}
    assert [each.name for each in found.variables] == ["V1", "V2", "V3"]
    assert any("record" in said for said in found.unsure)
    named = described(tmp_path, "2019;total;kind\n" + rows)
    assert named.options == {"header": True}
    assert [each.name for each in named.variables] == ["2019", "total", "kind"]


def test_a_first_row_of_texts_that_occur_again_is_no_row_of_names(tmp_path: Path) -> None:
    """Names are shown, and values are not."""
    rows = "".join(f"person {row};{('north', 'south')[row % 2]};{('ill', 'well')[row % 3 % 2]}\n" for row in range(40))
    found = described(tmp_path, rows)
    assert [each.name for each in found.variables] == ["V1", "V2", "V3"]
    assert any("record" in said for said in found.unsure)


def test_a_file_that_nothing_helps_is_refused_with_what_was_wrong_at_first(tmp_path: Path) -> None:
    rows = [f"{row};{row}" for row in range(30)]
    (tmp_path / "d.csv").write_text("\n".join(["a;b", *rows, "1;2;3"]) + "\n", encoding="utf-8")
    with pytest.raises(mw.DataError, match="record 31 has 3 cells"):
        mw.describe(tmp_path / "d.csv")


def test_a_decimal_comma_beside_codes_with_points_is_found(tmp_path: Path) -> None:
    found = described(tmp_path, "wage;code\n" + "".join(f"{row},5;{row % 7}.1\n" for row in range(40)))
    assert found.options["decimal"] == ","
    assert [each.type for each in found.variables] == ["continuous", "nominal"]


def test_a_column_of_numbers_and_texts_is_read_and_told(tmp_path: Path) -> None:
    rows = "".join(f"{row},{'many' if row == 7 else 1000 + 7 * row}\n" for row in range(60))
    found = described(tmp_path, "years,amount\n" + rows)
    (amount,) = (each for each in found.variables if each.name == "amount")
    assert (amount.type, amount.role) == ("continuous", "confidential")
    (unsure,) = amount.unsure
    assert unsure.text == "59 of its 60 cells are numbers and 1 is not: declare `missing: [...]`, or correct it"


@pytest.mark.parametrize(
    ("odd", "role"),
    [
        (["n/a"], "confidential"),
        (["12a"], "confidential"),
        (["n/a", "12a", "1O2"], "confidential"),
        ([f"P{n}" for n in range(20)], "identifier"),
    ],
)
def test_a_number_with_odd_cells_is_proposed_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], odd: list[str], role: str
) -> None:
    """With their count, by `describe` and in the pipeline of `init`; what holds many others is still an identifier."""
    monkeypatch.chdir(tmp_path)
    amounts = [*odd, *(str(1013 * row) for row in range(1, 121 - len(odd)))]
    pd.DataFrame({"amount": amounts, "tax": np.arange(120) * 3.25}).to_csv("d.csv", index=False)
    assert main(["describe", "d.csv", "--json"]) == 0
    (found, _) = json.loads(capsys.readouterr().out)["variables"]
    assert found["role"] == role
    others = len([each for each in odd if each != "n/a"])
    counted = f"{120 - len(odd)} of its {120 - len(odd) + others} cells are numbers and {others} "
    assert any(each.startswith(counted) for each in found["unsure"]) == (others > 0)
    main(["init", "d.csv"])
    written = (tmp_path / "pipeline.yaml").read_text(encoding="utf-8")
    assert (f"amount: {counted}" in " ".join(written.replace("#", "").split())) == (others > 0)
    proposed = yaml.safe_load(written)
    assert "amount" in proposed["data"]["roles"][role]
    assert ("amount" in proposed["protect"][0]["variables"]) == (role == "confidential")


def test_text_that_may_be_a_category_is_no_missing_code(tmp_path: Path) -> None:
    rows = "".join(f"{('none', 'some', 'unknown', '.')[row % 4]},{row}\n" for row in range(60))
    found = described(tmp_path, "help,years\n" + rows)
    assert found.variables[0].missing_codes == {".": 15}
    assert found.variables[0].distinct == 3


@pytest.mark.parametrize(
    "names",
    [["a: b", "#c", "d 'e'"], ['"q"', "no", "e1"], ["ünïcödé", "{x}", "[y]"], ["null", "- z", "a\\b"]],
)
def test_names_of_any_kind_stand_in_a_valid_pipeline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], names: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    pd.DataFrame(rng.normal(100, 10, (60, 3)).round(2), columns=names).to_parquet("d.parquet")
    assert main(["init", "d.parquet"]) == 0
    settings = yaml.safe_load((tmp_path / "pipeline.yaml").read_text(encoding="utf-8"))
    assert settings["data"]["roles"] == {"confidential": names}
    capsys.readouterr()
    assert main(["plan", "pipeline.yaml"]) == 0


def test_a_file_in_which_nothing_is_to_be_masked_gets_a_pipeline_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"colour": ["red", "blue"] * 30, "shape": ["round", "square", "flat"] * 20}).to_csv(
        "d.csv", index=False
    )
    assert main(["init", "d.csv"]) == 0
    assert main(["plan", "pipeline.yaml"]) == 0
    written = (tmp_path / "pipeline.yaml").read_text(encoding="utf-8")
    assert "nothing else would be masked" in " ".join(written.replace("#", "").split())


def test_data_of_a_program(office: Path) -> None:
    frame = pd.DataFrame({"age": range(20, 80), "sex": ["f", "m"] * 30, "income": np.arange(60) * 1234.5})
    found = mw.describe(frame, declared={"sex": {"role": "other"}})
    assert [(each.name, each.role) for each in found.variables] == [
        ("age", "quasi_identifier"), ("sex", "other"), ("income", "confidential"),
    ]  # fmt: skip
    data = mw.read(office, encoding="latin-1", decimal=",", variables={
        name: {"missing": ["NA"]} for name in ("salario", "renta_total")})  # fmt: skip
    assert mw.describe(data).household == "hogar_id"
    assert mw.describe(frame, show_values=True).variables[0].highest == 79


def test_xml_is_looked_at_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"<R><id>{row}</id><wage>{row * 31.5:.2f}</wage></R>" for row in range(40))
    (tmp_path / "d.xml").write_text(f"<data>{rows}</data>", encoding="utf-8")
    assert main(["describe", str(tmp_path / "d.xml")]) == 0
    assert re.search(r"id +integer +identifier +identifier +40", capsys.readouterr().out)


def test_keys_of_households_are_seen_by_what_members_share_and_amounts_are_none(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    homes = np.repeat(np.arange(100), rng.integers(1, 5, 100))
    tenure, wage = rng.integers(0, 4, 100)[homes], rng.integers(0, 90, len(homes)) * 100
    shuffled = rng.permutation(len(homes))
    frame = pd.DataFrame(
        {"grp": homes + 500, "tenure": tenure, "rooms": rng.integers(1, 9, 100)[homes], "wage": wage,
         "taxed": wage * 2, "net": wage * 3}
    )  # fmt: skip
    found = mw.describe(frame)
    assert found.household == "grp"
    assert any("its name does not say so" in said.text for said in found.variables[0].unsure)
    assert mw.describe(frame.iloc[shuffled].drop(columns="grp")).household is None


def messy_rows(form: str) -> pd.DataFrame:
    """Persons in households; dates in a form, beside columns of which no name says what they are."""
    rng = np.random.default_rng(11)
    count = 300
    homes = np.arange(count) // 2
    first = pd.Timestamp("1950-01-01")
    born = first + pd.to_timedelta(rng.integers(0, 15_000, count), unit="D")
    entry = born + pd.to_timedelta(rng.integers(8_000, 12_000, count), unit="D")
    frame = pd.DataFrame(
        {
            "pid": np.arange(10_000, 10_000 + count),
            "hhid": homes,
            "region": np.array(["north", "south", "east"])[rng.integers(0, 3, count)[homes]],
            "sex": rng.integers(1, 3, count),
            "born": born,
            "entry": entry,
            "zone": np.array(list("ABCDE"))[rng.integers(0, 5, count)],
            "wage": rng.uniform(900, 6000, count).round(2),
            "hours": rng.integers(5, 60, count),
        }
    )
    if form:
        frame[["born", "entry"]] = frame[["born", "entry"]].apply(lambda column: column.dt.strftime(form))
    return frame


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame in the format of the name."""
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".xml":
        frame.to_xml(path, index=False, parser="etree")
    elif path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    elif path.suffix == ".dta":
        frame.to_stata(path, write_index=False, convert_dates={"born": "td", "entry": "td"})
    else:
        frame.to_excel(path, index=False)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("d.csv", "%d.%m.%Y"), ("d.csv", "%Y-%m-%d"), ("d.xml", "%Y-%m-%d"), ("d.parquet", ""), ("d.dta", ""),
        ("d.xlsx", ""),
    ],
)  # fmt: skip
def test_formats_are_guessed_alike(name: str, form: str, tmp_path: Path) -> None:
    """A date is a date, whether the format says so or its cells do: that of birth is dropped, another is asked for."""
    write_frame(messy_rows(form), tmp_path / name)
    found = mw.describe(tmp_path / name)
    roles = {each.name: (each.role, each.looks_like) for each in found.variables}
    assert roles == {
        "pid": ("identifier", "identifier"), "hhid": ("identifier", "number"),
        "region": ("quasi_identifier", "category"), "sex": ("quasi_identifier", "code"),
        "born": ("identifier", "date"), "entry": (None, "date"), "zone": (None, "category"),
        "wage": ("confidential", "number"), "hours": ("confidential", "number"),
    }  # fmt: skip
    assert found.household == "hhid"
    assert {each.type for each in found.variables if each.looks_like == "date"} == {"date"}


def test_what_has_to_be_decided_stands_at_the_top_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever does what the comments say has a pipeline that runs."""
    frame = messy_rows("%d.%m.%Y")
    last = pd.Series([f"2020-01-{1 + row % 28:02d}" for row in range(len(frame))])
    frame["last"] = last.where(frame.index % 30 > 0, "unbekannt")
    frame["points"] = [f"{1 + row % 9}.{(row // 4) % 1000:03d}" for row in range(len(frame))]
    frame.to_csv(tmp_path / "d.csv", index=False, sep=";", decimal=".")
    path = tmp_path / "p.yaml"
    assert main(["init", str(tmp_path / "d.csv"), "--to", str(path)]) == 0
    assert main(["plan", str(path), "--json"]) == 1
    printed = capsys.readouterr().out
    doubts = json.loads(printed[printed.index("{\n") :])["doubts"]
    lines = path.read_text(encoding="utf-8").splitlines()
    top = " ".join(line.strip("# ") for line in lines[: lines.index("maskwright: 1")])
    undeclared = [each["subject"] for each in doubts if each["doubt"] == "published-undeclared"]
    others = [each for each in doubts if each["doubt"] != "published-undeclared"]
    assert top.startswith("A pipeline to start from")
    assert int(re.findall(r"(\d+) decisions? (?:is|are) to be made", top)[0]) == len(others) + bool(undeclared)
    assert top.count("published-undeclared") == 1
    assert "`undeclared: other`" in top
    assert all(f"{each['subject']}: {each['id']} {each['doubt']}" in top and "type: nominal" in top for each in others)
    said = [f"    {each['subject']}: {{type: nominal}}" for each in others]
    place = lines.index("  variables:") if "  variables:" in lines else None
    added = ["  undeclared: other", *(["  variables:"] if place is None and said else []), *said]
    if place is not None:
        lines[place + 1 : place + 1] = said
        added = added[:1]
    at = lines.index("  roles:")
    lines[at:at] = added
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert main(["plan", str(path)]) == 0
    assert main(["run", str(path), "--quiet"]) == 0


def test_what_to_say_on_the_command_line_is_said_whole(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A remedy that names an option shows what to write, and that is what helps."""
    frame = pd.DataFrame({"income": range(5)})
    with pd.ExcelWriter(tmp_path / "two.xlsx") as book:
        frame.to_excel(book, sheet_name="first", index=False)
        frame.to_excel(book, sheet_name="second", index=False)
    with duckdb.connect(tmp_path / "two.duckdb") as connection:
        connection.execute("CREATE TABLE first AS SELECT 1 AS income; CREATE TABLE second AS SELECT 2 AS income")
    for name, option in (("two.xlsx", "sheet"), ("two.duckdb", "table")):
        assert main(["describe", str(tmp_path / name)]) == 2
        assert f"or --option {option}=NAME." in capfd.readouterr().err
        assert main(["describe", str(tmp_path / name), "--option", f"{option}=second"]) == 0
        capfd.readouterr()


def test_a_plan_shows_parameters_as_they_are_declared(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = [f"{1960 + row % 40}-0{1 + row % 9}-11,{row}" for row in range(40)]
    (tmp_path / "in.csv").write_text("\n".join(["born,income", *lines, ""]))
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: in.csv, variables: {born: {role: quasi_identifier}, income: {role: other}}}\n"
        "protect: [{method: recoding, params: {recode: {born: {grain: quarter, as: date}}}}]\noutput: {data: out.csv}\n"
    )
    main(["plan", str(tmp_path / "p.yaml")])
    told = capfd.readouterr().out
    assert "as: date" in told
    assert "as_" not in told


@pytest.mark.parametrize(
    "words", [["advise", "keys", "in.csv"], ["edits", "--data", "in.csv", "--suggest"]], ids=["advise", "suggest"]
)
def test_whoever_advises_finds_the_decimal_comma_that_describe_finds(
    tmp_path: Path, words: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{place % 3};{place * 7 % 50},5;{place * 7 % 50 + 1},75;1,25" for place in range(60)]
    (tmp_path / "in.csv").write_text("\n".join(["region;net;gross;tax", *rows]), encoding="utf-8")
    assert main(words) == 0
    shown = capfd.readouterr()
    assert "taken: decimal: ',': 3 columns have numbers with a decimal comma" in shown.err
    if "--suggest" in words:
        assert "  - gross in [" in shown.out
    else:
        assert "Left out: net (continuous), gross (continuous), tax (continuous)" in shown.out


def test_the_encoding_of_a_codebook_is_found_like_that_of_data(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes("id;straße\n1;Größe\n2;Maß\n3;Maß\n".encode("latin-1"))
    (tmp_path / "codebook.csv").write_bytes("variable;label\nstraße;Name der Straße\n".encode("latin-1"))
    found = mw.describe(tmp_path / "in.csv", codebook=tmp_path / "codebook.csv")
    assert found.variables[1].name == "straße"
    assert any("codebook.csv is not UTF-8 and is read as cp1252" in each for each in found.unsure)
    assert mw.read_codebook(tmp_path / "codebook.csv")["straße"].label == "Name der Straße"


def test_the_key_of_households_that_is_named_is_not_published_as_it_is(tmp_path: Path) -> None:
    rows = [f"{1000 + place // 3},{place * 7 % 90},{place % 2}" for place in range(90)]
    (tmp_path / "in.csv").write_text("\n".join(["home,age,sex", *rows]), encoding="utf-8")
    assert main(["init", str(tmp_path / "in.csv"), "--cluster", "home", "--to", str(tmp_path / "p.yaml")]) == 0
    text = (tmp_path / "p.yaml").read_text(encoding="utf-8")
    assert "    home: {release: new, role: identifier}\n" in text
    assert "home: the key of households: it gets new random values" in text
