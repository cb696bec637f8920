"""How a method works, one iteration at a time, on data that a program has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.commands.requests import DeclaredVariables, Rules, masking_request
from maskwright.commands.running.ready import prepare
from maskwright.data.frame_libraries import taken_in
from maskwright.foundation.errors import InputError
from maskwright.foundation.progress import Logged, Reporter
from maskwright.masking.mask import group_work
from maskwright.masking.protecting.local import whole_block
from maskwright.masking.standardisation import Standardisation
from maskwright.plugins.method import Method

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from maskwright.data.frame_libraries import Data
    from maskwright.plugins.iteration import Iteration


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
