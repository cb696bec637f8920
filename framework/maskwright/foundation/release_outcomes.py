"""How a run ends: refusals (exit code 1), and what this process has released so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maskwright.foundation.errors import MaskwrightError, Problem
from maskwright.foundation.exit_codes import EXIT_REFUSED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path


class ReleaseRefused(MaskwrightError):  # noqa: N818 - the outcome by its name
    """The result may not be released: nothing was published (exit code 1).

    `record` is the run record as far as the run came, for programs that ask for JSON.

    Parameters
    ----------
    problems : str, Problem or sequence of Problem
    record : mapping, optional
        The run record as far as the run came.
    summary : mapping, optional
        What ``maskwright run --json`` prints of a run that stopped before anything was masked, which has no record.

    Examples
    --------
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> pd.DataFrame({"age": [20 + 7 * place % 20 for place in range(20)]}).to_csv("ages.csv", index=False)
    >>> _ = Path("strict.yaml").write_text('''
    ... maskwright: 1
    ... data: {source: ages.csv}
    ... protect: [{method: microaggregation, params: {k: 4}}]
    ... measure: [sse]
    ... thresholds: {sse: 0}
    ... output: {data: strict.csv}
    ... seed: 1
    ... ''', encoding="utf-8")
    >>> try:
    ...     mw.run("strict.yaml")
    ... except mw.ReleaseRefused as error:
    ...     print(type(error).__name__, Path("strict.csv").exists())
    ThresholdMissed False
    """

    exit_code = EXIT_REFUSED

    def __init__(
        self, problems: str | Problem | Sequence[Problem], record: Mapping[str, Any] | None = None,
        summary: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(problems)
        self.record = record
        self.summary = summary


class EditViolation(ReleaseRefused):
    """At least one edit of severity ``error`` does not hold in the masked data.

    Examples
    --------
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> pd.DataFrame({"age": [20 + 7 * place % 20 for place in range(20)]}).to_csv("ages.csv", index=False)
    >>> _ = Path("careful.yaml").write_text('''
    ... maskwright: 1
    ... data: {source: ages.csv}
    ... edits: [age <= 38]
    ... on_input_violation: fail
    ... protect: [{method: microaggregation, params: {k: 4}}]
    ... output: {data: careful.csv}
    ... ''', encoding="utf-8")
    >>> try:
    ...     mw.run("careful.yaml")
    ... except mw.EditViolation as error:
    ...     print(error.problems[0].message)
    records of the original violate edits (edit-1: 1)
    """


class ThresholdMissed(ReleaseRefused):
    """A measure is on the wrong side of its declared threshold.

    Examples
    --------
    >>> import maskwright as mw
    >>> issubclass(mw.ThresholdMissed, mw.ReleaseRefused)  # one `except` takes both reasons for a refusal
    True
    """


class PlanRefused(ReleaseRefused):
    """A check of the pipeline's ``checks:`` refuses the plan: nothing was masked.

    Examples
    --------
    >>> import maskwright as mw
    >>> issubclass(mw.PlanRefused, mw.ReleaseRefused)
    True
    """


class OpenDoubts(ReleaseRefused):
    """Something was perhaps not understood or not protected, and the pipeline does not waive the doubt by name.

    Examples
    --------
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> data = pd.DataFrame({"age": range(20, 40), "remark": ["none"] * 20})
    >>> try:
    ...     mw.protect(data, "microaggregation", params={"k": 4})
    ... except mw.OpenDoubts as error:
    ...     print(error.problems[0].message.partition(":")[0])
    W202 published-undeclared
    """


_released: list[str] = []
_unsettled: list[str] = []


def note_release(files: Iterable[Path | str]) -> None:
    """Remember files that are in place under their final names, in the same breath as they are put there."""
    _released.extend(str(file) for file in files)


def note_unsettled(files: Iterable[Path]) -> None:
    """Remember files that may be of two releases, because the disk refused both to go on and to go back."""
    _unsettled.extend(str(file) for file in files)


def forget_releases() -> None:
    """Begin anew: what is released from now on is what an ending tells of."""
    _released.clear()
    _unsettled.clear()


def was_released() -> bool:
    """Whether files were put in place."""
    return bool(_released)


def release_sentence() -> str:
    """What an ending has to say of the release: never that nothing was released when something was."""
    if _unsettled:
        return f"these files may be of two releases until the next run: {', '.join(_unsettled)}"
    if _released:
        return f"what was to be released is in place: {', '.join(_released)}"
    return "nothing was released"
