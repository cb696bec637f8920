"""What a pipeline file names, read one by one: its data, and its rules with what they say of each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

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
    from maskwright.edits.analysis.finding import Analysis
    from maskwright.edits.edit_set import EditSet


@pipelines_own_plugins()
def pipeline_data(
    pipeline: str | Path, reporter: Reporter | None = None, *, masked: str | Path | None = None
) -> Dataset:
    r"""Read the data that a pipeline names, as it declares them; what else is in the file is not looked at.

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
        With every mistake in ``data:``; data of several levels; data that cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> import maskwright as mw
    >>> _ = Path("few.csv").write_text("age,town\n31,Vic\n47,Vic\n", encoding="utf-8")
    >>> _ = Path("few.yaml").write_text("maskwright: 1\ndata: {source: few.csv}\n", encoding="utf-8")
    >>> mw.pipeline_data("few.yaml").names
    ('age', 'town')
    """
    problems: list[Problem] = []
    path = Path(pipeline)
    if masked is not None:
        (source,) = data_files((Path(masked),), ReadingOptions(pipeline=path))
        with stage(reporter or Logged(), f"Reading {source.name}") as progress:
            return load(replace(source, cluster=None), progress, identifiers=True, may_lack="anything")
    section = _section(path, "data")
    if section is None or not section.is_mapping:
        raise InputError(Problem("the pipeline has no data section", Place(str(pipeline)), HELP))
    found = resolve_data(section, path.resolve().parent, problems)
    if problems:
        raise InputError(in_order(problems, str(pipeline)))
    if found.whole is None:
        raise InputError(
            Problem(
                "the data are of several levels, and this reads one file", section.place, "mw.linked_data links them."
            )
        )
    with stage(reporter or Logged(), f"Reading {found.whole.name}") as progress:
        return load(found.whole, progress, identifiers=True)


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
    found, wrong = read_edits_of(stated)
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


def _section(path: Path, name: str) -> Node | None:
    """One section of a pipeline file."""
    return load_yaml(text_of(path, "pipeline", HELP), str(path)).get(name)
