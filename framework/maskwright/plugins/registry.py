"""Finding plugins: who offers what, what is broken and why, and the nearest name for one that does not exist.

A plugin package declares an entry point of group ``maskwright`` that names a module with functions marked
``@maskwright.hookimpl``. Names in the pipeline choose, and everything is sorted, so neither the order of installation
nor that of registration can change a result. A broken plugin is listed with its error and never stops the others.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

import pluggy

from maskwright.edits.languages.schematron.options import SchematronOptions
from maskwright.foundation.errors import PluginError, Problem, unknown_name
from maskwright.plugins.contract import KINDS, Plugin, contract_error, version_error
from maskwright.plugins.edit_reader import EditReader
from maskwright.plugins.guarding.observers import observers_in, refuse_wrappers
from maskwright.plugins.guarding.origin import BUILT_IN, Origin
from maskwright.plugins.guarding.standard_output import output_apart
from maskwright.plugins.guarding.wrapping import guarded
from maskwright.plugins.hooks import PROJECT, Hooks
from maskwright.plugins.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from maskwright.data.levels.declaration import LevelDeclaration
    from maskwright.edits.edit_set import EditSet
    from maskwright.plugins.measure import Measure
    from maskwright.plugins.partition import Partition
    from maskwright.plugins.remover import AnyMethod
    from maskwright.plugins.report import Report

UNKNOWN_KIND = "plugin"

HOOKS = {
    "source": "register_sources",
    "edit_reader": "register_edit_readers",
    "partition": "register_partitions",
    "method": "register_methods",
    "measure": "register_measures",
    "report": "register_reports",
}


@dataclass(frozen=True)
class PluginInfo:
    """One line of ``maskwright plugins``.

    Attributes
    ----------
    name : str
        The plugin's name, or the entry point's when it could not even be imported.
    kind : str
        ``method``, ``partition``, ``measure``, ``source``, ``edit_reader``, ``report``; ``plugin`` for an entry point
        that broke before it said what it offers.
    distribution, version : str
        Of the package it comes from.
    status : {"ok", "broken"}
    error : str or None
        One line: why it is broken.
    """

    name: str
    kind: str
    distribution: str
    version: str
    status: Literal["ok", "broken"] = "ok"
    error: str | None = None


class Named(Protocol):
    """Whatever has a plugin name."""

    @property
    def name(self) -> str:
        """What the pipeline calls it."""
        ...


@dataclass(frozen=True, eq=False)
class Registry:
    """All installed plugins by kind and name, each mapping sorted by name.

    Attributes
    ----------
    sources, edit_readers, partitions, methods, measures, reports : mapping of name to plugin
        Those that work.
    infos : tuple of PluginInfo
        All, also the broken ones; sorted by kind and name.
    observers : mapping of hook to tuple of callable
        Of steps, ``before_step`` and ``after_step``; each is told by name what its hook has to tell.
    """

    sources: Mapping[str, Source] = field(default_factory=dict)
    edit_readers: Mapping[str, EditReader] = field(default_factory=dict)
    partitions: Mapping[str, Partition] = field(default_factory=dict)
    methods: Mapping[str, AnyMethod] = field(default_factory=dict)
    measures: Mapping[str, Measure] = field(default_factory=dict)
    reports: Mapping[str, Report] = field(default_factory=dict)
    infos: tuple[PluginInfo, ...] = ()
    observers: Mapping[str, tuple[Callable[..., None], ...]] = field(default_factory=dict)

    def unknown(self, kind: str, name: str, valid: Iterable[str]) -> str:
        """Sentence about a name that cannot be had: broken and why, or unknown and the nearest one.

        Parameters
        ----------
        kind : str
            As in `PluginInfo`.
        name : str
        valid : iterable of str
            Names that would have been right.
        """
        label = kind.replace("_", " ")
        for info in self.infos:
            if info.status == "broken" and info.kind == kind and info.name == name:
                return f"the {label} {name!r} (package {info.distribution}) is broken: {info.error}"
        return unknown_name(label, name, valid)

    def info(self, kind: str, name: str) -> PluginInfo:
        """Where a working plugin comes from.

        Raises
        ------
        PluginError
            No such plugin.
        """
        for info in self.infos:
            if (info.kind, info.name, info.status) == (kind, name, "ok"):
                return info
        raise PluginError(self.unknown(kind, name, (info.name for info in self.infos if info.kind == kind)))


@functools.cache
def plugins() -> Registry:
    """Return the installed plugins; found once per process (``plugins.cache_clear()`` forgets)."""
    return discover(entry_points(group=PROJECT))


def discover(found: Iterable[EntryPoint]) -> Registry:
    """Registry of the plugins behind these entry points, and of the built-in rule languages.

    Parameters
    ----------
    found : iterable of importlib.metadata.EntryPoint
        In any order; the result does not depend on it.

    Returns
    -------
    Registry
        Of two plugins of one kind and name the built-in one counts, else the first by package name; the other is
        listed as broken.
    """
    collection = _Collection()
    for reader in (
        EditReader(
            name="schematron", suffixes=(".sch",), read=_read_schematron, params=SchematronOptions,
            summary="ISO Schematron: each assert or report is an edit.", read_leveled=_read_schematron_of_levels,
        ),
        EditReader(name="yaml", suffixes=(".yaml", ".yml"), read=_read_edits_yaml,
                   summary="Rules as text, one to a line of a YAML list."),
        EditReader(name="validate", suffixes=(), read=_read_validate,
                   summary="Rules of the R package validate, in YAML or as R text."),
        EditReader(name="banff", suffixes=(".banff",), read=_read_banff,
                   summary="Linear edits as Banff has them: x1 + x2 = x3; or a table."),
    ):  # fmt: skip
        collection.add("edit_reader", reader, BUILT_IN, version(BUILT_IN))
    for entry_point in sorted(found, key=_order):
        collection.add_entry_point(entry_point)
    return collection.registry()


def find_source(path_or_name: str | Path) -> Source:
    """Source plugin of a name (``csv``) or of a file name by its longest claimed ending (``data.csv``).

    Raises
    ------
    PluginError
        With the nearest name, or the endings that are claimed.
    """
    registry = plugins()
    if isinstance(path_or_name, str) and path_or_name in registry.sources:
        return registry.sources[path_or_name]
    if isinstance(path_or_name, str) and not Path(path_or_name).suffix:
        raise PluginError(registry.unknown("source", path_or_name, registry.sources))
    return _by_suffix("source", Path(path_or_name), registry.sources.values())


def find_edit_reader(path_or_name: str | Path) -> EditReader:
    """Edit reader of a name (``schematron``) or of a file name (``rules.sch``).

    Raises
    ------
    PluginError
        With the nearest name, or the endings that are claimed.
    """
    registry = plugins()
    if isinstance(path_or_name, str) and path_or_name in registry.edit_readers:
        return registry.edit_readers[path_or_name]
    if isinstance(path_or_name, str) and not Path(path_or_name).suffix:
        raise PluginError(registry.unknown("edit_reader", path_or_name, registry.edit_readers))
    return _by_suffix("edit_reader", Path(path_or_name), registry.edit_readers.values())


def find_method(name: str) -> AnyMethod:
    """Protection method of that name; raises PluginError with the nearest one."""
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


def find_measure(name: str) -> Measure:
    """Measure of that name; raises PluginError with the nearest one.

    Examples
    --------
    >>> from maskwright import find_measure
    >>> find_measure("pil").kind
    'loss'
    """
    return _by_name("measure", name, plugins().measures)


AnyPlugin = TypeVar("AnyPlugin", bound=Named)
WithSuffixes = TypeVar("WithSuffixes", Source, EditReader)


def _by_name(kind: str, name: str, offered: Mapping[str, AnyPlugin]) -> AnyPlugin:
    if name not in offered:
        raise PluginError(plugins().unknown(kind, name, offered))
    return offered[name]


def _by_suffix(kind: str, path: Path, offered: Iterable[WithSuffixes]) -> WithSuffixes:
    name = path.name.lower()
    candidates = [
        (-len(suffix), plugin.name, plugin) for plugin in offered for suffix in plugin.suffixes if name.endswith(suffix)
    ]
    if candidates:
        return min(candidates, key=lambda candidate: candidate[:2])[2]
    if path.is_fifo():
        # `--edits <(...)`: rules one writes in a shell are YAML; data are read more than once, which a pipe cannot be.
        if kind == "edit_reader":
            return next(plugin for plugin in offered if ".yaml" in plugin.suffixes)
        hint = "Write the data to a file whose ending tells the format, and name that."
        raise PluginError(Problem(f"{path} is a pipe, and data are read from files, more than once", hint=hint))
    claimed = sorted({suffix for plugin in offered for suffix in plugin.suffixes})
    what = {"source": "no file format", "edit_reader": "no rule language"}[kind]
    raise PluginError(f"{what} is known for {path.name!r}; endings that are: {', '.join(claimed) or 'none'}")


class _Collection:
    """Plugins and errors gathered entry point by entry point."""

    def __init__(self) -> None:
        self.manager = _manager()
        self.offered: dict[str, dict[str, Plugin]] = {kind: {} for kind in KINDS}
        self.infos: list[PluginInfo] = []
        self.origins: dict[str, tuple[str, str]] = {}

    def registry(self) -> Registry:
        offered: dict[str, Any] = {
            kind: {name: self.offered[kind][name] for name in sorted(self.offered[kind])} for kind in KINDS
        }
        return Registry(
            sources=offered["source"],
            edit_readers=offered["edit_reader"],
            partitions=offered["partition"],
            methods=offered["method"],
            measures=offered["measure"],
            reports=offered["report"],
            infos=tuple(sorted(self.infos, key=lambda info: (info.kind, info.name, info.distribution, info.status))),
            observers=observers_in(self.manager.hook, self.origins),
        )

    def add_entry_point(self, entry_point: EntryPoint) -> None:
        distribution, version = _origin(entry_point)
        package = Origin("package", entry_point.name, distribution, version)
        try:
            with output_apart(package):
                module = entry_point.load()
            # First: a later contract may have hooks that are not known here.
            if (wrong := version_error(module, distribution, version)) is not None:
                self.broken(entry_point.name, UNKNOWN_KIND, distribution, version, wrong)
                return
            _verify_hooks(module)
            name = f"{distribution}:{entry_point.name}"
            self.manager.register(module, name=name)
            self.origins[name] = (distribution, version)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a plugin may fail in any way
            self.broken(entry_point.name, UNKNOWN_KIND, distribution, version, _one_line(error))
            return
        for kind, hook in HOOKS.items():
            function = getattr(module, hook, None)
            if function is None or getattr(function, f"{PROJECT}_impl", None) is None:
                continue
            try:
                with output_apart(package):
                    offered = list(function())
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - a plugin may fail in any way
                self.broken(entry_point.name, kind, distribution, version, f"{hook}: {_one_line(error)}")
                continue
            for plugin in offered:
                self.add(kind, plugin, distribution, version, entry_point.name)

    def add(self, kind: str, plugin: Any, distribution: str, version: str, entry_point: str = "") -> None:
        name = getattr(plugin, "name", None)
        shown = name if isinstance(name, str) and name else entry_point
        wrong = contract_error(kind, plugin)
        if wrong is None and name in self.offered[kind]:
            first = next(info for info in self.infos if (info.kind, info.name, info.status) == (kind, name, "ok"))
            owner = "built in" if first.distribution == BUILT_IN else f"offered by {first.distribution}"
            wrong = f"the {kind.replace('_', ' ')} {name!r} is already {owner}; choose another name"
        if wrong is not None:
            self.broken(shown, kind, distribution, version, wrong)
            return
        self.offered[kind][plugin.name] = guarded(plugin, kind, distribution, version)
        self.infos.append(PluginInfo(plugin.name, kind, distribution, version))

    def broken(self, name: str, kind: str, distribution: str, version: str, error: str) -> None:
        self.infos.append(PluginInfo(name, kind, distribution, version, "broken", error))


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
    distribution, _ = _origin(entry_point)
    return (distribution != BUILT_IN, distribution, entry_point.name, entry_point.value)


def _origin(entry_point: EntryPoint) -> tuple[str, str]:
    """Name and version of the distribution of an entry point; damaged metadata must not stop the others."""
    try:
        metadata: Any = entry_point.dist.metadata if entry_point.dist is not None else {}
        name, version = metadata["Name"], metadata["Version"]
    except Exception:  # noqa: BLE001 - metadata on disk may be broken in any way
        return "unknown", "unknown"
    return re.sub(r"[-_.]+", "-", str(name or "unknown")).lower(), str(version or "unknown")


def _one_line(error: BaseException) -> str:
    said = " ".join(str(error).split())
    text = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return text if len(text) <= 300 else text[:297] + "..."


def _read_schematron(path: Path, options: SchematronOptions | None = None) -> EditSet:
    from maskwright.edits.languages.schematron.reader import read_schematron

    return read_schematron(path, options)


def _read_schematron_of_levels(
    path: Path, options: SchematronOptions | None, levels: Mapping[str, LevelDeclaration]
) -> EditSet:
    from maskwright.edits.languages.schematron.reader import read_schematron

    return read_schematron(path, options, levels=levels)


def _read_edits_yaml(path: Path) -> EditSet:
    from maskwright.edits.languages.yaml.files import read_edits_yaml

    return read_edits_yaml(path)


def _read_validate(path: Path) -> EditSet:
    from maskwright.edits.languages.r_validate.reader import read_validate

    return read_validate(path)


def _read_banff(path: Path) -> EditSet:
    from maskwright.edits.languages.banff import read_banff

    return read_banff(path)
