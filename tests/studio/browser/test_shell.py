"""Every page in a browser: it opens by its link, from the keyboard, again after a reload, and only with the key."""

from __future__ import annotations

import pytest

from maskwright_studio.pages import PAGES

LISTED = [each for each in PAGES if each.is_listed]


@pytest.mark.every_way
@pytest.mark.parametrize("shown", LISTED, ids=lambda each: each.name)
def test_a_page_opens_and_stays_after_a_reload(page, running, shown):
    page.get_by_role("link", name=shown.title, exact=True).click()
    heading = page.get_by_role("heading", level=1, name=shown.title, exact=True)
    page.wait_for_url(running.at(shown.path))
    heading.wait_for()
    assert page.title().startswith(shown.title)
    page.reload()
    heading.wait_for()
    assert "key" not in page.url


def test_the_first_key_leads_to_the_content(page):
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the content"


def test_going_back_shows_the_page_before(page, go_back):
    page.get_by_role("link", name="Run", exact=True).click()
    page.get_by_role("heading", level=1, name="Run", exact=True).wait_for()
    go_back()
    page.get_by_role("heading", level=1, name="Open", exact=True).wait_for()


def test_without_the_key_nothing_is_shown(page, running, browser):
    other = browser.new_context().new_page()
    other.goto(running.at("/open"))
    other.get_by_text("This page has no key").wait_for()
    assert "pipeline.yaml" not in other.content()
    other.context.close()


def test_axe_is_there(axe):
    if not axe:
        pytest.skip("axe-core is not installed: accessibility is NOT checked (AXE_CORE names axe.min.js)")
    assert axe.startswith("/*! axe v4")
