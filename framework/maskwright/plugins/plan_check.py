"""What a plan check is: a rule of the house about plans, looked at before anything is masked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskwright.plugins.partition import NoParams

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydantic import BaseModel


@dataclass(frozen=True, kw_only=True)
class PlanFinding:
    """What a check has to say of a plan.

    Attributes
    ----------
    message : str
        One sentence.
    refuses : bool, default True
        Whether the run stops, with exit code 1; otherwise the sentence is a notice.
    hint : str or None
        What to do.

    Examples
    --------
    >>> from maskwright import PlanFinding
    >>> PlanFinding(message="there is no report").refuses
    True
    """

    message: str
    refuses: bool = True
    hint: str | None = None


@dataclass(frozen=True, kw_only=True)
class PlanCheck:
    """A check of what a pipeline is going to do, before anything is masked.

    Attributes
    ----------
    name : str
        The key in the pipeline's ``checks:`` list.
    check : callable
        ``(plan, params) -> sequence of PlanFinding``. `plan` is plain data that cannot be changed: what ``maskwright
        plan --json`` prints, and under ``pipeline`` the pipeline's ``measure`` (labels), ``thresholds``, ``waived``
        (names of doubts) and ``output`` (keys). It holds no value of a record. *What a plan check gets* has every key.
    params : type of pydantic.BaseModel
        Parameters; every field with a description.
    summary : str

    Examples
    --------
    >>> from maskwright import PlanCheck, PlanFinding
    >>> def has_report(plan, params):
    ...     return [] if "report" in plan["pipeline"]["output"] else [PlanFinding(message="a report is missing")]
    >>> check = PlanCheck(name="has_report", check=has_report, summary="Asks for a report.")
    >>> [found.message for found in check.check({"pipeline": {"output": ["data"]}}, check.params())]
    ['a report is missing']
    """

    name: str
    check: Callable[[Mapping[str, Any], Any], Sequence[PlanFinding]]
    params: type[BaseModel] = NoParams
    summary: str = ""
