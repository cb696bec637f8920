"""Bad writers of rules, in one table: what each does, and what is said."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import bad_plugins
from bad_plugins import BadPlugin

from maskwright import Converted, EditSet, RuleLanguage

NUMBERS = itertools.count()


def exits(*arguments: object) -> Any:
    sys.exit(0)


def raises(*arguments: object) -> Any:
    raise KeyError("a value of 4711")


def says_no(*arguments: object) -> Any:
    return ["no"]


def hangs(*arguments: object) -> Any:
    bad_plugins.hangs_asleep()


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
    writer = RuleLanguage(name="spoiler", write=write, written_suffixes=(".spoiler",))
    rules = ("edits=['age >= 0']", "output.edits=published.spoiler")
    return BadPlugin(name, "rule_language", writer, says, settings=(*rules, *settings), **more)


BAD_RULE_LANGUAGES = (
    _writer("sys.exit(0)", exits, "failed: SystemExit at bad_rule_languages.py"),
    _writer("an exception", raises, r"failed: KeyError at bad_rule_languages\.py:\d+"),
    _writer("a text for a file and notes", a_text, "something else than maskwright.Converted with texts"),
    _writer("notes that are no texts", notes_of_numbers, "something else than maskwright.Converted with texts"),
    _writer("leaves edits out in silence", leaves_out, "left out the edit 'edit-1', and does not say so"),
    _writer("never ends", hangs, "took longer than 0.5 seconds", settings=("execution.plugin_seconds=0.5",)),
)
