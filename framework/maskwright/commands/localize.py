"""Error localization: fields to change so that records, or groups with their members, obey the edits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.commands.levels.input_files import linked_sources
from maskwright.commands.options import NO_OPTIONS, ReadingOptions, data_files, pipeline_levels, read_rule_files
from maskwright.commands.reading import dataset_of, domain_of, load
from maskwright.commands.requests import DeclaredVariables, Rules, edits_of
from maskwright.data.levels.linked_data import LinkedData, refuse_deeper
from maskwright.edits.languages.schematron.binding import bound_to
from maskwright.edits.localisation import localize as localisation
from maskwright.edits.normalisation import written_out
from maskwright.foundation.errors import InputError
from maskwright.foundation.progress import Reporter, stage
from maskwright.masking.levels.error_localization import ViolatingGroups, costs_of, joined_localisation
from maskwright.planning.levels.bound_edits import edits_of_levels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from maskwright.data.frame_libraries import Data
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.localisation.localize import Localisation


def localize_levels(
    linked: LinkedData, edits: EditSet, weights: Mapping[str, float] | None = None, workers: int | None = None
) -> Localisation:
    """Find for each group that violates edits, with its members, the smallest weighted set of fields to change.

    A pointer may be what is wrong: what rules ask of whomever it names is asked of each member that it could name.
    Records stand before each other as they are; that someone is missing is not found.
    """
    refuse_deeper(linked.names, "errors are located in")
    bound = edits_of_levels(edits, linked)
    groups = ViolatingGroups(linked, bound)
    return joined_localisation(groups, tuple(groups.located(costs_of(linked, weights or {}), workers)))


def localize(
    data: Data | LinkedData,
    edits: Rules,
    *,
    weights: Mapping[str, float] | None = None,
    original: Data | None = None,
    declared: DeclaredVariables | None = None,
    workers: int | None = None,
) -> Localisation:
    """Fields to change, for each record that violates edits: the smallest weighted set (Fellegi and Holt).

    Parameters
    ----------
    data : Dataset, data frame or LinkedData
        Of data of several levels each group is a record, with all its members: ``income[2]`` is that of the second.
    edits : EditSet or sequence of rules
    weights : mapping of name to float, optional
        How much each variable is trusted; 1 unless given. Positive.
    original : Dataset or data frame, optional
        The original file, for values-exist-in-domain edits.
    declared : mapping of name to declaration, optional
        For data frames.
    workers : int, optional
        Processes at work at the same time, where many records violate an edit; by default one for each processor given
        to this one. The fields are the same for any number.

    Returns
    -------
    Localisation
        ``fields`` (DataFrame of record and variable), ``counts`` (by variable), ``obstacles`` (records without a set).
        Confidential.

    Raises
    ------
    InputError
        Wrong rules or declarations; a weight that is not positive; `workers` below 1.

    Examples
    --------
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> data = pd.DataFrame({"wages": [5, 700], "pensions": [2, 1], "income": [7, 8]})
    >>> mw.localize(data, ["wages + pensions == income", "wages in [0, 100]"]).counts
    {'wages': 1}
    """
    _refuse_no_workers(workers)
    if isinstance(data, LinkedData):
        if original is not None or declared is not None:
            raise InputError("data of several levels are localised by themselves: leave `original` and `declared` out")
        return localize_levels(data, edits_of(edits), weights, workers)
    before = dataset_of(data, declared)
    stated = written_out(bound_to(edits_of(edits), before.layout), before.names)
    domain = domain_of(original, declared, stated)
    return localisation.localize(before, stated, weights, domain, workers=workers)


def localize_file(
    data: Sequence[Path],
    edits: Sequence[Path],
    *,
    weights: Sequence[str],
    options: ReadingOptions = NO_OPTIONS,
    reporter: Reporter,
    workers: int | None = None,
) -> Localisation:
    """Fields to change in the records of a data file that violate edits."""
    _refuse_no_workers(workers)
    levels = pipeline_levels(options, data)
    if levels is not None:
        rules = read_rule_files(edits, options, None, levels.declared)
        with stage(reporter, "Reading the levels") as progress:
            linked = linked_sources(levels, progress)
        with stage(reporter, "Locating errors"):
            return localize_levels(linked, rules, dict(map(_weight, weights)), workers)
    (file,) = data_files(data, options, edits)
    rules = read_rule_files(edits, options)
    with stage(reporter, f"Reading {data[0].name}"):
        dataset = load(file, identifiers=True, may_lack="identifiers")
    with stage(reporter, "Locating errors") as progress:
        stated = written_out(bound_to(rules, dataset.layout), dataset.names)
        return localisation.localize(dataset, stated, dict(map(_weight, weights)), None, progress, workers)


def _refuse_no_workers(workers: int | None) -> None:
    if workers is not None and workers < 1:
        raise InputError(f"workers must be at least 1, not {workers}")


def _weight(text: str) -> tuple[str, float]:
    name, equals, value = text.rpartition("=")
    try:
        return name, float(value if equals else "")
    except ValueError:
        raise InputError(f"--weight {text}: expected name=number, for instance income=2") from None
