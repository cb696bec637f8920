"""Waivers of the pipeline: which doubts each covers now, and which of these were not there when it was given.

A waiver names a doubt and what it is about, not its text: a doubt of the same name that comes later is waived too. The
studio keeps what a waiver covered when its reason was written, and asks again for what it covers besides.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import maskwright as mw
from maskwright_studio.pipeline_file import store_waivers, stored_waivers
from maskwright_studio.pipeline_text.layout import settings_of
from maskwright_studio.proposals import value_at
from maskwright_studio.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from maskwright_studio.pipeline_file import PipelineFile

SUBJECTS = ("variable", "edit", "step", "measure")


@dataclass(frozen=True)
class Covered:
    """A doubt that a waiver covers.

    `doubt`: as the plan or the record of a run has it. `is_new`: it was not there when the waiver was given in the
    studio.
    """

    doubt: dict[str, Any]
    is_new: bool


@dataclass(frozen=True)
class Waiver:
    """A waiver as a page shows it.

    `at`: its position in the pipeline, from 0. `about`: what it names beside it, such as ``step 1``; '' for nothing.
    """

    at: int
    name: str
    about: str
    because: str
    covers: tuple[Covered, ...]

    @property
    def is_asked_again(self) -> bool:
        """Whether it covers what was not there when it was given."""
        return any(each.is_new for each in self.covers)


def entries(text: str) -> list[dict[str, Any]]:
    """Waivers of a pipeline as its text has them."""
    found = value_at(settings_of(text), ("waive",))
    return [each for each in found or () if isinstance(each, dict)]


def waivers(pipeline: PipelineFile, doubts: Iterable[dict[str, Any]]) -> list[Waiver]:
    """Waivers of a pipeline, each with the doubts that it covers; the first that covers a doubt waives it."""
    try:
        given = entries(pipeline.text)
    except mw.InputError:
        return []
    kept = stored_waivers(pipeline.path)
    covered: list[list[dict[str, Any]]] = [[] for _ in given]
    for doubt in doubts:
        at = next((at for at, entry in enumerate(given) if covers(entry, doubt)), None)
        if at is not None:
            covered[at].append(doubt)
    found = []
    for at, entry in enumerate(given):
        known = kept.get(_key(entry))
        shown = tuple(Covered(each, known is not None and _doubt_digest(each) not in known) for each in covered[at])
        about = next((f"{key} {_joined(entry[key])}" for key in SUBJECTS if key in entry), "")
        found.append(Waiver(at, str(entry.get("doubt", "")), about, str(entry.get("because", "")), shown))
    return found


def entry_of(pipeline: PipelineFile, at: object) -> dict[str, Any]:
    """Waiver of a pipeline at a position that a form names."""
    given = entries(pipeline.text)
    if not str(at).isdecimal() or int(str(at)) >= len(given):
        raise Refusal("the pipeline has no such waiver", "Reload the page.")
    return given[int(str(at))]


def grouped(doubts: Iterable[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Doubts that nothing waives, those together that one waiver covers."""
    found: dict[str, list[dict[str, Any]]] = {}
    for each in doubts:
        if each["because"] is None:
            found.setdefault(number_of(each), []).append(each)
    return list(found.values())


def is_waived(doubt: dict[str, Any], text: str) -> bool:
    """Whether the text of a pipeline waives a doubt that an earlier run had; one that is no YAML waives nothing."""
    try:
        given = entries(text)
    except mw.InputError:
        return False
    return any(covers(entry, doubt) for entry in given)


def covers(entry: dict[str, Any], doubt: dict[str, Any]) -> bool:
    """Whether an entry of ``waive:`` covers a doubt: by its name or id, and what it is about."""
    return entry.get("doubt") in (doubt["doubt"], doubt["id"]) and (
        doubt["about"] == "file" or str(doubt["subject"]) in _listed(entry.get(doubt["about"]))
    )


def waiver_of(doubts: Sequence[dict[str, Any]], because: str) -> dict[str, object]:
    """Entry of the pipeline that waives a doubt, or one kind of doubt about several variables."""
    doubt = doubts[0]
    reason = because.strip()
    if not reason.strip(" ."):
        raise Refusal("a doubt is waived with a reason", "Say why it may be published all the same.")
    entry: dict[str, object] = {"doubt": doubt["doubt"]}
    if doubt["about"] != "file":
        subjects = [*dict.fromkeys(each["subject"] for each in doubts)]
        one = int(doubt["subject"]) if doubt["about"] == "step" else doubt["subject"]
        entry[doubt["about"]] = one if len(subjects) == 1 else subjects
    return entry | {"because": reason}


def remember(pipeline: PipelineFile, entry: dict[str, Any], doubts: Sequence[dict[str, Any]]) -> None:
    """Keep which doubts a waiver covers as its reason is given, or holds for what came since."""
    covered = {_doubt_digest(each) for each in doubts if covers(entry, each)}
    kept = stored_waivers(pipeline.path)
    known = covered | set(kept.pop(_key(entry), ()))
    try:
        store_waivers(pipeline.path, kept | {_key(entry): sorted(known)})
    except OSError as error:
        raise Refusal(f"what this waiver covers could not be kept: {error.strerror}") from None


def number_of(doubt: dict[str, Any]) -> str:
    """What distinguishes a kind of doubt about one thing from the others of a plan; one waiver covers all of it."""
    return f"{doubt['id']} {doubt['subject']}"


def _key(entry: dict[str, Any]) -> str:
    """Name of a waiver: another reason makes another one."""
    text = json.dumps({key: str(value) for key, value in entry.items()}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _doubt_digest(doubt: dict[str, Any]) -> str:
    """Name of a doubt with its text, of which no word is kept."""
    text = " ".join((doubt["id"], str(doubt["subject"]), doubt["message"]))
    return hashlib.sha256(text.encode()).hexdigest()


def _joined(subject: object) -> str:
    return ", ".join(_listed(subject))


def _listed(subjects: object) -> list[str]:
    return [str(each) for each in subjects] if isinstance(subjects, list) else [str(subjects)]
