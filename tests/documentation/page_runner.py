"""Run the blocks of a page, in order, in one folder and one namespace."""

from __future__ import annotations

import contextlib
import io
import json
import re
import runpy
import shlex
import sys
import tomllib
import traceback
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import TYPE_CHECKING, Any

import yaml
from lxml import etree
from page_blocks import PageError

from maskwright.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable

    from page_blocks import CodeBlock, Page

OF_OTHER_PROGRAMS = ("dockerfile", "r", "sas", "sql")
"""Shown for those who know it from there; Maskwright cannot run them."""

PARSERS: dict[str, Callable[[str], Any]] = {
    "yaml": lambda text: list(yaml.safe_load_all(text)),
    "xml": lambda text: etree.fromstring(text.strip().encode()),
    "json": json.loads,
    "toml": tomllib.loads,
    "csv": str,
    "text": str,
}
NAMESPACE = "page_of_the_documentation"


class PageRun:
    """A page that is being run in the current folder.

    Parameters
    ----------
    page : Page
    name : str
        For messages.
    """

    def __init__(self, page: Page, name: str) -> None:
        self.page, self.name = page, name
        # pydantic and dataclasses look the module of a class up by its name.
        self.module = ModuleType(NAMESPACE)
        sys.modules[NAMESPACE] = self.module

    def run(self) -> None:
        """Run it all.

        Raises
        ------
        PageError
            With page and line of the first block that does not do what the page says.
        """
        for block in self.page.setup:
            self._python(block)
        for block in self.page.blocks:
            if block.not_run is None:
                self._block(block)

    def _block(self, block: CodeBlock) -> None:
        if block.caption is not None:
            self._write(block)
        if block.language == "console":
            self._console(block)
        elif block.language == "python" and block.caption is None:
            self._python(block)
        elif block.language in PARSERS:
            try:
                PARSERS[block.language](block.code)
            except (yaml.YAMLError, etree.XMLSyntaxError, ValueError) as error:
                raise self._mistake(block.line, f"this is no {block.language}: {error}") from error
        elif block.caption is None and block.language not in OF_OTHER_PROGRAMS:
            known = ", ".join(["console", "python", *PARSERS, *OF_OTHER_PROGRAMS])
            raise self._mistake(
                block.line, f"the language of the block is {block.language or 'not said'}; there are {known}"
            )

    def _write(self, block: CodeBlock) -> None:
        name = PurePosixPath(block.caption or "")
        if name.is_absolute() or ".." in name.parts:
            raise self._mistake(block.line, f"{name} lies outside of the page's folder")
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.code, encoding="utf-8")

    def _python(self, block: CodeBlock) -> None:
        code = "\n" * (block.line - 1) + block.code
        try:
            exec(compile(code, self.name, "exec"), self.module.__dict__)
        except Exception as error:
            at = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == self.name]
            line = at[-1] if at else getattr(error, "lineno", None) or block.line
            raise self._mistake(line, f"{type(error).__name__}: {error}") from error

    def _console(self, block: CodeBlock) -> None:
        commands = _commands(block)
        if not commands:
            raise self._mistake(block.line, "no line of the console block begins with `$ `")
        for at, (line, text, shown) in enumerate(commands):
            expected = block.exit_code if at == len(commands) - 1 else 0
            code, said = self._command(line, text)
            if code != expected:
                raise self._mistake(line, f"`{text}` ended with {code}, not {expected}:\n{said}")
            missing = [each for each in shown if not _appears(each, said)]
            if missing:
                raise self._mistake(line, f"`{text}` does not show {missing[0].strip()!r}, but:\n{said}")

    def _command(self, line: int, text: str) -> tuple[int, str]:
        """Exit code and output of a line; of several joined by ``&&``, of the last."""
        code, said = 0, ""
        for part in text.split("&&"):
            words = shlex.split(part, comments=True)
            target = None
            if len(words) > 2 and words[-2] == ">":
                *words, _, target = words
            code, own, printed = self._called(line, words)
            if target is not None:
                Path(target).write_text(printed, encoding="utf-8")
                printed = ""
            said += printed + own
            if code:
                break
        return code, said

    def _called(self, line: int, words: list[str]) -> tuple[int, str, str]:
        """Exit code, standard error and standard output of one command."""
        match words:
            case ["maskwright", *arguments]:
                # Each process would load its kernels; results do not depend on how many there are.
                alone = ["--workers", "1"] if arguments[:1] in (["compare"], ["tune"]) else []
                return _captured(lambda: main([*arguments, *alone]))
            case ["python", script, *arguments] if script.endswith(".py"):
                return _captured(lambda: _script(script, arguments))
            case ["cat", *names] if names:
                for name in names:
                    self._exists(line, name)
                return 0, "", "\n".join(Path(name).read_text(encoding="utf-8") for name in names)
            case ["ls", *names] if len(names) <= 1:
                folder = Path(names[0] if names else ".")
                self._exists(line, str(folder))
                return 0, "", "\n".join(sorted(each.name for each in folder.iterdir()))
        raise self._mistake(
            line, f"`{shlex.join(words)}` is not run by the tests: maskwright, python FILE.py, cat and ls are. "
            "Write `<!-- not run: REASON -->` above the block, or another command."
        )  # fmt: skip

    def _exists(self, line: int, name: str) -> None:
        if not Path(name).exists():
            raise self._mistake(line, f"no file {name} has been written by then")

    def _mistake(self, line: int, said: str) -> PageError:
        return PageError(f"{self.name}:{line}: {said}")


def _captured(work: Callable[[], int]) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = work()
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else int(left.code is not None)
    return code, err.getvalue(), out.getvalue()


def _script(script: str, arguments: list[str]) -> int:
    given = sys.argv
    sys.argv = [script, *arguments]
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        sys.argv = given
    return 0


def _commands(block: CodeBlock) -> list[tuple[int, str, list[str]]]:
    """Line, text and shown output of each command."""
    found: list[tuple[int, str, list[str]]] = []
    goes_on = False
    for number, line in enumerate(block.code.splitlines(), block.line):
        if goes_on:
            at, text, shown = found[-1]
            found[-1] = (at, f"{text} {line.strip().removesuffix(chr(92)).rstrip()}", shown)
            goes_on = line.rstrip().endswith("\\")
        elif line.startswith("$ "):
            goes_on = line.rstrip().endswith("\\")
            found.append((number, line[2:].rstrip().removesuffix("\\").rstrip(), []))
        elif found and line.strip() and "..." not in line:
            found[-1][2].append(line)
        elif not found and line.strip():
            found.append((number, "", [line]))
    return [each for each in found if each[1]]


def _appears(shown: str, said: str) -> bool:
    """Whether a line stands in an output: white space counts as one blank, and numbers are whole ones."""
    words = " ".join(shown.split())
    pattern = rf"(?<![\d.,]){re.escape(words)}(?![.,]?\d)" if words else ""
    return re.search(pattern, " ".join(said.split())) is not None
