"""A pipeline file to start from: for a file that is looked at, or with blanks to fill in."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from maskwright.commands.describe_data import Description, described
from maskwright.commands.options import NO_OPTIONS, ReadingOptions, data_files
from maskwright.commands.plan import plan_pipeline
from maskwright.commands.profiled_file import read_profiled
from maskwright.commands.starting_lists import PlannedDoubt
from maskwright.commands.starting_pipeline import pipeline_text
from maskwright.data.dataset import Column
from maskwright.data.missing import is_code_number
from maskwright.data.parts.part_files import address_of, is_pattern, is_remote
from maskwright.data.profiling.column_profile import LikelyType
from maskwright.data.profiling.level_advice import advise_levels
from maskwright.data.variable import Role
from maskwright.edits.suggestions.suggest import suggest
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.exit_codes import EXIT_FINE, EXIT_INPUT
from maskwright.foundation.files import reads_noted, refuse_to_overwrite, write_text
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.progress import Quiet, Reporter, stage
from maskwright.masking.spikes import has_many_zeros
from maskwright.pipeline.data_section import place_in
from maskwright.pipeline.declared_lists import UNDECLARED
from maskwright.plugins.registry import plugins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.data.codebooks.codebook import Codebook
    from maskwright.data.dataset import Dataset
    from maskwright.data.profiling.column_profile import ColumnProfile
    from maskwright.edits.suggestions.model import Suggestion

STARTING_PIPELINE = """\
# A Maskwright pipeline: which data, which edits, how to protect, what to measure, what to write.
# Every path is relative to this file. See what it would do:  maskwright plan pipeline.yaml
maskwright: 1

data:
  source: microdata.csv        # .xml, .csv or .parquet
  # record: Record             # XML only: the element that holds one record
  # encoding: latin-1          # CSV only, like delimiter: ";" and decimal: ","
  # cluster: household         # the variable that names the household: k then counts households
  # variables:                 # an undeclared number is confidential and masked; text has to be declared
  #   id: {role: identifier}   # never released; with `release: new`, under new random values
  #   weight: {role: weight}   # published as it is
  #   region: {role: other}    # published as it is
  #   age: {role: quasi_identifier, missing: ["-9"]}

edits:                         # what must hold in every released record
  # - schematron: rules.sch
  # - gross = net + tax
  # - 0 <= age <= 120
  # - if age < 16 then wages = 0

protect:
  - method: microaggregation
    params: {k: 5}

measure: [pil, distance_record_linkage, score]
# thresholds: {score: 40}      # nothing is released on the wrong side

# waive:                       # doubts that do not stop the release: maskwright explain doubts
#   - {doubt: published-undeclared, variable: remarks, because: free text is dropped before publication}

output:
  data: masked.csv
  report: report.html
  record: run.json             # holds the seed: confidential
  public_record: about.json    # may be published with the data
"""


MOST_SUGGESTED = 10
SEARCHED = 50_000
"""Records in which edits are looked for; those that are suggested hold in these."""


@dataclass(frozen=True)
class StartedPipeline:
    """A pipeline that was written for a file.

    `description`: what the file looks like. `problem`: why there is no plan; '' where there is one. `exit_code`: with
    which planning it ends: 0 where nothing is in the way. `hint`: what to do about the problem; '' where nothing is
    known.
    """

    path: Path
    text: str
    description: Description
    doubts: tuple[PlannedDoubt, ...]
    problem: str
    exit_code: int
    hint: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data: what ``maskwright init --json`` prints."""
        return {
            "pipeline": str(self.path),
            "doubts": [each.with_variable for each in self.doubts],
            "problem": self.problem or None,
            "hint": self.hint or None,
            "description": self.description.to_json(),
        }


def is_data(path: Path, file_format: str | None = None) -> bool:
    """Whether a name is of data rather than of a folder to make: a file, or a name that a format claims."""
    place = place_in(Path(), str(path))
    if is_remote(place) or is_pattern(place):
        return True
    # A folder holds data where one of its files has a name that a format claims.
    names = [each.name for each in path.rglob("*") if each.is_file()] if path.is_dir() else [path.name]
    claimed = any(name.lower().endswith(each.suffixes) for each in plugins().sources.values() for name in names)
    return file_format is not None or path.is_file() or claimed


@reads_noted()
def start_pipeline(
    data: Path,
    to: Path,
    *,
    options: ReadingOptions = NO_OPTIONS,
    answers: Sequence[str] = (),
    force: bool = False,
    reporter: Reporter | None = None,
) -> StartedPipeline:
    """Look at a data file and write a commented pipeline for it, which holds no value of a record.

    It is planned before it is written: what the plan doubts stands in it as a comment. Sums that hold in all records
    are edits of it, other suggestions are comments; where the plan fails with the edits, these are comments too.
    """
    shown = reporter or Quiet()
    if to.exists() and not force:
        raise already_there(to)
    (file,) = data_files((data,), options)
    refuse_to_overwrite({"the pipeline": to}, {"data file": data})
    profiled = read_profiled(file, shown)
    with stage(shown, "Profiling its variables") as progress:
        description = answered(described(profiled, progress), answers)
    with stage(shown, "Searching for edits"):
        suggested = _suggested(profiled.data, description)
    stated = profiled.file.params.model_dump(exclude_unset=True)
    if options.file_format is not None:
        stated = {"format": options.file_format, **stated}
    reported = _without_described(description, file.codebook)
    codebook = {} if file.codebook is None else {"codebook": str(file.codebook.path.absolute())}
    zeros = numbers_with_zeros(profiled.data, reported)
    with stage(shown, "Planning"):
        demoted, doubts, failing = _planned(reported, data, {**codebook, **stated}, suggested, zeros)
    active, reported = not demoted, with_demoted_edits(reported, demoted)
    source = address_of(str(data))
    if not is_remote(source):
        source = Path(os.path.relpath(source, to.parent)).as_posix()
    codebook = {name: Path(os.path.relpath(path, to.parent)).as_posix() for name, path in codebook.items()}
    stated = {**codebook, **stated}
    levels = _levels_of(profiled.data, reported)
    problem, hint = ("", "") if failing is None else (failing.sentence, failing.hint or "")
    text = pipeline_text(
        reported, source, stated, suggested, active=active, doubts=doubts, problem=problem, levels=levels, zeros=zeros
    )
    put_pipeline(to, text, force=force)
    return StartedPipeline(to, text, description, tuple(doubts), problem, EXIT_INPUT if problem else EXIT_FINE, hint)


def answered(found: Description, answers: Sequence[str]) -> Description:
    """Description in which variables of no role have that of an answer: ``undeclared=other``, ``code=other``."""
    roles: dict[str, Role] = {}
    kinds = (UNDECLARED, *get_args(LikelyType))
    for text in answers:
        kind, _, role = text.partition("=")
        if kind not in kinds:
            raise InputError(f"--answer {text}: {unknown_name('kind of variables', kind, kinds)}")
        known = next((each for each in get_args(Role) if each == role), None)
        if known is None:
            raise InputError(f"--answer {text}: {unknown_name('role', role, get_args(Role))}")
        roles[kind] = known

    def with_role(look: ColumnProfile) -> ColumnProfile:
        role = roles.get(look.looks_like, roles.get(UNDECLARED))
        return look if look.role is not None or role is None else replace(look, role=role, why="answered", unsure=())

    return replace(found, variables=tuple(with_role(each) for each in found.variables))


def _levels_of(data: Dataset, description: Description) -> tuple[str, ...]:
    """Lines of ``levels:`` for a file whose households have variables in common; none where nothing is."""
    if description.household is None:
        return ()
    advice = advise_levels(data, description.household)
    if not advice.constant or advice.member_key is None:
        return ()
    return tuple(line.removeprefix("  ") for line in advice.section.splitlines()[1:])


def _suggested(data: Dataset, description: Description) -> tuple[Suggestion, ...]:
    """Rules among the numbers that are published, whose missing codes are no numbers."""
    chosen = [each for each in description.variables if each.is_numeric and each.role not in ("identifier", "weight")]
    if not chosen:
        return ()
    columns = tuple(_without_codes(data[each.name], tuple(each.missing_codes)) for each in chosen)
    kept = replace(data, columns=columns)
    if len(kept) > SEARCHED:
        kept = kept.taken(np.linspace(0, len(kept) - 1, SEARCHED).astype(np.int64))
    return suggest(kept, limit=MOST_SUGGESTED).found


def numbers_with_zeros(data: Dataset, description: Description) -> tuple[str, ...]:
    """Numbers so many of which are 0 that averaging them would be a doubt."""
    found = [
        _without_codes(data[each.name], tuple(each.missing_codes))
        for each in description.variables
        if each.is_numeric and data[each.name].variable.is_numeric
    ]
    return tuple(each.name for each in found if has_many_zeros(each))


def _without_codes(column: Column, codes: tuple[str, ...]) -> Column:
    coded = is_code_number(column.values, codes)
    return Column(column.variable, np.where(coded, np.nan, column.values), column.missing | coded)


def _without_described(description: Description, codebook: Codebook | None) -> Description:
    """Description without the missing codes that the codebook declares: the pipeline need not say them again."""
    if codebook is None:
        return description
    known = {name: set(each.missing_codes) for name, each in codebook.variables.items()}
    variables = tuple(
        replace(each, missing_codes={}) if known.get(each.name, set()).issuperset(each.missing_codes) else each
        for each in description.variables
    )
    return replace(description, variables=variables)


def with_demoted_edits(description: Description, failing: str) -> Description:
    """Description that says why edits that were found are no edits of the pipeline; '' where they are."""
    if not failing:
        return description
    message = f"the edits that were found are comments, and not kept: with them the plan fails ({failing})"
    return replace(description, unsure=(*description.unsure, message))


def _planned(
    description: Description, data: Path, stated: dict[str, Any], suggested: tuple[Suggestion, ...],
    zeros: tuple[str, ...],
) -> tuple[str, list[PlannedDoubt], Problem | None]:  # fmt: skip
    """Plan the pipeline, with its edits or, where that fails, without: why with them alone, doubts, why there is none.

    A plan that fails without the edits as well does not fail for them.
    """
    failing: Problem | None = None
    for active in (True, False):
        text = pipeline_text(description, place_in(Path(), str(data)), stated, suggested, active=active, zeros=zeros)
        try:
            return "" if failing is None else failing.sentence, doubts_of_plan(text), None
        except InputError as error:
            failing = failing or error.problems[0]
    return "", [], failing


def doubts_of_plan(text: str) -> list[PlannedDoubt]:
    """Doubts of the plan of a pipeline, each with the variable that it is about, or ''."""
    # The trial is no one's file, and a file that is made later may get its number on the disk.
    with reads_noted(), tempfile.TemporaryDirectory(prefix="maskwright-") as folder:
        trial = Path(folder) / "pipeline.yaml"
        trial.write_text(text, encoding="utf-8")
        found = plan_pipeline(trial)["doubts"]
    planned = []
    for each in found:
        variable = each["subject"] if each["about"] == "variable" else ""
        subject = f"{each['subject']}: " if each["subject"] and not variable else ""
        label, message = f"{each['id']} {each['doubt']}", f"{subject}{each['message']}"
        planned.append(PlannedDoubt(variable, each["doubt"], label, message, each["remedy"]))
    return planned


def write_starting_pipeline(folder: Path, *, force: bool = False) -> Path:
    """Write a commented ``pipeline.yaml`` with blanks to fill in; an existing one is left alone."""
    path = folder / "pipeline.yaml"
    put_pipeline(path, STARTING_PIPELINE, force=force)
    return path


def put_pipeline(path: Path, text: str, *, force: bool) -> None:
    """Write a pipeline; without force, one that is there is left alone."""
    if force:
        write_text(path, text)
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("x").close()  # the name is ours, or the file is someone's
    except FileExistsError:
        raise already_there(path) from None
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error
    try:
        write_text(path, text)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def already_there(path: Path) -> InputError:
    """Say that a pipeline was left alone."""
    return InputError(
        Problem(f"{path} exists; it was left alone", hint="--force replaces it, --to names another file.")
    )
