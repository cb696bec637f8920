"""Waivers: a doubt by its name, for a step, a variable or all, with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, model_validator

from maskwright.foundation.doubts import DOUBT_KINDS, Doubt, DoubtKind
from maskwright.foundation.errors import Problem
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.yaml_models import read_model

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from maskwright.foundation.yaml_document import Node


def _several(value: Any) -> Any:
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


Names = Annotated[
    tuple[Annotated[str, Field(min_length=1)], ...],
    BeforeValidator(_several, json_schema_input_type=str | list[str]),
]
Numbers = Annotated[
    tuple[Annotated[int, Field(ge=1)], ...], BeforeValidator(_several, json_schema_input_type=int | list[int])
]


class Waiver(BaseModel, extra="forbid", frozen=True):
    """A doubt that does not stop the release."""

    doubt: str = Field(
        description="Name or id of the doubt: maskwright explain doubts lists them.",
        json_schema_extra={"enum": [*DOUBT_KINDS, *(kind.id for kind in DOUBT_KINDS.values())]},
    )
    variable: Names = Field(default=(), description="Variable, or list of variables, that the doubt is about.")
    edit: Names = Field(default=(), description="Edit, or list of edits, that the doubt is about.")
    step: Numbers = Field(default=(), description="Number of the step, or list of numbers, that the doubt is about.")
    measure: Names = Field(default=(), description="Label of the measure, or list of labels, that the doubt is about.")
    because: str = Field(min_length=1, description="Why it may be published all the same: it stands in the record.")

    @model_validator(mode="after")
    def _names_what_it_is_about(self) -> Waiver:
        kind = kind_called(self.doubt)
        if kind is None:
            return self
        given = [about for about in ("variable", "edit", "step", "measure") if getattr(self, about)]
        wanted = [] if kind.about == "file" else [kind.about]
        if given != wanted:
            way = f"about a {kind.about}: name it with '{kind.about}', and nothing else" if wanted else "named alone"
            raise ValueError(f"{kind.name} is {way}")
        if not self.because.strip(" ."):
            raise ValueError("'because' is empty: say why it may be published all the same")
        return self

    @property
    def kind(self) -> DoubtKind:
        """The kind of doubt that is waived."""
        found = kind_called(self.doubt)
        assert found is not None
        return found

    @property
    def subjects(self) -> tuple[str, ...]:
        """What it is about, as `Doubt.subject` has it."""
        return (*self.variable, *self.edit, *map(str, self.step), *self.measure) or ("",)

    def covers(self, doubt: Doubt) -> bool:
        """Whether it is this doubt that is waived."""
        return self.kind.name == doubt.kind and doubt.subject in self.subjects


def kind_called(name: str) -> DoubtKind | None:
    """Kind of doubt of that name or id; None where there is none."""
    return next((kind for kind in DOUBT_KINDS.values() if name in (kind.name, kind.id)), None)


def resolve_waivers(
    section: Node, problems: list[Problem], steps: int | None = None, labels: Collection[str] | None = None
) -> tuple[Waiver, ...]:
    """Resolve the section: mistakes are added to `problems`."""
    if section.is_scalar and section.value is None:
        return ()
    if not section.is_sequence:
        problems.append(Problem(f"'waive' is a list of doubts, not {section.description}", section.place))
        return ()
    found: list[Waiver] = []
    for entry in section.elements:
        named = entry.get("doubt") if entry.is_mapping else None
        if named is not None and isinstance(named.value, str) and kind_called(named.value) is None:
            hint = "`maskwright explain doubts` lists all."
            problems.append(Problem(unknown_name("doubt", named.value, DOUBT_KINDS), named.place, hint))
            continue
        waiver = read_model(Waiver, entry, problems)
        if waiver is not None:
            found.append(waiver)
            problems.extend(_unknown_subjects(waiver, entry, steps, labels))
    return tuple(found)


def _unknown_subjects(
    waiver: Waiver, entry: Node, steps: int | None, labels: Collection[str] | None
) -> Iterator[Problem]:
    """Steps and measures that the pipeline does not have; names of variables are looked up in the data."""
    place = {about: node.place for about in ("step", "measure") if (node := entry.get(about)) is not None}
    for number in waiver.step:
        if steps is not None and number > steps:
            yield Problem(f"there is no step {number}: the pipeline has {steps}", place["step"])
    for label in waiver.measure:
        if labels is not None and label not in labels:
            yield Problem(unknown_name("measure in this pipeline", label, labels), place["measure"])
