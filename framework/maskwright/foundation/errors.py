"""Errors that people meet: what is wrong, where, and what to do.

Three families, one exit code each:

* `InputError` (2): bad input or usage; a file, a rule, a parameter, a name.
* `ReleaseRefused` in `release_outcomes.py` (1): the input was fine, the result may not be released (an edit violated, a
  threshold missed).
* anything else (3): a bug in Maskwright or in a plugin.

Messages never contain a value of a record: microdata are confidential. They name the variable, the edit, the
record number and counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from maskwright.foundation.exit_codes import EXIT_BUG, EXIT_INPUT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from maskwright.foundation.findings import Finding


@dataclass(frozen=True)
class Place:
    """Where in a file something is: 1-based line and column, and the text of that line.

    Attributes
    ----------
    file : str or None
        Name of the file, or what stands for one (``argument params``).
    line, column : int or None
        1-based.
    text : str or None
        The line itself, for the caret below it.

    Examples
    --------
    >>> from maskwright import Place
    >>> str(Place("pipeline.yaml", 3, 5))
    'pipeline.yaml:3:5'
    """

    file: str | None = None
    line: int | None = None
    column: int | None = None
    text: str | None = None

    def written(self, hint: str) -> str | None:
        """Return a hint about how a file is written, for a place in one; None for an argument of a call."""
        return None if self.line is None else hint

    def to_json(self) -> dict[str, Any]:
        """Return file, line and column, as far as they are known; a file without its folders, and without its text."""
        found = {
            "file": self.file and self.file.replace("\\", "/").rpartition("/")[2],
            "line": self.line,
            "column": self.column,
        }
        return {name: value for name, value in found.items() if value is not None}

    def __str__(self) -> str:
        parts = [self.file or "", *(str(part) for part in (self.line, self.column) if part is not None)]
        return ":".join(part for part in parts if part)


@dataclass(frozen=True)
class Problem:
    """One mistake: a sentence, a place, and a way out.

    Attributes
    ----------
    message : str
        What is wrong and what was expected, in one sentence, without record values.
    place : Place or None
        Where; rendered as ``file:line:column`` with the line and a caret below it.
    hint : str or None
        What to do about it.
    step : int or None
        Number of the step in the pipeline that it is about; the sentence begins with it.
    method, measure, edit : str or None
        Name of the method of that step, label of the measure, or name of the edit, where the sentence begins with it.
    variable : str or None
        Name of the variable that it is about.
    record : int or None
        Number of the first record that it names, 1 for the first of the data.
    finding : Finding or None
        The doubt that it says, where it is one.

    Examples
    --------
    >>> from maskwright import Place, Problem
    >>> print(Problem("no key called 'sed'; did you mean 'seed'?", Place("pipeline.yaml", 7, 1, "sed: 4")))
    pipeline.yaml:7:1: no key called 'sed'; did you mean 'seed'?
        sed: 4
        ^
    """

    message: str
    place: Place | None = None
    hint: str | None = None
    step: int | None = field(default=None, kw_only=True)
    method: str | None = field(default=None, kw_only=True)
    measure: str | None = field(default=None, kw_only=True)
    edit: str | None = field(default=None, kw_only=True)
    variable: str | None = field(default=None, kw_only=True)
    record: int | None = field(default=None, kw_only=True)
    finding: Finding | None = field(default=None, kw_only=True)

    @property
    def sentence(self) -> str:
        """The message, after what it is about."""
        if self.step is not None:
            return f"step {self.step}{f' ({self.method})' if self.method else ''}: {self.message}"
        if self.edit is not None:
            return f"edit {self.edit}: {self.message}"
        return self.message if self.measure is None else f"{self.measure}: {self.message}"

    @property
    def anywhere(self) -> Problem:
        """The same mistake without its place and what to do, to find it again elsewhere."""
        return replace(self, place=None, hint=None)

    def __str__(self) -> str:
        prefix = f"{self.place}: " if self.place is not None and str(self.place) else ""
        lines = [prefix + self._without_argument()]
        if self.place is not None and self.place.text is not None:
            lines.append(f"    {self.place.text}")
            if self.place.column is not None:
                lines.append("    " + " " * (self.place.column - 1) + "^")
        if self.hint:
            lines.append(f"    {self.hint}")
        return "\n".join(lines)

    def _without_argument(self) -> str:
        """Return the message without the key of a file that it begins with, where its place is that argument."""
        kind, _, argument = ((self.place and self.place.file) or "").partition(" ")
        key, colon, rest = self.sentence.partition(": ")
        same = kind == "argument" and colon and key in (argument, argument.removesuffix("s"))
        return rest if same else self.sentence


class MaskwrightError(Exception):
    """Base of all errors that Maskwright raises on purpose; `problems` lists every mistake found.

    Parameters
    ----------
    problems : str, Problem or sequence of Problem
        What is wrong; a text is a problem without a place.

    Examples
    --------
    >>> import maskwright as mw
    >>> try:
    ...     mw.run("missing.yaml")
    ... except mw.MaskwrightError as error:
    ...     print(error.exit_code, len(error.problems))
    2 1
    """

    exit_code = EXIT_INPUT

    def __init__(self, problems: str | Problem | Sequence[Problem]) -> None:
        if isinstance(problems, str):
            problems = (Problem(problems),)
        elif isinstance(problems, Problem):
            problems = (problems,)
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("\n".join(dict.fromkeys(str(problem) for problem in self.problems)))

    def __reduce__(self) -> tuple[Any, ...]:
        """To another process: as it is, whatever its constructor takes; not what a plugin raised."""
        state = {name: None if name == "error" else value for name, value in vars(self).items()}
        return made_again, (type(self), self.args, state)


def made_again(kind: type[BaseException], arguments: tuple[object, ...], state: Mapping[str, object]) -> BaseException:
    """Exception as it was in another process, whatever its constructor takes."""
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    vars(error).update(state)
    return error


class InputError(MaskwrightError):
    """Bad input or usage: nothing was written (exit code 2).

    Examples
    --------
    >>> import maskwright as mw
    >>> try:
    ...     mw.find_measure("pill")
    ... except mw.InputError as error:
    ...     print(error)
    no measure called 'pill'; did you mean 'pil'?
    """


def refuse_problems(problems: Iterable[Problem]) -> None:
    """Raise InputError with all of these problems; nothing where there are none."""
    found = tuple(problems)
    if found:
        raise InputError(found)


class DataError(InputError):
    """A data file cannot be read as flat records of declared variables.

    Examples
    --------
    >>> import maskwright as mw
    >>> try:
    ...     mw.read("missing.csv")
    ... except mw.DataError as error:
    ...     print(error.problems[0].message)
    there is no such file
    """


class NoRecords(DataError):  # noqa: N818 - the state by its name
    """A data file is whole, and there are no records in it: a part of a dataset may be so, and keeps its place.

    Examples
    --------
    A source whose files cannot say their columns without records raises it when such a file is opened:

    >>> from maskwright import NoRecords
    >>> raise NoRecords("the file has no records")
    Traceback (most recent call last):
    ...
    maskwright.foundation.errors.NoRecords: the file has no records
    """


class ReadAgain(InputError):  # noqa: N818 - the file is read again
    """A file that is read only once turns out to be of another form than it began: read it with `Source.open`.

    Examples
    --------
    A source whose `Source.open_once` meets what it was not made for raises it:

    >>> from maskwright import ReadAgain
    >>> raise ReadAgain("a record has cells that the first one had not")
    Traceback (most recent call last):
    ...
    maskwright.foundation.errors.ReadAgain: a record has cells that the first one had not
    """


class UnpairedRecords(InputError):  # noqa: N818 - the state by its name
    """It is not known which original each masked record comes from, and something cannot do without.

    Parameters
    ----------
    needed : str
        What cannot do without, as the beginning of a sentence.
    original, masked : int
        Records of the two files.
    drawn : bool
        Whether a method drew the records of the masked file anew.

    Examples
    --------
    >>> from maskwright import UnpairedRecords
    >>> print(UnpairedRecords("squared error compares records one by one", 3, 2))
    squared error compares records one by one, but the original has 3 records and the masked file 2, ...
        --key NAME (in Python key='NAME') names the variable that identifies a record in both files
    """

    def __init__(self, needed: str, original: int, masked: int, *, drawn: bool = False) -> None:
        if drawn:
            super().__init__(
                Problem(
                    f"{needed}, but a step draws records anew, and none comes from an original",
                    hint="measures of tables and distributions compare the two files as files",
                )
            )
            return
        super().__init__(
            Problem(
                f"{needed}, but the original has {original} records and the masked file {masked}, and no --key pairs "
                "them",
                hint="--key NAME (in Python key='NAME') names the variable that identifies a record in both files",
            )
        )


class EditError(InputError):
    """An edit cannot be read, contradicts the others, or cannot be met on the published grid.

    Examples
    --------
    >>> import maskwright as mw
    >>> try:
    ...     mw.EditSet.parse(["age in [0, 120"])
    ... except mw.EditError as error:
    ...     print(error.problems[0].place)
    rule 1:15
    """


class PipelineError(InputError):
    """A pipeline file is wrong; `problems` has one entry for each mistake in it.

    Examples
    --------
    >>> from pathlib import Path
    >>> import maskwright as mw
    >>> _ = Path("wrong.yaml").write_text("maskwright: 1", encoding="utf-8")
    >>> try:
    ...     mw.run("wrong.yaml")
    ... except mw.PipelineError as error:
    ...     print(len(error.problems))
    3
    """


class PluginError(InputError):
    """A plugin is unknown, or broken before it runs; one that fails while it runs is `PluginFailed`.

    Examples
    --------
    >>> import maskwright as mw
    >>> try:
    ...     mw.find_partition("mdaw")
    ... except mw.PluginError as error:
    ...     print(error)
    no partition called 'mdaw'; did you mean 'mdav'?
    """


class PluginFailed(MaskwrightError):  # noqa: N818 - the state by its name
    """A plugin failed while it ran, took too long, or returned what its contract forbids (exit code 3).

    Nothing was published. The sentence names the plugin, its package and version, the step, and the place.

    Parameters
    ----------
    problems : str, Problem or sequence of Problem
    error : BaseException or None
        What the plugin raised; its message may hold values of records, and is no part of this one.

    Examples
    --------
    >>> from maskwright import PluginFailed
    >>> PluginFailed("method 'x' of package p 1.2 failed in step 2: KeyError at file.py:21").exit_code
    3
    """

    exit_code = EXIT_BUG

    def __init__(self, problems: str | Problem | Sequence[Problem], error: BaseException | None = None) -> None:
        super().__init__(problems)
        self.error = error


class EvaluationsDisagree(MaskwrightError):  # noqa: N818 - the state by its name
    """The two evaluations of the written file disagree on an edit: a bug, and nothing was published (exit code 3).

    Examples
    --------
    >>> from maskwright import EvaluationsDisagree
    >>> EvaluationsDisagree("edit 'totals': 0 violations, and 2 the second time").exit_code
    3
    """

    exit_code = EXIT_BUG


class StepNotDone(MaskwrightError):  # noqa: N818 - the state by its name
    """A step of the pipeline is not in its plan, or was not run: a bug, and nothing was published (exit code 3).

    Examples
    --------
    >>> from maskwright import StepNotDone
    >>> StepNotDone("step 1 (sampling) was not run").exit_code
    3
    """

    exit_code = EXIT_BUG


class WrittenOtherwise(MaskwrightError):  # noqa: N818 - the state by its name
    """A source does not give back what it was given to write: a mistake in its package (exit code 3).

    Nothing was published.

    Examples
    --------
    >>> from maskwright import WrittenOtherwise
    >>> WrittenOtherwise("source 'x' of package p does not give back what it was given to write: row 17").exit_code
    3
    """

    exit_code = EXIT_BUG
