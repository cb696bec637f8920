"""The commands describe, init, attack, validate, edits and localize: parse and call, importing lazily."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.cli.command_support import add_reading_options, print_json, reading_options, refuse, reporter, show
from maskwright.foundation.exit_codes import EXIT_FINE, EXIT_INPUT, EXIT_REFUSED

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    Command = Callable[[argparse.Namespace], int]


PIPELINE = Path("pipeline.yaml")


def add_data_commands(
    add: Callable[[str, Command, str], argparse.ArgumentParser],
    with_json: Callable[[argparse.ArgumentParser], None],
) -> None:
    """Add the commands to the command line."""
    describe = add("describe", _describe, "Show what the variables of a data file look like, without their values.")
    describe.add_argument("data", type=Path, nargs="+", metavar="DATA")
    describe.add_argument("--show-values", action="store_true", help="extremes and categories too: confidential")
    add_reading_options(describe)
    with_json(describe)
    init = add("init", _init, "Look at a data file and write a pipeline to start from, or write one for no file.")
    init.add_argument("data", nargs="*", default=[Path()], type=Path, metavar="DATA",
                      help="data file, or two that are linked; or a folder, which gets a pipeline that says what to "
                      "fill in")  # fmt: skip
    init.add_argument("--to", type=Path, metavar="PIPELINE", help=f"file to write ({PIPELINE})")
    init.add_argument("--answer", action="append", default=[], metavar="undeclared=ROLE",
                      help="take a decision: the role of variables of which nothing says what they are, or of "
                      "those that look alike: code=other, category=quasi_identifier")  # fmt: skip
    init.add_argument("--force", action="store_true", help="replace a file that is there")
    init.add_argument(
        "--plugin", metavar="NAME", help="write a package with a plugin instead, in a folder of that name"
    )
    init.add_argument("--kind", dest="plugin_kind", metavar="KIND",
                      help="of the plugin: method (unless given otherwise), measure, attack, partition, "
                      "source, rule_language or report")  # fmt: skip
    add_reading_options(init)
    with_json(init)
    attack = add("attack", _attack, "Show what an intruder could infer about the cells that a release does not show.")
    attack.add_argument("released", type=Path, metavar="RELEASED")
    attack.add_argument("--original", type=Path, required=True, metavar="FILE",
                        help="counts how often claims are right")  # fmt: skip
    attack.add_argument(
        "--edits", type=Path, action="append", default=[], metavar="FILE", help="published with the release"
    )
    attack.add_argument("--key", metavar="NAME", help="variable that identifies a record in both files")
    attack.add_argument("--attack", action="append", default=[], dest="attacks", metavar="NAME",
                        help="one of them, more than once for several; all by default")  # fmt: skip
    attack.add_argument("--certainty", type=float, default=0.9, metavar="SHARE",
                        help="of its claims of which an intruder has to be sure (0.9)")  # fmt: skip
    add_reading_options(attack)
    with_json(attack)


def _describe(chosen: argparse.Namespace) -> int:
    from maskwright.cli.show.tables import print_description
    from maskwright.commands.describe_data import describe_file

    found = [
        each
        for path in chosen.data
        for each in describe_file(
            path, options=reading_options(chosen), show_values=chosen.show_values, reporter=reporter(quiet=chosen.json)
        )
    ]
    if chosen.json:
        print_json(found[0].to_json() if len(found) == 1 else {"files": [each.to_json() for each in found]})
    else:
        for each in found:
            print_description(each)
    return EXIT_FINE


def _attack(chosen: argparse.Namespace) -> int:
    from maskwright.cli.show.tables import print_attacks
    from maskwright.commands.attack import attack_files

    found = attack_files(
        chosen.released, chosen.original, chosen.attacks, edits=chosen.edits, key=chosen.key,
        certainty=chosen.certainty, options=reading_options(chosen), reporter=reporter(quiet=chosen.json),
    )  # fmt: skip
    show(chosen, {"attacks": [each.to_json() for each in found]}, lambda: print_attacks(found))
    return EXIT_REFUSED if any(each.decision != "figure" for each in found) else EXIT_FINE


def _init(chosen: argparse.Namespace) -> int:
    from maskwright.cli.show.tables import print_started
    from maskwright.commands.init import already_there, is_data, start_pipeline, write_starting_pipeline
    from maskwright.commands.options import NO_OPTIONS

    options = reading_options(chosen)
    if chosen.plugin is not None or chosen.plugin_kind is not None:
        return _init_plugin(chosen, has_options=options != NO_OPTIONS)
    data = chosen.data[0]
    several = len(chosen.data) > 1
    if not several and not is_data(data, options.file_format):
        if options != NO_OPTIONS or chosen.to is not None or chosen.json:
            refuse(f"{data} is no data file: only a folder can be named without one, and no options")
        path = write_starting_pipeline(data, force=chosen.force)
        print(f"Wrote {path}. Name your data and edits in it, then: maskwright plan {path}")
        return EXIT_FINE
    from maskwright.experiments.advice.pipeline_of_levels import holds_levels, start_pipeline_of_levels

    target = chosen.to or PIPELINE
    if target.exists() and not chosen.force:
        raise already_there(target)
    if several or holds_levels(data, options):
        started = start_pipeline_of_levels(
            chosen.data, target, options=options, answers=chosen.answer, force=chosen.force,
            reporter=reporter(quiet=chosen.json),
        )  # fmt: skip
    else:
        started = start_pipeline(
            data, target, options=options, answers=chosen.answer, force=chosen.force,
            reporter=reporter(quiet=chosen.json),
        )  # fmt: skip
    show(chosen, started.to_json(), lambda: print_started(started))
    return started.exit_code


def _init_plugin(chosen: argparse.Namespace, *, has_options: bool) -> int:
    from maskwright.commands.new_plugin.package import write_plugin_package

    if chosen.plugin is None:
        refuse("--kind is of a plugin, and none is named: --plugin NAME --kind KIND")
    if has_options or chosen.to is not None or chosen.force:
        refuse("--plugin writes a package: only --kind, and the folder to put it in, go with it")
    if len(chosen.data) > 1:
        refuse("--plugin writes a package to one folder")
    folder, files = write_plugin_package(chosen.data[0], chosen.plugin, chosen.plugin_kind or "method")
    if chosen.json:
        print_json({"folder": str(folder), "files": list(files)})
    else:
        print(f"Wrote {folder} with {len(files)} files. Its tests pass as it is:")
        print(f"  cd {folder} && pip install --editable '.[test]' && pytest")
    return EXIT_FINE


def add_rule_commands(
    add: Callable[[str, Command, str], argparse.ArgumentParser],
    with_json: Callable[[argparse.ArgumentParser], None],
) -> None:
    """Add the commands to the command line."""
    validate = add("validate", _validate, "Check a data file against edits.")
    _validate_arguments(validate)
    edits = add("edits", _edits, "List and classify the edits of rule files, or write them in another language.")
    _edit_arguments(edits)
    localize = add("localize", _localize, "Name the fewest fields to change in each record that violates an edit.")
    _localize_arguments(localize)
    for sub in (validate, edits, localize):
        add_reading_options(sub)
        with_json(sub)


def _data_and_edits(command: argparse.ArgumentParser) -> None:
    command.add_argument("data", type=Path, nargs="*", metavar="DATA",
                         help="one file; or one of each level that --pipeline declares, the top first; left out: "
                              "those of --pipeline")  # fmt: skip
    command.add_argument("--edits", type=Path, action="append", metavar="FILE",
                         help="rules, or a pipeline with edits; left out: those of --pipeline")  # fmt: skip


def _fill_from_pipeline(chosen: argparse.Namespace) -> None:
    """Put the data and edits of the pipeline where none are named."""
    from maskwright.commands.options import files_of_pipeline

    missing = "no data file is named" if not chosen.data else "no edits are named" if not chosen.edits else ""
    if missing and chosen.pipeline is None:
        refuse(f"{missing}: DATA --edits FILE, or --pipeline FILE for those of a pipeline")
    chosen.data = chosen.data or list(files_of_pipeline(chosen.pipeline))
    chosen.edits = chosen.edits or [chosen.pipeline]


def _localize_arguments(localize: argparse.ArgumentParser) -> None:
    _data_and_edits(localize)
    localize.add_argument("--weight", action="append", default=[], dest="weights", metavar="NAME=W",
                          help="how much a variable is trusted: the cost of changing it (1)")  # fmt: skip
    _unread_argument(localize)
    localize.add_argument("--workers", type=int, metavar="N", help="processes; one for each processor if not given")
    localize.add_argument("--allow-unknown", action="store_true",
                          help="accept a rule whose verdict is unknown in every record")  # fmt: skip


def _validate_arguments(validate: argparse.ArgumentParser) -> None:
    _data_and_edits(validate)
    validate.add_argument("--original", type=Path, metavar="FILE", help="original data, for values-exist edits")
    validate.add_argument("--svrl", type=Path, metavar="OUT", help="write an SVRL report; it carries values of records")
    validate.add_argument("--document", action="store_true",
                          help="check any XML document, as a whole, against one Schematron schema")  # fmt: skip
    validate.add_argument("--allow-unfired", action="store_true",
                          help="--document: accept a document that no rule is about")  # fmt: skip
    validate.add_argument("--show-values", action="store_true",
                          help="--document: show the first messages, which carry values: confidential")  # fmt: skip
    validate.add_argument("--fired", choices=("summary", "all"),
                          help="in the SVRL report: rules fired, once each (summary) or for each record")  # fmt: skip
    unknown = validate.add_mutually_exclusive_group()
    unknown.add_argument("--allow-unknown", action="store_true",
                         help="accept a rule whose verdict is unknown in every record (missing cells, texts where "
                              "numbers are compared); otherwise the exit code is 1")  # fmt: skip
    unknown.add_argument("--fail-on-unknown", action="store_true",
                         help="treat every record whose verdict is unknown as a violation, and say why")  # fmt: skip
    _unread_argument(validate)
    validate.add_argument("--phase", metavar="NAME", help="phase of a Schematron schema; #ALL for every pattern")
    validate.add_argument("--include", type=Path, metavar="FOLDER",
                          help="folder inside which a Schematron schema may include files")  # fmt: skip


def _unread_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument("--allow-unread", action="append", metavar="NAME",
                         help="leave out a rule of the R package validate that is not understood")  # fmt: skip


def _edit_arguments(edits: argparse.ArgumentParser) -> None:
    _unread_argument(edits)
    edits.add_argument("files", type=Path, nargs="*", metavar="FILE")
    edits.add_argument("--data", type=Path, metavar="FILE", help="count how many of its records satisfy each edit")
    edits.add_argument("--suggest", action="store_true",
                       help="print rules that hold in --data and do not follow from FILE")  # fmt: skip
    edits.add_argument("--share", type=float, metavar="S",
                       help="--suggest: what holds in this share of records (1; 0.95 for equalities)")  # fmt: skip
    edits.add_argument("--limit", type=int, default=30, metavar="N",
                       help="--suggest: no more than the N most useful (30); 0 for all")  # fmt: skip
    edits.add_argument("--show-values", action="store_true",
                       help="--suggest: constants, listed values, codes, exact bounds: confidential")  # fmt: skip
    edits.add_argument("--to", metavar="LANGUAGE",
                       help="print the rules in this language: yaml, schematron, validate, or a plugin's")  # fmt: skip
    edits.add_argument("--from", dest="language", metavar="LANGUAGE",
                       help="their language: yaml, schematron, validate, banff; else the endings tell")  # fmt: skip
    edits.add_argument("--decimals", type=int, metavar="N",
                       help="--to schematron: most decimals of the variables (those of --data; else 4)")  # fmt: skip


def _validate(chosen: argparse.Namespace) -> int:
    from maskwright.cli.show.tables import print_outcome
    from maskwright.commands.validate import validate_file

    _fill_from_pipeline(chosen)
    if chosen.document:
        return _validate_document(chosen)
    if chosen.show_values or chosen.allow_unfired:
        refuse("--show-values and --allow-unfired go with --document, which checks a document as a whole")
    outcome = validate_file(
        chosen.data[0], chosen.edits, original=chosen.original, svrl=chosen.svrl, fired=chosen.fired or "summary",
        options=reading_options(chosen), reporter=reporter(quiet=chosen.json), allow_unknown=chosen.allow_unknown,
        others_of_levels=chosen.data[1:],
    )  # fmt: skip
    found = outcome.to_json()
    refused = [edit for edit in outcome.edits if edit.unknown] if chosen.fail_on_unknown else []
    if refused:
        found |= {"ok": False, "unknown_because": {edit.name: edit.unknown_because for edit in refused}}
    show(chosen, found, lambda: print_outcome(found))
    return EXIT_FINE if found["ok"] else EXIT_REFUSED


def _validate_document(chosen: argparse.Namespace) -> int:
    from maskwright.cli.show.tables import print_document_outcome
    from maskwright.commands.validate_document import document_options, validate_document_file

    about_records = {
        "--original": chosen.original, "--fired": chosen.fired, "--allow-unknown": chosen.allow_unknown,
        "--fail-on-unknown": chosen.fail_on_unknown,
    }  # fmt: skip
    messages = [flag for flag, value in about_records.items() if value]
    if messages:
        refuse(f"{messages[0]} is about records, and --document checks a document as a whole")
    if len(chosen.data) > 1:
        refuse("--document checks one document: name one")
    if len(chosen.edits) > 1:
        refuse("--document takes one schema: name one file with --edits")
    found = validate_document_file(
        chosen.data[0], chosen.edits[0], document_options(reading_options(chosen)), svrl=chosen.svrl,
        show_values=chosen.show_values, allow_unfired=chosen.allow_unfired, reporter=reporter(quiet=chosen.json),
    ).to_json()  # fmt: skip
    show(chosen, found, lambda: print_document_outcome(found))
    return EXIT_FINE if found["ok"] else EXIT_REFUSED


def _edits(chosen: argparse.Namespace) -> int:
    from maskwright.cli.show.tables import print_edits
    from maskwright.commands.edits import convert_rules, describe_edits

    if chosen.suggest:
        return _suggest(chosen)
    if not chosen.files:
        refuse("no rule file is named; to find rules in a data file: maskwright edits --data FILE --suggest")
    if chosen.to is not None:
        text, refused = convert_rules(
            chosen.files, chosen.to, language=chosen.language, data=chosen.data, record=chosen.record,
            options=reading_options(chosen), decimals=chosen.decimals, reporter=reporter(),
        )  # fmt: skip
        unwritten = [] if refused is None else [problem.message for problem in refused.problems]
        content = {"language": chosen.to, "text": text, "unwritten": unwritten}
        show(chosen, content, lambda: print(text, end=""))
        if refused is not None:
            raise refused
        return EXIT_FINE
    found = describe_edits(
        chosen.files, data=chosen.data, language=chosen.language, options=reading_options(chosen),
        reporter=reporter(quiet=chosen.json),
    )  # fmt: skip
    show(chosen, found, lambda: print_edits(found))
    return EXIT_INPUT if found["analysis"]["blocked"] else EXIT_FINE


def _suggest(chosen: argparse.Namespace) -> int:
    from maskwright.commands.edits import suggest_for_file
    from maskwright.edits.suggestions.model import as_yaml

    if chosen.to is not None or (chosen.data is None and chosen.pipeline is None):
        refuse("--suggest finds rules in a data file: name it with --data, and leave --to out")
    found = suggest_for_file(
        chosen.data, chosen.files, share=chosen.share, language=chosen.language, options=reading_options(chosen),
        reporter=reporter(quiet=chosen.json), limit=chosen.limit, show_values=chosen.show_values,
    )  # fmt: skip
    show(chosen, found.to_json(), lambda: print(as_yaml(found, (chosen.data or chosen.pipeline).name), end=""))
    return EXIT_FINE


def _localize(chosen: argparse.Namespace) -> int:
    from maskwright.cli.show.tables import print_localisation
    from maskwright.commands.localize import localize_file

    _fill_from_pipeline(chosen)
    found = localize_file(
        chosen.data, chosen.edits, weights=chosen.weights, options=reading_options(chosen),
        reporter=reporter(quiet=chosen.json), workers=chosen.workers,
    ).to_json()  # fmt: skip
    show(chosen, found, lambda: print_localisation(found))
    unknown = "undecided" in found and not chosen.allow_unknown
    return EXIT_REFUSED if found["violating"] or unknown else EXIT_FINE
