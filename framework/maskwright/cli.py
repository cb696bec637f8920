"""The command line: parse and call. Every command's work is elsewhere."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwright.advice.cli import add_advising
from maskwright.errors import EXIT_BUG, EXIT_FINE, EXIT_INPUT, EXIT_REFUSED, InputError, MaskwrightError, ReleaseRefused
from maskwright.experiments.cli import add_comparing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from maskwright.progress import Reporter

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0 fine, 1 refused, 2 bad input or usage, 3 a bug."""
    parser = build_parser()
    chosen = parser.parse_args(arguments)
    chosen.own_process = arguments is None
    command: Callable[[argparse.Namespace], int] | None = getattr(chosen, "command", None)
    if command is None:
        parser.print_help()
        return EXIT_INPUT
    try:
        return command(chosen)
    except MaskwrightError as error:
        return _explain_error(error, chosen)
    except (KeyboardInterrupt, BrokenPipeError, MemoryError) as error:
        return _explain_end(error)
    except Exception as error:  # noqa: BLE001 - the last resort: a bug is reported, not shown as a traceback
        if chosen.traceback:
            traceback.print_exc()
        log = _write_log(error)
        print(f"This is a bug in Maskwright or in a plugin ({type(error).__name__}).", file=sys.stderr)
        print(f"A log without any value of your data is in {log}; please report it.", file=sys.stderr)
        return EXIT_BUG


def _explain_end(error: BaseException) -> int:
    """Ends that are nobody's mistake."""
    if isinstance(error, BrokenPipeError):
        # Whoever read our output has gone (`maskwright plan ... | head`); that is no fault.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FINE
    if isinstance(error, MemoryError):
        print("there is not enough memory for this file; nothing was released", file=sys.stderr)
        print("    a million records of 15 variables need about 1.5 GB", file=sys.stderr)
        return EXIT_INPUT
    print("interrupted; nothing was released", file=sys.stderr)
    return INTERRUPTED


def _explain_error(error: MaskwrightError, chosen: argparse.Namespace) -> int:
    if chosen.traceback:
        traceback.print_exc()
    for problem in error.problems:
        print(problem, file=sys.stderr)
    if isinstance(error, ReleaseRefused) and error.record is not None:
        if chosen.json:
            from maskwright.reporting.run_record import run_json

            _print_json(run_json(error.record))
        elif not chosen.quiet:
            from maskwright.reporting.terminal import print_result

            print_result(error.record)
    return error.exit_code


def build_parser() -> argparse.ArgumentParser:
    """Parser of the whole command line; imports nothing heavy."""
    from maskwright import __version__

    parser = argparse.ArgumentParser(
        prog="maskwright",
        description="Mask microdata, keep every edit, and measure what was lost and what could be disclosed.",
    )
    parser.add_argument("--version", action="version", version=f"maskwright {__version__}")
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
    demo.add_argument("folder", nargs="?", default="maskwright-demo", type=Path, metavar="DIR")
    demo.add_argument("--records", type=int, default=1080, metavar="N", help="size of the example survey (1080)")
    run = add("run", _run, "Run a pipeline: mask, validate, measure, release.")
    plan = add("plan", _plan, "Show what a pipeline would do, and who keeps each edit.")
    for sub in (run, plan):
        sub.add_argument("pipeline", type=Path, metavar="PIPELINE")
        sub.add_argument("--set", action="append", default=[], metavar="a.b=c", dest="overrides",
                         help="put a setting over the file's, for instance protect.0.params.k=10")  # fmt: skip
        with_json(sub)
    run.add_argument("--quiet", action="store_true", help="print nothing but errors")
    plan.add_argument("--no-data", action="store_true", help="plan from the declarations alone, without the data file")
    validate = add("validate", _validate, "Check a data file against edits.")
    _validate_arguments(validate)
    measure = add("measure", _measure, "Measure information loss and disclosure risk of a masked file.")
    measure.add_argument("original", type=Path, metavar="ORIGINAL")
    measure.add_argument("masked", type=Path, metavar="MASKED")
    measure.add_argument(
        "--edits", type=Path, action="append", default=[], metavar="FILE", help="for measures that use edits"
    )
    measure.add_argument("--key", metavar="NAME", help="variable that identifies a record in both files")
    measure.add_argument("--weight", metavar="NAME", help="sampling weight of the original, for weighted measures")
    measure.add_argument("--cluster", metavar="NAME", help="variable of the original that names clusters (households)")
    measure.add_argument("--measure", action="append", default=[], dest="measures", metavar="NAME",
                         help="pil, sse and distance_record_linkage if none is named")  # fmt: skip
    measure.add_argument("--set", action="append", default=[], dest="overrides", metavar="name.param=v")
    for sub in (validate, measure):
        sub.add_argument("--record", metavar="NAME", help="XML element that holds one record")
        with_json(sub)
    add_comparing(add, with_json)
    add_advising(add, with_json)
    edits = add("edits", _edits, "List and classify the edits of rule files, or write them in another language.")
    _add_edit_options(edits)
    with_json(edits)
    localize = add("localize", _localize, "Name the fewest fields to change in each record that violates an edit.")
    _localize_arguments(localize)
    with_json(localize)
    with_json(add("plugins", _plugins, "List the installed plugins, also the broken ones."))
    explain = add(
        "explain",
        _explain,
        "Explain a plugin (its parameters, its source), or 'edits'.",
    )
    explain.add_argument("name", metavar="NAME")
    _schema_arguments(
        add("schema", _schema, "Print the JSON Schema of pipelines, of experiments, or of files of edits.")
    )
    init = add("init", _init, "Write a pipeline file to start from.")
    init.add_argument("folder", nargs="?", default=Path(), type=Path, metavar="DIR")
    return parser


def _localize_arguments(localize: argparse.ArgumentParser) -> None:
    localize.add_argument("data", type=Path, metavar="DATA")
    localize.add_argument("--edits", type=Path, action="append", required=True, metavar="FILE")
    localize.add_argument("--weight", action="append", default=[], dest="weights", metavar="NAME=W",
                          help="how much a variable is trusted: the cost of changing it (1)")  # fmt: skip
    localize.add_argument("--record", metavar="NAME", help="XML element that holds one record")


def _validate_arguments(validate: argparse.ArgumentParser) -> None:
    validate.add_argument("data", type=Path, metavar="DATA")
    validate.add_argument("--edits", type=Path, action="append", required=True, metavar="FILE")
    validate.add_argument("--original", type=Path, metavar="FILE", help="original data, for values-exist edits")
    validate.add_argument("--svrl", type=Path, metavar="OUT", help="write an SVRL report; it carries values of records")
    validate.add_argument("--fired", choices=("summary", "all"), default="summary",
                          help="in the SVRL report: rules fired, once each or for each record")  # fmt: skip
    validate.add_argument("--fail-on-unknown", action="store_true",
                          help="treat records whose verdict rests on a missing cell as violations")  # fmt: skip
    validate.add_argument("--phase", metavar="NAME", help="phase of a Schematron schema; #ALL for every pattern")
    validate.add_argument("--include", type=Path, metavar="FOLDER",
                          help="folder inside which a Schematron schema may include files")  # fmt: skip
    validate.add_argument("--set", action="append", default=[], dest="overrides", metavar="name=v",
                          help="option of the data format or the rules, such as max_text=5000000")  # fmt: skip


def _schema_arguments(schema: argparse.ArgumentParser) -> None:
    schema.add_argument("kind", nargs="?", choices=("pipeline", "experiment", "edits"), default="pipeline")


def _add_edit_options(edits: argparse.ArgumentParser) -> None:
    edits.add_argument("files", type=Path, nargs="*", metavar="FILE")
    edits.add_argument("--data", type=Path, metavar="FILE", help="count how many of its records satisfy each edit")
    edits.add_argument("--record", metavar="NAME", help="XML element that holds one record")
    edits.add_argument("--suggest", action="store_true",
                       help="print rules that hold in --data and do not follow from FILE")  # fmt: skip
    edits.add_argument("--share", type=float, default=1.0, metavar="S",
                       help="--suggest: also what holds in this share of the records (1)")  # fmt: skip
    edits.add_argument("--to", choices=("yaml", "schematron"), help="print the rules in this language instead")
    edits.add_argument("--from", dest="language", metavar="LANGUAGE",
                       help="their language: yaml, schematron, validate, banff; else the endings tell")  # fmt: skip
    edits.add_argument("--decimals", type=int, metavar="N",
                       help="--to schematron: most decimals of the variables (those of --data; else 4)")  # fmt: skip


def _reporter(quiet: bool = False) -> Reporter:
    if quiet:
        from maskwright.progress import Quiet

        return Quiet()
    from maskwright.reporting.progress_bar import Terminal

    return Terminal()


def _demo(chosen: argparse.Namespace) -> int:
    from maskwright.demo import write_demo
    from maskwright.pipeline_run import run
    from maskwright.progress import stage
    from maskwright.reporting.terminal import print_result

    reporter = _reporter()
    with stage(reporter, "Writing the example") as progress:
        files = write_demo(chosen.folder, chosen.records, progress)
    result = run(files.pipeline, (), reporter)
    print_result(result.record)
    print(f"\nNext: maskwright plan {files.pipeline}")
    return EXIT_FINE


def _run(chosen: argparse.Namespace) -> int:
    from maskwright.pipeline_run import run
    from maskwright.reporting.terminal import print_result

    result = run(chosen.pipeline, chosen.overrides, _reporter(chosen.quiet or chosen.json))
    if chosen.json:
        _print_json(result.to_json())
    elif not chosen.quiet:
        print_result(result.record)
    return EXIT_FINE


def _plan(chosen: argparse.Namespace) -> int:
    from maskwright.preparing import plan_pipeline
    from maskwright.reporting.terminal import print_plan

    plan = plan_pipeline(
        chosen.pipeline, chosen.overrides, with_data=not chosen.no_data, reporter=_reporter(chosen.json)
    )
    if chosen.json:
        _print_json(plan)
    else:
        print_plan(plan)
    return EXIT_FINE


def _validate(chosen: argparse.Namespace) -> int:
    if chosen.own_process and chosen.data.suffix.lower() == ".xml" and chosen.original is None:
        from maskwright.data.arrow_startup import leave_pandas_out

        leave_pandas_out()
    from maskwright.file_commands import validate_file
    from maskwright.reporting.edit_tables import print_outcome

    outcome = validate_file(
        chosen.data, chosen.edits, record=chosen.record, original=chosen.original, svrl=chosen.svrl,
        reporter=_reporter(chosen.json), fired=chosen.fired, options=_options(chosen),
    )  # fmt: skip
    found = outcome.to_json()
    if chosen.json:
        _print_json(found)
    else:
        print_outcome(found)
    unknown = any(edit["unknown"] for edit in found["edits"])
    return EXIT_FINE if outcome.ok and not (chosen.fail_on_unknown and unknown) else EXIT_REFUSED


def _options(chosen: argparse.Namespace) -> dict[str, object]:
    from maskwright.command_options import stated_options

    options = stated_options(chosen.overrides)
    if chosen.phase is not None:
        options["phase"] = chosen.phase
    if chosen.include is not None:
        options["include_folder"] = chosen.include.absolute()
    return options


def _measure(chosen: argparse.Namespace) -> int:
    from maskwright.file_commands import measure_files
    from maskwright.reporting.terminal import print_measures

    found = measure_files(
        chosen.original, chosen.masked, chosen.measures, chosen.overrides, record=chosen.record, edits=chosen.edits,
        key=chosen.key, weight=chosen.weight, cluster=chosen.cluster, reporter=_reporter(chosen.json),
    )  # fmt: skip
    if chosen.json:
        _print_json({"measures": found})
    else:
        print_measures(found)
    return EXIT_FINE


def _edits(chosen: argparse.Namespace) -> int:
    from maskwright.file_commands import convert_rules, describe_edits
    from maskwright.reporting.edit_tables import print_edits

    if chosen.suggest:
        return _suggest(chosen)
    if not chosen.files:
        raise InputError("no rule file is named; to find rules in a data file: maskwright edits --data FILE --suggest")
    if chosen.to is not None:
        text = convert_rules(
            chosen.files, chosen.to, language=chosen.language, data=chosen.data, record=chosen.record,
            decimals=chosen.decimals, reporter=_reporter(),
        )  # fmt: skip
        if chosen.json:
            _print_json({"language": chosen.to, "text": text})
        else:
            print(text, end="")
        return EXIT_FINE
    found = describe_edits(
        chosen.files, data=chosen.data, record=chosen.record, language=chosen.language, reporter=_reporter(chosen.json)
    )
    if chosen.json:
        _print_json(found)
    else:
        print_edits(found)
    return EXIT_INPUT if found["analysis"]["blocked"] else EXIT_FINE


def _suggest(chosen: argparse.Namespace) -> int:
    from maskwright.rule_commands import suggest_for_file
    from maskwright.suggestions.suggest import as_yaml

    if chosen.data is None or chosen.to is not None:
        raise InputError("--suggest finds rules in a data file: name it with --data, and leave --to out")
    found = suggest_for_file(
        chosen.data, chosen.files, share=chosen.share, record=chosen.record, language=chosen.language,
        reporter=_reporter(chosen.json),
    )  # fmt: skip
    if chosen.json:
        _print_json(found.to_json())
    else:
        print(as_yaml(found, chosen.data.name), end="")
    return EXIT_FINE


def _localize(chosen: argparse.Namespace) -> int:
    from maskwright.reporting.edit_tables import print_localisation
    from maskwright.rule_commands import localize_file

    found = localize_file(
        chosen.data, chosen.edits, weights=chosen.weights, record=chosen.record, reporter=_reporter(chosen.json)
    ).to_json()
    if chosen.json:
        _print_json(found)
    else:
        print_localisation(found)
    return EXIT_FINE if not found["violating"] else EXIT_REFUSED


def _plugins(chosen: argparse.Namespace) -> int:
    from dataclasses import asdict

    from maskwright.plugins.registry import plugins
    from maskwright.reporting.terminal import print_plugins

    infos = [asdict(info) for info in plugins().infos]
    if chosen.json:
        _print_json({"plugins": infos})
    else:
        print_plugins(infos)
    return EXIT_FINE


def _explain(chosen: argparse.Namespace) -> int:
    from maskwright.reporting.explain import explain

    print(explain(chosen.name))
    return EXIT_FINE


def _schema(chosen: argparse.Namespace) -> int:
    if chosen.kind == "edits":
        from maskwright.edits.file_model import edits_schema

        _print_json(edits_schema())
        return EXIT_FINE
    if chosen.kind == "experiment":
        from maskwright.experiments.schema import experiment_schema

        _print_json(experiment_schema())
        return EXIT_FINE
    from maskwright.pipeline.file_schema import pipeline_schema

    _print_json(pipeline_schema())
    return EXIT_FINE


def _init(chosen: argparse.Namespace) -> int:
    from maskwright.file_commands import write_starting_pipeline

    path = write_starting_pipeline(chosen.folder)
    print(f"Wrote {path}. Name your data and edits in it, then: maskwright plan {path}")
    return EXIT_FINE


def _print_json(content: Any) -> None:
    print(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))


def _write_log(error: BaseException) -> Path:
    """Where the bug happened, without messages: those may hold values of records."""
    from maskwright import __version__

    descriptor, name = tempfile.mkstemp(prefix="maskwright-", suffix=".log")
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(f"maskwright {__version__}, Python {sys.version}\n{type(error).__name__}\n")
        for frame in traceback.extract_tb(error.__traceback__):
            stream.write(f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}\n')
    return Path(name)


if __name__ == "__main__":
    sys.exit(main())
