"""Names that a page uses and that are not there: commands, options, keys, methods, measures, doubts."""

from __future__ import annotations

import argparse
import re
import shlex
from functools import cache
from typing import TYPE_CHECKING, Any

import yaml
from markdown_it import MarkdownIt
from page_blocks import fenced_blocks

import maskwright as mw
from maskwright.cli.completion import command_names
from maskwright.cli.further_commands import command_parser, commands
from maskwright.cli.main import build_parser
from maskwright.cli.show.explain import explained_names
from maskwright.foundation.doubts import DOUBT_KINDS
from maskwright.pipeline.file_model import PipelineFile
from maskwright.plugins.registry import plugins

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OF_OTHER_FILES = {"grid", "aliases", "include", "plugins"}
"""Keys of experiments and of files of edits; and of pipelines whose names come from a file of the page."""
_DOUBT = re.compile(r"\bW[1-9]\d\d\b")
_OPTION = re.compile(r"--[a-z][a-z-]*")
_OWN = re.compile(r'\bname="(\w+)"')
_EXPLAINED = re.compile(r"maskwright explain (\w+)")
_LINE = re.compile(r"^(?:\$ )?(maskwright .*)$")
_PLACE = re.compile(r"[A-Z][A-Z_.]*|\.\.\.|…|\[.*|<.*")
"""A word that stands for any."""


def unknown_names(path: Path) -> list[str]:
    """What a page names that there is not, with the line of each.

    Parameters
    ----------
    path : Path
    """
    return names_unknown_in(path.read_text(encoding="utf-8"))


def names_unknown_in(text: str) -> list[str]:
    """The same of the text of a page."""
    blocks = fenced_blocks(text).blocks
    # What pip or docker take is said in blocks that are not run; a plugin of the page's own says its name in Python.
    elsewhere = {option for block in blocks if block.not_run for option in _OPTION.findall(block.code)}
    own = set(_OWN.findall(text))
    for block in blocks:
        # A plugin that is installed there can be explained there.
        own |= set(_EXPLAINED.findall(block.code)) if block.not_run else set()
    found = [
        f"line {line}: {said}" for line, code in _inline_code(text) if code not in elsewhere for said in _of_code(code)
    ]
    for number, line in enumerate(text.splitlines(), 1):
        found += [f"line {number}: there is no doubt {each}" for each in _DOUBT.findall(line) if not _is_doubt(each)]
    for block in blocks:
        if block.language == "console":
            lines = block.code.replace("\\\n", " ").splitlines()
            commands = [said[1] for each in lines if (said := _LINE.match(each)) is not None]
            found += [f"line {block.line}: {said}" for command in commands for said in _of_command(command)]
        elif block.language == "yaml" and block.not_run is None:
            found += [f"line {block.line}: {said}" for said in _of_settings(block.code)]
    return [each for each in found if not own.intersection(re.findall(r"'(\w+)'", each))]


def _is_doubt(name: str) -> bool:
    return name in {each.id for each in DOUBT_KINDS.values()}


def _inline_code(text: str) -> Iterator[tuple[int, str]]:
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        for child in token.children or ():
            if child.type == "code_inline":
                yield (token.map or [0])[0] + 1, child.content


def _of_code(code: str) -> Iterator[str]:
    if code.startswith("maskwright "):
        yield from _of_command(code)
    elif re.fullmatch(r"--[a-z-]+", code) and code not in set().union(*_options().values()):
        yield f"no command has the option {code}"


def _of_command(line: str) -> Iterator[str]:
    """What a command line names that there is not; it ends where another program's begins."""
    try:
        words = shlex.split(re.split(r"\s(?:&&|\||>)\s", line)[0], comments=True)[1:]
    except ValueError:
        return
    if not words or words[0].startswith("-") or _PLACE.fullmatch(words[0]):
        return
    options = _options()
    if words[0] not in options:
        yield f"there is no command {words[0]!r}"
        return
    for word in words[1:]:
        option = word.partition("=")[0]
        if re.fullmatch(r"--[a-z][a-z-]*", option) and option not in options[words[0]]:
            yield f"{words[0]} has no option {option}"
    if words[0] == "explain" and len(words) == 2 and not _PLACE.fullmatch(words[1]):
        names = [*explained_names(), *(each.id for each in DOUBT_KINDS.values())]
        if words[1] not in names:
            yield f"there is nothing called {words[1]!r} to explain"


@cache
def _options() -> dict[str, set[str]]:
    """Options of each command, those of the commands inside of it too."""
    parser = build_parser()
    found: dict[str, set[str]] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found |= {name: _options_of(sub) for name, sub in action.choices.items()}
    assert set(found) == command_names(parser)
    return found | {name: _options_of(command_parser(each)) for name, each in commands().items()}


def _options_of(parser: argparse.ArgumentParser) -> set[str]:
    found = {name for action in parser._actions for name in action.option_strings}
    inside = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return found.union(*(_options_of(sub) for action in inside for sub in action.choices.values()))


def _of_settings(text: str) -> Iterator[str]:
    """Unknown names of a pipeline, or of a piece of one; of other files, their methods and measures."""
    said = yaml.safe_load(text)
    keys = {field.alias or name for name, field in PipelineFile.model_fields.items()}
    if isinstance(said, dict) and keys & set(said) and not OF_OTHER_FILES & set(said) and set(said) != {"edits"}:
        for problem in mw.pipeline_problems(text, "pipeline.yaml"):
            # A piece of a pipeline need not say what its other pieces do.
            if re.match(r"no .* called ", problem.message) and "in this pipeline" not in problem.message:
                yield problem.message
    elif not isinstance(said, dict) or "plugins" not in said:
        yield from _of_values(said)


def _of_values(said: Any) -> Iterator[str]:
    if isinstance(said, dict):
        method = said.get("method")
        if isinstance(method, str) and method not in plugins().methods and not _PLACE.fullmatch(method):
            yield f"there is no method {method!r}"
        measures = said.get("measure")
        for measure in measures if isinstance(measures, list) else []:
            name = measure if isinstance(measure, str) else next(iter(measure))
            if name not in plugins().measures:
                yield f"there is no measure {name!r}"
    for each in said.values() if isinstance(said, dict) else said if isinstance(said, list) else ():
        yield from _of_values(each)
