"""What is wrong with a released file of a random world: judged with pandas and plain Python, from the files alone."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd
import yaml
from categorical_files import AGES, ORDERED, World
from plain_rules import PlainRule, Row, plain_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

COARSER = ("generalisation", "mondrian", "recoding")
ENFORCING = ("generalisation", "mondrian", "local_suppression", "record_suppression")
ONLY_REMOVING = (*ENFORCING, "recoding", "sampling")
TOGETHER = (*ONLY_REMOVING, "targeted_swapping")
"""Methods after which what was a function of another variable still is."""
FOLLOWS = {"region": ("town", "rname"), "rname": ("town", "region")}
"""What a variable is a function of in these files, whether a rule says so or not."""


@dataclass
class Release:
    """A released file beside its original."""

    world: World
    folder: Path
    before: list[dict[str, str]] = field(init=False)
    after: list[dict[str, str]] = field(init=False)
    record: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        masked = pd.read_csv(self.folder / "masked.csv", dtype=str, keep_default_na=False)
        original = pd.read_csv(self.folder / "people.csv", dtype=str, keep_default_na=False).set_index("no", drop=False)
        self.after = masked.to_dict("records")
        self.before = original.loc[masked["no"]].to_dict("records")
        self.record = json.loads((self.folder / "run.json").read_text())

    @cached_property
    def masked_by(self) -> dict[str, list[str]]:
        """Methods of the steps that mask each variable."""
        found: dict[str, list[str]] = defaultdict(list)
        for step in self.world.steps:
            for name in step.get("variables", ()):
                found[name].append(step["method"])
        return found

    @cached_property
    def coarse(self) -> set[str]:
        """Variables that are published as coarser categories."""
        return {name for name, methods in self.masked_by.items() if any(each in COARSER for each in methods)}

    @cached_property
    def emptied(self) -> list[tuple[int, str]]:
        """Cells that had a value and have none."""
        names = [name for name in self.after[0] if name in self.before[0]] if self.after else []
        synthetic = {name for name, methods in self.masked_by.items() if "cart_synthesis" in methods}
        holes = {name for name in names if any(row[name] in self.world.missing[name] for row in self.before)}
        return [
            (place, name)
            for place, (new, old) in enumerate(zip(self.after, self.before, strict=True))
            for name in names
            if new[name] == "" and (old[name] not in self.world.missing[name])
            and not (name in synthetic and name in holes)
        ]  # fmt: skip

    def leaves(self, name: str, text: str) -> frozenset[str]:
        """Values that a published text may stand for."""
        if name not in self.coarse:
            return frozenset([text])
        known = self.world.levels.get(name, {})
        if text in known:
            return known[text]
        if name == "age":
            return _ages(text)
        low, _, high = text.partition(" to ")
        order = ORDERED[name]
        return frozenset(order[order.index(low) : order.index(high) + 1])

    @cached_property
    def labels(self) -> dict[str, list[str]]:
        """Texts that each variable may be published as."""
        found: dict[str, list[str]] = {}
        for name in self.world.missing:
            shown = {row[name] for row in self.after if name in row} - self.world.missing[name]
            values = set(self.world.values(name))
            if name in self.coarse:
                covered: set[str] = set()
                for each in shown:
                    covered |= self.leaves(name, each)
                found[name] = sorted(shown) + sorted(values - covered)
            else:
                found[name] = sorted(shown | values)
        return found

    def occurring(self, names: tuple[str, ...]) -> set[tuple[str, ...]]:
        """Combinations of the original, each value as it is published."""
        ways = {name: {} for name in names}  # type: dict[str, dict[str, list[str]]]
        for name in names:
            for label in self.labels[name]:
                for value in self.leaves(name, label):
                    ways[name].setdefault(value, []).append(label)
        found: set[tuple[str, ...]] = set()
        for row in self.world.data.to_dict("records"):
            if all(row[name] not in self.world.missing[name] for name in names):
                found |= set(itertools.product(*(ways[name].get(row[name], [row[name]]) for name in names)))
        return found

    @cached_property
    def published_rules(self) -> dict[str, PlainRule]:
        """Rules as they were published with the file."""
        found = {}
        path = self.folder / "masked.edits.yaml"
        for each in yaml.safe_load(path.read_text()) or [] if path.exists() else []:
            text = f"if {each['when']} then {each['rule']}" if "when" in each else each["rule"]
            found[each["name"]] = plain_rule(text, self.world.missing, self.occurring)
        return found

    @cached_property
    def original_rules(self) -> dict[str, PlainRule]:
        """Rules as the person stated them."""
        there = self.world.data.to_dict("records")

        def combinations(names: tuple[str, ...]) -> set[tuple[str, ...]]:
            return {tuple(row[name] for name in names) for row in there}

        return {
            f"e{number}": plain_rule(text, self.world.missing, combinations)
            for number, text in enumerate(self.world.rules, 1)
        }

    @cached_property
    def forms(self) -> dict[str, str | None]:
        """What became of each rule: translated, weakened, or neither."""
        return {each["name"]: each["form"] for each in self.record["edits"]}

    @cached_property
    def dropped(self) -> set[str]:
        """Rules that are said to be dropped."""
        return {each["name"] for each in self.record["dropped_edits"]}


def _ages(text: str) -> frozenset[str]:
    """Years that a band of ages holds."""
    if text == "*":
        return frozenset(AGES)
    words = text.split()
    low, high = 0, int(AGES[-1])
    match words:
        case ["below", top]:
            high = int(top) - 1
        case [bottom, "and", "above"]:
            low = int(bottom)
        case [bottom, "to", "below", top]:
            low, high = int(bottom), int(top) - 1
        case [bottom, "to", top]:
            low, high = int(bottom), int(top)
        case [only]:
            low = high = int(only)
        case _:
            raise AssertionError(text)
    return frozenset(str(age) for age in range(low, high + 1))


def exists(domains: Mapping[str, Sequence[str]], fixed: Row, rules: Iterable[PlainRule]) -> bool:
    """Whether some completion of a record breaks no rule; a rule is judged as soon as all it reads is chosen."""
    open_names = sorted(domains, key=lambda name: len(domains[name]))
    place = {name: number for number, name in enumerate(open_names)}
    due: list[list[PlainRule]] = [[] for _ in open_names]
    for rule in rules:
        last = max((place[name] for name in rule.names if name in place), default=-1)
        if last >= 0:
            due[last].append(rule)
        elif rule.verdict(fixed) is False:
            return False
    chosen = dict(fixed)

    def search(depth: int) -> bool:
        if depth == len(open_names):
            return True
        for value in domains[open_names[depth]]:
            chosen[open_names[depth]] = value
            if all(rule.verdict(chosen) is not False for rule in due[depth]) and search(depth + 1):
                return True
        return False

    return search(0)


def linked(name: str, free: set[str], rules: Iterable[PlainRule]) -> tuple[set[str], list[PlainRule]]:
    """Free variables that rules tie to one, and these rules."""
    reached, left, found = {name}, [rule for rule in rules if free & set(rule.names)], []
    while touching := [rule for rule in left if reached & set(rule.names)]:
        left = [rule for rule in left if rule not in touching]
        found += touching
        for rule in touching:
            reached |= set(rule.names) & free
    return reached, found


def broken_rules(release: Release) -> list[str]:
    """Rules that a published record breaks, as published, as stated, or by every value that it may stand for."""
    names = {*release.published_rules, *release.dropped}
    found = Counter(
        f"{name} is neither published nor dropped"
        for name, rule in release.original_rules.items()
        if name not in names and not set(rule.names) & release.coarse
    )
    gone: dict[int, set[str]] = defaultdict(set)
    for place, name in release.emptied:
        gone[place].add(name)
    for place, row in enumerate(release.after):
        found.update(
            f"{name} as published is broken: {rule.text}"
            for name, rule in release.published_rules.items()
            if rule.verdict(row) is False
        )
        for name, rule in release.original_rules.items():
            if name not in release.dropped and (fault := _fault(release, name, row, gone[place])):
                found[f"{name} {fault}: {rule.text}"] += 1
    return [f"{what} ({count} records)" for what, count in found.items()]


def _fault(release: Release, name: str, row: Row, gone: set[str]) -> str:
    """What a record says against a rule as it was stated; empty: nothing."""
    rule, missing = release.original_rules[name], release.world.missing
    banded = {each for each in set(rule.names) & release.coarse if row[each] not in missing[each]}
    domains = {each: sorted(release.leaves(each, row[each])) for each in banded}
    if "age" in domains and "age in [0, 95]" in release.world.rules:
        domains["age"] = [each for each in domains["age"] if int(each) <= 95]
    # Who was emptied had a value: the rule is about that. Which cells synthesis left without one, nobody knows.
    drawn = {each for each in rule.names if row[each] == "" and "cart_synthesis" in release.masked_by[each]}
    free = drawn | (gone & set(rule.names))
    domains |= {each: release.world.values(each) for each in free}
    if not exists(domains, row, [rule]):
        return "as stated is broken"
    if release.forms.get(name) != "translated" or free or "original" in rule.text:
        return ""
    values = itertools.product(*domains.values())
    if any(rule.verdict({**row, **dict(zip(domains, each, strict=True))}) is False for each in values):
        return "is translated, and some values break it"
    return ""


def derivable_cells(release: Release, rules: Sequence[PlainRule], *, as_published: bool) -> list[str]:
    """Emptied cells that have one possible category left by these rules."""
    world = release.world
    holes = {name for name in world.data if (world.data[name] == "").any()}
    found: Counter[str] = Counter()
    known: dict[object, bool] = {}
    for place, name in release.emptied:
        row = release.after[place]
        labels = release.labels[name]
        if len(labels) < 2:
            continue
        free = {each for each in row if row[each] == ""}
        banded = set() if as_published else {each for each in release.coarse if row[each] not in world.missing[each]}
        reached, touching = linked(name, free | banded, rules)
        if not touching:
            continue
        key = (name, frozenset(reached), tuple((each, row[each]) for rule in touching for each in rule.names))
        if key not in known:
            domains: dict[str, list[str]] = {}
            for each in reached - {name}:
                if each in banded:
                    domains[each] = sorted(release.leaves(each, row[each]))
                else:
                    domains[each] = release.labels[each] if as_published else world.values(each)
                    domains[each] = [*domains[each], *([""] if each in holes else [])]
            possible = 0
            for label in labels:
                own = [label] if as_published else sorted(release.leaves(name, label))
                possible += exists(domains | {name: own}, row, touching)
                if possible > 1:
                    break
            known[key] = possible < 2
        if known[key]:
            found[f"{name} follows in a record, by {'; '.join(rule.text for rule in touching)}"] += 1
    return [f"{what} ({count})" for what, count in found.items()]


def inferable_cells(release: Release) -> list[str]:
    """Emptied cells that stand in other records with the same label, town or household."""
    found: Counter[str] = Counter()
    for place, name in release.emptied:
        givers = [
            giver
            for giver in FOLLOWS.get(name, ())
            if set(release.masked_by[name]) | set(release.masked_by[giver]) <= set(TOGETHER)
        ]
        if release.world.cluster and name in ("region", "town", "rname"):
            givers.append("household")
        for giver in givers:
            told = release.after[place].get(giver, "")
            if told == "" or not set(release.masked_by[name]) <= set(TOGETHER):
                continue
            others = {row[name] for row in release.after if row[giver] == told and row[name] != ""}
            if len(others) == 1 and len(release.labels[name]) > 1:
                found[f"{name} is inferred from {giver}"] += 1
    return [f"{what} ({count})" for what, count in found.items()]


def changed_cells(release: Release) -> list[str]:
    """Variables that no step masks and that changed, and values that removing steps made other ones."""
    found: Counter[str] = Counter()
    for new, old in zip(release.after, release.before, strict=True):
        for name, text in new.items():
            methods = release.masked_by[name]
            if name in ("household", "weight") or text == "":
                continue
            if name not in old or not all(each in ONLY_REMOVING for each in methods):
                continue
            if text in release.world.missing[name] or old[name] in release.world.missing[name]:
                found[f"{name} is missing, and was not, or the other way round"] += text != old[name]
            elif old[name] not in release.leaves(name, text):
                found[f"{name} is another value"] += 1
    return [f"{what} ({count} records)" for what, count in found.items() if count]


def counted(shown: list[tuple[str | None, ...]], count: str) -> list[int]:
    """Whom each record counts, itself among them, pair by pair."""
    if count == "own":
        sizes = Counter(shown)
        return [sizes[mine] for mine in shown]
    found = []
    for mine in shown:
        number = 0
        asked = sum(each is not None for each in mine)
        for its in shown:
            both = [(a, b) for a, b in zip(mine, its, strict=True) if a is not None and b is not None]
            matches = all(a == b for a, b in both)
            number += mine == its or (
                matches
                and (
                    None not in its
                    or (count != "alpha0" and len(both) == asked)
                    or (count == "wildcard" and 2 * len(both) > asked)
                )
            )
        found.append(number)
    return found


def missed_promises(release: Release) -> list[str]:
    """k, l, t and k-map that do not hold by an own count, of steps whose keys no later step touches."""
    found: list[str] = []
    for number, step in enumerate(release.world.steps):
        keys, params = step.get("variables", []), step["params"]
        later = {name for each in release.world.steps[number + 1 :] for name in each.get("variables", ())}
        if step["method"] not in ENFORCING or later & set(keys):
            continue
        for each in _key_sets(keys, params):
            found += _missed_k(release, each, params)
        for asked, missed in (("l", _missed_l), ("t", _missed_t)):
            for name, bound in params.get(asked, {}).items():
                found += missed(release, keys, name, bound) if name not in later else []
        if "k_map" in params:
            sums = (sum(int(release.after[i]["weight"]) for i in each) for each in classes(release, keys).values())
            found += ["k_map is not reached"] if min(sums) < params["k_map"] else []
    return found


def _key_sets(keys: list[str], params: dict[str, Any]) -> list[list[str]]:
    if "subsets" in params:
        return [list(each) for each in itertools.combinations(keys, params["subsets"])]
    return list(params["key_sets"].values()) if "key_sets" in params else [keys]


def classes(release: Release, keys: Sequence[str]) -> dict[tuple[str, ...], list[int]]:
    """Places of records that are equal on keys, a missing cell being a value, whatever its code."""
    found: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, row in enumerate(release.after):
        found[tuple("" if row[key] in release.world.missing[key] else row[key] for key in keys)].append(place)
    return found


def _missed_k(release: Release, keys: Sequence[str], params: dict[str, Any]) -> list[str]:
    missing = release.world.missing
    if release.world.cluster is None:
        shown = [tuple(None if row[key] in missing[key] else row[key] for key in keys) for row in release.after]
        least = min(counted(shown, params.get("count", "own")))
    elif params.get("count", "own") == "own":
        least = min(
            len({release.after[i]["household"] for i in members}) for members in classes(release, keys).values()
        )
    else:
        return []
    return [f"k is {least} on {keys}"] if least < params["k"] else []


def _missed_l(release: Release, keys: Sequence[str], name: str, least: Any) -> list[str]:
    for members in classes(release, keys).values():
        counts = Counter(release.after[i][name] for i in members)
        for text in release.world.missing[name]:
            counts.pop(text, None)
        total = counts.total()
        if not total:
            return [f"l of {name}: a class without a value"]
        if isinstance(least, int):
            met = len(counts) >= least
        elif "entropy" in least:
            met = math.exp(-sum(c / total * math.log(c / total) for c in counts.values())) >= least["entropy"] - 1e-9
        else:
            falling = sorted(counts.values(), reverse=True)
            met = falling[0] < least["c"] * sum(falling[least["recursive"] - 1 :])
        if not met:
            return [f"l of {name} is missed"]
    return []


def _missed_t(release: Release, keys: Sequence[str], name: str, most: Any) -> list[str]:
    missing = release.world.missing[name]
    whole = Counter(row[name] for row in release.after if row[name] not in missing)
    order = [each for each in ORDERED.get(name, sorted(whole)) if each in whole]
    ordered = name in ORDERED and not isinstance(most, dict)
    bound = most["most"] if isinstance(most, dict) else most
    for members in classes(release, keys).values():
        counts = Counter(release.after[i][name] for i in members if release.after[i][name] not in missing)
        if not counts:
            # Shares of nothing: t is not defined.
            continue
        gaps = [counts[each] / counts.total() - whole[each] / whole.total() for each in order]
        if ordered:
            distance = sum(abs(each) for each in itertools.accumulate(gaps)) / max(len(order) - 1, 1)
        else:
            distance = sum(abs(each) for each in gaps) / 2
        if distance > bound + 1e-9:
            return [f"t of {name} is {distance:.3f}"]
    return []


def other_facts(release: Release) -> list[str]:
    """Places that swapping lost, and samples of another size."""
    found = []
    only = release.world.steps[0] if len(release.world.steps) == 1 else {"method": ""}
    if only["method"] == "targeted_swapping":
        places = [Counter((row["region"], row["town"]) for row in rows) for rows in (release.before, release.after)]
        if places[0] != places[1]:
            found.append("other numbers of records live in places")
    if only["method"] in ("data_swapping", "rank_swapping", "targeted_swapping") and not release.record["moved"]:
        found += [
            f"{name} has other frequencies"
            for name in only["variables"]
            if Counter(row[name] for row in release.before) != Counter(row[name] for row in release.after)
        ]
    if only["method"] == "sampling" and release.world.cluster is None:
        wanted = only["params"]["fraction"] * len(release.world.data)
        if abs(len(release.after) - wanted) > 1:
            found.append("the sample has another size")
    return found


CHECKS: dict[str, Callable[[Release], list[str]]] = {
    "rules": broken_rules, "derivable": lambda release: [
        *derivable_cells(release, list(release.published_rules.values()), as_published=True),
        *derivable_cells(release, [rule for name, rule in release.original_rules.items() if name not in
                                   release.dropped], as_published=False),
        *inferable_cells(release),
    ],
    "changed": changed_cells, "promises": missed_promises, "other": other_facts,
}  # fmt: skip
