"""What checks of all kinds share: the contract, parameters, excuses, documentation."""

from __future__ import annotations

import pickle
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import entry_points
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np
from pydantic import BaseModel, ValidationError

from maskwright.foundation.errors import PluginFailed
from maskwright.foundation.yaml_document import load_yaml
from maskwright.plugins.contract import contract_error, version_error
from maskwright.plugins.guarding.origin import BUILT_IN, Origin
from maskwright.plugins.hooks import HOOKS, PROJECT
from maskwright.plugins.registry import Named, plugins

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet


def undeclared_contract(kind: str, plugin: Named, package: str) -> str | None:
    """Say why the modules that offer a plugin do not say which contract it is written for, or return None.

    Of a package that is installed, the module that its entry point names counts, as in a run. From a source tree it may
    be any of the modules that offer the plugin: a module of tests that imports the hook offers it too.

    `package`: Top-level package of its function; where it is a namespace, other distributions have modules of it too.
    """
    offering = list(_offering(kind, plugin, package))
    installed = {each.module for each in entry_points(group=PROJECT)}
    named = [each for each in offering if each.__name__ in installed]
    saying = [each for each in offering if hasattr(each, "CONTRACT")]
    for module in named or saying or offering[:1]:
        wrong = version_error(module, module.__name__, "")
        if wrong is not None:
            return wrong
    return None


def _offering(kind: str, plugin: Named, package: str) -> Iterator[ModuleType]:
    """Loaded modules of a package whose hook for this kind gives a plugin of this name."""
    for name, module in sorted(sys.modules.items()):
        hook: Callable[[], Iterable[Named]] | None = None
        if isinstance(module, ModuleType) and name.partition(".")[0] == package:
            hook = vars(module).get(HOOKS[kind])
        if callable(hook) and getattr(hook, f"{PROJECT}_impl", None) is not None:
            with suppress(Exception, SystemExit):  # a hook that fails offers nothing; whose it is, a run says
                if plugin.name in [each.name for each in hook()]:
                    yield module


Check = Callable[[], object]
FUNCTIONS = (
    "protect", "remove", "compute", "cluster", "infer", "represent", "evaluate", "open", "read", "write", "check",
    "compose", "act", "work", "start",
)  # fmt: skip
"""Functions by which records of plugins are known to be of the same package, the first that one has."""
Params = Mapping[str, BaseModel | Mapping[str, Any]]
Excuses = Mapping[str, str]
DEFAULTS: Params = {}
NO_EXCUSES: Excuses = {}
AnyPlugin = TypeVar("AnyPlugin", bound=Named)
Result = TypeVar("Result")


class Checked(Named, Protocol):
    """What the kit needs of a plugin with parameters, whatever its kind."""

    @property
    def params(self) -> type[BaseModel]:
        """Its parameter model."""
        ...


class Documented(Checked, Protocol):
    """What is looked at of a plugin that is from somewhere."""

    @property
    def summary(self) -> str:
        """One sentence."""
        ...

    @property
    def reference(self) -> str:
        """Paper, section."""
        ...


def require(holds: bool | np.bool_, message: str) -> None:
    """Fail the check with `message` unless `holds`; unlike a statement, it also works under ``python -O``."""
    if not holds:
        raise AssertionError(message)


def as_the_engine_takes_it(kind: str, plugin: Named, checked: Callable[[Origin, Any], Result], found: object) -> Result:
    """What a function returned, looked at as in a run; what the engine would refuse fails in the same words.

    `checked`: ``(origin, found) -> result``, of `maskwright.plugins.guarding`.
    """
    try:
        return checked(Origin(kind, plugin.name), found)
    except PluginFailed as error:
        raise AssertionError(error.problems[0].sentence) from None


def checks_of_all(
    kind: str, given: Sequence[AnyPlugin], checks_of: Callable[[AnyPlugin], Iterable[tuple[str, Check]]]
) -> Iterator[tuple[str, str, Check]]:
    """Checks of plugins, named by plugin and check; the contract first, and nothing else of a plugin that breaks it.

    `checks_of`: ``plugin -> (check, function), ...``.
    """
    for plugin in given:
        name = getattr(plugin, "name", None)
        shown = name if isinstance(name, str) and name else type(plugin).__name__
        yield shown, "contract", partial(_keeps_the_contract, kind, plugin)
        if _refusal(kind, plugin) is None:
            for check, function in checks_of(plugin):
                yield shown, check, partial(_without_an_exit, kind, shown, function)


def _without_an_exit(kind: str, name: str, check: Check) -> None:
    """Do a check; a plugin that ends the program is reported, and ends nothing."""
    try:
        check()
    except SystemExit:
        message = f"{kind.replace('_', ' ')} {name!r} ended the program (SystemExit): it returns a result, or raises "
        raise AssertionError(f"{message}an error; sys.exit(), exit() and quit() are for programs") from None


def _keeps_the_contract(kind: str, plugin: Named) -> None:
    wrong = _refusal(kind, plugin)
    require(wrong is None, wrong or "")
    unsaid = undeclared_contract(kind, plugin, _package(plugin))
    require(unsaid is None, unsaid or "")


def _refusal(kind: str, plugin: object) -> str | None:
    """Why the engine would not take a plugin, in its own words."""
    wrong = contract_error(kind, plugin)
    if wrong is not None:
        return wrong
    name = str(getattr(plugin, "name", ""))
    there = getattr(plugins(), f"{kind}s").get(name)
    if there is None or there is plugin or _package(there) == _package(plugin):
        return None
    if plugins().info(kind, name).distribution != BUILT_IN:
        return None
    return f"the {kind.replace('_', ' ')} {name!r} is already built in; choose another name"


def _package(plugin: object) -> str:
    """Package of the function of a plugin."""
    for attribute in FUNCTIONS:
        function = getattr(plugin, attribute, None)
        if function is not None:
            return str(getattr(function, "__module__", "")).partition(".")[0]
    return ""


def collected(checks: Iterable[tuple[str, str, Check]], excuses: Excuses) -> list[ParameterSet]:
    """Pytest parameters of checks named by plugin and check.

    An excuse is a strict xfail: when the check starts to pass, the excuse must go.
    """
    import pytest

    found = list(checks)
    names = {f"{plugin}-{check}" for plugin, check, _ in found}
    unknown = sorted(set(excuses) - names - {check for _, check, _ in found})
    # Of a plugin that breaks the contract, nothing else is checked, and that is what is reported.
    if unknown and 1 not in Counter(plugin for plugin, _, _ in found).values():
        raise ValueError(f"excuses for no check: {', '.join(unknown)}; the checks are: {', '.join(sorted(names))}")
    parameters = []
    for plugin, check, function in found:
        name = f"{plugin}-{check}"
        reason = excuses.get(name, excuses.get(check))
        marks = () if reason is None else (pytest.mark.xfail(strict=True, reason=reason),)
        parameters.append(pytest.param(function, id=name, marks=marks))
    return parameters


@dataclass(frozen=True)
class ChecksOf(Generic[AnyPlugin]):
    """The checks that plugins of one kind keep their contract, for ``@pytest.mark.parametrize("check", ...)``.

    `checks`: ``(plugin, params) -> (check, function), ...``.
    """

    kind: str
    checks: Callable[[AnyPlugin, Params], Iterable[tuple[str, Check]]]

    def __call__(
        self, given: Sequence[AnyPlugin], /, *, params: Params = DEFAULTS, excuses: Excuses = NO_EXCUSES
    ) -> list[ParameterSet]:
        """Collect the checks of some plugins.

        `params`: to run with. Left out: the defaults of the parameter model, else those of the plugin's example.
        `excuses`: checks that are known to fail; strict: an excuse that is no longer needed fails. Returns each holds a
        function without arguments.
        """
        return collected(checks_of_all(self.kind, given, lambda one: self.checks(one, params)), excuses)


def params_of(plugin: Checked, given: Params) -> BaseModel:
    """Parameters to run a plugin with: those given, else its defaults, else those of its example."""
    chosen = given.get(plugin.name)
    if isinstance(chosen, BaseModel):
        return chosen
    if chosen is None and plugin.params.model_config.get("extra") != "allow":
        try:
            return plugin.params.model_validate({})
        except ValidationError:
            chosen = example_params(plugin)
    require(
        chosen is not None,
        f"{plugin.name}: no defaults for every parameter: give an example, or the kit params={{{plugin.name!r}: ...}}",
    )
    return plugin.params.model_validate(chosen)


def example_params(plugin: Checked) -> dict[str, Any] | None:
    """Parameters in a method's example (a YAML step), without those that the planner reads; None without example."""
    example = getattr(plugin, "example", "")
    if not example:
        return None
    step = load_yaml(example, f"example of {plugin.name}").to_python()
    if isinstance(step, list) and len(step) == 1:
        step = step[0]
    require(
        isinstance(step, dict) and step.get("method") == plugin.name,
        f"the example must be a step: method: {plugin.name}, params: ...",
    )
    fields = plugin.params.model_fields
    return {name: value for name, value in (step.get("params") or {}).items() if name in fields}


def generator(seed: int = 20230) -> np.random.Generator:
    """Randomness for one call of a plugin."""
    return np.random.default_rng(seed)


def leaves_alone(rng: np.random.Generator, work: Callable[[np.random.Generator], object]) -> bool:
    """Whether `work` takes nothing from the generator."""
    before = pickle.dumps(rng.bit_generator.state)
    work(rng)
    return pickle.dumps(rng.bit_generator.state) == before


def check_picklable(plugin: Checked, function: Callable[..., Any]) -> None:
    """Work is sent to other processes, so its function must be importable by name."""
    try:
        pickle.loads(pickle.dumps(function))  # noqa: S301 - what was pickled in this line
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise AssertionError(f"{plugin.name}: define its function at the top of a module ({error})") from None


def check_documented(plugin: Documented) -> None:
    """Summary, reference, and a description of every parameter."""
    check_described(plugin.name, plugin.summary, plugin.params)
    require(bool(plugin.reference.strip()), f"{plugin.name}: reference is empty; name the paper, or say 'none'")


def check_described(name: str, summary: str, params: type[BaseModel] | None = None) -> None:
    """Summary, and a description of every parameter."""
    require(bool(summary.strip()), f"{name}: summary is empty; it is what `maskwright plugins` shows")
    fields = {} if params is None else params.model_fields
    silent = [each for each, field in fields.items() if not field.description]
    require(not silent, f"{name}: parameters without description: {', '.join(silent)}")
