"""Every bad plugin of the tests as a row of one table: what it does, who catches it, and what is said.

Each is tried twice: with the checks of its kind in the kit, at its author's desk, and by a run that uses it. The tables
are those that the tests are made of.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import re
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import bad_formats
import bad_plugins
from bad_onlookers import HARMLESS_OBSERVERS, OBSERVERS, REPORTS
from bad_packages import PACKAGES
from bad_pipelines import write_data, write_pipeline
from bad_plugins import BAD_PLUGINS, CLAIMING, HANGING, HARMLESS, BadPlugin, module_of
from bad_rule_languages import BAD_RULE_LANGUAGES
from installing import package
from test_bad_sources import folder_with_data

from maskwright import Claims, Method, testing
from maskwright.cli.main import main
from maskwright.plugins import registry
from maskwright.plugins.hooks import HOOKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

KIT: Mapping[str, Callable[..., list[Any]]] = {
    "method": testing.method_checks, "measure": testing.measure_checks, "partition": testing.partition_checks,
    "source": testing.source_checks, "rule_language": testing.rule_language_checks, "report": testing.report_checks,
    "engine": testing.engine_checks, "attack": testing.attack_checks,
}  # fmt: skip
DOCUMENTED = {"summary": "One of the bad ones.", "reference": "none", "example": "method: spoiler\n"}
"""What a plugin says of itself, so that the kit fails for what it does."""
ABOUT_ITSELF = ("documented", "example", "title", "examples")


@dataclass(frozen=True)
class Ran:
    """What a command came to.

    Attributes
    ----------
    code : int
    said : str
        Standard error, or of `maskwright plugins` what it lists, in one line.
    first : str
        Its first line.
    released : bytes or None
        The masked file.
    """

    code: int
    said: str
    first: str
    released: bytes | None


@dataclass(frozen=True)
class Row:
    """A bad plugin, and what came of it.

    Attributes
    ----------
    kind, does : str
    kit : str
        Check that fails; ``-`` for none, and why.
    engine : str
        ``refused``; ``told``: released rightly, and said; ``harmless``: what it does changes nothing.
    message : str
    is_wrong : bool
        A file was released that is not the one that it should be.
    is_silent : bool
        Exit code 0, and no file was released.
    is_unnamed : bool
        It was refused, or told of, without its name and that of its package.
    """

    kind: str
    does: str
    kit: str
    engine: str
    message: str
    is_wrong: bool
    is_silent: bool
    is_unnamed: bool


def rows() -> Iterator[Row]:
    """Try every bad plugin."""
    for bad in (*BAD_PLUGINS, *HANGING, *HARMLESS, *CLAIMING, *OBSERVERS, *HARMLESS_OBSERVERS, *REPORTS):
        yield _of_plugin(bad)
        bad_plugins.end_what_hangs()
    yield from map(_of_plugin, BAD_RULE_LANGUAGES)
    yield from map(_of_source, bad_formats.SOURCES)
    yield from map(_of_claim, bad_formats.CLAIMS)
    for shadowed in (*bad_formats.SHADOWED, *_shadowed_methods()):
        yield _of_hidden(shadowed.kind, shadowed.name, shadowed.does, shadowed.plugin)
    yield from _of_packages()


def table(found: list[Row]) -> str:
    """The rows as Markdown, and below what they come to."""
    lines = ["| kind | what it does | the kit | the engine | first line of the message |", "|---|---|---|---|---|"]
    for row in found:
        cells = (row.kind.replace("_", " "), row.does, row.kit, row.engine, row.message)
        lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return "\n".join([*lines, "", counts(found)])


def counts(found: list[Row]) -> str:
    """Last line of the table."""
    by_kit = sum(not row.kit.startswith("-") for row in found)
    by_engine = sum(row.engine != "no" for row in found)
    neither = sum(row.kit.startswith("-") and row.engine == "no" for row in found)
    return (
        f"{len(found)} bad plugins: {by_kit} caught by the kit, {by_engine} by the engine, {neither} by neither; "
        f"released wrong {sum(row.is_wrong for row in found)}, "
        f"exit 0 without release {sum(row.is_silent for row in found)}, "
        f"messages that do not name the plugin {sum(row.is_unnamed for row in found)}"
    )


def caught_by_kit(kind: str, plugin: Any) -> str:
    """First check of the kit that a plugin fails; ``-`` and why there is none."""
    if kind not in KIT:
        return "- (no kit)"
    told = {name: value for name, value in DOCUMENTED.items() if hasattr(plugin, name)}
    known = replace(plugin, **told)
    for parameter in KIT[kind]([known]):
        check = str(parameter.id).removeprefix(f"{plugin.name}-")
        if check in ABOUT_ITSELF:
            continue
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                parameter.values[0]()
            except KeyboardInterrupt:
                raise
            except BaseException:  # noqa: BLE001 - whatever it is, the author sees it
                return check
    return "-"


def _of_plugin(bad: BadPlugin) -> Row:
    words = [word for each in bad.settings for word in ("--set", each)]

    def used(folder: Path) -> list[str]:
        write_data(folder)
        path = write_pipeline(folder, bad.kind)
        return ["run", str(path), "--json", *words]

    right = _reference(bad)
    found = _ran(used, [_entry(module_of(bad))], says=bad.says)
    never_ends = any("plugin_seconds" in each for each in bad.settings)
    kit = "- (it would wait)" if never_ends else caught_by_kit(bad.kind, bad.offered)
    named = next(iter(bad.offered)) if bad.kind == "observer" else "spoiler"
    is_told = bool(bad.says) and re.search(bad.says, found.said) is not None
    return _row(bad.kind, bad.name, kit, found, right, is_told=is_told, names=(named, "bad"))


def _reference(bad: BadPlugin) -> bytes | None:
    """The file that is released where a plugin does nothing bad."""

    def used(folder: Path) -> list[str]:
        write_data(folder)
        return ["run", str(write_pipeline(folder, bad.kind)), "--json"]

    if bad.kind in ("partition", "measure"):
        return None
    fine = Method(name="spoiler", protect=bad_plugins.fine, claims=Claims(handles_missing=True))
    return _ran(used, [_entry(module_of(BadPlugin("", "method", fine, "")))]).released


def _of_source(bad: bad_formats.BadPlugin) -> Row:
    def used(folder: Path) -> list[str]:
        return ["run", str(folder_with_data(folder)), "--json"]

    found = _ran(used, [package("bad", register_sources=[bad.plugin])], file="out.rows")
    return _row(
        bad.kind, bad.does, caught_by_kit(bad.kind, bad.plugin), found, None, is_told=True, names=("rows", "bad")
    )


def _of_claim(bad: bad_formats.BadPlugin) -> Row:
    """One that claims files of others: these files are read and written as they were before it was installed."""

    def used(folder: Path) -> list[str]:
        write_data(folder)
        path = write_pipeline(folder, "report")
        text = path.read_text(encoding="utf-8")
        if bad.kind == "rule_language":
            (folder / "rules.yaml").write_text("edits: ['age in [0, 120]']", encoding="utf-8")
            text += "edits: [{yaml: rules.yaml}]\n"
        if ".csv.gz" in bad.plugin.suffixes:
            (folder / "data.csv.gz").write_bytes(gzip.compress((folder / "data.csv").read_bytes()))
            text = text.replace("data.csv", "data.csv.gz")
        path.write_text(text, encoding="utf-8")
        return ["run", str(path)]

    right = _ran(used, []).released
    found = _ran(used, [package("bad", **{HOOKS[bad.kind]: [bad.plugin]})])
    is_told = "aaa of package bad claims" in found.said
    kit = "- (it may, where it is named)"
    return _row(bad.kind, bad.does, kit, found, right, is_told=is_told, names=("aaa", "bad"))


def _of_hidden(kind: str, name: str, does: str, plugin: Any) -> Row:
    """One that could never be reached: it is refused when it is offered."""
    del name
    found = _ran(lambda _: ["plugins", "--strict", "--json"], [package("bad", **{HOOKS[kind]: [plugin]})])
    return _row(kind, does, caught_by_kit(kind, plugin), found, None, is_told=True, names=("bad",))


def _shadowed_methods() -> Iterator[bad_formats.BadPlugin]:
    for params in (bad_formats.Grouped, bad_formats.Patterns):
        plugin = Method(name="spoiler", protect=bad_formats.protect, params=params)
        name = next(iter(params.model_fields))
        yield replace(bad_formats.SHADOWED[0], kind="method", does=f"has a parameter {name}", plugin=plugin)


def _of_packages() -> Iterator[Row]:
    for bad in PACKAGES:

        def used(folder: Path) -> list[str]:
            write_data(folder)
            return ["run", str(write_pipeline(folder, "method")), "--json"]

        found = _ran(used, [_entry(bad.module())])
        kit = "- (it looks at plugins)" if bad.plugin is None else _kit_in_package(bad.module(), bad.plugin)
        yield _row("package", bad.name, kit, found, None, is_told=True, names=("bad",))


def _kit_in_package(module: Any, plugin: Any) -> str:
    """What the kit says of a plugin of a package that is imported."""
    plugin.protect.__module__ = module.__name__
    with mock.patch.dict(sys.modules, {module.__name__: module}):
        return caught_by_kit("method", plugin)


def _row(
    kind: str, does: str, kit: str, found: Ran, right: bytes | None, *, is_told: bool, names: tuple[str, ...]
) -> Row:
    is_wrong = found.released is not None and found.released != right
    if found.code != 0:
        engine = "refused" if found.released is None else "refused; the release stands"
    else:
        engine = "no" if is_wrong or found.released is None else "told" if is_told else "harmless"
    is_speaking = engine not in ("harmless", "no")
    return Row(
        kind, does, kit, engine, found.first if is_speaking else "", is_wrong,
        found.code == 0 and found.released is None,
        # What a run tells beside its result names the plugin, and its package where two of them are told apart.
        is_speaking and not all(name in found.said for name in (names[:1] if engine == "told" else names)),
    )  # fmt: skip


def _ran(used: Callable[[Path], list[str]], installed: list[Any], file: str = "masked.csv", says: str = "") -> Ran:
    """Run a command in a folder of its own, beside packages."""
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as name, _installed(installed):
        words = used(Path(name))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
        path = Path(name) / file
        released = path.read_bytes() if path.is_file() else None
        record = Path(name) / "run.json"
        notices = (
            [each["message"] for each in json.loads(record.read_text(encoding="utf-8"))["notices"]]
            if record.is_file()
            else []
        )
    if words[0] == "plugins":
        listed = json.loads(out.getvalue())["plugins"]
        told = "\n".join(f"{each['distribution']} {each['name']}: {each['error']}" for each in listed if each["error"])
    else:
        told = "\n".join([err.getvalue(), *notices])
    lines = [line for line in told.splitlines() if re.search(says or "bad|spoiler", line)]
    lines = lines or [line for line in told.splitlines() if re.search("bad|spoiler", line)] or [""]
    return Ran(code, " ".join(told.split()), " ".join(lines[0].split()), released)


def _entry(module: Any) -> Any:
    """Entry point of a module with hooks, as package ``bad`` 1.2."""
    point = package("bad")
    vars(point)["module"] = module
    return point


@contextlib.contextmanager
def _installed(packages: list[Any]) -> Iterator[None]:
    there = tuple(vars(registry)["entry_points"](group="maskwright"))
    with mock.patch.object(registry, "entry_points", return_value=(*there, *packages)):
        registry.plugins.cache_clear()
        try:
            yield
        finally:
            registry.plugins.cache_clear()
