"""What is installed: plugins by kind, name and file ending, and those that are broken."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from maskwright.foundation.errors import PluginError
from maskwright.foundation.nearest_names import unknown_name
from maskwright.plugins.guarding.origin import BUILT_IN
from maskwright.plugins.packages import AbsentPackage, about_absent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from maskwright.plugins.engine import Engine
    from maskwright.plugins.measure import Measure
    from maskwright.plugins.partition import Aggregation, Partition
    from maskwright.plugins.remover import AnyMethod
    from maskwright.plugins.report import Report, ReportSection
    from maskwright.plugins.rules import ConstraintKind, EditReader, RuleWriter
    from maskwright.plugins.run_extensions import Action, Command, PlanCheck
    from maskwright.plugins.source import Source


KindWithEndings = Literal["source", "edit_reader", "rule_writer"]
"""Kinds of plugins that claim endings of file names."""


class WithEndings(Protocol):
    """A source or an edit reader, as far as file names matter."""

    @property
    def name(self) -> str:
        """What the pipeline calls it."""
        ...

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Endings that it claims."""
        ...


@dataclass(frozen=True)
class Claim:
    """A plugin that claims an ending."""

    plugin: str
    suffix: str
    package: str
    is_built_in: bool


def claims_of(file: str, offered: Iterable[WithEndings], packages: Mapping[str, str], built_in: str) -> list[Claim]:
    """Who claims a file, the one that gets it first: built-in plugins, then the longest ending.

    `built_in`: the package of built-in plugins.
    """
    name = file.lower()
    found = [
        Claim(each.name, suffix, packages[each.name], packages[each.name] == built_in)
        for each in offered
        for suffix in sorted(each.suffixes, key=len, reverse=True)
        if name.endswith(suffix)
    ]
    first: dict[str, Claim] = {}
    for claim in found:
        first.setdefault(claim.plugin, claim)
    return sorted(first.values(), key=lambda each: (not each.is_built_in, -len(each.suffix), each.plugin))


def rivals(claims: Sequence[Claim]) -> list[Claim]:
    """Claims of the same rank as the first: none of them can be preferred without a guess."""
    if not claims or claims[0].is_built_in:
        return []
    same = [each for each in claims if len(each.suffix) == len(claims[0].suffix)]
    return same if len(same) > 1 else []


def conflicts_of(
    plugin: WithEndings, offered: Sequence[WithEndings], packages: Mapping[str, str], built_in: str, kind: str
) -> Iterator[str]:
    """Sentences about endings that a plugin claims and others have."""
    if packages[plugin.name] == built_in:
        return
    for suffix in plugin.suffixes:
        claims = claims_of(f"x{suffix}", offered, packages, built_in)
        if claims[0].is_built_in:
            chosen = chosen_by_name(kind, plugin.name)
            yield f"{suffix} belongs to the built-in {claims[0].plugin}; used only by {chosen}"
        elif rivals(claims):
            others = " and ".join(f"{each.plugin} of {each.package}" for each in claims if each.plugin != plugin.name)
            yield f"{suffix} is claimed by {others} too; say {chosen_by_name(kind, plugin.name)}"


def chosen_by_name(kind: str, name: str) -> str:
    """How a pipeline chooses a plugin by its name, whatever the file is called."""
    if kind == "rule_writer":
        return f"`maskwright edits --to {name}`"
    return f"`format: {name}`" if kind == "source" else f"`- {name}: FILE`"


@dataclass(frozen=True)
class PluginInfo:
    """One line of ``maskwright plugins``.

    `name`: the plugin's name, or the entry point's when it could not even be imported. `kind`: ``method``,
    ``partition``, ``measure``, ``source``, ``edit_reader``, ``report``; ``plugin`` for an entry point that broke before
    it said what it offers. `distribution`, `version`: of the package it comes from. `status`: Unavailable: a library
    that it needs is not installed. Not allowed: of a package that was not even imported. `error`: one line: why it is
    broken, unavailable or not allowed. `conflict`: of a source or an edit reader that works: endings that it claims and
    others have.
    """

    name: str
    kind: str
    distribution: str
    version: str
    status: Literal["ok", "broken", "unavailable", "not allowed"] = "ok"
    error: str | None = None
    conflict: str | None = None


@dataclass(frozen=True, eq=False)
class Registry:
    """All installed plugins by kind and name, each mapping sorted by name.

    `infos`: all, also the broken ones; sorted by kind and name. `absent`: packages that are broken or not allowed as a
    whole, or one of whose hooks is. `observers`: of steps, ``before_step`` and ``after_step``; each is told by name
    what its hook has to tell.
    """

    sources: Mapping[str, Source] = field(default_factory=dict)
    edit_readers: Mapping[str, EditReader] = field(default_factory=dict)
    partitions: Mapping[str, Partition] = field(default_factory=dict)
    methods: Mapping[str, AnyMethod] = field(default_factory=dict)
    measures: Mapping[str, Measure] = field(default_factory=dict)
    reports: Mapping[str, Report] = field(default_factory=dict)
    aggregations: Mapping[str, Aggregation] = field(default_factory=dict)
    constraints: Mapping[str, ConstraintKind] = field(default_factory=dict)
    rule_writers: Mapping[str, RuleWriter] = field(default_factory=dict)
    plan_checks: Mapping[str, PlanCheck] = field(default_factory=dict)
    report_sections: Mapping[str, ReportSection] = field(default_factory=dict)
    actions: Mapping[str, Action] = field(default_factory=dict)
    commands: Mapping[str, Command] = field(default_factory=dict)
    engines: Mapping[str, Engine] = field(default_factory=dict)
    infos: tuple[PluginInfo, ...] = ()
    absent: tuple[AbsentPackage, ...] = ()
    observers: Mapping[str, tuple[Callable[..., None], ...]] = field(default_factory=dict)

    def unknown(self, kind: str, name: str, valid: Iterable[str]) -> str:
        """Sentence about a name that cannot be had: broken or unavailable and why, or unknown and the nearest one.

        `kind`: as in `PluginInfo`; ``plugin`` is any kind. `valid`: names that would have been right.
        """
        label = kind.replace("_", " ")
        for info in self.infos:
            if info.status == "broken" and info.kind == kind and info.name == name:
                return f"the {label} {name!r} (package {info.distribution}) is broken: {info.error}"
            if info.status == "unavailable" and kind in (info.kind, "plugin") and info.name == name:
                return f"the {info.kind.replace('_', ' ')} {name!r} is unavailable: {info.error}"
        return unknown_name(label, name, valid) + about_absent(self.absent, name)

    def packages(self, kind: str) -> dict[str, str]:
        """Package of each working plugin of a kind, by the plugin's name."""
        return {info.name: info.distribution for info in self.infos if (info.kind, info.status) == (kind, "ok")}

    def endings(self, kind: KindWithEndings) -> list[str]:
        """All endings of file names that are claimed."""
        return sorted({suffix for plugin in self._with_endings(kind) for suffix in plugin.suffixes})

    def claims(self, kind: KindWithEndings, file: str) -> list[Claim]:
        """Who claims a file by its ending, the one that gets it first."""
        return claims_of(file, self._with_endings(kind), self.packages(kind), BUILT_IN)

    def _with_endings(self, kind: KindWithEndings) -> tuple[Source | EditReader | RuleWriter, ...]:
        match kind:
            case "source":
                return tuple(self.sources.values())
            case "edit_reader":
                return tuple(self.edit_readers.values())
            case "rule_writer":
                return tuple(self.rule_writers.values())

    def other_claims(self, kind: KindWithEndings, file: str, chosen: str) -> Iterator[str]:
        """Sentences about plugins that claim a file too, and are not used for it."""
        for each in self.claims(kind, file):
            if each.plugin != chosen:
                yield (
                    f"{file} is taken as {chosen}; {each.plugin} of package {each.package} claims {each.suffix} too, "
                    f"and {chosen_by_name(kind, each.plugin)} would choose it"
                )

    def info(self, kind: str, name: str) -> PluginInfo:
        """Where a working plugin comes from."""
        for info in self.infos:
            if (info.kind, info.name, info.status) == (kind, name, "ok"):
                return info
        raise PluginError(self.unknown(kind, name, (info.name for info in self.infos if info.kind == kind)))
