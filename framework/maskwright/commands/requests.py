"""What a Python call asks for, resolved by the code that resolves a pipeline file: one check, one sentence.

Arguments become the nodes that a file would have given; instead of file, line and column a mistake names the argument.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.data.dataset import Dataset
from maskwright.data.declaration import VariableDeclaration
from maskwright.edits.edit_set import EditSet
from maskwright.foundation.errors import InputError, PipelineError, Place, Problem
from maskwright.foundation.yaml_document import Node, from_python
from maskwright.foundation.yaml_models import read_model
from maskwright.pipeline.data_section import first_names, resolve_data, resolve_declarations
from maskwright.pipeline.declared_lists import LISTS, Declarations, without_lists
from maskwright.pipeline.edits_section import read_edits_of, resolve_edits
from maskwright.pipeline.file_model import ExecutionSection, ReleaseSection, SingleSettings
from maskwright.pipeline.resolved import DataInMemory, DataSource, MaskingRequest, MeasureRequest, RuleFile, RuleText
from maskwright.pipeline.steps import (
    resolve_measures,
    resolve_release,
    resolve_steps,
    resolve_waivers,
    totals_without_levels,
)
from maskwright.pipeline.variable_names import further_problems, in_order, names_in, variable_uses
from maskwright.plugins.registry import plugins

if TYPE_CHECKING:
    from collections.abc import Collection

    import pandas as pd
    import pyarrow as pa
    from pydantic import BaseModel

    from maskwright.plugins.rules import RuleLanguage

DeclaredVariables = Mapping[str, Mapping[str, object] | Sequence[str] | VariableDeclaration | str]
"""Declarations by name; ``roles``, ``types``, ``missing`` and ``undeclared`` as in a pipeline's ``data:`` section."""
Rules = EditSet | Sequence[object]
MeasureNames = Sequence[str | Mapping[str, Mapping[str, object]]]

HERE = Path()
"""Folder that file names in arguments are relative to."""


def masking_request(
    data: Dataset | pd.DataFrame | pa.Table,
    method: str | None = None,
    *,
    steps: Sequence[Mapping[str, object]] | None = None,
    edits: Rules | None = None,
    seed: int | None = None,
    params: Mapping[str, object] | None = None,
    variables: Sequence[str] | None = None,
    groups: Sequence[Sequence[str]] = (),
    within: str | Sequence[str] = (),
    declared: DeclaredVariables | None = None,
    cluster: str | None = None,
    workers: int | None = None,
    block_size: int | None = None,
    processes: bool = False,
    waive: Sequence[Mapping[str, object]] = (),
    release: Mapping[str, object] | None = None,
) -> MaskingRequest:
    """Request of a call of `maskwright.protect`, whose parameters these are."""
    stated = Arguments()
    protect = stated.steps(
        steps, method=method, variables=variables, groups=groups or None, within=within or None, params=params
    )
    names = names_in(DataInMemory(data)) or ()
    known = stated.declarations(names, declared=declared, cluster=cluster)
    declarations = resolve_declarations(known, stated.problems, names)
    resolved = resolve_steps(protect, plugins(), stated.problems)
    stated.problems.extend(totals_without_levels(resolved))
    rules = edits if isinstance(edits, EditSet) else stated.edits(edits)
    execution = read_model(
        ExecutionSection, stated.section(workers=workers, block_size=block_size, processes=processes), stated.problems
    )
    waived = stated.node("waive", waive)
    waivers = resolve_waivers(waived, stated.problems, len(protect.elements), ())
    form = _release(stated, release, data, declarations)
    single = read_model(SingleSettings, stated.section(maskwright=1, seed=seed), stated.problems)
    root = Node("mapping", Place()).with_entry("data", known).with_entry("protect", protect).with_entry("waive", waived)
    uses = variable_uses(root, plugins())
    if stated.problems or declarations is None or execution is None or single is None or form is None:
        read = () if isinstance(rules, EditSet) else rules
        stated.problems.extend(further_problems(names_in(DataInMemory(data)), read, uses))
        raise InputError(in_order(stated.problems, ""))
    return MaskingRequest(
        data=DataInMemory(data, declarations.variables, declarations.cluster),
        edits=rules,
        steps=resolved,
        seed=single.seed,
        execution=execution,
        waivers=waivers,
        release=form,
        uses=uses,
    )


def _release(
    stated: Arguments, release: Mapping[str, object] | None, data: object, declarations: Declarations | None
) -> ReleaseSection | None:
    """Order and keys that a call asks for; a Dataset says itself which of its variables are identifiers."""
    section = stated.node("release", {} if release is None else release)
    known = Declarations() if declarations is None else declarations
    identifiers, cluster = known.variables, known.cluster
    if isinstance(data, Dataset):
        found = [each for each in data.variables if each.role == "identifier" or each.name == data.cluster]
        identifiers = {
            each.name: VariableDeclaration(role=each.role, release="new" if each.renewed else None) for each in found
        }
        cluster = data.cluster
    return resolve_release(section, identifiers, cluster, stated.problems)


def data_request(
    path: str | Path,
    *,
    variables: DeclaredVariables | None = None,
    codebook: str | Path | None = None,
    file_format: str | None = None,
    cluster: str | None = None,
    options: Mapping[str, object] | None = None,
) -> DataSource:
    """Data file of a call, as a pipeline's ``data:`` section says it."""
    stated = Arguments()
    file = {"source": str(path), "format": file_format, **(options or {})}
    openable = None
    if not set(LISTS).isdisjoint(variables or ()):
        openable = resolve_data(stated.section(**file), HERE, [], must_exist=False).openable
    names = () if openable is None else first_names(openable) or ()
    section = stated.declarations(names, declared=variables, codebook=codebook, cluster=cluster, **file)
    found = resolve_data(section, HERE, stated.problems, must_exist=False).whole
    stated.refuse_mistakes()
    assert found is not None
    return replace(found, path=Path(path), place=Place())


def declarations_of(
    declared: DeclaredVariables | None, cluster: str | None = None, names: Collection[str] = ()
) -> Declarations:
    """What a call declares of data frames."""
    stated = Arguments()
    section = stated.declarations(names, declared=declared, cluster=cluster)
    found = resolve_declarations(section, stated.problems, names)
    stated.refuse_mistakes()
    assert found is not None
    return found


def edits_of(edits: Rules | None) -> EditSet:
    """Edits of a call: read already, or rules as a pipeline's ``edits:`` list holds them."""
    if isinstance(edits, EditSet):
        return edits
    stated = Arguments()
    found, problems = read_edits_of(stated.edits(edits))
    stated.problems.extend(problems)
    stated.refuse_mistakes()
    return found


def rule_options(reader: RuleLanguage, options: Mapping[str, object]) -> BaseModel | None:
    """Options of a rule language, of a call; None where none are given."""
    if not options:
        return None
    if reader.params is None:
        raise InputError(f"rules in {reader.name} have no options, and these were given: {', '.join(options)}")
    stated = Arguments()
    found = read_model(reader.params, stated.section(**from_working_folder(options)), stated.problems, "option")
    stated.refuse_mistakes()
    return found


def from_working_folder(options: Mapping[str, object]) -> dict[str, object]:
    """Options of a call, in which a folder is relative to the working folder, as on the command line."""
    folders = ("include_folder", "document_folder")
    found = {name: options[name] for name in folders if isinstance(options.get(name), (str, Path))}
    return {**options, **{name: str(Path(str(folder)).absolute()) for name, folder in found.items()}}


def measure_requests(measures: MeasureNames) -> tuple[MeasureRequest, ...]:
    """Measures of a call: names, or ``{name: {parameters}}``, as a pipeline's ``measure:`` list holds them."""
    stated = Arguments()
    found = resolve_measures(stated.node("measures", measures), plugins(), stated.problems)
    stated.refuse_mistakes()
    return found


class Arguments:
    """Arguments of one call, as the nodes of a pipeline file; mistakes are gathered in `problems`."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def node(self, name: str, value: object) -> Node:
        """Node of an argument; where no pipeline file could hold it, a mistake and an empty node."""
        place = Place(f"argument {name}")
        try:
            if isinstance(value, Sequence) and not isinstance(value, str):
                items = [from_python(each, Place(f"{place}, item {number}")) for number, each in enumerate(value, 1)]
                return Node("sequence", place, elements=tuple(items))
            return from_python(_plain(value), place)
        except PipelineError as error:
            self.problems.extend(error.problems)
            return Node("scalar", place)

    def section(self, **arguments: object) -> Node:
        """Section whose keys are arguments that are not None; `declared` stands under ``variables`` as in a file."""
        entries = []
        for name, value in arguments.items():
            if value is not None:
                key = "variables" if name == "declared" else name
                entries.append((Node("scalar", Place(f"argument {name}"), key, key), self.node(name, value)))
        return Node("mapping", Place(), entries=tuple(entries))

    def declarations(self, names: Collection[str], *, declared: DeclaredVariables | None, **arguments: object) -> Node:
        """Section of declarations; `names`: of the variables, which a list of declarations may be called like."""
        single, lists = without_lists(declared or {}, names)
        found = self.section(declared=None if declared is None else single, **arguments)
        for key, value in lists.items():
            found = found.with_entry(key, self.node("declared", {key: value}).get(key) or Node("scalar", Place()))
        return found

    def steps(self, steps: Sequence[Mapping[str, object]] | None, **step: object) -> Node:
        """Steps of a call: a list as in a file, or the one step that other arguments say."""
        if steps is None:
            if step["method"] is None:
                hint = "Name a method, or give `steps`: [{method: ..., params: {...}}, ...]."
                self.problems.append(Problem("nothing says how to mask", Place("argument method"), hint))
                return Node("sequence", Place())
            only = self.section(**step)
            return Node("sequence", only.place, elements=(only,))
        for name, value in step.items():
            if value is not None:
                hint = "Put it into the step that it is for, as in a pipeline file."
                self.problems.append(Problem("`steps` says it all", Place(f"argument {name}"), hint))
        return self.node("steps", steps)

    def edits(self, edits: Sequence[object] | None) -> tuple[RuleText | RuleFile, ...]:
        """Rules of a call."""
        return resolve_edits(self.node("edits", edits), HERE, self.problems)

    def refuse_mistakes(self) -> None:
        """Raise InputError with all mistakes found so far, if there are any."""
        if self.problems:
            raise InputError(in_order(self.problems, ""))


def _plain(value: object) -> object:
    """Declarations as plain values; anything else as it is."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if not isinstance(value, VariableDeclaration):
        return value
    stated = value.model_dump(exclude_unset=True)
    return stated | {name: dict(stated[name]) for name in ("missing", "labels") if name in stated}
