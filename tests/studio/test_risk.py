"""Risk: of the original as soon as keys are declared, beside the masked file after a run; values behind a click."""

import html
import json
import re
import time

import numpy as np
import pytest

import maskwright as mw

NO_KEYS = """\
maskwright: 1
data: {source: persons.csv, cluster: home}
protect:
  - {method: recoding, variables: [age], params: {bands: 5}}
output: {data: masked.csv}
seed: 3
"""
KEYS = "variables: {sex: {role: quasi_identifier}, age: {role: quasi_identifier}, town: {role: quasi_identifier}}"


@pytest.fixture(scope="module")
def persons(tmp_path_factory):
    """Folder with a file of persons in households."""
    folder = tmp_path_factory.mktemp("persons")
    drawn = np.random.default_rng(5)
    rows = [
        f"{number // 3},{drawn.choice(['m', 'f'])},{drawn.integers(0, 90)},{drawn.choice(['Vic', 'Olot', 'Reus'])}"
        for number in range(240)
    ]
    (folder / "persons.csv").write_text("\n".join(["home,sex,age,town", *rows]) + "\n", "utf-8")
    (folder / "pipeline.yaml").write_text(NO_KEYS, "utf-8")
    return folder


@pytest.fixture(scope="module")
def running(studio, persons):
    return studio(persons / "pipeline.yaml")


def declare(running, persons, text):
    (persons / "pipeline.yaml").write_text(text, "utf-8")
    running.act("/open/read_again")


def with_keys():
    return NO_KEYS.replace("cluster: home}", f"cluster: home, {KEYS}}}")


def part(running, path):
    return html.unescape(running.settled(f"/part/{path}"))


def rows_of(shown):
    rows = re.findall(r"<tr.*?</tr>", shown, re.DOTALL)
    return [[re.sub(r"<[^>]*>", "", each).strip() for each in re.findall(r"<t[dh].*?</t[dh]>", row, re.DOTALL)]
            for row in rows]  # fmt: skip


def test_without_keys_the_page_says_what_to_declare(running, persons):
    declare(running, persons, NO_KEYS)
    assert "No variable is declared a quasi-identifier" in part(running, "risk/figures")


def test_figures_and_combinations_are_those_of_the_commands(running, persons, command):
    declare(running, persons, with_keys())
    shown = part(running, "risk/figures")
    rows = rows_of(shown)
    data = mw.pipeline_data(persons / "pipeline.yaml")
    found = mw.measure(data, data, [{"k_anonymity": {"k": 3}}, "uniqueness", "individual_risk"])
    for each in found.values():
        assert each.sentence in shown
    assert ["unique records", f"{found['uniqueness'].value:.2f} %"] in rows
    parts = found["individual_risk"].parts
    assert ["largest risk of a household", f"{100 * parts['largest_household_risk']:.2f} %"] in rows
    assert ["records in classes below 3", f"{found['k_anonymity'].parts['below_k']:.2f} %"] in rows
    code, said = command(persons, "advise", "keys", "pipeline.yaml", "--json")
    advice = json.loads(said)
    assert code == 0
    for each in advice["sets"]:
        shares = [f"{100 * each[name] / 240:.2f} %" for name in ("singled_out", "unique")]
        assert [", ".join(each["keys"]), *shares] in rows
    assert sum(row[0] in {", ".join(each["keys"]) for each in advice["sets"]} for row in rows) >= len(advice["sets"])


def test_no_value_of_a_record_is_shown_without_the_click(running, persons):
    declare(running, persons, with_keys())
    shown = part(running, "risk/figures")
    assert not any(town in shown for town in ("Vic", "Olot", "Reus"))
    assert "no records are asked for" in part(running, "risk/at_risk").lower()
    shown = rows_of(part(running, "risk/at_risk?records=original"))
    lines = (persons / "persons.csv").read_text("utf-8").splitlines()
    for record, size, _, _, *values in shown[1:]:
        assert lines[int(record)].split(",")[1:] == values
        same = [line for line in lines[1:] if line.split(",")[1:] == values]
        homes = {line.split(",")[0] for line in same}
        assert int(size) == len(homes)


def test_a_declaration_that_is_taken_back_is_not_computed_again(running, persons):
    declare(running, persons, with_keys())
    first = part(running, "risk/figures")
    declare(running, persons, NO_KEYS)
    assert "No variable is declared" in part(running, "risk/figures")
    declare(running, persons, with_keys())
    assert html.unescape(running.ask("/part/risk/figures")[2]) == first
    declare(running, persons, with_keys().replace("seed: 3", "seed: 4"))
    assert html.unescape(running.ask("/part/risk/figures")[2]) == first


def test_after_a_run_both_files_stand_side_by_side(running, persons, command):
    declare(running, persons, with_keys())
    waived = "waive: [{doubt: not-masked, variable: [sex, town], because: made up}]\n"
    declare(running, persons, with_keys() + waived)
    assert command(persons, "run", "pipeline.yaml", "--quiet")[0] == 0
    masked = persons / "masked.csv"
    shown = part(running, "risk/figures")
    before, after = (
        mw.pipeline_data(persons / "pipeline.yaml"),
        mw.pipeline_data(persons / "pipeline.yaml", masked=masked),
    )
    found = mw.measure(before, after, ["individual_risk"])["individual_risk"]
    row = ["records expected to be recognised", f"{found.before.value:.2f} %", f"{found.value:.2f} %"]
    assert row in rows_of(shown)
    assert found.sentence in shown
    assert found.before.sentence in shown
    shown = rows_of(part(running, "risk/at_risk?records=masked"))
    lines = masked.read_text("utf-8").splitlines()
    for record, _, _, _, *values in shown[1:]:
        assert [each for each in lines[int(record)].split(",") if each in values] == values
    masked.unlink()


def test_what_a_page_waits_for_can_be_cancelled_and_computed_again(studio, tmp_path):
    drawn = np.random.default_rng(1).integers(0, 4, (20_000, 24))
    head = ",".join(f"q{at}" for at in range(24))
    np.savetxt(tmp_path / "many.csv", drawn, fmt="%d", delimiter=",", header=head, comments="")
    declared = ", ".join(f"q{at}: {{role: quasi_identifier}}" for at in range(24))
    (tmp_path / "many.yaml").write_text(
        f"maskwright: 1\ndata: {{source: many.csv, variables: {{{declared}}}}}\n", "utf-8"
    )
    running = studio(tmp_path / "many.yaml")
    end = time.monotonic() + 600
    while "Measuring suda" not in (shown := running.ask("/part/risk/figures")[2]):
        assert time.monotonic() < end
        time.sleep(0.1)
    number = re.search(r'/act/open/cancel" name="number" value="(\d+)"', shown)[1]
    assert running.act("/open/cancel", number=number)["say"] == "It is cancelled."
    shown = part(running, "risk/figures")
    assert "This was cancelled" in shown
    assert "/act/open/compute_again" in shown
    assert "had ended before" in running.act("/open/cancel", number=number)["say"]
    assert "24 variables" in part(running, "variables/every")  # the process and its data are still there
    running.act("/open/compute_again")
    assert "data-again" in running.ask("/part/risk/figures")[2]
