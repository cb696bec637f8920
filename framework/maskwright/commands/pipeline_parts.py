"""What a pipeline file names, read one by one: its data, and its rules with what they say of each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.commands.levels.file_of_levels import linked_sources
from maskwright.commands.options import ReadingOptions, data_files
from maskwright.commands.reading import load
from maskwright.commands.requests import Rules, edits_of
from maskwright.edits.variable_ranges import written_out
from maskwright.foundation.errors import InputError, Place, Problem
from maskwright.foundation.progress import Logged, Reporter, stage
from maskwright.foundation.yaml_document import Node, load_yaml
from maskwright.pipeline.data_section import resolve_data
from maskwright.pipeline.edits_read import read_edits_of
from maskwright.pipeline.edits_section import resolve_edits
from maskwright.pipeline.names import in_order
from maskwright.pipeline.resolve import HELP, text_of
from maskwright.plugins.registry import pipelines_own_plugins

if TYPE_CHECKING:
    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.analysis.finding import Analysis
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
def pipeline_linked_data(pipeline: str | Path, reporter: Reporter | None = None) -> LinkedData | None:
    r"""Read and link the data of several levels that a pipeline names, as it declares them.

    Parameters
    ----------
    pipeline : str or Path
        A pipeline file.
    reporter : Reporter, optional
        Told of the stage; the logger ``maskwright`` is by default.

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
    found = _found_data(Path(pipeline))
    if found.levels is None:
        return None
    names = dict.fromkeys(source.name for source in found.levels.sources.values())
    with stage(reporter or Logged(), f"Reading {' and '.join(names)}") as progress:
        return linked_sources(found.levels, progress)


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
    return analyse(written_out(stated, data.names), data.variables)


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
