"""Who clicks or types between a click and its answer loses no work, sees nothing old, and acts on no page that goes."""

from __future__ import annotations

import pytest

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect

STEP = "/pipeline?part=step/1"


@pytest.fixture
def running(fresh, office):
    """A studio on a small file, where nothing was done yet."""
    return fresh({name: (office / name).read_bytes() for name in ("people.csv", "pipeline.yaml")})


class Held:
    """Requests of a page that wait until they are let go; the first `most` of them, or all."""

    def __init__(self, page, address, most=1000):
        self.page, self.address, self.most, self.routes = page, address, most, []
        page.route(address, self.take)

    def take(self, route):
        if len(self.routes) < self.most:
            self.routes.append(route)
        else:
            route.continue_()

    def wait(self):
        """Wait until one is held."""
        for _ in range(600):
            if self.routes:
                return
            self.page.wait_for_timeout(100)
        raise AssertionError(f"nobody asked for {self.address}")

    def let_go(self):
        """Let those go that are held, and those that come."""
        self.most = 0
        for route in self.routes:
            route.continue_()


def heading(page, name):
    return page.get_by_role("heading", level=1, name=name, exact=True)


def show_difference(page, running):
    page.goto(running.at(STEP))
    page.get_by_label("k", exact=True).fill("9")
    page.get_by_label("k", exact=True).press("Enter")
    expect(page.get_by_role("region", name="What would change")).to_be_visible()


def test_a_page_that_is_being_left_does_nothing_and_says_so(page, running):
    page.goto(running.at("/pipeline"))
    expect(page.get_by_role("button", name="Remove step 1")).to_be_visible()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    held = Held(page, "**/view/report")
    page.get_by_role("link", name="Report", exact=True).click()
    held.wait()
    page.get_by_role("button", name="Remove step 1").press("Enter")
    expect(page.locator("#said")).to_contain_text("Nothing was done")
    assert not [each for each in asked if "/act/" in each]
    held.let_go()
    heading(page, "Report").wait_for()


def test_what_is_saved_while_the_reader_goes_on_is_seen_on_the_next_page(page, running):
    show_difference(page, running)
    held = Held(page, "**/act/pipeline/save")
    page.get_by_role("button", name="Save this change").click()
    held.wait()
    page.get_by_role("link", name="Run", exact=True).click()
    held.let_go()
    heading(page, "Run").wait_for()
    expect(page.locator("#said")).to_contain_text("is saved. Undo takes it back")
    expect(page.locator("#undo")).to_have_text("Undo: step 1 changed")
    assert "k: 9" in running.folder.read_text("utf-8")
    page.goto(running.at(STEP))
    expect(page.get_by_label("k", exact=True)).to_have_value("9")
    expect(page.get_by_role("button", name="Forget it")).to_have_count(0)


def test_an_answer_that_is_very_late_shows_the_next_page_anew(page, running):
    show_difference(page, running)
    held = Held(page, "**/act/pipeline/save")
    page.get_by_role("button", name="Save this change").click()
    held.wait()
    page.get_by_role("link", name="Open", exact=True).click()
    heading(page, "Open").wait_for()  # it is not waited for without end
    expect(page.get_by_label("Text of the pipeline")).to_contain_text("k: 5")
    held.let_go()
    expect(page.get_by_label("Text of the pipeline")).to_contain_text("k: 9")
    expect(page.locator("#said")).to_contain_text("is saved")


def test_what_did_not_work_is_said_on_the_next_page(page, running):
    show_difference(page, running)
    held = Held(page, "**/act/pipeline/save")
    page.get_by_role("button", name="Save this change").click()
    held.wait()
    running.folder.write_text(running.folder.read_text("utf-8") + "# theirs\n", "utf-8")
    page.get_by_role("link", name="Explorer", exact=True).click()
    held.let_go()
    heading(page, "Explorer").wait_for()
    expect(page.locator(".told")).to_contain_text("changed outside")
    assert "k: 5" in running.folder.read_text("utf-8")


def test_a_pipeline_that_is_being_opened_is_the_one_of_the_next_page(page, running):
    text = running.folder.read_text("utf-8").replace("masked.csv", "other.csv")
    running.folder.with_name("second.yaml").write_text(text, "utf-8")
    page.goto(running.at("/open"))
    page.get_by_role("radio", name="second.yaml").check()
    held = Held(page, "**/act/open/choose")
    page.get_by_role("button", name="Open", exact=True).click()
    held.wait()
    page.get_by_role("link", name="Run", exact=True).click()
    held.let_go()
    expect(page.locator("#content")).to_contain_text("What is run is second.yaml")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_button_that_is_pressed_twice_does_it_once(page, running):
    show_difference(page, running)
    held = Held(page, "**/act/pipeline/save")
    button = page.get_by_role("button", name="Save this change")
    button.click()
    held.wait()
    button.press("Enter")
    held.let_go()
    expect(page.locator("#said")).to_contain_text("is saved")
    assert len(held.routes) == 1
    expect(page.get_by_role("alert")).to_have_count(0)


def test_what_is_typed_while_a_page_goes_stays_with_it(page, running):
    page.goto(running.at("/report"))
    heading(page, "Report").wait_for()
    page.get_by_role("link", name="Pipeline", exact=True).click()
    page.get_by_role("link", name="microaggregation", exact=True).click()
    field = page.get_by_label("k", exact=True)
    expect(field).to_have_value("5")
    held = Held(page, "**/view/pipeline")
    page.go_back()
    held.wait()
    field.fill("9")
    held.let_go()
    expect(field).not_to_be_attached()
    expect(page.get_by_text("What you typed here before")).to_have_count(0)
    page.get_by_role("link", name="microaggregation", exact=True).click()
    expect(field).to_have_value("9")


def test_a_count_of_an_earlier_rule_does_not_land_on_a_later_one(page, running):
    page.goto(running.at("/rules"))
    expect(page.get_by_role("table")).to_contain_text("gross", timeout=480_000)
    held = Held(page, "**/act/rules/count", most=1)
    page.get_by_label("Try a rule").fill("tax >= 100")
    held.wait()
    page.get_by_label("Try a rule").fill("tax >= 0")
    expect(page.locator("#counted")).to_contain_text("Violated in none")
    held.routes[0].fulfill(json={"html": "Violated in 10", "say": "", "go": "", "wrong": False, "settled": False})
    page.wait_for_timeout(300)
    expect(page.locator("#counted")).to_contain_text("Violated in none")
    expect(page.locator("#counted")).not_to_have_attribute("aria-busy", "true")


AT_WORK = {
    "title": "Run", "html": '<section data-part="/part/run/progress" aria-label="Progress"></section>',
    "pipeline": "pipeline.yaml", "time": "", "undo": "", "redo": "", "shown": {},
}  # fmt: skip
PROGRESS = """<div data-again="600"></div><p class="drawn">{}</p>
<button type="button" data-act="/act/run/cancel">Cancel</button>"""


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_a_button_is_not_taken_away_while_it_is_pressed(page, running, by):
    asked = []

    def draw(route):
        asked.append(route)
        route.fulfill(body=PROGRESS.format(len(asked)), content_type="text/html")

    page.route("**/view/run", lambda route: route.fulfill(json=AT_WORK))
    page.route("**/part/run/progress", draw)
    page.goto(running.at("/run"))
    button = page.get_by_role("button", name="Cancel")
    button.focus()
    with page.expect_request("**/act/run/cancel"):
        if by == "mouse":
            button.hover()
        (page.mouse.down if by == "mouse" else lambda: page.keyboard.down(" "))()
        drawn, known = page.locator(".drawn").inner_text(), len(asked)
        while len(asked) < known + 3:
            page.wait_for_timeout(50)
        assert page.locator(".drawn").inner_text() == drawn
        (page.mouse.up if by == "mouse" else lambda: page.keyboard.up(" "))()
    expect(page.get_by_role("alert")).to_contain_text("Nothing is at work")
    expect(page.locator(".drawn")).not_to_have_text(drawn)
