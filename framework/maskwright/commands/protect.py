"""Masking data that a program has: data frames in, data frames out; or a method, one iteration at a time."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import pandas as pd

from maskwright.commands.requests import DeclaredVariables, Rules, masking_request
from maskwright.commands.running.preparation import prepare
from maskwright.commands.running.publish import log_waived, refuse_doubts, violated_problems
from maskwright.commands.running.stages import last_doubts
from maskwright.data.dataset import Dataset
from maskwright.data.frame_libraries import given_back, released_table, taken_in
from maskwright.data.frames import released_frame
from maskwright.data.levels.linked_data import LinkedData
from maskwright.data.stored_cells import untouched_columns
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.foundation.errors import InputError, Place, Problem
from maskwright.foundation.files import PRIVATE, write_whole
from maskwright.foundation.progress import LOGGER, Logged, Reporter, notify
from maskwright.foundation.randomness import fresh_seed
from maskwright.foundation.release_outcomes import EditViolation
from maskwright.masking.context import Execution, Standardisation
from maskwright.masking.mask import group_work, mask
from maskwright.masking.protecting.local import whole_block
from maskwright.planning.warnings.publication_warnings import undecided_doubts
from maskwright.plugins.method import Method
from maskwright.release.protection_checks import unchanged_cells
from maskwright.release.pseudonymisation import arrangement_notices
from maskwright.release.release_decision import decide_release

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.commands.running.preparation import ReadyRun
    from maskwright.data.frame_libraries import Data, TakenIn
    from maskwright.masking.masking_result import MaskingResult
    from maskwright.pipeline.resolved import MaskingRequest

    AnyData = TypeVar("AnyData", bound=Data)
    from collections.abc import Iterator

    from maskwright.data.frame_libraries import Data
    from maskwright.plugins.method import Iteration


ONE_LEVEL = (
    "a call masks one table. Levels are masked together by a pipeline with `data: levels:`, mw.run(FILE) (maskwright "
    "explain levels)"
)


def protect(
    data: AnyData,
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
    key_map: str | Path | None = None,
    keep_index: bool = False,
    reporter: Reporter | None = None,
) -> AnyData:
    """Mask data, with one method or a chain of them, so that every edit holds.

    Parameters
    ----------
    data : Dataset or data frame
        Of pandas, polars, pyarrow, DuckDB, or another library that narwhals or the Arrow PyCapsule interface knows;
        left as it is. What is lazy is collected in memory.
    method : str, optional
        Name of a method plugin.
    steps : sequence of mappings, optional
        Instead of `method`, `params`, `variables`, `groups` and `within`: a chain of steps, as a pipeline's
        ``protect:`` section lists them:
        ``[{"method": "pram", "variables": ["region"]}, {"method": "rounding", "variables": ["income"]}]``.
    edits : EditSet or sequence of rules, optional
    seed : int, optional
        The same data, version and seed give the same values; a fresh one is drawn otherwise.
    params : mapping, optional
        Of the method (``k``) and of the planner (``group_size``, ``grouping``, ``k_guarantee``).
    variables : sequence of str, optional
        To mask; by default the numeric ones with role confidential or quasi_identifier.
    groups : sequence of sequences of str
        Variables to mask together.
    within : str or sequence of str
        Variables by whose values the records are masked apart: each region by itself.
    declared : mapping of name to declaration, optional
        For a data frame: types, roles, decimals.
    cluster : str, optional
        For a data frame: variable that identifies households; k then counts households.
    workers : int, optional
        Blocks masked at the same time; they never change a result.
    block_size : int, optional
        Largest block; by default all records at once.
    processes : bool, default False
        Mask the blocks in processes instead of threads: for methods in pure Python.
    waive : sequence of mappings
        Doubts that do not stop it, as a pipeline's ``waive:`` section lists them:
        ``{"doubt": "published-undeclared", "variable": "remark", "because": "dropped later"}``.
    release : mapping, optional
        Order and keys of the result, as a pipeline's ``release:`` section says them:
        ``{"order": "random", "ids": "new"}``.
    key_map : path, optional
        CSV file to write, for its owner only: which original record, under which old keys, each record is.
    keep_index : bool, default False
        For pandas: the index may be published. Otherwise the records are numbered anew, 0, 1, ..., in their order;
        the default index, which is these numbers, is kept.
    reporter : Reporter, optional
        Receives stages and notices; by default the logger ``maskwright`` does.

    Returns
    -------
    Dataset or data frame
        The type that came in, with the order of its columns, and their types where they can hold the masked values;
        columns that no step touched are equal to the original's, and a missing cell keeps its code. A lazy frame comes
        out where one came in, of the masked records; a pyarrow.Table where Arrow's stream is all that is known.
        Identifiers are dropped or get new values; the index of a pandas frame is dropped, and so are its ``attrs``,
        metadata of Arrow, and categories that no record has.

    Raises
    ------
    InputError
        Bad parameters, edits that contradict each other or cannot be met on the grid.
    EditViolation
        When an edit of severity error does not hold in the result.
    OpenDoubts
        When something was perhaps not understood or not protected, and `waive` does not name it.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> data = pd.DataFrame(np.random.default_rng(1).integers(0, 100, (20, 2)), columns=["wages", "pensions"])
    >>> data["income"] = data["wages"] + data["pensions"]
    >>> masked = mw.protect(data, "microaggregation", edits=["wages + pensions == income"], params={"k": 5}, seed=1)
    >>> bool((masked["wages"] + masked["pensions"] == masked["income"]).all()), int(masked.value_counts().min())
    (True, 5)
    """
    if isinstance(data, LinkedData):
        raise InputError(Problem(f"{data!r} is of several levels: {ONE_LEVEL}", Place("argument data")))
    taken = taken_in(data)
    request = masking_request(
        taken.data, method, steps=steps, edits=edits, seed=seed, params=params, variables=variables, groups=groups,
        within=within, declared=declared, cluster=cluster, workers=workers, block_size=block_size,
        processes=processes, waive=waive, release=release,
    )  # fmt: skip
    listener = reporter or Logged()
    notify(listener, taken.notices)
    ready, result, seed_used = _masked(request, reporter)
    arranged = ready.arranged(result.masked, seed_used)
    notify(listener, arrangement_notices(arranged))
    if key_map is not None:
        write_whole(Path(key_map), arranged.write_map, PRIVATE)
    # The default index counts the records: in random order it would say which is which.
    released, notices = _released(
        taken, ready.original, arranged.data, keep_index=keep_index, keeps_count=not arranged.is_shuffled
    )
    notify(listener, notices)
    return cast("AnyData", released)


def _released(
    taken: TakenIn, original: Dataset, masked: Dataset, *, keep_index: bool, keeps_count: bool
) -> tuple[object, tuple[str, ...]]:
    """Masked data in the type that came in, and notices."""
    if isinstance(taken.data, Dataset):
        return masked, ()
    untouched = untouched_columns(original, masked)
    if isinstance(taken.data, pd.DataFrame):
        return released_frame(masked, taken.data, untouched, keep_index=keep_index, keeps_count=keeps_count)
    table = released_table(masked, original, taken.data, untouched)
    return given_back(table, taken, untouched, masked.origin), ()


def mask_request(
    request: MaskingRequest, reporter: Reporter | None = None, *, is_released: bool = True
) -> MaskingResult:
    """Mask what a request asks for, in memory, and check every edit on the result."""
    return _masked(request, reporter, is_released=is_released)[1]


def _masked(
    request: MaskingRequest, reporter: Reporter | None, *, is_released: bool = True
) -> tuple[ReadyRun, MaskingResult, int]:
    """Request as it was prepared, result of masking it, and the seed."""
    listener = reporter or Logged()
    ready = prepare(request, listener, thorough=reporter is not None or LOGGER.isEnabledFor(logging.INFO))
    notify(listener, ready.notices)
    if is_released:
        refuse_doubts(request, decide_release(ready.doubts, request.waivers))
    seed = fresh_seed() if request.seed is None else request.seed
    execution = Execution.of(request.execution)
    result = mask(ready.original, ready.edits, ready.plan, seed, execution, listener)
    notify(listener, result.notices)
    outcome = check_dataset(result.masked, result.edits, result.domain(ready.original))
    if is_released:
        result = ready.with_doubts_once_masked(result)
        unchanged = unchanged_cells(ready.original, result.masked)
        seen = last_doubts(ready.plan, ready.original, result.masked, unchanged, result.doubts)
        left = undecided_doubts(outcome, ready.arrival)
        judgement = decide_release((*ready.doubts, *result.doubts, *left, *seen), request.waivers)
        log_waived(judgement)
        refuse_doubts(request, judgement)
    if failing := violated_problems(result, outcome, ready.plan):
        raise EditViolation(failing)
    return ready, result, seed


def iterations(
    data: Data,
    method: str,
    *,
    edits: Rules | None = None,
    seed: int = 0,
    params: Mapping[str, object] | None = None,
    variables: Sequence[str] | None = None,
    declared: DeclaredVariables | None = None,
    reporter: Reporter | None = None,
) -> Iterator[Iteration]:
    """Go through the iterations of a method on all records; nothing is released.

    Parameters
    ----------
    data : Dataset or data frame
        As `maskwright.protect` takes it.
    method : str
        Name of a method that offers its iterations: ``fuzzy_c_regression``, ``fuzzy_microaggregation``.
    edits : EditSet or sequence of rules, optional
    seed : int, default 0
        The iterations are those of `maskwright.protect` with this seed.
    params : mapping, optional
        Of the method.
    variables : sequence of str, optional
        To mask, together; by default the numeric ones with role confidential or quasi_identifier.
    declared : mapping of name to declaration, optional
        For a data frame: types, roles.
    reporter : Reporter, optional

    Yields
    ------
    Iteration
        The last one is marked; values are those before adjustment and rounding.

    Raises
    ------
    InputError
        Bad arguments, a method without iterations, or data that are masked in several groups or strata.

    Examples
    --------
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> data = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6], "y": [2.0, 4, 6, 6, 4, 2.5]})
    >>> params = {"c": 2, "independent": ["x"]}
    >>> objectives = [each.objective for each in mw.iterations(data, "fuzzy_c_regression", params=params, seed=1)]
    >>> objectives[-1] < objectives[0]
    True
    """
    groups = () if variables is None else (variables,)
    request = masking_request(
        taken_in(data).data, method, edits=edits, seed=seed, params=params, variables=variables, groups=groups,
        declared=declared,
    )  # fmt: skip
    ready = prepare(request, reporter or Logged(), thorough=False)
    plan = ready.plan
    step = plan.steps[0]
    if not isinstance(step.method, Method) or step.method.iterations is None:
        raise InputError(f"{method} does not offer its iterations; fuzzy_c_regression and fuzzy_microaggregation do")
    if len(plan.groups) != 1:
        raise InputError(
            f"{len(plan.groups)} groups of variables are masked apart from each other, and iterations are shown of one",
        )
    work = group_work(plan.groups[0], step, plan.edits, plan.masked)
    block, rng = whole_block(ready.original, work, Standardisation.of(ready.original, plan.masked), seed)
    return step.method.iterations(block, step.params, rng)
