"""Whole pipelines run in a test, with plugins that need not be installed."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol
from unittest import mock

from maskwright.cli.command_support import reporter
from maskwright.cli.exit_handling import ended_truthfully
from maskwright.commands.run import RunResult, run
from maskwright.foundation.errors import MaskwrightError, PluginError
from maskwright.foundation.exit_codes import EXIT_FINE
from maskwright.foundation.release_outcomes import ReleaseRefused
from maskwright.plugins import registry
from maskwright.plugins.contract import CONTRACT, KINDS
from maskwright.plugins.hooks import HOOKS, PROJECT, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd


NOT_INSTALLED = "not-installed"


class _InMemory(EntryPoint):
    """Entry point of a module that is not installed."""

    def __init__(self, module: ModuleType, distribution: str) -> None:
        super().__init__(distribution, module.__name__, PROJECT)
        metadata = {"Name": distribution, "Version": "0"}
        vars(self).update(_module=module, dist=SimpleNamespace(metadata=metadata, name=distribution, version="0"))

    def load(self) -> Any:
        """Return the module."""
        return vars(self)["_module"]


@contextlib.contextmanager
def offered(plugins: Sequence[object]) -> Iterator[None]:
    """Offer plugins to whatever runs inside: pipelines, `maskwright.protect`, commands.

    Parameters
    ----------
    plugins : sequence
        Plugins of any kind, and modules with hooks. A package that is installed too is offered as it is given.

    Raises
    ------
    PluginError
        One is refused, with the reason that ``maskwright plugins`` gives.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Comparison, Measure, Measurement, NoParams, find_measure
    >>> from maskwright.testing import offered
    >>> def none(comparison: Comparison, params: NoParams, rng: np.random.Generator) -> Measurement:
    ...     return Measurement(0.0)
    >>> with offered([Measure(name="none", compute=none, summary="Always 0.", reference="none")]):
    ...     find_measure("none").summary
    'Always 0.'
    """
    given = list(_entry_points(plugins))
    packages = {each.value.partition(".")[0] for each in given}
    installed = vars(registry)["entry_points"]

    def found(group: str) -> Iterable[EntryPoint]:
        others = (each for each in installed(group=group) if each.value.partition(".")[0] not in packages)
        return [*others, *given]

    try:
        with mock.patch.object(registry, "entry_points", found):
            registry.plugins.cache_clear()
            _refuse_broken({each.name for each in given})
            yield
    finally:
        registry.plugins.cache_clear()


def _entry_points(plugins: Sequence[object]) -> Iterator[EntryPoint]:
    alone: dict[str, list[object]] = {}
    for plugin in plugins:
        if isinstance(plugin, ModuleType):
            name = re.sub(r"[-_.]+", "-", plugin.__name__.partition(".")[0]).lower()
            yield _InMemory(plugin, name)
            continue
        kind = next((name for name, each in KINDS.items() if isinstance(plugin, each)), None)
        if kind is None:
            raise PluginError(f"a {type(plugin).__name__} is no plugin, and no module with hooks")
        alone.setdefault(kind, []).append(plugin)
    if alone:
        module = ModuleType(NOT_INSTALLED)
        vars(module)["CONTRACT"] = CONTRACT
        for kind, each in alone.items():
            setattr(module, HOOKS[kind], hookimpl(lambda each=each: each))
        yield _InMemory(module, NOT_INSTALLED)


def _refuse_broken(distributions: set[str]) -> None:
    for info in registry.plugins().infos:
        if info.status == "broken" and info.distribution in distributions:
            raise PluginError(f"the {info.kind.replace('_', ' ')} {info.name!r} is refused: {info.error}")


PIPELINE = "pipeline.yaml"
NO_FILES: Mapping[str, str] = {}


@dataclass(frozen=True, eq=False)
class RanPipeline:
    """What came of a pipeline.

    Attributes
    ----------
    exit_code : int
        As of ``maskwright run``: 0 released, 1 refused, 2 bad input, 3 a bug of Maskwright or of a plugin.
    result : RunResult or None
        None: nothing was released.
    record : mapping or None
        What `run.json` holds, also of a run that was refused at its end; None: it did not come so far.
    error : MaskwrightError or None
        Why nothing was released, where that was said.
    messages, printed : str
        Standard error and standard output.
    folder : Path
        Where it ran.
    files : tuple of str
        Names of the files that it wrote, sorted.
    """

    exit_code: int
    result: RunResult | None
    record: Mapping[str, Any] | None
    error: MaskwrightError | None
    messages: str
    printed: str
    folder: Path
    files: tuple[str, ...]

    def text(self, name: str) -> str:
        """Text of a file in the folder, UTF-8."""
        return (self.folder / name).read_text(encoding="utf-8")


class RunPipeline(Protocol):
    """Type of the fixture `run_pipeline`."""

    def __call__(
        self,
        pipeline: Mapping[str, Any] | str,
        *,
        plugins: Sequence[object] = (),
        files: Mapping[str, str | bytes | pd.DataFrame] = NO_FILES,
        overrides: Mapping[str, object] | Sequence[str] = (),
    ) -> RanPipeline:
        """Run a pipeline; see `run_pipeline_in`."""
        ...


def run_pipeline_in(
    folder: Path,
    pipeline: Mapping[str, Any] | str,
    *,
    plugins: Sequence[object] = (),
    files: Mapping[str, str | bytes | pd.DataFrame] = NO_FILES,
    overrides: Mapping[str, object] | Sequence[str] = (),
) -> RanPipeline:
    """Run a pipeline as ``maskwright run`` does.

    Parameters
    ----------
    folder : Path
        Made when it is not there; all names in the pipeline are relative to it.
    pipeline : mapping or str
        What the file says, or its text. Of a mapping, ``maskwright: 1``, ``output: {data: masked.csv}`` and
        ``seed: 1`` may be left out.
    plugins : sequence
        Plugins of any kind, and modules with hooks; see `offered`.
    files : mapping of name to str, bytes or pandas.DataFrame
        To write first; a frame becomes CSV.
    overrides : mapping or sequence of "path=value"
        As `maskwright.run` takes them.

    Raises
    ------
    PluginError
        A plugin is refused.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        _write(folder / name, content)
    _write(folder / PIPELINE, pipeline if isinstance(pipeline, str) else _text_of(pipeline))
    before = _state(folder)
    result: list[RunResult] = []
    errors: list[MaskwrightError] = []

    def work() -> int:
        result.append(run(folder / PIPELINE, overrides, reporter()))
        return EXIT_FINE

    def explain(error: MaskwrightError) -> int:
        errors.append(error)
        for problem in error.problems:
            print(problem, file=sys.stderr)  # noqa: T201 - as the command does
        return error.exit_code

    printed, messages = io.StringIO(), io.StringIO()
    with offered(plugins), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(messages):
        code = ended_truthfully(work, explain, trace=True)
    error = errors[0] if errors else None
    record = result[0].record if result else error.record if isinstance(error, ReleaseRefused) else None
    after = _state(folder)
    written = tuple(sorted(name for name, state in after.items() if before.get(name) != state))
    return RanPipeline(
        code, result[0] if result else None, record, error, messages.getvalue(), printed.getvalue(), folder, written
    )


def _text_of(pipeline: Mapping[str, Any]) -> str:
    """A pipeline as text; JSON is YAML."""
    usual: dict[str, Any] = {"maskwright": 1, "output": {"data": "masked.csv"}, "seed": 1}
    return json.dumps({**usual, **pipeline}, indent=2, ensure_ascii=False)


def _write(path: Path, content: str | bytes | pd.DataFrame) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    elif isinstance(content, bytes):
        path.write_bytes(content)
    else:
        content.to_csv(path, index=False)


def _state(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }
