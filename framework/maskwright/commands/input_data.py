"""Data and rules that a pipeline or a program names, read one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.commands.levels.input_files import linked_sources
from maskwright.commands.options import ReadingOptions, data_files, pipeline_levels
from maskwright.commands.reading import dataset_of, load
from maskwright.commands.requests import Arguments, Rules, declarations_of, edits_of
from maskwright.data.dataset import Dataset
from maskwright.data.frame_libraries import taken_in
from maskwright.data.levels.linked_data import LevelDeclaration
from maskwright.data.levels.linking import levels_of_flat, linked_levels
from maskwright.edits.languages.schematron.binding import bound_to
from maskwright.edits.normalisation import written_out
from maskwright.foundation.errors import InputError, Place, Problem, refuse_problems
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.progress import Logged, Reporter, stage
from maskwright.foundation.yaml_document import Node, load_yaml
from maskwright.foundation.yaml_models import read_model
from maskwright.pipeline.data_section import resolve_data
from maskwright.pipeline.edits_section import read_edits_of, resolve_edits
from maskwright.pipeline.levels_section import structure_problems
from maskwright.pipeline.reading import HELP, text_of
from maskwright.pipeline.resolved import DataInMemory
from maskwright.pipeline.variable_names import in_order, names_in
from maskwright.plugins.registry import pipelines_own_plugins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.commands.requests import DeclaredVariables
    from maskwright.data.frame_libraries import Data
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.analysis.statements import Analysis
    from maskwright.edits.edit_set import EditSet
    from maskwright.pipeline.data_section import FoundData


@pipelines_own_plugins()
def pipeline_data(
    pipeline: str | Path, reporter: Reporter | None = None, *, masked: str | Path | None = None
) -> Dataset:
    r"""Read the data that a pipeline names, as it declares them; what else is in the file is not looked at.

    Of data of several levels it is the file of the lowest one: `maskwright.pipeline_linked_data` links them.

    Parameters
    ----------
    pipeline : str or Path
        A pipeline file.
    reporter : Reporter, optional
        Told of the stage; the logger ``maskwright`` is by default.
    masked : str or Path, optional
        Read this masked file instead, as ``maskwright measure --pipeline`` reads it: variables may be lacking.

    Returns
    -------
    Dataset
        Identifiers included.

    Raises
    ------
    InputError
        With every mistake in ``data:``; data that cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> import maskwright as mw
    >>> _ = Path("few.csv").write_text("age,town\n31,Vic\n47,Vic\n", encoding="utf-8")
    >>> _ = Path("few.yaml").write_text("maskwright: 1\ndata: {source: few.csv}\n", encoding="utf-8")
    >>> mw.pipeline_data("few.yaml").names
    ('age', 'town')
    """
    path = Path(pipeline)
    if masked is not None:
        (source,) = data_files((Path(masked),), ReadingOptions(pipeline=path))
        with stage(reporter or Logged(), f"Reading {source.name}") as progress:
            return load(replace(source, cluster=None), progress, identifiers=True, may_lack="anything")
    found = _found_data(path).whole
    assert found is not None
    with stage(reporter or Logged(), f"Reading {found.name}") as progress:
        return load(found, progress, identifiers=True)


@pipelines_own_plugins()
def pipeline_linked_data(
    pipeline: str | Path, reporter: Reporter | None = None, *, masked: Sequence[str | Path] = ()
) -> LinkedData | None:
    r"""Read and link the data of several levels that a pipeline names, as it declares them.

    Parameters
    ----------
    pipeline : str or Path
        A pipeline file.
    reporter : Reporter, optional
        Told of the stage; the logger ``maskwright`` is by default.
    masked : sequence of str or Path, optional
        Read this masked file instead, or these, one of each level, the top first: variables may be lacking.

    Returns
    -------
    LinkedData or None
        Identifiers included where each level has a file of its own; None: the data have one level.

    Raises
    ------
    InputError
        With every mistake in ``data:``; data that cannot be read or linked.

    Examples
    --------
    >>> from pathlib import Path
    >>> import maskwright as mw
    >>> _ = Path("all.csv").write_text("hhid,pno,age,region\n1,1,31,N\n1,2,3,N\n2,1,47,S\n", encoding="utf-8")
    >>> levels = "{household: {key: hhid, variables: [region]}, person: {key: pno, in: household}}"
    >>> section = f"data: {{source: all.csv, levels: {levels}}}"
    >>> _ = Path("all.yaml").write_text(f"maskwright: 1\n{section}\n", encoding="utf-8")
    >>> mw.pipeline_linked_data("all.yaml")
    LinkedData(2 household, 3 person)
    """
    path = Path(pipeline)
    levels = _found_data(path).levels
    if levels is not None and masked:
        levels = pipeline_levels(ReadingOptions(pipeline=path), [Path(each) for each in masked])
    if levels is None:
        return None
    names = dict.fromkeys(source.name for source in levels.sources.values())
    with stage(reporter or Logged(), f"Reading {' and '.join(names)}") as progress:
        return linked_sources(levels, progress)


@pipelines_own_plugins()
def pipeline_edits(pipeline: str | Path) -> EditSet:
    r"""Read the rules of a pipeline, those in it and those of its rule files; what else is in it is not looked at.

    Parameters
    ----------
    pipeline : str or Path
        A pipeline file.

    Raises
    ------
    InputError
        With every mistake in any rule.

    Examples
    --------
    >>> from pathlib import Path
    >>> import maskwright as mw
    >>> _ = Path("ages.yaml").write_text("maskwright: 1\nedits: ['age in [0, 120]']\n", encoding="utf-8")
    >>> [edit.text for edit in mw.pipeline_edits("ages.yaml")]
    ['age in [0, 120]']
    """
    problems: list[Problem] = []
    path = Path(pipeline)
    section = _section(path, "edits")
    stated = () if section is None else resolve_edits(section, path.resolve().parent, problems)
    data = _section(path, "data")
    levels = _found_data(path).levels if data is not None and "levels" in data else None
    found, wrong = read_edits_of(stated, None if levels is None else levels.declared)
    if problems or wrong:
        raise InputError(in_order([*problems, *wrong], str(pipeline)))
    return found


def analyse_edits(edits: Rules, data: Dataset | None = None) -> Analysis:
    """Say what rules come to together: contradictions, what no published value can meet, what is superfluous.

    Parameters
    ----------
    edits : EditSet or sequence of rules
    data : Dataset, optional
        Gives declared bounds and published decimals.

    Raises
    ------
    InputError
        Wrong rules.

    Examples
    --------
    >>> import maskwright as mw
    >>> found = mw.analyse_edits(["age >= 0", "age <= 120", "age <= 130"]).findings
    >>> [(each.kind, each.edits) for each in found]
    [('redundant', ('edit-3', 'edit-2'))]
    """
    from maskwright.edits.analysis.analyse import analyse

    stated = edits_of(edits)
    if data is None:
        return analyse(stated)
    return analyse(written_out(bound_to(stated, data.layout), data.names), data.variables)


def _found_data(path: Path) -> FoundData:
    section, problems = _section(path, "data"), list[Problem]()
    if section is None or not section.is_mapping:
        raise InputError(Problem("the pipeline has no data section", Place(str(path)), HELP))
    found = resolve_data(section, path.resolve().parent, problems)
    if problems:
        raise InputError(in_order(problems, str(path)))
    return found


def _section(path: Path, name: str) -> Node | None:
    """One section of a pipeline file."""
    return load_yaml(text_of(path, "pipeline", HELP), str(path)).get(name)


def linked_data(
    data: Data | Mapping[str, Data],
    levels: Mapping[str, LevelDeclaration | Mapping[str, object]],
    *,
    declared: DeclaredVariables | None = None,
) -> LinkedData:
    """Link records of several levels: households and their persons.

    Parameters
    ----------
    data : Dataset or data frame, or mapping of level name to these
        One flat table with a row for each record of the lowest level, or a table of each level.
    levels : mapping of level name to LevelDeclaration or mapping
        The top first, as a pipeline's ``data: levels:`` section says them.
    declared : mapping of name to declaration, optional
        Of variables of data frames.

    Returns
    -------
    LinkedData

    Raises
    ------
    InputError
        Records without a group, keys that are missing or occur twice, variables that no level has.

    Examples
    --------
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> households = pd.DataFrame({"hhid": [1, 2], "total": [900, 500]})
    >>> persons = pd.DataFrame({"hhid": [1, 1, 2], "pno": [1, 2, 1], "income": [600, 300, 500]})
    >>> levels = {"household": {"key": "hhid"}, "person": {"key": "pno", "in": "household"}}
    >>> mw.linked_data({"household": households, "person": persons}, levels)
    LinkedData(2 household, 3 person)
    """
    known = _declarations(levels)
    if not isinstance(data, Mapping):
        return levels_of_flat(dataset_of(data, declared), known)
    if set(data) != set(known):
        hint = f"{{{', '.join(f'{name!r}: ...' for name in known)}}}"
        raise InputError(Problem("there must be a table for each level, and no other", Place("argument data"), hint))
    tables = _tables(data, tuple(known), declared)
    return linked_levels(tables, known, {name: f"the data of {name}" for name in tables})


def _tables(
    data: Mapping[str, Data], levels: tuple[str, ...], declared: DeclaredVariables | None
) -> dict[str, Dataset]:
    """A dataset of each level: each takes the declarations of the variables that it has."""
    held = {name: taken_in(data[name], "data").data for name in levels}
    names = {name: names_in(DataInMemory(each, {})) or () for name, each in held.items()}
    every = list(dict.fromkeys(each for own in names.values() for each in own))
    variables = declarations_of(declared, names=every).variables
    unknown = [
        Problem(unknown_name("variable", name, every), Place("argument declared"))
        for name, each in variables.items() if name not in every and not each.is_identifier
    ]  # fmt: skip
    refuse_problems(unknown)
    return {
        name: each if isinstance(each, Dataset)
        else load(DataInMemory(each, {one: text for one, text in variables.items() if one in names[name]}),
                  identifiers=True)
        for name, each in held.items()
    }  # fmt: skip


def _declarations(levels: Mapping[str, LevelDeclaration | Mapping[str, object]]) -> dict[str, LevelDeclaration]:
    """Levels of a call, with every mistake at once."""
    stated, known = Arguments(), {}
    for name, each in levels.items():
        if isinstance(each, LevelDeclaration):
            known[name] = each
            continue
        found = read_model(LevelDeclaration, stated.node(f"levels, {name}", each), stated.problems, "key")
        if found is not None:
            known[name] = found
    if not stated.problems:
        stated.problems.extend(structure_problems(known, Node("mapping", Place("argument levels"))))
    stated.refuse_mistakes()
    return known
