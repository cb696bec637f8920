"""Finding plugins: who offers what, what is broken and why, and which packages a result depends on."""

from __future__ import annotations

import functools
from contextlib import contextmanager
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pluggy

from maskwright.foundation.errors import PluginError, Problem
from maskwright.plugins import attacks, engines, rule_languages
from maskwright.plugins.contract import KINDS, contract_error, version_error
from maskwright.plugins.guarding.call import output_apart
from maskwright.plugins.guarding.observers import observers_in, refuse_wrappers
from maskwright.plugins.guarding.origin import BUILT_IN, Origin
from maskwright.plugins.hooks import HOOKS, PROJECT, Deferred, Hooks
from maskwright.plugins.packages import (
    ENVIRONMENT,
    EVERY,
    AbsentPackage,
    Allowed,
    about_absent,
    allowed_by_environment,
    allowed_by_pipeline,
    package_name,
)
from maskwright.plugins.registered import (
    KindWithEndings,
    Offer,
    Offered,
    PluginInfo,
    Registry,
    chosen_by_name,
    one_line,
    rivals,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from maskwright.plugins.attack import Attack
    from maskwright.plugins.measure import Measure
    from maskwright.plugins.method import Method
    from maskwright.plugins.partition import Partition
    from maskwright.plugins.rules import RuleLanguage
    from maskwright.plugins.source import Source


UNKNOWN_KIND = "plugin"


class Named(Protocol):
    """Whatever has a plugin name."""

    @property
    def name(self) -> str:
        """What the pipeline calls it."""
        ...


_of_pipeline: frozenset[str] | None = None


@functools.cache
def plugins() -> Registry:
    """Return the installed plugins that are allowed; found once (``plugins.cache_clear()`` forgets)."""
    return discover(entry_points(group=PROJECT), Allowed(allowed_by_environment(), _of_pipeline))


def installed_packages() -> tuple[str, ...]:
    """Names of the packages that have plugins, Maskwright itself aside; nothing is imported."""
    return tuple(sorted({package_of(each)[0] for each in entry_points(group=PROJECT)} - {BUILT_IN}))


def allow_only(packages: Collection[str] | None) -> None:
    """Say which packages the pipeline at hand allows, in the whole process, until another is read.

    `packages`: None: all that the environment allows.
    """
    global _of_pipeline  # noqa: PLW0603 - plugins belong to the process, as imported modules do
    wanted = allowed_by_pipeline(packages)
    if wanted != _of_pipeline:
        _of_pipeline = wanted
        plugins.cache_clear()


@contextmanager
def pipelines_own_plugins() -> Iterator[None]:
    """Forget at the end which packages a pipeline allowed; also a decorator."""
    before = _of_pipeline
    try:
        yield
    finally:
        allow_only(before)


def discover(found: Iterable[EntryPoint], allowed: Allowed = EVERY) -> Registry:
    """Registry of the plugins behind these entry points, and of the built-in rule languages.

    `found`: in any order; the result does not depend on it. `allowed`: the others are listed and not imported. Returns
    of two plugins of one kind and name the built-in one counts, else the first by package name; the other is listed as
    broken.
    """
    collection = _Collection()
    for module in (rule_languages, engines, attacks):
        collection.add_offers(module, BUILT_IN, version(BUILT_IN), BUILT_IN)
    ordered = sorted(found, key=_order)
    for entry_point in ordered:
        refusal = None if package_of(entry_point)[0] == BUILT_IN else allowed.refusal(package_of(entry_point)[0])
        if refusal is None:
            collection.add_entry_point(entry_point)
        else:
            collection.leave_out(entry_point, refusal)
    for name in allowed.without(package_of(each)[0] for each in ordered):
        collection.broken(
            name, UNKNOWN_KIND, name, "", f"{ENVIRONMENT} names this package, and it offers no plugins here"
        )
    return collection.registry()


def find_source(path_or_name: str | Path) -> Source:
    """Source plugin of a name (``csv``) or of a file name by its longest claimed ending (``data.csv``)."""
    registry = plugins()
    if isinstance(path_or_name, str) and path_or_name in registry.sources:
        return registry.sources[path_or_name]
    if isinstance(path_or_name, str) and not Path(path_or_name).suffix:
        raise PluginError(registry.unknown("source", path_or_name, registry.sources))
    return _by_name("source", _by_suffix("source", Path(path_or_name)), registry.sources)


def find_rule_language(path_or_name: str | Path) -> RuleLanguage:
    """Rule language of a name (``schematron``) or of a file name (``rules.sch``) that edits can be read from."""
    if isinstance(path_or_name, str) and not Path(path_or_name).suffix:
        return _by_name("rule_language", path_or_name, readable_languages())
    return _by_name("rule_language", _by_suffix("rule_language", Path(path_or_name)), readable_languages())


def readable_languages() -> dict[str, RuleLanguage]:
    """Rule languages that edits can be read from, by name."""
    return {name: each for name, each in plugins().rule_languages.items() if each.read is not None}


def find_method(name: str) -> Method:
    """Protection method of that name; raises PluginError with the nearest one.

    Examples
    --------
    >>> from maskwright import find_method
    >>> find_method("microaggregation").scope
    'group'
    """
    return _by_name("method", name, plugins().methods)


def find_partition(name: str) -> Partition:
    """Partition of that name; raises PluginError with the nearest one.

    Examples
    --------
    >>> from maskwright import find_partition
    >>> find_partition("mdav").deterministic
    True
    """
    return _by_name("partition", name, plugins().partitions)


def find_rule_writer(path_or_name: str | Path) -> RuleLanguage:
    """Rule language of a name (``schematron``) or of a file name (``rules.sch``) in which edits can be written."""
    languages = {name: each for name, each in plugins().rule_languages.items() if each.write is not None}
    if isinstance(path_or_name, str) and not Path(path_or_name).suffix:
        return _by_name("rule_language", path_or_name, languages)
    file = Path(path_or_name).name.lower()
    for each in languages.values():
        if file.endswith(each.written_suffixes):
            return each
    endings = sorted({suffix for each in languages.values() for suffix in each.written_suffixes})
    raise PluginError(f"no rule language is known for {file!r}; endings that are: {', '.join(endings)}")


def find_measure(name: str) -> Measure:
    """Measure of that name; raises PluginError with the nearest one.

    Examples
    --------
    >>> from maskwright import find_measure
    >>> find_measure("pil").kind
    'loss'
    """
    return _by_name("measure", name, plugins().measures)


def find_attack(name: str) -> Attack:
    """Attack of that name; raises PluginError with the nearest one.

    Examples
    --------
    >>> from maskwright import find_attack
    >>> find_attack("dependency").name
    'dependency'
    """
    return _by_name("attack", name, plugins().attacks)


AnyPlugin = TypeVar("AnyPlugin", bound=Named)


def _by_name(kind: str, name: str, offered: Mapping[str, AnyPlugin]) -> AnyPlugin:
    if name not in offered:
        raise PluginError(plugins().unknown(kind, name, offered))
    return offered[name]


def _by_suffix(kind: KindWithEndings, path: Path) -> str:
    registry = plugins()
    claims = registry.claims(kind, path.name)
    if rivals(claims):
        listed = " and ".join(f"{each.plugin} of package {each.package}" for each in rivals(claims))
        hint = f"Say which: {chosen_by_name(kind, claims[0].plugin)}."
        raise PluginError(Problem(f"{path.name!r} is claimed by {listed}, and neither is built in", hint=hint))
    if claims:
        return claims[0].plugin
    if path.is_fifo():
        # `--edits <(...)`: rules one writes in a shell are YAML; data are read more than once, which a pipe cannot be.
        if kind == "rule_language":
            return "yaml"
        hint = "Write the data to a file whose ending tells the format, and name that."
        raise PluginError(Problem(f"{path} is a pipe, and data are read from files, more than once", hint=hint))
    claimed = registry.endings(kind)
    what = "no file format" if kind == "source" else "no rule language"
    message = f"{what} is known for {path.name!r}; endings that are: {', '.join(claimed) or 'none'}"
    raise PluginError(message + about_absent(registry.absent, path.suffix))


class _Collection:
    """Plugins and errors gathered entry point by entry point."""

    def __init__(self) -> None:
        self.manager = _manager()
        self.offers: dict[str, dict[str, Offer]] = {kind: {} for kind in KINDS}
        self.refused: list[PluginInfo] = []
        self.absent: list[AbsentPackage] = []
        self.origins: dict[str, tuple[str, str]] = {}

    def registry(self) -> Registry:
        offered: dict[str, Any] = {f"{kind}s": Offered(offers.values()) for kind, offers in self.offers.items()}
        return Registry(
            **offered,
            refused=tuple(self.refused),
            absent=tuple(self.absent),
            observers=observers_in(self.manager.hook, self.origins),
        )

    def add_entry_point(self, entry_point: EntryPoint) -> None:
        distribution, version = package_of(entry_point)
        package = Origin("package", entry_point.name, distribution, version)
        try:
            with output_apart(package):
                module = entry_point.load()
            if (wrong := version_error(module, distribution, version)) is not None:
                # Once, however many entry points it has.
                if not any((each.distribution, each.error) == (distribution, wrong) for each in self.refused):
                    self.broken(entry_point.name, UNKNOWN_KIND, distribution, version, wrong)
                self.missing(entry_point, wrong)
                return
            _verify_hooks(module)
            name = f"{distribution}:{entry_point.name}"
            self.manager.register(module, name=name)
            self.origins[name] = (distribution, version)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a plugin may fail in any way
            self.broken(entry_point.name, UNKNOWN_KIND, distribution, version, one_line(error))
            self.missing(entry_point, one_line(error))
            return
        for kind, why in self.add_offers(module, distribution, version, entry_point.name):
            self.missing(entry_point, f"{HOOKS[kind]}: {why}")

    def add_offers(self, module: Any, distribution: str, version: str, name: str) -> list[tuple[str, str]]:
        """Add what the hooks of a module offer; the kinds whose hook failed, and why."""
        failed: list[tuple[str, str]] = []
        for kind, hook in HOOKS.items():
            function = getattr(module, hook, None)
            if function is None or getattr(function, f"{PROJECT}_impl", None) is None:
                continue
            try:
                with output_apart(Origin("package", name, distribution, version)):
                    offered = list(function())
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - a plugin may fail in any way
                self.broken(name, kind, distribution, version, f"{hook}: {one_line(error)}")
                failed.append((kind, one_line(error)))
                continue
            for plugin in offered:
                self.add(kind, plugin, distribution, version, name)
        return failed

    def add(self, kind: str, plugin: Any, distribution: str, version: str, entry_point: str = "") -> None:
        name: object = getattr(plugin, "name", None)
        shown = name if isinstance(name, str) and name else entry_point
        wrong = None if isinstance(plugin, Deferred) else contract_error(kind, plugin)
        # A name stays its owner's where a library is missing: else what it means would depend on what is installed.
        if wrong is None and (first := self.offers[kind].get(shown)) is not None:
            owner = "built in" if first.distribution == BUILT_IN else f"offered by {first.distribution}"
            wrong = f"the {kind.replace('_', ' ')} {shown!r} is already {owner}; choose another name"
        if wrong is not None:
            self.broken(shown, kind, distribution, version, wrong)
            return
        self.offers[kind][shown] = Offer(kind, plugin, distribution, version)

    def leave_out(self, entry_point: EntryPoint, why: str) -> None:
        distribution, version = package_of(entry_point)
        self.refused.append(PluginInfo(entry_point.name, UNKNOWN_KIND, distribution, version, "not allowed", why))
        self.missing(entry_point, why)

    def missing(self, entry_point: EntryPoint, why: str) -> None:
        self.absent.append(AbsentPackage(*package_of(entry_point), entry_point.name, entry_point.value, why))

    def broken(self, name: str, kind: str, distribution: str, version: str, error: str) -> None:
        self.refused.append(PluginInfo(name, kind, distribution, version, "broken", error))


def _manager() -> pluggy.PluginManager:
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(Hooks)
    return manager


def _verify_hooks(module: Any) -> None:
    """Raise when a function marked as hook is none, or has arguments its hook does not have."""
    trial = _manager()
    if trial.register(module) is not None:
        trial.check_pending()
    for caller in trial.get_hookcallers(module) or ():
        refuse_wrappers(caller.get_hookimpls())
    if not any(trial.get_hookcallers(module) or ()):
        raise PluginError(
            f"{getattr(module, '__name__', module)!s} has no function marked with @maskwright.hookimpl; "
            f"the hooks are: {', '.join(HOOKS.values())}, before_step, after_step"
        )


def _order(entry_point: EntryPoint) -> tuple[bool, str, str, str]:
    distribution, _ = package_of(entry_point)
    return (distribution != BUILT_IN, distribution, entry_point.name, entry_point.value)


def package_of(entry_point: EntryPoint) -> tuple[str, str]:
    """Name and version of the distribution of an entry point; damaged metadata must not stop the others."""
    try:
        metadata: Any = entry_point.dist.metadata if entry_point.dist is not None else {}
        name, version = metadata["Name"], metadata["Version"]
    except Exception:  # noqa: BLE001 - metadata on disk may be broken in any way
        return "unknown", "unknown"
    return package_name(str(name or "unknown")), str(version or "unknown")


_NUMBERS = ("numpy", "numba", "scipy", "pyarrow", "pandas", "lxml")
"""What computes, reads and writes for Maskwright."""


def needed_packages() -> dict[str, str]:
    """Version by distribution: Maskwright, what computes for it, and all packages whose plugins may be used."""
    registry = plugins()
    offering = {name for kind in KINDS for name in registry.packages(kind).values()}
    own = _own_versions()
    return {**own, **_versions(sorted(offering - own.keys()))}


@functools.cache
def _own_versions() -> Mapping[str, str]:
    """Of Maskwright and what computes for it: each is read from a file, and none changes while a process runs."""
    return _versions((BUILT_IN, *_NUMBERS))


def _versions(names: Iterable[str]) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # plugins that are tried and not installed
            continue
    return found
