"""Households and persons in a browser: each variable and each rule on its level."""

from __future__ import annotations

import re

import pytest

from maskwright.commands.demo.levels.files import write_levels_demo

expect = pytest.importorskip("playwright.sync_api").expect

SLOW = 480_000


@pytest.fixture(scope="module")
def running(studio, tmp_path_factory):
    folder = tmp_path_factory.mktemp("levels") / "survey"
    write_levels_demo(folder, 40)
    rules = folder / "edits.yaml"
    rules.write_text(rules.read_text("utf-8") + "- {name: grown, rule: age >= 18}\n", "utf-8")
    return studio(folder / "linked.yaml")


def row(page, name):
    return page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=name, exact=True))


def test_variables_are_shown_by_level(page, running):
    page.goto(running.at("/variables"))
    expect(row(page, "total").get_by_role("cell").first).to_have_text("household", timeout=SLOW)
    expect(row(page, "income").get_by_role("cell").first).to_have_text("person")
    page.get_by_role("link", name="income", exact=True).press("Enter")
    expect(page.get_by_role("img", name="Distribution of income")).to_be_visible(timeout=SLOW)


def test_rules_count_households_and_persons(page, running):
    page.goto(running.at("/rules"))
    expect(row(page, "members-counted")).to_contain_text("household", timeout=SLOW)
    expect(row(page, "grown")).to_contain_text(re.compile(r"person.*in \d+ household", re.DOTALL))
    field = page.get_by_label("Try a rule")
    field.fill("count(person) >= 2")
    expect(page.locator("#counted")).to_contain_text("household records to which it applies (40 in all)")
    field.fill("income <= total")
    expect(page.locator("#counted")).to_contain_text("person records to which it applies")
