"""Records side by side in a browser: behind a click, by keyboard, page by page."""

from __future__ import annotations

import numpy as np
import pytest

expect = pytest.importorskip("playwright.sync_api").expect

SLOW = 480_000

PIPELINE = """\
maskwright: 1
data:
  source: persons.csv
  variables:
    sex: {role: quasi_identifier, type: nominal, labels: {1: male, 2: female}, release: as is}
    age: {role: quasi_identifier, label: Age in completed years}
    town: {role: other}
    pay: {missing: {-9: refused}}
edits:
  - {name: taxed, rule: tax <= pay}
on_input_violation: mask
protect:
  - {method: microaggregation, variables: [age, pay, tax], params: {k: 4}}
output: {data: masked.csv, record: run.json}
seed: 3
"""


@pytest.fixture(scope="module")
def running(studio, tmp_path_factory, command):
    folder = tmp_path_factory.mktemp("persons")
    drawn = np.random.default_rng(5)
    rows = []
    for number in range(120):
        pay = int(drawn.integers(100, 900))
        tax = pay + 1 if number % 30 == 7 else pay // 5
        rows.append(f"{drawn.integers(1, 3)},{drawn.integers(20, 60)},{drawn.choice(['Vic', 'Olot'])},"
                    f"{-9 if number % 20 == 3 else pay},{tax}")  # fmt: skip
    (folder / "persons.csv").write_text("\n".join(["sex,age,town,pay,tax", *rows]) + "\n", "utf-8")
    (folder / "pipeline.yaml").write_text(PIPELINE, "utf-8")
    assert command(folder, "run", "pipeline.yaml", "--quiet")[0] == 0
    return studio(folder / "pipeline.yaml")


def test_records_stand_side_by_side_after_a_click(page, running):
    page.goto(running.at("/records"))
    show = page.get_by_role("link", name="Show the values of these records")
    expect(show).to_be_visible(timeout=SLOW)
    assert "Olot" not in page.content()
    assert page.get_by_role("table").count() == 0
    show.press("Enter")
    heading = page.get_by_role("heading", name="Records 1 to 50 of 120")
    expect(heading).to_be_focused(timeout=SLOW)
    expect(page.get_by_role("columnheader", name="masked").first).to_be_visible()
    page.get_by_role("link", name="Next 50").first.press("Enter")
    expect(page.get_by_role("heading", name="Records 51 to 100 of 120")).to_be_focused(timeout=SLOW)
    page.get_by_label("Record number").fill("117")
    page.get_by_label("Record number").press("Enter")
    expect(page.get_by_role("rowheader", name="117", exact=True)).to_be_focused(timeout=SLOW)
    assert page.evaluate("JSON.stringify(Object.values(sessionStorage))").count("Olot") == 0
    page.get_by_role("link", name="Hide the values").first.press("Enter")
    expect(show).to_be_visible(timeout=SLOW)


def test_violations_lead_to_their_records(page, running):
    page.goto(running.at("/rules"))
    page.get_by_role("link", name="4 records that violate taxed").press("Enter", timeout=SLOW)
    page.get_by_role("link", name="Show the values of these records").press("Enter", timeout=SLOW)
    expect(page.get_by_role("rowheader")).to_have_text(["8", "38", "68", "98"], timeout=SLOW)
