"""Bad rule writers, plan checks, sections, actions and commands, in one table: what each does, and what is said."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import bad_plugins
from bad_plugins import BadPlugin
from pydantic import BaseModel, Field

from maskwright import (
    Action,
    Bars,
    Command,
    Converted,
    EditSet,
    PlanCheck,
    PlanFinding,
    ReportSection,
    RuleWriter,
    SectionContent,
)

NUMBERS = itertools.count()


def exits(*arguments: object) -> Any:
    sys.exit(0)


def raises(*arguments: object) -> Any:
    raise KeyError("a value of 4711")


def says_no(*arguments: object) -> Any:
    return ["no"]


def hangs(*arguments: object) -> Any:
    bad_plugins.hangs_asleep()


# Rule writers.


def good_rules(edits, about):
    return Converted("".join(f"{edit.name}: {edit.text}\n" for edit in edits))


def a_text(edits, about):
    return "".join(edit.text for edit in edits)


def leaves_out(edits, about):
    return good_rules(EditSet(tuple(edit for edit in edits if edit.kind != "range")), about)


def numbers_them(edits, about):
    return Converted(f"# {next(NUMBERS)}\n" + good_rules(edits, about).text)


def notes_of_numbers(edits, about):
    return Converted(good_rules(edits, about).text, notes=(1,))


def _writer(name: str, write: Any, says: str, *, settings: tuple[str, ...] = (), **more: Any) -> BadPlugin:
    writer = RuleWriter(name="spoiler", write=write, suffixes=(".spoiler",))
    rules = ("edits=['age >= 0']", "output.edits=published.spoiler")
    return BadPlugin(name, "rule_writer", writer, says, settings=(*rules, *settings), **more)


RULE_WRITERS = (
    _writer("sys.exit(0)", exits, "failed: SystemExit at bad_smaller_kinds.py"),
    _writer("an exception", raises, r"failed: KeyError at bad_smaller_kinds\.py:\d+"),
    _writer("a text for a file and notes", a_text, "something else than maskwright.Converted with texts"),
    _writer("notes that are no texts", notes_of_numbers, "something else than maskwright.Converted with texts"),
    _writer("leaves edits out in silence", leaves_out, "left out the edit 'edit-1', and does not say so"),
    _writer("never ends", hangs, "took longer than 0.5 seconds", settings=("execution.plugin_seconds=0.5",)),
)

# Plan checks.


def says_nothing(plan, params):
    return []


def a_finding_alone(plan, params):
    return PlanFinding(message="no")


def a_number_for_a_message(plan, params):
    return [PlanFinding(message=12, refuses=False)]


def fails_on_the_way(plan, params):
    yield PlanFinding(message="no report")
    raise KeyError("a value of 4711")


def counts_its_calls(plan, params):
    return [PlanFinding(message=f"call {next(NUMBERS)}", refuses=False)]


def refuses_perhaps(plan, params):
    return [PlanFinding(message="no report", refuses="no")]


def appends_to_the_plan(plan, params):
    plan["pipeline"]["output"].append("report")
    return []


def adds_a_threshold(plan, params):
    plan["pipeline"]["thresholds"]["pil"] = 1e9
    return []


def _plan_check(name: str, check: Any, says: str, *settings: str) -> BadPlugin:
    plugin = PlanCheck(name="spoiler", check=check)
    return BadPlugin(name, "plan_check", plugin, says, settings=("checks=[spoiler]", *settings))


FINDINGS = "something else than a sequence of maskwright.PlanFinding"
PLAN_CHECKS = (
    _plan_check("sys.exit(0)", exits, "failed: SystemExit at bad_smaller_kinds.py"),
    _plan_check("an exception", raises, r"failed: KeyError at bad_smaller_kinds\.py:\d+"),
    _plan_check("texts for findings", says_no, FINDINGS),
    _plan_check("one finding, in no list", a_finding_alone, FINDINGS),
    _plan_check("a number for a message", a_number_for_a_message, "findings that are not a sentence"),
    _plan_check("fails while it is gone through", fails_on_the_way, "failed: KeyError at bad_smaller_kinds.py"),
    _plan_check("a text for yes or no", refuses_perhaps, "findings that are not a sentence"),
    _plan_check("appends to the plan", appends_to_the_plan, "AttributeError at bad_smaller_kinds.py"),
    _plan_check("adds a threshold to the plan", adds_a_threshold, "which is read-only,: TypeError"),
    _plan_check("never ends", hangs, "took longer than 0.5 seconds", "execution.plugin_seconds=0.5"),
)

# Sections.


def good_section(record, params):
    return SectionContent(paragraphs=(f"{record['records']} records",))


def short_rows(record, params):
    return SectionContent(head=("a", "b"), rows=(("only one",),))


def numbers_for_texts(record, params):
    return SectionContent(paragraphs=(12,))


def negative_bars(record, params):
    return SectionContent(figures=(Bars(caption="", values={"a": -1.0}),))


def infinite_bars(record, params):
    return SectionContent(figures=(Bars(caption="", values={"a": float("inf")}),))


def a_list_of_bars(record, params):
    return SectionContent(figures=(Bars(caption="", values=[1.0]),))


def no_rows(record, params):
    return SectionContent(rows=12)


def wants_the_seed(record, params):
    return SectionContent(paragraphs=(str(record["seed"] + 1),))


def hides_violations(record, params):
    record["edits"][0]["violations"] = 0
    return good_section(record, params)


def _section(name: str, compose: Any, says: str, *settings: str) -> BadPlugin:
    plugin = ReportSection(name="spoiler", title="Spoiler", compose=compose)
    chosen = ("sections=[spoiler]", "edits=['age >= 0']", "output.report=report.html", *settings)
    return BadPlugin(name, "report_section", plugin, says, settings=chosen)


SECTIONS = (
    _section("sys.exit(0)", exits, "failed: SystemExit at bad_smaller_kinds.py"),
    _section("an exception", raises, r"failed: KeyError at bad_smaller_kinds\.py:\d+"),
    _section("a list for its content", says_no, "returned a list; it has to return maskwright.SectionContent"),
    _section("rows that are too short", short_rows, "rows that are not texts, one for each column"),
    _section("numbers for texts", numbers_for_texts, "paragraphs or heads that are not texts"),
    _section("negative bars", negative_bars, "not maskwright.Bars with finite numbers, 0 or more"),
    _section("infinite bars", infinite_bars, "not maskwright.Bars with finite numbers, 0 or more"),
    _section("a list of bars", a_list_of_bars, "a SectionContent that holds something else than it should"),
    _section("a number for rows", no_rows, "a SectionContent that holds something else than it should"),
    _section("wants the seed", wants_the_seed, "failed: TypeError at bad_smaller_kinds.py"),
    _section("edits the record", hides_violations, "which is read-only,: TypeError"),
    _section("never ends", hangs, "took longer than 0.5 seconds", "execution.plugin_seconds=0.5"),
)

# Actions: the release stands before they begin.


def changes_the_file(outputs, record, params):
    outputs["data"].write_text("age,wage,region\n1,1,N\n", encoding="utf-8")


def appends_to_the_file(outputs, record, params):
    with outputs["data"].open("a", encoding="utf-8") as file:
        file.write("1,1,N\n")
    raise KeyError("a value of 4711")


def names_another_file(outputs, record, params):
    outputs["data"] = outputs["data"].with_name("other.csv")


def says_a_value(outputs, record, params):
    return f"the first is {outputs['data'].read_text(encoding='utf-8').splitlines()[1]}"


def prints_the_names(outputs, record, params):
    print(*outputs)


def _action(name: str, act: Any, says: str, *settings: str) -> BadPlugin:
    return BadPlugin(name, "action", Action(name="spoiler", act=act), says, settings=("after=[spoiler]", *settings))


ACTIONS = (
    _action("sys.exit(0)", exits, "failed: SystemExit at bad_smaller_kinds.py"),
    _action("an exception", raises, r"failed: KeyError at bad_smaller_kinds\.py:\d+"),
    _action("a list for a text", says_no, "returned a list; it has to return a text or nothing"),
    _action("writes into the list of files", names_another_file, "which is read-only,: TypeError"),
    _action("never ends", hangs, "took longer than 0.5 seconds", "execution.plugin_seconds=0.5"),
)
"""They fail, and the release stands."""

CHANGING_ACTIONS = (
    _action("changes the released file", changes_the_file, r"changed what was released \(masked.csv\)"),
    _action("appends to it, and fails", appends_to_the_file, r"changed what was released \(masked.csv\)"),
)
"""They change a file of the release, which is taken away."""

# Commands.


class Traceback(BaseModel):
    """Options of which one is that of every command."""

    traceback: bool = Field(default=False, description="Whether to show it.")


def done(params):
    return "done"


def prints_it(params):
    print("done")


def _command(name: str, work: Any, says: str, **more: Any) -> BadPlugin:
    return BadPlugin(name, "command", Command(name=more.pop("called", "spoiler"), work=work, **more), says)


COMMANDS = (
    _command("sys.exit(0)", exits, "failed: SystemExit at bad_smaller_kinds.py"),
    _command("an exception", raises, r"failed: KeyError at bad_smaller_kinds\.py:\d+"),
    _command("a list for a text", says_no, "returned a list; it has to return a text or nothing"),
)

HIDDEN_COMMANDS = (
    _command("is called run", done, "a command cannot be called 'run'", called="run"),
    _command("has an option --traceback", done, "an option cannot be called 'traceback'", params=Traceback),
)
"""Refused when they are offered: their names are Maskwright's own."""

SMALLER_KINDS = (*RULE_WRITERS, *PLAN_CHECKS, *SECTIONS, *ACTIONS, *CHANGING_ACTIONS, *COMMANDS)
