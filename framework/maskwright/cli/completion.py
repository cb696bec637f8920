"""Completion in the shell: what may stand next on a command line, by the parser itself.

The scripts only ask `maskwright completion --words ...` and show what it prints; where it prints nothing, the shell
completes names of files. Plugins are looked up when a name of one may stand there, and not before.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from maskwright.plugins.measure import Measure
    from maskwright.plugins.rules import RuleLanguage
    from maskwright.plugins.source import Source

SHELLS = ("bash", "zsh", "fish")

COMPLETION_REQUEST = ["completion", "--words"]

SCRIPTS = {
    "bash": """\
_maskwright() {
    local IFS=$'\\n'
    COMPREPLY=($(maskwright completion --words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
}
complete -o bashdefault -o default -F _maskwright maskwright
""",
    "zsh": """\
#compdef maskwright
_maskwright() {
    local -a lines found shown
    lines=("${(@f)$(maskwright completion --words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    found=("${(@)lines%%$'\t'*}")
    shown=("${(@)lines//$'\t'/  -- }")
    if [[ -n "$found[1]" ]]; then
        compadd -l -d shown -a found
    else
        _files
    fi
}
compdef _maskwright maskwright
""",
    "fish": """\
function __maskwright_complete
    set -l before (commandline -opc)
    set -e before[1]
    set -l last (commandline -ct)
    set -l found (maskwright completion --words $before "$last" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path "$last"
    end
end
complete -c maskwright -f -a '(__maskwright_complete)'
""",
}
"""How each shell asks; the line of ``completion --words`` is what was typed, up to the cursor."""

Candidates = dict[str, str]
"""What may stand there, each with a few words about it."""


def command_names(parser: argparse.ArgumentParser) -> frozenset[str]:
    """Names of the commands that come with Maskwright."""
    return frozenset(
        name for action in parser._actions  # pyright: ignore[reportPrivateUsage]
        if isinstance(action, argparse._SubParsersAction)  # pyright: ignore[reportPrivateUsage]
        for name in action.choices
    )  # fmt: skip


def candidates(parser: argparse.ArgumentParser, words: Sequence[str]) -> Candidates:
    """What may stand in the place of the last word."""
    *before, typed = words or [""]
    place = _Place(parser)
    for word in before:
        place.pass_over(word)
    return {name: text for name, text in place.candidates(typed).items() if name.startswith(typed)}


class _Place:
    """Where on the command line one is: the command, how many arguments it has got, and the option that waits."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._enter(parser)

    def _enter(self, parser: argparse.ArgumentParser) -> None:
        # argparse has no public way to ask a parser what it takes.
        actions = parser._actions  # pyright: ignore[reportPrivateUsage]
        self.options = {name: action for action in actions for name in action.option_strings}
        self.arguments = [action for action in actions if not action.option_strings]
        self.waiting: argparse.Action | None = None

    def pass_over(self, word: str) -> None:
        if self.waiting is not None:
            self.waiting = None
        elif word in self.options:
            option = self.options[word]
            self.waiting = option if option.nargs != 0 else None
        elif not word.startswith("-") and self.arguments:
            argument = self.arguments[0]
            if isinstance(argument, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]
                chosen = argument.choices.get(word)
                self._enter(chosen if chosen is not None else argparse.ArgumentParser(add_help=False))
            elif argument.nargs not in ("*", "+"):
                self.arguments = self.arguments[1:]

    def candidates(self, typed: str) -> Candidates:
        if self.waiting is not None:
            return _values(self.waiting)
        if typed.startswith("-"):
            return {name: option.help or "" for name, option in self.options.items() if name.startswith("--")}
        return _values(self.arguments[0]) if self.arguments else {}


def _values(action: argparse.Action) -> Candidates:
    if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]
        # The help of commands is kept in actions made up for it.
        return {each.dest: each.help or "" for each in action._choices_actions}  # pyright: ignore[reportPrivateUsage]
    if action.choices is not None:
        return dict.fromkeys(map(str, action.choices), "")
    if action.type is Path:
        return {}
    return _named(action)


def _named(action: argparse.Action) -> Candidates:
    """Names of plugins, and of what `maskwright explain` explains."""
    if action.dest == "explained":
        from maskwright.cli.show.explain import explained_names

        return dict.fromkeys(explained_names(), "")
    if action.dest == "plugin_kind":
        from maskwright.commands.new_plugin.package import TEMPLATE_KINDS

        return dict.fromkeys(TEMPLATE_KINDS, "")
    if action.dest not in ("measures", "file_format", "language", "to"):
        return {}
    from maskwright.plugins.registry import plugins, readable_languages

    registry = plugins()
    offered: Mapping[str, Mapping[str, Measure | Source | RuleLanguage]] = {
        "measures": registry.measures, "file_format": registry.sources, "language": readable_languages(),
        "to": {name: each for name, each in registry.rule_languages.items() if each.write is not None},
    }  # fmt: skip
    return {name: plugin.summary for name, plugin in offered[action.dest].items()}


def lines(found: Candidates) -> Iterable[str]:
    """A line for each: the word, a tab, what it is."""
    return (f"{word}\t{' '.join(text.split())}".rstrip() for word, text in found.items())
