"""Findings: what a run has to say, as records. Sentences are made of them where a person reads them, and only there.

A notice is to be known; a doubt, in `doubts.py`, stops the release unless the pipeline waives it; a refusal is a
`Problem` of an error. What each is about stands in fields, so that no code reads its text.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from maskwright.foundation.errors import Place

Severity = Literal["notice", "doubt", "refusal"]
About = Literal["variable", "edit", "step", "measure", "file"]


@dataclass(frozen=True)
class Finding(ABC):
    """What was found of one variable, edit, step, measure or file.

    `kind`: a stable name. `subject`: name of the variable, edit or measure, or the number of the step; empty for a
    file, and for the run as a whole. `message`: what was seen, names and counts, never a value of a record. `count`,
    `total`: how many cells, records or values are concerned, and of how many. `level`: of data of several levels.
    `step`: number in the pipeline. `given_by`: what gives the values of a variable away. What the subject is is filled
    in by the kind.
    """

    severity: ClassVar[Severity]

    kind: str
    subject: str
    message: str
    count: int | None = None
    total: int | None = None
    place: Place | None = None
    hint: str | None = None
    level: str | None = field(default=None, kw_only=True)
    step: int | None = field(default=None, kw_only=True)
    variable: str | None = field(default=None, kw_only=True)
    edit: str | None = field(default=None, kw_only=True)
    measure: str | None = field(default=None, kw_only=True)
    given_by: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        about = self.about
        if about is not None and about != "file" and self.subject:
            object.__setattr__(self, about, int(self.subject) if about == "step" else self.subject)

    @property
    @abstractmethod
    def about(self) -> About | None:
        """What the subject is; None: the run as a whole."""

    @property
    def sentence(self) -> str:
        """What it says to a person."""
        return self.message

    def on(self, level: str) -> Self:
        """Copy of what was found on a level, where it does not say of which it is."""
        return self if self.level is not None else replace(self, level=level)

    def fields(self) -> dict[str, Any]:
        """What it is about, as plain data, without what is not known."""
        known = {name: getattr(self, name) for name in FIELDS}
        found = {name: value for name, value in known.items() if value is not None}
        return found if self.place is None else found | {"place": self.place.to_json()}


FIELDS = ("level", "step", "variable", "edit", "measure", "given_by", "count", "total")


@dataclass(frozen=True)
class NoticeKind:
    """One kind of notice. `is_caution`: it is to be read before the release is published."""

    name: str
    about: About | None = None
    is_caution: bool = False


@dataclass(frozen=True)
class Notice(Finding):
    """What a person should know; its message is a sentence of its own."""

    severity: ClassVar[Severity] = "notice"

    @property
    def about(self) -> About | None:
        """What the subject is; None: the run as a whole."""
        return NOTICE_KINDS[self.kind].about

    @property
    def is_caution(self) -> bool:
        """Whether it is to be read before the release is published."""
        return NOTICE_KINDS[self.kind].is_caution

    def __str__(self) -> str:
        return self.sentence

    def to_json(self) -> dict[str, Any]:
        """Plain data, as `run.json` has it."""
        return {"kind": self.kind, "message": self.message, "is_caution": self.is_caution, **self.fields()}


def notices_of(kind: str, sentences: Iterable[str]) -> tuple[Notice, ...]:
    """Sentences of sources, rule files and plugins, which say nothing in fields."""
    return tuple(Notice(kind, "", each) for each in sentences)


def distinct_notices(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    """Each sentence once, as notices of several levels may repeat it."""
    return tuple({str(each): each for each in reversed([*notices])}.values())[::-1]


_CATALOGUE = (
    NoticeKind("after-the-release"),
    NoticeKind("below-zero", is_caution=True),
    NoticeKind("beyond-the-original"),
    NoticeKind("categories-adjusted"),
    NoticeKind("categories-not-adjusted"),
    NoticeKind("cells-suppressed", "variable"),
    NoticeKind("checks-the-original-only", "edit"),
    NoticeKind("claim-not-kept", "edit"),
    NoticeKind("combinations-changed-again", "step"),
    NoticeKind("counts-before-adjusting"),
    NoticeKind("counts-random-values", "step"),
    NoticeKind("derived-cells-missing", "variable"),
    NoticeKind("determined-by-edits", "variable"),
    NoticeKind("digits-of-the-file"),
    NoticeKind("earlier-run-ended"),
    NoticeKind("edit-dropped", "edit"),
    NoticeKind("edit-never-fired", "edit"),
    NoticeKind("edit-not-written", "edit"),
    NoticeKind("edit-weakened", "edit"),
    NoticeKind("edits-exclude-each-other"),
    NoticeKind("ended-after-the-release"),
    NoticeKind("errors-not-localised"),
    NoticeKind("false-on-missing"),
    NoticeKind("fewest-fields-not-proven"),
    NoticeKind("fields-adjusted"),
    NoticeKind("fields-not-adjusted"),
    NoticeKind("frequent-value-lost", "variable", is_caution=True),
    NoticeKind("groups-moved"),
    NoticeKind("groups-not-moved", "edit"),
    NoticeKind("groups-taken-away"),
    NoticeKind("groups-too-large"),
    NoticeKind("groups-unlike-others"),
    NoticeKind("identifiers-not-published"),
    NoticeKind("idle-workers"),
    NoticeKind("labels-left-out"),
    NoticeKind("like-a-formula", "variable"),
    NoticeKind("limit-left", "variable"),
    NoticeKind("may-become-negative"),
    NoticeKind("may-identify", "variable", is_caution=True),
    NoticeKind("mended-violations", "variable"),
    NoticeKind("method-says", "step"),
    NoticeKind("missing-cells-distinguish", "step"),
    NoticeKind("missing-cells-filled"),
    NoticeKind("missing-codes-are-values"),
    NoticeKind("missing-codes-emptied"),
    NoticeKind("missing-codes-renamed"),
    NoticeKind("missing-codes-suppressed", "variable"),
    NoticeKind("missing-patterns", "step"),
    NoticeKind("most-cells-suppressed", "variable"),
    NoticeKind("most-frequent-taken"),
    NoticeKind("names-like-formulas"),
    NoticeKind("no-contributions", "measure"),
    NoticeKind("no-edits"),
    NoticeKind("not-asked-of-an-engine"),
    NoticeKind("not-computed", "measure"),
    NoticeKind("not-in-blocks", "step"),
    NoticeKind("not-measured-on-level", "measure"),
    NoticeKind("not-in-the-masked-file", "variable"),
    NoticeKind("nothing-released"),
    NoticeKind("old-keys-published", "variable"),
    NoticeKind("order-kept"),
    NoticeKind("original-values-published", "edit"),
    NoticeKind("other-aggregation", "step"),
    NoticeKind("other-encoding"),
    NoticeKind("other-plugin-claims"),
    NoticeKind("over-parts"),
    NoticeKind("paired-in-order", "variable", is_caution=True),
    NoticeKind("plan-check"),
    NoticeKind("published-as-decimals"),
    NoticeKind("published-in-binary-steps"),
    NoticeKind("rare-groups-left-out"),
    NoticeKind("reading"),
    NoticeKind("records-dropped"),
    NoticeKind("released-before"),
    NoticeKind("removal-distorts", "variable", is_caution=True),
    NoticeKind("repeated-keys", "variable"),
    NoticeKind("replaces-another-file"),
    NoticeKind("rules"),
    NoticeKind("rules-conflict"),
    NoticeKind("same-within-groups"),
    NoticeKind("small-strata", "step"),
    NoticeKind("strata-all-joined", "step", is_caution=True),
    NoticeKind("strata-joined", "step"),
    NoticeKind("structural-zeros", "variable"),
    NoticeKind("sums-in-binary"),
    NoticeKind("sums-in-decimals", "edit"),
    NoticeKind("unique-by-edit", "edit"),
    NoticeKind("undeclared-published", is_caution=True),
    NoticeKind("unique-on-unmasked", is_caution=True),
    NoticeKind("unmasked-variables-measured"),
    NoticeKind("validated-once"),
    NoticeKind("violated-and-unmasked", "edit"),
    NoticeKind("violated-still"),
    NoticeKind("waiver-not-needed"),
    NoticeKind("without-spread", "step", is_caution=True),
)

NOTICE_KINDS: Mapping[str, NoticeKind] = {kind.name: kind for kind in _CATALOGUE}
"""Every kind of notice, by name."""
