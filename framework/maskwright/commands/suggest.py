"""Rules found in data: of a program, or of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.commands.levels.file_of_levels import linked_sources
from maskwright.commands.levels.suggesting import suggest_levels
from maskwright.commands.looking import with_found_options
from maskwright.commands.options import NO_OPTIONS, ReadingOptions, data_files, pipeline_levels, read_rule_files
from maskwright.commands.reading import dataset_of, load
from maskwright.commands.requests import DeclaredVariables, Rules, edits_of
from maskwright.edits.suggestions.suggest import LIMIT
from maskwright.edits.suggestions.suggest import suggest as suggest_rules
from maskwright.edits.variable_ranges import written_out
from maskwright.foundation.errors import InputError
from maskwright.foundation.progress import Reporter, silent, stage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from maskwright.data.frame_libraries import Data
    from maskwright.edits.suggestions.model import Suggestions


def suggest(
    data: Data,
    edits: Rules | None = None,
    *,
    share: float = 1.0,
    declared: DeclaredVariables | None = None,
    limit: int = LIMIT,
    show_values: bool = False,
) -> Suggestions:
    """Find rules that hold in data: sums, products, proportions, codes with labels, conditionals, orderings, ranges.

    They are suggestions, for a person to accept or reject, and they come from the data: publishing them discloses it.
    The most useful come first: those that most records would violate if variables had nothing to do with each other,
    and few records do. What follows from others is left out.

    Parameters
    ----------
    data : Dataset or data frame
    edits : EditSet or sequence of rules, optional
        Rules that are known; what follows from them is not suggested.
    share : float, default 1
        Suggest what holds in at least this share of the records of which it speaks.
    declared : mapping of name to declaration, optional
        For a data frame.
    limit : int, default 30
        Suggestions, at most; 0: all.
    show_values : bool, default False
        Whether constants, lists of values, conditionals that name codes, and exact bounds of ranges are found too: they
        are values of records.

    Returns
    -------
    Suggestions
        ``found`` (each with ``rule``, ``records`` in which it holds, ``of`` those it speaks of, ``violations``,
        ``share``, ``usefulness``), ``notes``.

    Raises
    ------
    InputError
        Wrong rules or declarations; a share outside (0, 1]; a negative limit; no records.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> data = pd.DataFrame(np.random.default_rng(1).integers(0, 100, (20, 2)), columns=["wages", "pensions"])
    >>> data["income"] = data["wages"] + data["pensions"]
    >>> [each.rule for each in mw.suggest(data, ["wages >= 0", "pensions >= 0"]).found]
    ['wages + pensions == income', 'wages in [0, 100]', 'pensions in [0, 100]', 'income in [0, 180]']
    """
    dataset = dataset_of(data, declared)
    known = written_out(edits_of(edits), dataset.names)
    return suggest_rules(dataset, known, share, limit=limit, show_values=show_values)


def suggest_for_file(
    data: Path | None,
    files: Sequence[Path],
    *,
    share: float,
    language: str | None,
    options: ReadingOptions = NO_OPTIONS,
    reporter: Reporter,
    limit: int = LIMIT,
    show_values: bool = False,
) -> Suggestions:
    """Rules that hold in a data file and do not follow from those in the rule files.

    `data`: None: the files of the pipeline, which declares levels. `files`: rule files, of rules that are known.
    `share`: share of the records in which a rule has to hold, in (0, 1]. `language`: of the rule files; None: their
    endings tell. `limit`: suggestions, at most; 0: all. `show_values`: whether constants, lists of values, conditionals
    that name codes, and exact bounds of ranges are found too: they are values of records.
    """
    levels = pipeline_levels(options, () if data is None else (data,))
    if levels is not None:
        rules = read_rule_files(files, options, language, levels.declared)
        with stage(reporter, "Reading the levels") as progress:
            linked = linked_sources(levels, progress)
        with stage(reporter, "Searching for rules"):
            return suggest_levels(linked, rules, share, limit=limit, show_values=show_values)
    if data is None:
        raise InputError("--suggest finds rules in a data file: name it with --data, and leave --to out")
    (file,) = data_files((data,), options, [] if language else files)
    rules = read_rule_files(files, options, language)
    with stage(reporter, f"Reading {data.name}"):
        file, said = with_found_options(file, silent)
        dataset = load(file, identifiers=True, may_lack="identifiers")
    for notice in said:
        reporter.notice(notice)
    with stage(reporter, "Searching for rules") as progress:
        known = written_out(rules, dataset.names)
        return suggest_rules(dataset, known, share, progress, limit=limit, show_values=show_values)
