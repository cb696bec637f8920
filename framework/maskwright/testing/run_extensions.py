"""Checks of plugins around a run: plan checks, actions and commands."""

from __future__ import annotations

import contextlib
import functools
import io
import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwright.cli.plugin_commands import command_parser, option_name
from maskwright.commands.running.preparation import plan_for_checks, prepare
from maskwright.foundation.errors import MaskwrightError
from maskwright.foundation.progress import Logged
from maskwright.pipeline.reading import read_pipeline
from maskwright.plugins.guarding.frozen import frozen
from maskwright.plugins.guarding.returned_values import checked_findings, checked_text
from maskwright.plugins.registry import pipelines_own_plugins
from maskwright.release.record.run_record import RunRecord
from maskwright.testing.checks import (
    Check,
    ChecksOf,
    Params,
    as_the_engine_takes_it,
    check_described,
    params_of,
    require,
)
from maskwright.testing.conduct import check_calls, fingerprint, prints_nothing, reveals_no_values, without_network
from maskwright.testing.reports import maximal_record, minimal_record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from maskwright.plugins.run_extensions import Action, Command, PlanCheck, PlanFinding


RECOGNISABLE_TEXTS = tuple(str(71_000_000 + 13_577 * place) for place in range(30))
"""Values of a released file that do not occur in texts by chance."""
ONE_FILE = {"data": "masked.csv"}
FILES = {**ONE_FILE, "report": "report.html", "public_record": "public.json", "edits": "rules.yaml"}


def _checks_of_action(action: Action, given: Params) -> Iterator[tuple[str, Check]]:
    yield "parameters", partial(params_of, action, given)
    yield "documented", partial(check_described, action.name, action.summary, action.params)
    yield "one_file", partial(_acts, action, given, ONE_FILE, maximal=False)
    yield "all_files", partial(_acts, action, given, FILES, maximal=True)
    yield "release_unchanged", partial(_unchanged, action, given)
    yield "twice", partial(_twice, action, given)
    yield "no_values_in_what_it_says", partial(_reveals_no_values, action, given)
    yield "prints_nothing", partial(_silent_action, action, given)


action_checks = ChecksOf("action", _checks_of_action)
"""Actions are called as after a release, with files in a temporary folder.

One that sends files somewhere sends these: give the kit `params` that name a place for tests.
"""


@contextmanager
def _released(files: Mapping[str, str]) -> Iterator[dict[str, Path]]:
    """Files of a release, by their keys."""
    with tempfile.TemporaryDirectory(prefix="maskwright-") as folder:
        outputs = {key: Path(folder) / name for key, name in files.items()}
        for key, path in outputs.items():
            rows = "".join(f"{value},north\n" for value in RECOGNISABLE_TEXTS)
            path.write_text(f"wages,region\n{rows}" if key == "data" else f"<p>{key}</p>\n", encoding="utf-8")
        yield outputs


def _act(action: Action, given: Params, outputs: Mapping[str, Path], *, maximal: bool = True) -> str:
    record = RunRecord.model_validate(maximal_record() if maximal else minimal_record()).public_json()
    found = action.act(frozen(outputs), frozen(record), params_of(action, given))
    return as_the_engine_takes_it("action", action, checked_text, found)


def _acts(action: Action, given: Params, files: Mapping[str, str], *, maximal: bool) -> None:
    with _released(files) as outputs:
        _act(action, given, outputs, maximal=maximal)


def _unchanged(action: Action, given: Params) -> None:
    with _released(FILES) as outputs:
        before = {key: path.read_bytes() for key, path in outputs.items()}
        _act(action, given, outputs)
        changed = [key for key, path in outputs.items() if path.exists() and path.read_bytes() != before[key]]
    require(
        not changed,
        f"act changed files of the release ({', '.join(changed)}): what was checked is what is passed on; "
        "write other files beside them",
    )


def _twice(action: Action, given: Params) -> None:
    """A release that is made again has the same names."""
    with _released(FILES) as outputs:
        before = {path: path.read_bytes() for path in outputs.values()}
        for _ in range(2):
            for path, content in before.items():
                path.write_bytes(content)
            _act(action, given, outputs)


def _reveals_no_values(action: Action, given: Params) -> None:
    with _released(FILES) as outputs:
        try:
            said = _act(action, given, outputs)
        except MaskwrightError as error:
            said = str(error)
    reveals_no_values(said, RECOGNISABLE_TEXTS, "what an action says and its refusals")


def _silent_action(action: Action, given: Params) -> None:
    with _released(FILES) as outputs:
        prints_nothing(lambda: _act(action, given, outputs))


def _checks_of_command(command: Command, given: Params) -> Iterator[tuple[str, Check]]:
    yield "parameters", partial(params_of, command, given)
    yield "documented", partial(check_described, command.name, command.summary, command.params)
    yield "help", partial(_help, command)
    yield "options_are_asked_for", partial(_required, command)
    yield "returns_text", partial(_text, command, given)
    yield "prints_nothing", partial(_silent_command, command, given)


command_checks = ChecksOf("command", _checks_of_command)
"""A command that reads a file needs `params` that name one of made-up records."""


def _help(command: Command) -> None:
    said = command_parser(command).format_help()
    silent = [name for name in command.params.model_fields if option_name(name) not in said]
    require(not silent, f"parameters that are no option of the command line: {', '.join(silent)}")


def _required(command: Command) -> None:
    """Require that options without a default are asked for, and others that nobody knows are refused."""
    needed = [name for name, field in command.params.model_fields.items() if field.is_required()]
    for words in ([], ["--no-such-option"]) if needed else (["--no-such-option"],):
        with contextlib.redirect_stderr(io.StringIO()):
            try:
                command_parser(command).parse_args(words)
            except SystemExit:
                continue
        raise AssertionError(f"the options {words} are taken, and should not be")


def _text(command: Command, given: Params) -> str:
    return as_the_engine_takes_it("command", command, checked_text, command.work(params_of(command, given)))


def _silent_command(command: Command, given: Params) -> None:
    prints_nothing(lambda: _text(command, given))


PEOPLE = "age,region,wages,pensions,income\n" + "".join(
    f"{20 + place},{'NSWE'[place % 4]},{100 * place},{10 * place},{110 * place}\n" for place in range(40)
)
LEAST: Mapping[str, Any] = {"protect": [{"method": "additive_noise"}], "output": {"data": "masked.csv"}}
MOST: Mapping[str, Any] = {
    "edits": ["wages + pensions == income", "age in [0, 120]"],
    "protect": [
        {"method": "microaggregation", "variables": ["wages", "pensions", "income"], "params": {"k": 3}},
        {"method": "additive_noise", "variables": ["age"]},
    ],
    "measure": ["pil", {"sse": {"as": "moved"}}],
    "thresholds": {"pil": 100},
    "waive": [{"doubt": "written-file-not-read-twice", "because": "the kit writes nothing"}],
    "output": {"data": "masked.csv", "record": "run.json", "report": "report.html"},
}
"""Pipelines whose plans checks are tried with."""


def _checks_of_plan_check(plan_check: PlanCheck, given: Params) -> Iterator[tuple[str, Check]]:
    yield "parameters", partial(params_of, plan_check, given)
    yield "documented", partial(check_described, plan_check.name, plan_check.summary, plan_check.params)
    for name in ("least", "most"):
        yield f"plan_with_{name}", partial(_sentences, plan_check, given, name)
    yield "found_alike", partial(_alike, plan_check, given)
    yield "concurrent_calls", partial(_concurrent, plan_check, given)
    yield "prints_nothing", partial(_silent_plan_check, plan_check, given)


plan_check_checks = ChecksOf("plan_check", _checks_of_plan_check)


@functools.cache
@pipelines_own_plugins()
def _plan(name: str) -> Mapping[str, Any]:
    """Plan as a check gets it: of a pipeline with as little as it may have, or with something of everything."""
    settings = {"least": LEAST, "most": MOST}[name]
    with tempfile.TemporaryDirectory(prefix="maskwright-") as folder:
        source = Path(folder) / "people.csv"
        source.write_text(PEOPLE, encoding="utf-8")
        output = {key: str(Path(folder) / file) for key, file in settings["output"].items()}
        content = {"maskwright": 1, "data": {"source": str(source)}, "seed": 1, **settings, "output": output}
        described = read_pipeline(content)
        return plan_for_checks(described, prepare(described, Logged()).plan.to_json())


def _found(plan_check: PlanCheck, given: Params, plan: Mapping[str, Any]) -> tuple[PlanFinding, ...]:
    with without_network():
        found = plan_check.check(plan, params_of(plan_check, given))
    return as_the_engine_takes_it("plan_check", plan_check, checked_findings, found)


def _sentences(plan_check: PlanCheck, given: Params, name: str) -> None:
    for each in _found(plan_check, given, _plan(name)):
        require(bool(each.message.strip()), "a finding has no message: say in one sentence what is wrong with the plan")


def _alike(plan_check: PlanCheck, given: Params) -> None:
    one, other = (fingerprint(_found(plan_check, given, _plan("most"))) for _ in range(2))
    require(one == other, "the same plan, looked at twice, gives different findings")


def _concurrent(plan_check: PlanCheck, given: Params) -> None:
    plans = [_plan("least"), _plan("most"), _plan("least"), _plan("most")]
    check_calls(plan_check.check, lambda plan: _found(plan_check, given, plan), plans)


def _silent_plan_check(plan_check: PlanCheck, given: Params) -> None:
    prints_nothing(lambda: _found(plan_check, given, _plan("most")))
