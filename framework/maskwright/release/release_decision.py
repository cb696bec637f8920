"""The release decision: every doubt of a run, from reading to writing, and which of them the pipeline waives."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from maskwright.foundation.doubts import DOUBT_KINDS, Doubt
from maskwright.foundation.findings import Notice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from maskwright.foundation.errors import Problem
    from maskwright.pipeline.file_model import Waiver


_PLAIN = re.compile(r"[^\W\d][\w.-]*( [\w.-]+)*")
_WORDS = ("true", "false", "yes", "no", "on", "off", "null", "y", "n")


@dataclass(frozen=True)
class WaivedDoubt:
    """A doubt, and the waiver that lets it pass."""

    doubt: Doubt
    waiver: Waiver


@dataclass(frozen=True)
class ReleaseDecision:
    """What the release decision says of the doubts of a run.

    `open`: that stop the release, in the order of their ids.
    """

    open: tuple[Doubt, ...]
    waived: tuple[WaivedDoubt, ...]
    unneeded: tuple[Waiver, ...]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """One for each open doubt, with its remedy."""
        return tuple(doubt.problem for doubt in self.open)

    @property
    def waivers_to_write(self) -> str:
        """What the pipeline would have to say, ready to be completed: one waiver for each kind of open doubt."""
        return waivers_to_write(self.open)

    @property
    def notices(self) -> Iterator[Notice]:
        """Waivers that were not needed: perhaps a name is misspelt, perhaps there is no such cause any more."""
        for waiver in self.unneeded:
            named = f" of {', '.join(waiver.subjects)}" if waiver.subjects != ("",) else ""
            message = f"the waiver of {waiver.kind.name}{named} was not needed: there is no such doubt"
            yield Notice("waiver-not-needed", "", message)


def decide_release(doubts: Iterable[Doubt], waivers: Sequence[Waiver]) -> ReleaseDecision:
    """Find the waiver of each doubt."""
    open_ones: list[Doubt] = []
    waived: list[WaivedDoubt] = []
    for doubt in sorted(dict.fromkeys(doubts), key=lambda each: DOUBT_KINDS[each.kind].id):
        found = _waiver_of(doubt, waivers)
        if found is None:
            open_ones.append(doubt)
        else:
            waived.append(WaivedDoubt(doubt, found))
    used = [each.waiver for each in waived]
    return ReleaseDecision(tuple(open_ones), tuple(waived), tuple(waiver for waiver in waivers if waiver not in used))


def _waiver_of(doubt: Doubt, waivers: Sequence[Waiver]) -> Waiver | None:
    return next((waiver for waiver in waivers if waiver.covers(doubt)), None)


def waivers_to_write(doubts: Iterable[Doubt]) -> str:
    """Lines of a ``waive:`` section that would cover these doubts; the reasons are left to be written."""
    subjects: dict[str, dict[str, None]] = {}
    for doubt in doubts:
        # A step may be in doubt for several variables.
        subjects.setdefault(doubt.kind, {})[doubt.subject] = None
    return "\n".join(["waive:", *(f"  - {{{_entry(kind, [*names])}because: ...}}" for kind, names in subjects.items())])


def _entry(kind: str, names: Sequence[str]) -> str:
    about = DOUBT_KINDS[kind].about
    if about == "file":
        return f"doubt: {kind}, "
    shown = [name if about == "step" else flow_text(name) for name in names]
    listed = shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]"
    return f"doubt: {kind}, {about}: {listed}, "


def flow_text(name: str) -> str:
    """Return a name as YAML takes it inside braces."""
    return name if _PLAIN.fullmatch(name) and name.lower() not in _WORDS else json.dumps(name, ensure_ascii=False)
