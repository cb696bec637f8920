"""What is said where it was asked for, what was typed and is kept, and where the focus is afterwards."""

from __future__ import annotations

import pytest

expect = pytest.importorskip("playwright.sync_api").expect

STEP = "/pipeline?part=step/1"


@pytest.fixture
def running(fresh, office):
    """A studio where nothing was done yet, with a comment in the step."""
    text = (office / "pipeline.yaml").read_text("utf-8")
    text = text.replace("  - method: microaggregation", "  - method: microaggregation   # in groups")
    return fresh({"people.csv": (office / "people.csv").read_bytes(), "pipeline.yaml": text.encode()})


def is_in_sight(page, locator):
    box = locator.bounding_box()
    return box is not None and box["y"] >= 0 and box["y"] + box["height"] <= page.viewport_size["height"]


def test_a_refusal_stands_at_the_button_and_has_the_focus(page, running):
    page.set_viewport_size({"width": 1200, "height": 500})
    page.goto(running.at(STEP))
    page.get_by_role("button", name="Show what changes").click()
    told = page.get_by_role("alert")
    expect(told).to_contain_text("Nothing was changed in the form")
    expect(told).to_be_focused()
    assert is_in_sight(page, told)
    assert page.locator("button:text-is('Show what changes') + [role=alert]").count() == 1
    page.get_by_label("k", exact=True).fill("9")
    page.get_by_role("button", name="Show what changes").click()
    expect(page.locator(".saving")).to_be_visible()
    expect(told).to_have_count(0)


def test_the_difference_is_in_sight_with_save_and_discard(page, running):
    page.set_viewport_size({"width": 1200, "height": 500})
    text = running.folder.read_text("utf-8")
    page.goto(running.at(STEP))
    field = page.get_by_label("k", exact=True)
    field.fill("9")
    field.press("Enter")
    expect(page.get_by_role("region", name="What would change")).to_be_focused()
    for name in ("Save this change", "Discard"):
        assert is_in_sight(page, page.get_by_role("button", name=name))
    page.get_by_role("button", name="Discard").click()
    expect(page.locator("#said")).to_contain_text("discarded")
    expect(field).to_have_value("5")
    expect(field).to_be_focused()
    assert running.folder.read_text("utf-8") == text
    field.fill("9")
    field.press("Enter")
    page.get_by_role("button", name="Save this change").click()
    expect(page.locator("#said")).to_contain_text("Undo takes it back")
    expect(field).to_be_focused()
    assert "k: 9" in running.folder.read_text("utf-8")


def test_what_was_typed_is_there_again(page, running, go_back):
    page.goto(running.at(STEP))
    field = page.get_by_label("k", exact=True)
    field.fill("9")
    page.get_by_role("link", name="Report", exact=True).click()
    page.get_by_role("heading", level=1, name="Report").wait_for()
    go_back()
    expect(field).to_have_value("9")
    page.reload()
    expect(field).to_have_value("9")
    closing = "() => !dispatchEvent(new Event('beforeunload', {cancelable: true}))"
    assert page.evaluate(closing), "a tab that would lose it is not closed without a question"
    field.fill("5")
    assert not page.evaluate(closing)


def test_what_was_typed_can_be_forgotten(page, running):
    page.goto(running.at(STEP))
    page.get_by_label("k", exact=True).fill("9")
    page.reload()
    page.get_by_role("button", name="Forget it").click()
    expect(page.get_by_label("k", exact=True)).to_have_value("5")
    page.reload()
    expect(page.get_by_label("k", exact=True)).to_have_value("5")
    expect(page.get_by_role("button", name="Forget it")).to_have_count(0)


def test_a_step_that_is_chosen_has_the_focus_and_skip_links_work(page, running):
    page.goto(running.at("/pipeline"))
    page.get_by_role("link", name="microaggregation", exact=True).press("Enter")
    expect(page.get_by_role("heading", name="Step 1: microaggregation")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_label("k", exact=True)).to_be_focused()
    page.get_by_role("link", name="To the text").press("Enter")
    expect(page.get_by_role("heading", name="pipeline.yaml")).to_be_focused()
    assert "#" not in page.url


def test_another_method_takes_the_parameters_of_the_old_one_along(page, running):
    page.goto(running.at(STEP))
    page.get_by_text("Method and variables of this step").click()
    page.locator("[name='protect/0/method']").select_option("rank_swapping")
    page.get_by_role("button", name="Show what changes").click()
    shown = page.get_by_role("region", name="What would change")
    expect(shown).to_contain_text("rank_swapping has no parameter k")
    expect(shown.locator("ul code")).to_have_text(["# in groups", "# at least"])
    expect(shown).not_to_contain_text("mistake")
    page.get_by_role("button", name="Save this change").click()
    expect(page.locator("#said")).to_contain_text("is saved. Undo")
    text = running.folder.read_text("utf-8")
    assert "  - method: rank_swapping\n" in text
    assert "params" not in text
    expect(page.locator("#undo")).to_have_text("Undo: step 1 replaced")


def test_a_step_is_removed_with_its_comments_which_are_named(page, running):
    page.goto(running.at("/pipeline"))
    page.get_by_role("button", name="Remove step 1").click()
    shown = page.get_by_role("region", name="What would change")
    expect(shown).to_contain_text("2 comments go with it")
    expect(shown.locator("ul code")).to_have_text(["# in groups", "# at least"])
    expect(shown).to_contain_text("This is the last step. A pipeline without one masks nothing, so it does not run")
    page.get_by_role("button", name="Save this change").click()
    expect(page.locator("#said")).to_contain_text("is saved. Undo")
    assert "protect: []\n" in running.folder.read_text("utf-8")
    expect(page.get_by_text("No step yet: a pipeline without one masks nothing")).to_be_visible()


@pytest.mark.parametrize("path", ["/run", "/rules", "/variables", "/plan", "/pipeline"])
def test_a_file_changed_outside_is_read_again_in_place(page, running, path):
    page.goto(running.at("/open"))
    running.folder.write_text(running.folder.read_text("utf-8") + "# theirs\n", "utf-8")
    page.goto(running.at(path))
    expect(page.get_by_role("alert")).to_contain_text("changed outside")
    page.get_by_role("button", name="Read it again", exact=True).click()
    expect(page.locator("#said")).to_contain_text("was read again")
    assert page.url.endswith(path)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_file_changed_while_its_page_is_open_loses_nothing_typed(page, running):
    page.goto(running.at(STEP))
    page.get_by_label("k", exact=True).fill("9")
    running.folder.write_text(running.folder.read_text("utf-8") + "# theirs\n", "utf-8")
    page.get_by_label("k", exact=True).press("Enter")
    page.get_by_role("alert").get_by_role("button", name="Read it again").click()
    expect(page.locator("#said")).to_contain_text("was read again")
    expect(page.get_by_label("k", exact=True)).to_have_value("9")
    page.get_by_label("k", exact=True).press("Enter")
    page.get_by_role("button", name="Save this change").click()
    expect(page.locator("#said")).to_contain_text("is saved. Undo")
    text = running.folder.read_text("utf-8")
    assert "k: 9" in text
    assert text.endswith("# theirs\n")


def test_a_count_on_its_way_is_seen(page, running):
    page.goto(running.at("/rules"))
    expect(page.get_by_role("table")).to_contain_text("gross", timeout=480_000)
    page.route("**/act/rules/count", lambda route: (page.wait_for_timeout(500), route.continue_()))
    page.get_by_label("Try a rule").fill("tax >= 0")
    expect(page.locator("#counted")).to_have_attribute("aria-busy", "true")
    expect(page.locator("#counted")).to_contain_text("Violated in none")
    expect(page.locator("#counted")).not_to_have_attribute("aria-busy", "true")


def test_long_rules_leave_the_counts_in_sight(page, running):
    rule = " + ".join(["gross"] * 12) + " >= 0"
    running.folder.write_text(running.folder.read_text("utf-8").replace("net + tax\n", f"net + tax\n  - {rule}\n"))
    running.act("/open/read_again")
    page.goto(running.at("/rules"))
    table = page.get_by_role("region", name="Table of rules")
    expect(table).to_contain_text("gross + gross", timeout=480_000)
    assert table.evaluate("each => each.scrollWidth - each.clientWidth") <= 0
