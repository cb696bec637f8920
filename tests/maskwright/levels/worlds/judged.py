"""Worlds one after another: validated and run through the command line, judged, and counted."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import traceback
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml
from worlds.judging import Release, schematron_violations, tables_of, violations
from worlds.pipelines import pipeline
from worlds.refusals import counted_reasons
from worlds.world import World

from maskwright.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

FORMS = ("flat", "linked", "nested")
SOURCES = {
    "flat": "flat.csv",
    "linked": {"household": "households.csv", "person": "persons.csv"},
    "nested": "nested.xml",
}  # fmt: skip
OUTPUTS = ("out.csv", "out.xml", "out_households.csv", "out_persons.csv", "keys.csv", "run.json")
REFUSED = (1, 2)
EVERY = 20
MOST_TIMES = 6
"""Runs of a world: each waives the doubts that stopped the one before."""


@dataclass
class Tally:
    """What became of the worlds.

    Attributes
    ----------
    worlds, verdicts : int
        Worlds, and verdicts on arrival that were compared.
    released, tried : Counter
        Runs by method.
    forms : Counter
        Releases by form.
    refused : Counter
        Runs by exit code and reason; a run that was refused for doubts alone is run again without them.
    rules : Counter
        Rules in released worlds, by name.
    examples : dict
        World and sentence of the first refusal for each reason.
    alike : int
        Worlds of which two forms gave the same values.
    wrong : list of str
    """

    worlds: int = 0
    verdicts: int = 0
    released: Counter[str] = field(default_factory=Counter)
    tried: Counter[str] = field(default_factory=Counter)
    forms: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    doubts: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    alike: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count another tally in."""
        self.worlds += other.worlds
        self.verdicts += other.verdicts
        self.alike += other.alike
        self.wrong += other.wrong
        self.examples = {**other.examples, **self.examples}
        for name in ("released", "tried", "forms", "refused", "doubts", "rules"):
            getattr(self, name).update(getattr(other, name))


def command(*arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = main(arguments)
    return code, out.getvalue(), errors.getvalue()


def judged(seeds: Iterable[int], folder: Path, report: Callable[[Tally], None] = lambda _: None) -> Tally:
    """Judge worlds one after another; what goes wrong in judging is wrong too."""
    tally = Tally()
    for seed in seeds:
        try:
            judge(seed, folder / "world", tally)
        except Exception:  # noqa: BLE001 - a release that cannot be read is a finding
            tally.wrong.append(f"world {seed}: {traceback.format_exc()[-700:]}")
        if tally.worlds % EVERY == 0:
            report(tally)
    return tally


def show(tally: Tally) -> None:
    """Print the figures, and what is wrong."""
    print(
        f"\n{tally.worlds} worlds, {tally.forms.total()} released, {tally.refused.total()} refused", dict(tally.forms)
    )
    print(
        f"{tally.verdicts} verdicts on arrival compared, {tally.alike} worlds in two forms; wrong: {len(tally.wrong)}"
    )
    print("\nmethod: pipelines that name it, and released")
    for name, count in sorted(tally.tried.items()):
        print(f"  {name:28} {count:5} {tally.released[name]:5}")
    print("\nrefused, and why that is right")
    for why, count in counted_reasons(tally.refused).most_common():
        print(f"  {count:5}  {why}")
    print("\nreasons by themselves, with the first world of each")
    for said, count in tally.refused.most_common():
        print(f"  {count:5}  {said}\n         {tally.examples[said][:260]!r}")
    print("\ndoubts that were waived:", dict(tally.doubts.most_common()))
    print("rules in released worlds:", dict(tally.rules.most_common()))
    print("\nwrong:", *tally.wrong, sep="\n  ", flush=True)


def judge(seed: int, folder: Path, tally: Tally) -> None:
    """Validate a world, run its pipeline on one of its forms or on two, and judge what is written."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    world = World(seed)
    world.write(folder)
    tally.worlds += 1
    tally.wrong += [f"world {seed}: {each}" for each in _arrival(world, folder, tally)]
    form = FORMS[seed % len(FORMS)]
    done = _run(world, folder, form, tally)
    if done is not None and seed % 4 == 0 and not world.varying:
        other = FORMS[(seed + 1) % len(FORMS)]
        again = _run(world, folder, other, Tally())
        if again is not None:
            tally.alike += 1
            if _content(again) != _content(done):
                tally.wrong.append(f"world {seed}: {form} and {other} have different values")


def _content(release: Release) -> tuple[Any, ...]:
    cells = (release.after.households, release.after.persons)
    return tuple([sorted(row.items()) for row in rows] for rows in cells)


def _arrival(world: World, folder: Path, tally: Tally) -> Iterable[str]:
    """Verdicts of the product on the three forms that are not those of the evaluators."""
    (folder / "rules.yaml").write_text(yaml.safe_dump(world.edits(), sort_keys=False, allow_unicode=True))
    if not world.rules:
        return
    for form in FORMS if world.seed % 5 == 0 else [FORMS[world.seed % len(FORMS)]]:
        tables = tables_of(folder, form, SOURCES[form])
        (folder / "own.yaml").write_text(yaml.safe_dump({"maskwright": 1, "data": world.data_section(form)}))
        source: Any = SOURCES[form]
        files = source.values() if isinstance(source, dict) else [source]
        code, out, errors = command(
            "validate", *(str(folder / each) for each in files), "--edits", str(folder / "rules.yaml"),
            "--pipeline", str(folder / "own.yaml"), "--json",
        )  # fmt: skip
        if code not in (0, 1):
            yield f"{form}: validate ends with {code}: {errors.splitlines()[:1]}"
            continue
        said = {each["name"]: each["violations"] for each in json.loads(out)["edits"]}
        found = violations(world, tables)
        tally.verdicts += len(found)
        for name, count in found.items():
            if said.get(name) != count:
                yield f"{form}: {name}: {said.get(name)} violations on arrival, pandas finds {count}"
        for name, count in schematron_violations(world, tables, folder).items():
            if found[name] != count:
                yield f"{form}: {name}: pandas finds {found[name]} violations on arrival, isoschematron {count}"


def _run(world: World, folder: Path, form: str, tally: Tally) -> Release | None:
    """Release of a world, judged; None where it is refused."""
    settings = pipeline(world, form)
    named = {step["method"] for step in settings["protect"]}
    tally.tried.update(named)
    waived: list[dict[str, Any]] = []
    for _ in range(MOST_TIMES):
        code, errors = _once(folder, settings)
        if code == 0:
            release = Release.of(world, folder, form, settings, SOURCES[form])
            tally.released.update(named)
            tally.forms[form] += 1
            tally.rules.update(rule.name for rule in world.rules)
            tally.doubts.update(each["doubt"] for each in release.record["doubts"])
            tally.wrong += [f"world {world.seed}: {form}: {each}" for each in release.wrong()]
            return release
        if code not in REFUSED or not errors.strip():
            tally.wrong.append(f"world {world.seed}: {form}: ends with {code}: {errors.strip()[-600:]}")
            return None
        written = [each for each in OUTPUTS if (folder / each).exists()]
        if written:
            tally.wrong.append(f"world {world.seed}: {form}: refused, and {written} are written")
        doubts = [each for each in _waivers(errors) if each not in waived]
        if code != 1 or not doubts:
            said = f"{code} {reason(errors)}"
            tally.refused[said] += 1
            tally.examples.setdefault(said, f"world {world.seed} {form}: {errors.strip()[:500]}")
            return None
        tally.doubts.update(each["doubt"] for each in doubts)
        waived += doubts
        settings = pipeline(world, form, waived)
    tally.wrong.append(f"world {world.seed}: {form}: doubts that cannot be waived: {doubts}")
    return None


def _waivers(errors: str) -> list[dict[str, Any]]:
    """What a refusal for doubts says to write in the pipeline, if they are to be waived."""
    _, _, proposed = errors.partition("waive:\n")
    lines = [line.strip() for line in proposed.splitlines() if line.lstrip().startswith("- {doubt:")]
    return [each | {"because": "a made-up world"} for each in yaml.safe_load("\n".join(lines)) or ()]


def _once(folder: Path, settings: dict[str, Any]) -> tuple[int, str]:
    for name in OUTPUTS:
        (folder / name).unlink(missing_ok=True)
    path = folder / "pipeline.yaml"
    path.write_text(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True), encoding="utf-8")
    try:
        code, _, errors = command("run", str(path), "--quiet")
    except Exception as error:  # noqa: BLE001 - what a command line would end with: a bug
        return 3, f"{type(error).__name__}: {error}"
    return code, errors


def reason(errors: str) -> str:
    """First line of a refusal without its names and numbers, so that equal ones are counted together."""
    lines = [line for line in errors.splitlines() if line.strip() and "warning:" not in line[:20].lower()]
    first = lines[0] if lines else ""
    first = re.sub(r"^\S+pipeline\.yaml(:\d+)*:? ?", "", first)
    first = re.sub(r"'[^']*'|\"[^\"]*\"", "_", first)
    first = re.sub(r"\([^)]*\)", "()", first)
    return re.sub(r"\d[\d,.]*", "#", first)[:170]
