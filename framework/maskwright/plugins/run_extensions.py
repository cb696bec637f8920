"""What plugins around a run are: plan checks, actions after a release, and commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskwright.plugins.partition import NoParams

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pydantic import BaseModel


@dataclass(frozen=True, kw_only=True)
class Action:
    """Something that is done with the files of a release, once all of them are in place.

    Attributes
    ----------
    name : str
        The key in the pipeline's ``after:`` list.
    act : callable
        ``(outputs, record, params) -> str or None``: `outputs` maps the keys of ``output:`` to absolute paths, without
        those that are confidential (``record``, ``svrl``, ``key_map``); `record` is the public record as plain data
        that cannot be changed. The text is told as a notice. An action that fails does not take the release back: the
        run says so, and its exit code is that of the failure. It may move files of the release away, and not change
        them: one that is changed is taken away.
    params : type of pydantic.BaseModel
        Parameters; every field with a description.
    summary : str

    Examples
    --------
    >>> from pathlib import Path
    >>> from maskwright import Action
    >>> def count_files(outputs, record, params):
    ...     return f"{len(outputs)} files"
    >>> action = Action(name="count_files", act=count_files, summary="Says how many files there are.")
    >>> action.act({"data": Path("masked.csv")}, {}, action.params())
    '1 files'
    """

    name: str
    act: Callable[[Mapping[str, Path], Mapping[str, Any], Any], str | None]
    params: type[BaseModel] = NoParams
    summary: str = ""


@dataclass(frozen=True)
class Positional:
    """Marks an option of a command that is given by its place, without its name.

    Examples
    --------
    >>> from typing import Annotated
    >>> from pydantic import BaseModel
    >>> from maskwright import Positional
    >>> class Params(BaseModel):
    ...     file: Annotated[str, Positional()] = "data.csv"
    >>> Params.model_fields["file"].metadata
    [Positional()]
    """


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command of ``maskwright``.

    Attributes
    ----------
    name : str
        ``maskwright NAME``; the commands that come with Maskwright cannot be replaced.
    work : callable
        ``(params) -> str``: the text is printed. A mistake of the user is an `InputError` (exit code 2), a refusal a
        `ReleaseRefused` (1).
    params : type of pydantic.BaseModel
        Its options: a field ``records`` is ``--records``, a field of type ``bool`` a flag, one that is marked with
        `Positional` is given without its name; every field with a description, which is the help.
    summary : str
        The help of the command.

    Examples
    --------
    >>> from maskwright import Command
    >>> command = Command(name="greet", work=lambda params: "hello", summary="Says hello.")
    >>> command.work(command.params())
    'hello'
    """

    name: str
    work: Callable[[Any], str]
    params: type[BaseModel] = NoParams
    summary: str = ""


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
