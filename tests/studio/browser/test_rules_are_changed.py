"""One rule of the pipeline is changed or deleted by its button, and undo says which change it takes back."""

from __future__ import annotations

import pytest

expect = pytest.importorskip("playwright.sync_api").expect

RULES = """\
edits:
  - yaml: rules.yaml
  # what leaves the gross
  - gross == net + tax   # to the cent
  - {name: adults, rule: age >= 18}
"""


@pytest.fixture
def running(fresh, office):
    """A studio where nothing was done yet, with rules in the pipeline and in a file."""
    text = (office / "pipeline.yaml").read_text("utf-8")
    return fresh(
        {
            "people.csv": (office / "people.csv").read_bytes(), "rules.yaml": b"edits: [tax >= 0]\n",
            "pipeline.yaml": text.replace("edits:\n  - gross == net + tax\n", RULES).encode(),
        }
    )  # fmt: skip


def test_a_rule_is_deleted_with_its_comments_and_comes_back(page, running):
    before = running.folder.read_text("utf-8")
    page.goto(running.at("/rules"))
    page.get_by_role("button", name="Delete edit-1", exact=True).click(timeout=480_000)
    shown = page.get_by_role("region", name="What would change")
    expect(shown.locator("ul code")).to_have_text(["# what leaves the gross", "# to the cent"])
    assert running.folder.read_text("utf-8") == before
    page.get_by_role("button", name="Save this change").click()
    expect(page.locator("#undo")).to_have_text("Undo: rule 2 removed")
    left = before.replace("  # what leaves the gross\n  - gross == net + tax   # to the cent\n", "")
    assert running.folder.read_text("utf-8") == left
    expect(page.get_by_role("region", name="Table of rules")).not_to_contain_text("gross", timeout=480_000)
    page.locator("#undo").click()
    expect(page.locator("#said")).to_contain_text("undone: rule 2 removed")
    expect(page.locator("#redo")).to_have_text("Redo: rule 2 removed")
    expect(page.locator("#undo")).to_be_disabled()
    assert running.folder.read_text("utf-8") == before


def test_a_rule_is_changed_in_place_and_counted_meanwhile(page, running):
    before = running.folder.read_text("utf-8")
    page.goto(running.at("/rules"))
    page.get_by_role("link", name="Change adults").click(timeout=480_000)
    field = page.get_by_label("Change this rule")
    expect(field).to_have_value("age >= 18")
    expect(field).to_be_focused()
    field.fill("age >= 21")
    expect(page.locator("#counted")).to_contain_text("Violated in 2 ")
    page.get_by_role("button", name="Show what changes").click()
    page.get_by_role("button", name="Save this change").click()
    expect(page.locator("#undo")).to_have_text("Undo: rule 3 changed")
    assert running.folder.read_text("utf-8") == before.replace("age >= 18", "age >= 21")
    page.get_by_role("link", name="write a new one").click()
    expect(page.get_by_label("Try a rule")).to_have_value("")


def test_a_rule_of_a_file_is_changed_in_that_file(page, running):
    page.goto(running.at("/rules"))
    row = page.get_by_role("row").filter(has_text="tax >= 0")
    expect(row).to_contain_text("in rules.yaml", timeout=480_000)
    expect(row.get_by_role("button")).to_have_count(0)
