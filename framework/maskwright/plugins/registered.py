"""What is installed: plugins by kind and name, those that are broken, and who claims which files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from maskwright.foundation.errors import PluginError
from maskwright.foundation.nearest_names import unknown_name
from maskwright.plugins.absent import AbsentPackage, about_absent
from maskwright.plugins.guarding.origin import BUILT_IN
from maskwright.plugins.suffixes import Claim, KindWithEndings, claims_of, said_by_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from maskwright.plugins.action import Action
    from maskwright.plugins.aggregation import Aggregation
    from maskwright.plugins.command import Command
    from maskwright.plugins.constraint_kind import ConstraintKind
    from maskwright.plugins.edit_reader import EditReader
    from maskwright.plugins.engine import Engine
    from maskwright.plugins.measure import Measure
    from maskwright.plugins.partition import Partition
    from maskwright.plugins.plan_check import PlanCheck
    from maskwright.plugins.remover import AnyMethod
    from maskwright.plugins.report import Report
    from maskwright.plugins.report_section import ReportSection
    from maskwright.plugins.rule_writer import RuleWriter
    from maskwright.plugins.source import Source


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
                    f"and {said_by_name(kind, each.plugin)} would choose it"
                )

    def info(self, kind: str, name: str) -> PluginInfo:
        """Where a working plugin comes from."""
        for info in self.infos:
            if (info.kind, info.name, info.status) == (kind, name, "ok"):
                return info
        raise PluginError(self.unknown(kind, name, (info.name for info in self.infos if info.kind == kind)))
