"""Masking data that a program has: DataFrames in, DataFrames out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from maskwright.commands.plan import prepare
from maskwright.commands.publish import refuse_doubts
from maskwright.commands.requests import DeclaredVariables, Rules, masking_request
from maskwright.data.dataset import Dataset
from maskwright.data.restored_frames import released_frame
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.foundation.errors import EditViolation, Problem
from maskwright.foundation.progress import Quiet, Reporter
from maskwright.foundation.randomness import fresh_seed
from maskwright.foundation.whole_files import PRIVATE, write_whole
from maskwright.masking.context import Execution
from maskwright.masking.mask import mask
from maskwright.planning.undecided_edits import undecided_doubts
from maskwright.release.arranging import arrangement_notices
from maskwright.release.gate import judge
from maskwright.release.last_look import unchanged_cells, unchanged_doubts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from maskwright.commands.plan import ReadyRun
    from maskwright.masking.masking_result import MaskingResult
    from maskwright.pipeline.resolved import MaskingRequest

    AnyData = TypeVar("AnyData", Dataset, pd.DataFrame)


def protect(
    data: AnyData,
    method: str,
    *,
    edits: Rules | None = None,
    seed: int | None = None,
    params: Mapping[str, object] | None = None,
    variables: Sequence[str] | None = None,
    groups: Sequence[Sequence[str]] = (),
    declared: DeclaredVariables | None = None,
    cluster: str | None = None,
    workers: int = 1,
    block_size: int | None = None,
    waive: Sequence[Mapping[str, object]] = (),
    release: Mapping[str, object] | None = None,
    key_map: str | Path | None = None,
    keep_index: bool = False,
    reporter: Reporter | None = None,
) -> AnyData:
    """Mask data with one method so that every edit holds.

    Parameters
    ----------
    data : Dataset or pandas.DataFrame
        Left as it is.
    method : str
        Name of a method plugin.
    edits : EditSet or sequence of rules, optional
    seed : int, optional
        The same data, version and seed give the same values; a fresh one is drawn otherwise.
    params : mapping, optional
        Of the method (``k``) and of the planner (``group_size``, ``grouping``, ``k_guarantee``).
    variables : sequence of str, optional
        To mask; by default the numeric ones with role confidential or quasi_identifier.
    groups : sequence of sequences of str
        Variables to mask together.
    declared : mapping of name to declaration, optional
        For a DataFrame: types, roles, decimals.
    cluster : str, optional
        For a DataFrame: variable that identifies households; k then counts households.
    workers : int, default 1
        Processes; they never change a result.
    block_size : int, optional
        Largest block; by default all records at once.
    waive : sequence of mappings
        Doubts that do not stop it, as a pipeline's ``waive:`` section lists them:
        ``{"doubt": "published-undeclared", "variable": "remark", "because": "dropped later"}``.
    release : mapping, optional
        Order and keys of the result, as a pipeline's ``release:`` section says them:
        ``{"order": "random", "ids": "new"}``.
    key_map : path, optional
        CSV file to write, for its owner only: which original record, under which old keys, each record is.
    keep_index : bool, default False
        For a DataFrame: its index may be published. Otherwise the records are numbered anew, 0, 1, ..., in their order;
        the default index, which is these numbers, is kept.
    reporter : Reporter, optional
        Told of stages and notices; nothing is shown by default.

    Returns
    -------
    Dataset or pandas.DataFrame
        The type that came in; identifiers are dropped or get new values. The index of a DataFrame, its ``attrs``, and
        categories that no record has are dropped.

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
    request = masking_request(
        data, method, edits=edits, seed=seed, params=params, variables=variables, groups=groups, declared=declared,
        cluster=cluster, workers=workers, block_size=block_size, waive=waive, release=release,
    )  # fmt: skip
    listener = reporter or Quiet()
    ready, result, seed_used = _masked(request, listener, thorough=reporter is not None, is_released=True)
    released = ready.arranged(result.masked, seed_used)
    for notice in arrangement_notices(released):
        listener.notice(notice)
    if key_map is not None:
        write_whole(Path(key_map), released.write_map, PRIVATE)
    if isinstance(data, Dataset):
        return released.data
    # The default index counts the records: in random order it would say which is which.
    keeps_count = not released.is_shuffled
    frame, notices = released_frame(released.data, data, keep_index=keep_index, keeps_count=keeps_count)
    for notice in notices:
        listener.notice(notice)
    return frame


def mask_request(
    request: MaskingRequest, reporter: Reporter | None = None, *, is_released: bool = True
) -> MaskingResult:
    """Mask what a request asks for, in memory, and check every edit on the result.

    Parameters
    ----------
    request : MaskingRequest
    reporter : Reporter, optional
    is_released : bool, default True
        Whether the result leaves: then an open doubt stops it. What is only compared may be in doubt.

    Raises
    ------
    InputError
        Anything wrong with data, edits or plan.
    EditViolation
        When an edit of severity error does not hold in the result.
    OpenDoubts
        When something was perhaps not understood or not protected, and no waiver names it.
    """
    return _masked(request, reporter or Quiet(), thorough=reporter is not None, is_released=is_released)[1]


def _masked(
    request: MaskingRequest, listener: Reporter, *, thorough: bool, is_released: bool
) -> tuple[ReadyRun, MaskingResult, int]:
    """Request as it was prepared, result of masking it, and the seed."""
    ready = prepare(request, listener, thorough=thorough)
    for notice in ready.notices:
        listener.notice(notice)
    if is_released:
        refuse_doubts(request, judge(ready.doubts, request.waivers))
    seed = fresh_seed() if request.seed is None else request.seed
    execution = Execution(request.execution.workers, request.execution.block_size)
    result = mask(ready.original, ready.edits, ready.plan, seed, execution, listener)
    for notice in result.notices:
        listener.notice(notice)
    domain = Domain.from_dataset(ready.original, domain_tuples(ready.edits))
    outcome = check_dataset(result.masked, result.edits, domain)
    if is_released:
        unchanged = unchanged_cells(ready.original, result.masked)
        seen = unchanged_doubts(unchanged, ready.plan, result.doubts)
        left = undecided_doubts(outcome, ready.arrival)
        refuse_doubts(request, judge((*ready.doubts, *result.doubts, *left, *seen), request.waivers))
    failing = [each for each in outcome.edits if each.violations and each.severity == "error"]
    if failing:
        raise EditViolation(
            [
                Problem(f"edit {each.name!r} does not hold in {each.violations} of {outcome.records} masked records")
                for each in failing
            ]
        )
    return ready, result, seed
