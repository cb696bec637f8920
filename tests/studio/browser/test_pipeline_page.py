"""The pages Pipeline and Plan in a browser: by keyboard, with the difference before saving, undone and done again."""

import re

import pytest
from playwright.sync_api import expect


@pytest.fixture
def running(fresh, office):
    """A studio on a small file, where nothing was done yet."""
    return fresh({name: (office / name).read_bytes() for name in ("people.csv", "pipeline.yaml")})


def raise_k(page, running, k):
    page.goto(running.at("/pipeline?part=step/1"))
    page.get_by_label("k", exact=True).fill(str(k))
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="What would change")).to_contain_text(f"k: {k}")


def test_k_is_raised_by_keyboard_undone_and_raised_again(page, running):
    text = running.folder.read_text("utf-8")
    raise_k(page, running, 9)
    assert running.folder.read_text("utf-8") == text
    page.get_by_role("button", name="Save this change").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#said")).to_contain_text("Undo takes it back")
    changed = text.replace("k: 5", "k: 9")
    assert running.folder.read_text("utf-8") == changed
    expect(page.get_by_label("Text of the pipeline, by lines")).to_contain_text("k: 9")
    page.locator("#content").focus()
    page.keyboard.press("Control+z")
    expect(page.locator("#said")).to_contain_text("undone")
    assert running.folder.read_text("utf-8") == text
    expect(page.get_by_role("button", name="Redo")).to_be_enabled()
    page.locator("#content").focus()
    page.keyboard.press("Control+y")
    expect(page.locator("#said")).to_contain_text("made again")
    assert running.folder.read_text("utf-8") == changed


def test_the_difference_is_fit_to_be_seen(page, running):
    raise_k(page, running, 9)


def test_the_text_shown_has_the_bytes_of_the_file(page, running):
    page.goto(running.at("/pipeline?part=text"))
    editor = page.get_by_label("Text of the pipeline", exact=True)
    assert editor.input_value() == running.folder.read_text("utf-8")
    expect(editor).to_be_focused()
    editor.fill(editor.input_value().replace("microaggregation", "microagregation"))
    page.get_by_role("button", name="Show what changes").click()
    expect(page.get_by_text("would have a mistake")).to_be_visible()


def test_a_mistake_leads_to_its_line(page, running):
    text = running.folder.read_text("utf-8").replace("microaggregation", "microagregation")
    running.folder.write_text(text, "utf-8")
    running.act("/open/read_again")
    page.goto(running.at("/pipeline"))
    page.get_by_role("link", name=re.compile(r"line \d+, column \d+")).click()
    expect(page.locator(".marked")).to_contain_text("microagregation")
    expect(page.locator(".marked")).to_be_focused()


def test_a_change_outside_is_offered_to_be_read(page, running):
    page.goto(running.at("/pipeline?part=text"))
    expect(page.get_by_label("Text of the pipeline", exact=True)).to_be_focused()
    running.folder.write_text(running.folder.read_text("utf-8") + "# theirs\n", "utf-8")
    page.get_by_label("Text of the pipeline", exact=True).press_sequentially("# mine\n")
    page.get_by_role("button", name="Show what changes").click()
    expect(page.get_by_role("alert")).to_contain_text("changed outside")
    expect(page.get_by_label("Text of the pipeline", exact=True)).to_have_value(re.compile("# mine"))
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("changed outside")
    page.get_by_role("button", name="keep mine as a draft").click()
    expect(page.get_by_label("Your draft")).to_have_value(re.compile("# mine"))
    assert "# theirs" in running.folder.read_text("utf-8")


def test_the_plan_says_who_keeps_each_edit(page, running):
    page.goto(running.at("/plan"))
    expect(page.get_by_role("heading", name="Edits, and who keeps them")).to_be_visible(timeout=480_000)
    expect(page.get_by_role("table").first).to_contain_text("gross == net + tax")


def test_a_doubt_is_waived_with_a_reason(page, running):
    data = running.folder.parent / "people.csv"
    head, *rows = data.read_text("utf-8").splitlines()
    regions = [f"{row},{'north' if at % 2 else 'south'}" for at, row in enumerate(rows)]
    data.write_text("\n".join([f"{head},region", *regions]) + "\n", "utf-8")
    page.goto(running.at("/decisions"))
    page.get_by_label("Why it may be published").first.fill("two large regions")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="What would change")).to_contain_text("because: two large regions")
    assert "waive" not in running.folder.read_text("utf-8")


def test_a_doubt_is_settled_by_an_answer(page, running):
    data = running.folder.parent / "people.csv"
    head, *rows = data.read_text("utf-8").splitlines()
    regions = [f"{row},{'north' if at % 2 else 'south'}" for at, row in enumerate(rows)]
    data.write_text("\n".join([f"{head},region", *regions]) + "\n", "utf-8")
    page.goto(running.at("/decisions"))
    page.get_by_role("button", name="Publish it as it is: region").press("Enter", timeout=480_000)
    difference = page.get_by_role("region", name="What would change")
    expect(difference.locator("ins")).to_have_text(["    region: {role: other}"])
    page.get_by_role("button", name="Save this change").press("Enter")
    expect(page.get_by_text("No doubt stops the release")).to_be_visible(timeout=480_000)
    assert "    region: {role: other}\n" in running.folder.read_text("utf-8")


def test_all_fields_of_a_step_have_names_and_help(page, running):
    page.goto(running.at("/pipeline?part=step/1"))
    expect(page.get_by_label("k", exact=True)).to_be_visible()  # the list of what is not there yet would be empty
    for each in page.locator("summary").all():
        each.click()
    for each in page.locator("#content form .field :is(input, select)").all():
        assert page.locator(f"label[for='{each.get_attribute('id')}']").count() == 1
        assert page.locator(f"[id='{each.get_attribute('aria-describedby')}']").inner_text().strip()


def test_what_is_added_opens_its_form(page, running):
    page.goto(running.at("/pipeline"))
    page.get_by_label("New step").select_option("rank_swapping")
    page.get_by_role("button", name="Add step").click()
    page.get_by_role("button", name="Save this change").click()
    expect(page.get_by_role("heading", name="Step 2: rank_swapping")).to_be_focused()
    expect(page.locator("#undo")).to_have_text("Undo: step 2 added")
    page.get_by_label("New measure").select_option("pil")
    page.get_by_role("button", name="Add measure").click()
    page.get_by_role("button", name="Save this change").click()
    expect(page.get_by_role("heading", name="Measure 2: pil")).to_be_focused()


def test_a_plan_without_clusters_leads_to_the_run_and_prints_its_date(page, running):
    text = running.folder.read_text("utf-8").replace("microaggregation", "rank_swapping").replace("{k: 5}", "{p: 7}")
    running.folder.with_name("my pipeline.yaml").write_text(text, "utf-8")
    running.act("/open/choose", pipeline="my pipeline.yaml")
    page.goto(running.at("/plan"))
    expect(page.get_by_role("heading", name="Step 1: rank_swapping")).to_be_visible(timeout=480_000)
    groups = page.get_by_role("region", name="Groups of step 1")
    expect(groups.get_by_role("columnheader")).to_have_text(["variables", "edits among them", "strata, records"])
    expect(groups).not_to_contain_text("mean")
    expect(page.locator("code").first).to_have_text("maskwright plan 'my pipeline.yaml'")
    expect(page.locator("#printed")).to_be_hidden()
    page.emulate_media(media="print")
    expect(page.locator("#printed")).to_be_visible()
    expect(page.locator("#printed")).to_have_text(re.compile(r"^my pipeline\.yaml, \d{4}-\d\d-\d\d \d\d:\d\d$"))
    page.emulate_media(media="screen")
    page.get_by_role("link", name="To the page Run").click()
    expect(page.get_by_role("heading", level=1, name="Run")).to_be_visible()
