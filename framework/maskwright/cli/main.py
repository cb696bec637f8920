"""The command line: parse and call. Every command's work is elsewhere."""

from __future__ import annotations

import argparse
import functools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from maskwright.cli.command_support import (
    add_reading_options,
    print_json,
    reading_options,
    refuse_addresses,
    reporter,
    show,
)
from maskwright.cli.completion import COMPLETION_REQUEST, SCRIPTS, SHELLS, candidates, command_names, lines
from maskwright.cli.data_commands import add_data_commands, add_rule_commands
from maskwright.cli.experiment_commands import add_advising, add_comparing
from maskwright.foundation.exit_codes import EXIT_FINE, EXIT_INPUT, EXIT_REFUSED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from maskwright.foundation.errors import MaskwrightError
    from maskwright.foundation.progress import Reporter


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0 fine, 1 refused, 2 bad input or usage, 3 a bug, ..."""
    given = sys.argv[1:] if arguments is None else arguments
    parser = _parser()
    if list(given[:2]) == COMPLETION_REQUEST:
        return _complete(parser, given[2:])
    if given and not given[0].startswith("-") and given[0] not in command_names(parser):
        from maskwright.cli.exit_handling import ended_truthfully
        from maskwright.cli.further_commands import is_further_command, run_further_command

        if is_further_command(given[0]):
            reported = argparse.Namespace(traceback="--traceback" in given, json=False, quiet=True)
            return ended_truthfully(
                lambda: run_further_command(given),
                lambda error: _explain_error(error, reported),
                trace=reported.traceback,
            )
    chosen = parser.parse_args(given)
    command: Callable[[argparse.Namespace], int] | None = getattr(chosen, "command", None)
    if command is None:
        parser.print_help()
        return EXIT_INPUT
    from maskwright.cli.exit_handling import ended_truthfully
    from maskwright.plugins.guarding.call import show_prints

    def work() -> int:
        show_prints.on = chosen.traceback
        refuse_addresses(chosen)
        return command(chosen)

    return ended_truthfully(work, lambda error: _explain_error(error, chosen), trace=chosen.traceback)


def _explain_error(error: MaskwrightError, chosen: argparse.Namespace) -> int:
    from maskwright.foundation.errors import PluginFailed
    from maskwright.foundation.release_outcomes import ReleaseRefused

    if chosen.traceback:
        import traceback

        traceback.print_exc()
        if isinstance(error, PluginFailed) and error.error is not None:
            traceback.print_exception(error.error)
    for problem in error.problems:
        print(problem, file=sys.stderr)
    if isinstance(error, ReleaseRefused) and error.record is not None:
        if chosen.json:
            from maskwright.commands.running.recording import run_json

            print_json(run_json(error.record))
        elif not chosen.quiet:
            from maskwright.cli.show.results import print_result

            print_result(error.record)
    elif isinstance(error, ReleaseRefused) and error.summary is not None and chosen.json:
        print_json(error.summary)
    return error.exit_code


def build_parser() -> argparse.ArgumentParser:
    """Parser of the whole command line; imports nothing heavy."""
    from maskwright import __version__

    parser = argparse.ArgumentParser(
        prog="maskwright",
        description="Mask microdata, keep every edit, and measure what was lost and what could be disclosed.",
    )
    parser.add_argument("-V", "--version", action="version", version=f"maskwright {__version__}")
    parser.set_defaults(traceback=False, json=False, quiet=False)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    def add(name: str, work: Callable[[argparse.Namespace], int], says: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=says, description=says)
        sub.set_defaults(command=work)
        sub.add_argument("--traceback", action="store_true", help="show a traceback when something goes wrong")
        return sub

    def with_json(sub: argparse.ArgumentParser) -> None:
        sub.add_argument("--json", action="store_true", help="print JSON on standard output")

    demo = add("demo", _demo, "Write an example (data, edits, pipeline) and run it.")
    demo.add_argument("folder", nargs="?", type=Path, metavar="DIR", help="maskwright-demo, or maskwright-demo-levels")
    demo.add_argument("--records", type=int, metavar="N",
                      help="size of the example survey (1080; with --levels, households: 6000)")  # fmt: skip
    demo.add_argument("--levels", action="store_true",
                      help="write a survey of households and persons instead: flat, linked, nested")  # fmt: skip
    run = add("run", _run, "Run a pipeline: mask, validate, measure, release.")
    run.add_argument("--resume", action="store_true", help="go on from what a run over parts that was cut off finished")
    plan = add("plan", _plan, "Show what a pipeline would do, and who keeps each edit.")
    for sub in (run, plan):
        sub.add_argument("pipeline", type=Path, metavar="PIPELINE")
        sub.add_argument("--set", action="append", default=[], metavar="a.b=c", dest="overrides",
                         help="put a setting over the file's, for instance protect.0.params.k=10")  # fmt: skip
        with_json(sub)
    run.add_argument("--quiet", action="store_true", help="print nothing but errors")
    plan.add_argument("--no-data", action="store_true", help="plan from the declarations alone, without the data file")
    plan.add_argument("--variables", action="store_true",
                      help="show what each variable is, which line says so, and which step masks it")  # fmt: skip
    plan.add_argument("--assume-records", type=_count, metavar="N",
                      help="say what memory and time N records would take, in place of those of the file")  # fmt: skip
    add_rule_commands(add, with_json)
    measure = add("measure", _measure, "Measure information loss and disclosure risk of a masked file.")
    measure.add_argument("original", type=Path, metavar="ORIGINAL")
    measure.add_argument("masked", type=Path, metavar="MASKED")
    measure.add_argument(
        "--edits", type=Path, action="append", default=[], metavar="FILE", help="for measures that use edits"
    )
    measure.add_argument("--key", metavar="NAME", help="variable that identifies a record in both files")
    measure.add_argument("--weight", metavar="NAME", help="sampling weight of the original, for weighted measures")
    measure.add_argument("--measure", action="append", default=[], dest="measures", metavar="NAME",
                         help="pil, sse and distance_record_linkage if none is named")  # fmt: skip
    measure.add_argument("--set", action="append", default=[], dest="overrides", metavar="name.param=v")
    add_reading_options(measure)
    with_json(measure)
    add_comparing(add, with_json)
    add_advising(add, with_json)
    listed = add("plugins", _plugins, "List the installed plugins, also the broken ones.")
    listed.add_argument("--strict", action="store_true", help="Exit with 1 when one of them is broken.")
    with_json(listed)
    explain = add(
        "explain",
        _explain,
        "Explain a plugin (its parameters, its source), or a topic: edits, levels, steps, doubts, roles, experiment.",
    )
    explain.add_argument("explained", metavar="NAME", nargs="?", help="left out: what there is to explain")
    _schema_arguments(
        add("schema", _schema, "Print the JSON Schema of pipelines, experiments, files of edits, or run records.")
    )
    completion = add("completion", _completion, "Print the script with which a shell completes commands and names.")
    completion.add_argument("shell", choices=SHELLS)
    add_data_commands(add, with_json)
    return parser


_parser = functools.cache(build_parser)
"""The one that all calls of a process share."""


def _count(text: str) -> int:
    """Whole number above 0, as options take it."""
    digits = text.replace(",", "").replace("_", "")
    if not digits.isdecimal() or int(digits) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number above 0, not {text!r}")
    return int(digits)


def _schema_arguments(schema: argparse.ArgumentParser) -> None:
    schema.add_argument(
        "kind", nargs="?", choices=("pipeline", "experiment", "edits", "run_record"), default="pipeline"
    )


def _demo(chosen: argparse.Namespace) -> int:
    from maskwright.cli.show.results import print_result
    from maskwright.commands.demo.files import write_demo
    from maskwright.commands.run import run
    from maskwright.foundation.progress import stage

    shown = reporter()
    if chosen.levels:
        return _demo_of_levels(chosen, shown)
    folder = chosen.folder or Path("maskwright-demo")
    with stage(shown, "Writing the example") as progress:
        files = write_demo(folder, 1080 if chosen.records is None else chosen.records, progress)
    result = run(files.pipeline, (), shown)
    print_result(result.record)
    print(f"Next: maskwright plan {files.pipeline}")
    return EXIT_FINE


def _demo_of_levels(chosen: argparse.Namespace, shown: Reporter) -> int:
    from maskwright.cli.show.results import print_result
    from maskwright.commands.demo.levels.files import AS_TRIED, HOUSEHOLDS, write_levels_demo
    from maskwright.commands.run import run
    from maskwright.foundation.progress import stage

    folder = chosen.folder or Path("maskwright-demo-levels")
    households = HOUSEHOLDS if chosen.records is None else chosen.records
    with stage(shown, "Writing the example") as progress:
        files = write_levels_demo(folder, households, progress)
    print(f"{files.household_count:,} households, {files.person_count:,} persons in {folder}:")
    for form, data, pipeline in (
        ("flat", files.flat.name, files.pipelines[0].name),
        ("linked", f"{files.households.name}, {files.persons.name}", files.pipelines[1].name),
        ("nested", files.nested.name, files.pipelines[2].name),
    ):
        print(f"  {form:8}{data:30}{pipeline}")
    print(f"  {'edits':8}{files.edits.name}, {files.schematron.name}")
    flat = files.pipelines[0]
    print_result(run(flat, AS_TRIED, shown).record)
    print(f"Next: maskwright validate {files.flat} --edits {files.edits} --pipeline {flat}")
    return EXIT_FINE


def _run(chosen: argparse.Namespace) -> int:
    from maskwright.cli.show.results import print_result
    from maskwright.commands.run import run

    shown = reporter(quiet=chosen.quiet or chosen.json)
    result = run(chosen.pipeline, chosen.overrides, shown, resume=chosen.resume)
    if chosen.json:
        print_json(result.to_json())
    elif not chosen.quiet:
        print_result(result.record)
    return EXIT_FINE


def _plan(chosen: argparse.Namespace) -> int:
    from maskwright.commands.plan import plan_pipeline

    plan = plan_pipeline(
        chosen.pipeline, chosen.overrides, with_data=not chosen.no_data, assume_records=chosen.assume_records,
        reporter=reporter(quiet=chosen.json),
    )  # fmt: skip

    def print_text() -> None:
        from maskwright.cli.show.results import print_plan, print_planned_variables

        (print_planned_variables if chosen.variables else print_plan)(plan)

    show(chosen, plan, print_text)
    refused = any(check["refuses"] for check in plan.get("checks", ()))
    refused |= any(doubt["because"] is None for doubt in plan.get("doubts", ()))
    return EXIT_REFUSED if refused else EXIT_FINE


def _measure(chosen: argparse.Namespace) -> int:
    from maskwright.cli.show.tables import print_measures
    from maskwright.commands.measure import measure_files

    found = measure_files(
        chosen.original, chosen.masked, chosen.measures, chosen.overrides, edits=chosen.edits, key=chosen.key,
        options=reading_options(chosen), reporter=reporter(quiet=chosen.json),
    )  # fmt: skip
    show(chosen, {"measures": found}, lambda: print_measures(found))
    return EXIT_FINE


def _plugins(chosen: argparse.Namespace) -> int:
    from dataclasses import asdict

    from maskwright.cli.further_commands import command_infos
    from maskwright.cli.show.results import print_plugins
    from maskwright.plugins.registry import plugins

    infos = [asdict(info) for info in (*plugins().infos, *command_infos(command_names(_parser())))]
    show(chosen, {"plugins": infos}, lambda: print_plugins(infos))
    broken = any(info["status"] == "broken" for info in infos)
    return EXIT_REFUSED if chosen.strict and broken else EXIT_FINE


def _explain(chosen: argparse.Namespace) -> int:
    from maskwright.cli.show.explain import explain, topics

    print(topics() if chosen.explained is None else explain(chosen.explained))
    return EXIT_FINE


def _schema(chosen: argparse.Namespace) -> int:
    if chosen.kind == "edits":
        from maskwright.edits.languages.yaml.documents import edits_schema

        print_json(edits_schema())
        return EXIT_FINE
    if chosen.kind == "run_record":
        from maskwright.release.record.run_record import run_record_schema

        print_json(run_record_schema())
        return EXIT_FINE
    if chosen.kind == "experiment":
        from maskwright.experiments.experiment_file import experiment_schema

        print_json(experiment_schema())
        return EXIT_FINE
    from maskwright.pipeline.file_schema import pipeline_schema

    print_json(pipeline_schema(third_party=True))
    return EXIT_FINE


def _completion(chosen: argparse.Namespace) -> int:
    print(SCRIPTS[chosen.shell], end="")
    return EXIT_FINE


def _complete(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    # argparse would take "--" among the words for itself.
    for line in lines(candidates(parser, words)):
        print(line)
    return EXIT_FINE


LINEAR_ALGEBRA = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Environment variables by which libraries of linear algebra know how many threads to use."""


def command_line() -> NoReturn:
    """Run the command line as a process of its own."""
    # Matrices are small here, and with one thread sums are the same on every machine: more would spin for nothing.
    for name in LINEAR_ALGEBRA:
        os.environ.setdefault(name, "1")
    if "--json" in sys.argv:
        from maskwright.cli.exit_handling import keep_standard_output

        keep_standard_output()
    code = main()
    from maskwright.cli.exit_handling import leave

    leave(code)


if __name__ == "__main__":
    command_line()
