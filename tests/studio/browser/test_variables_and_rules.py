"""Variables and rules in a browser: a role is one line of YAML, a rule is counted while it is typed."""

from __future__ import annotations

import pytest

expect = pytest.importorskip("playwright.sync_api").expect


@pytest.fixture(scope="module")
def office(running):
    return running.folder.parent


@pytest.fixture(autouse=True)
def put_back(running, office):
    text = (office / "pipeline.yaml").read_text()
    yield
    if (office / "pipeline.yaml").read_text() != text:
        (office / "pipeline.yaml").write_text(text)
        running.act("/open/read_again")


def changed_lines(before, after):
    return [(old, new) for old, new in zip(before.splitlines(), after.splitlines(), strict=True) if old != new]


def test_changing_a_role_changes_its_line(page, office):
    before = (office / "pipeline.yaml").read_text()
    page.get_by_role("link", name="Variables", exact=True).click()
    page.get_by_label("Role of age").select_option("other", timeout=480_000)
    page.get_by_role("button", name="Show the change").click()
    expect(page.locator("#change ins")).to_contain_text("age: {role: other}")
    assert (office / "pipeline.yaml").read_text() == before
    page.get_by_role("button", name="Save this change").click()
    expect(page.locator("#said")).to_contain_text("pipeline.yaml is saved")
    after = (office / "pipeline.yaml").read_text()
    assert changed_lines(before, after) == [
        ("    age: {role: quasi_identifier}", "    age: {role: other}"),
    ]
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#said")).to_contain_text("undone")
    assert (office / "pipeline.yaml").read_text() == before
    expect(page.get_by_label("Role of age")).to_have_value("quasi_identifier", timeout=480_000)


def test_rows_are_filtered_sorted_and_given_a_role_together(page, running, office):
    before = (office / "pipeline.yaml").read_text()
    page.goto(running.at("/variables"))
    page.get_by_label("Show only").fill("not declared", timeout=480_000)
    expect(page.get_by_role("row")).to_have_count(4)
    expect(page.locator("[data-shown-rows]")).to_have_text("3 of 4")
    page.get_by_role("button", name="Different").click()
    expect(page.get_by_role("columnheader", name="Different")).to_have_attribute("aria-sort", "ascending")
    page.get_by_role("button", name="Different").click()
    expect(page.get_by_role("columnheader", name="Different")).to_have_attribute("aria-sort", "descending")
    page.get_by_role("checkbox", name="Select", exact=True).check()
    expect(page.get_by_label("Select age")).not_to_be_checked()
    page.get_by_label("Role of those that are selected").select_option("confidential")
    page.get_by_role("button", name="Show the change").click()
    expect(page.locator("[data-selected-rows]")).to_have_text("3 selected")
    expect(page.locator("#change ins")).to_have_count(2)
    assert (office / "pipeline.yaml").read_text() == before
    page.get_by_role("button", name="Save this change").click()
    expect(page.locator("#said")).to_contain_text("pipeline.yaml is saved")
    added = [line for line in (office / "pipeline.yaml").read_text().splitlines() if line not in before.splitlines()]
    assert added == ["  roles:", "    confidential: [gross, tax, net]"]


def test_a_chosen_variable_comes_into_view(page, running):
    page.goto(running.at("/variables"))
    page.set_viewport_size({"width": 900, "height": 320})
    page.get_by_role("link", name="age", exact=True).click(timeout=480_000)
    heading = page.get_by_role("heading", name="age", exact=True)
    expect(heading).to_be_focused(timeout=480_000)
    expect(heading).to_be_in_viewport()


def test_values_are_shown_behind_a_click_only(page, running):
    page.goto(running.at("/variables?name=gross"))
    expect(page.get_by_role("img", name="Distribution of gross")).to_be_visible(timeout=480_000)
    assert "5900" not in page.content()
    page.get_by_role("link", name="Show values of records").click()
    expect(page.locator("figcaption")).to_contain_text("5900")
    page.reload()
    expect(page.locator("figcaption")).to_contain_text("5900")


def test_a_rule_is_counted_while_it_is_typed_and_added(page, running, office):
    before = (office / "pipeline.yaml").read_text()
    page.goto(running.at("/rules"))
    expect(page.get_by_role("table")).to_contain_text("gross == net + tax", timeout=480_000)
    field = page.get_by_label("Try a rule")
    field.press_sequentially("tax >= 100", delay=15)
    expect(page.locator("#counted")).to_contain_text("Violated in 10")
    field.press_sequentially("0", delay=15)
    expect(page.locator("#counted")).to_contain_text("Violated in 60")
    field.fill("txa >= 100")
    expect(page.locator("#counted")).to_contain_text("did you mean 'tax'")
    field.fill("tax >= 0")
    expect(page.locator("#counted")).to_contain_text("Violated in none")
    page.get_by_role("button", name="Add to").click()
    page.get_by_role("button", name="Save this change").click()
    expect(page.get_by_role("table")).to_contain_text("tax >= 0", timeout=480_000)
    added = (office / "pipeline.yaml").read_text().replace("  - tax >= 0\n", "")
    assert added == before


def test_a_suggestion_is_accepted_from_the_keyboard(page, running, office):
    page.goto(running.at("/rules"))
    page.get_by_role("link", name="Look for rules").press("Enter")
    button = page.get_by_role("button", name="Accept 9 * tax == net")
    button.press("Enter", timeout=480_000)
    page.get_by_role("button", name="Save this change").press("Enter")
    expect(page.locator("#said")).to_contain_text("pipeline.yaml is saved")
    assert "  - '9 * tax == net'\n" in (office / "pipeline.yaml").read_text()
    expect(page.get_by_role("table").first).to_contain_text("9 * tax", timeout=480_000)
