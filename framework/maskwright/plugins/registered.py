"""What is installed: plugins by kind, name and file ending, and those that are broken."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from maskwright.foundation.errors import PluginError
from maskwright.foundation.nearest_names import unknown_name
from maskwright.plugins.contract import KINDS, contract_error
from maskwright.plugins.guarding.call import output_apart
from maskwright.plugins.guarding.origin import BUILT_IN, Origin
from maskwright.plugins.guarding.wrapping import guarded
from maskwright.plugins.hooks import Deferred
from maskwright.plugins.packages import AbsentPackage, about_absent, what_is_missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from maskwright.plugins.attack import Attack
    from maskwright.plugins.engine import Engine
    from maskwright.plugins.measure import Measure
    from maskwright.plugins.method import Method
    from maskwright.plugins.partition import Partition
    from maskwright.plugins.report import Report
    from maskwright.plugins.rules import RuleLanguage
    from maskwright.plugins.source import Source


KindWithEndings = Literal["source", "rule_language"]
"""Kinds of plugins that claim endings of file names."""

Status = Literal["ok", "broken", "unavailable", "not allowed"]

AnyPlugin = TypeVar("AnyPlugin")


@dataclass(frozen=True)
class Claim:
    """A plugin that claims an ending."""

    plugin: str
    suffix: str
    package: str
    is_built_in: bool


def claims_of(file: str, offers: Iterable[Offer]) -> list[Claim]:
    """Who claims a file, the one that gets it first: built-in plugins, then the longest ending."""
    name = file.lower()
    found = [
        Claim(each.name, suffix, each.distribution, each.distribution == BUILT_IN)
        for each in offers
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


def conflicts_of(plugin: Offer, offers: Sequence[Offer]) -> Iterator[str]:
    """Sentences about endings that a plugin claims and others have."""
    if plugin.distribution == BUILT_IN:
        return
    for suffix in plugin.suffixes:
        claims = claims_of(f"x{suffix}", offers)
        if claims[0].is_built_in:
            chosen = chosen_by_name(plugin.kind, plugin.name)
            yield f"{suffix} belongs to the built-in {claims[0].plugin}; used only by {chosen}"
        elif rivals(claims):
            others = " and ".join(f"{each.plugin} of {each.package}" for each in claims if each.plugin != plugin.name)
            yield f"{suffix} is claimed by {others} too; say {chosen_by_name(plugin.kind, plugin.name)}"


def chosen_by_name(kind: str, name: str) -> str:
    """How a pipeline chooses a plugin by its name, whatever the file is called."""
    return f"`format: {name}`" if kind == "source" else f"`- {name}: FILE`"


@dataclass(frozen=True)
class PluginInfo:
    """One line of ``maskwright plugins``.

    `name`: the plugin's name, or the entry point's when it could not even be imported. `kind`: one of `KINDS`;
    ``plugin`` for an entry point that broke before it offered anything. `distribution`, `version`: of the package it
    comes from. `status`: unavailable where a library that it needs is not installed, not allowed where its package was
    not even imported; `error` says why, in one line. `conflict`: of a source or a rule language that works: endings
    that it claims and others have.
    """

    name: str
    kind: str
    distribution: str
    version: str
    status: Status = "ok"
    error: str | None = None
    conflict: str | None = None


class Offer:
    """A plugin that a package offers; a deferred one is imported and checked when it is first requested."""

    def __init__(self, kind: str, plugin: Any, distribution: str, version: str) -> None:
        self.kind = kind
        self.name: str = plugin.name
        self.distribution = distribution
        self.version = version
        self._plugin = plugin
        self._info: PluginInfo | None = None
        self._record: Any = None

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Endings of file names that it claims; the plugin is not imported for them."""
        if not isinstance(self._plugin, Deferred) and self.info.status != "ok":
            return ()
        found: tuple[str, ...] = getattr(self._plugin, "suffixes", ())
        return found

    @property
    def record(self) -> Any:
        """The guarded record; None where it cannot be had, and `info` says why."""
        self._load()
        return self._record

    @property
    def info(self) -> PluginInfo:
        """What ``maskwright plugins`` says of it."""
        self._load()
        assert self._info is not None
        return self._info

    def _load(self) -> None:
        if self._info is not None:
            return
        plugin, wrong = self._imported()
        wrong = wrong or contract_error(self.kind, plugin)
        if wrong is None and plugin.name != self.name:
            wrong = f"its name is {plugin.name!r}, and it was offered as {self.name!r}"
        missing = None if wrong else what_is_missing(plugin)
        status: Status = "broken" if wrong else "unavailable" if missing else "ok"
        if status == "ok":
            self._record = guarded(plugin, self.kind, self.distribution, self.version)
        self._info = PluginInfo(self.name, self.kind, self.distribution, self.version, status, wrong or missing)

    def _imported(self) -> tuple[Any, str | None]:
        """The record that is offered, and what went wrong with its import."""
        if not isinstance(self._plugin, Deferred):
            return self._plugin, None
        try:
            with output_apart(Origin(self.kind, self.name, self.distribution, self.version)):
                return self._plugin.record(), None
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a plugin may fail in any way
            return None, one_line(error)


class Offered(Mapping[str, AnyPlugin]):
    """Working plugins of a kind by name, sorted; each is imported when it is requested."""

    def __init__(self, offers: Iterable[Offer] = ()) -> None:
        self.offers = {each.name: each for each in sorted(offers, key=lambda each: each.name)}

    def __getitem__(self, name: str) -> AnyPlugin:
        found: AnyPlugin | None = self.offers[name].record
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return (name for name, offer in self.offers.items() if offer.record is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(frozen=True, eq=False)
class Registry:
    """All installed plugins by kind and name.

    `refused`: those that could not even be offered. `absent`: packages that are broken or not allowed as a whole, or
    one of whose hooks is. `observers`: of steps, ``before_step`` and ``after_step``, with arguments by name.
    """

    sources: Offered[Source] = field(default_factory=Offered)
    rule_languages: Offered[RuleLanguage] = field(default_factory=Offered)
    partitions: Offered[Partition] = field(default_factory=Offered)
    methods: Offered[Method] = field(default_factory=Offered)
    measures: Offered[Measure] = field(default_factory=Offered)
    attacks: Offered[Attack] = field(default_factory=Offered)
    reports: Offered[Report] = field(default_factory=Offered)
    engines: Offered[Engine] = field(default_factory=Offered)
    refused: tuple[PluginInfo, ...] = ()
    absent: tuple[AbsentPackage, ...] = ()
    observers: Mapping[str, tuple[Callable[..., None], ...]] = field(default_factory=dict)

    @functools.cached_property
    def infos(self) -> tuple[PluginInfo, ...]:
        """All plugins, also those that cannot be had, sorted by kind and name; every plugin is imported for it."""
        found = [self._with_conflict(offer) for kind in KINDS for offer in self._offers(kind).values()]
        return tuple(sorted([*found, *self.refused], key=lambda it: (it.kind, it.name, it.distribution, it.status)))

    def _with_conflict(self, offer: Offer) -> PluginInfo:
        if offer.kind not in get_args(KindWithEndings) or offer.info.status != "ok":
            return offer.info
        found = conflicts_of(offer, tuple(self._offers(offer.kind).values()))
        return replace(offer.info, conflict="; ".join(found) or None)

    def _offers(self, kind: str) -> Mapping[str, Offer]:
        offered: Offered[Any] = getattr(self, f"{kind}s")
        return offered.offers

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
        """Package of each plugin of a kind, by the plugin's name."""
        return {name: offer.distribution for name, offer in self._offers(kind).items()}

    def endings(self, kind: KindWithEndings) -> list[str]:
        """All endings of file names that are claimed."""
        return sorted({suffix for offer in self._offers(kind).values() for suffix in offer.suffixes})

    def claims(self, kind: KindWithEndings, file: str) -> list[Claim]:
        """Who claims a file by its ending, the one that gets it first."""
        return claims_of(file, self._offers(kind).values())

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
        offer = self._offers(kind).get(name)
        if offer is None or offer.info.status != "ok":
            raise PluginError(self.unknown(kind, name, getattr(self, f"{kind}s")))
        return offer.info


def one_line(error: BaseException) -> str:
    """An error in one line of at most 300 characters."""
    said = " ".join(str(error).split())
    text = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return text if len(text) <= 300 else text[:297] + "..."
