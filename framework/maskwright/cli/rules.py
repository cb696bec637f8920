"""The commands on rules: validate, edits, localize. Parse and call; imports nothing heavy before a command runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.cli.output import print_json, refuse, reporter
from maskwright.cli.reading_options import add_reading_options, reading_options
from maskwright.foundation.exit_codes import EXIT_FINE, EXIT_INPUT, EXIT_REFUSED

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    Command = Callable[[argparse.Namespace], int]


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


def _localize_arguments(localize: argparse.ArgumentParser) -> None:
    localize.add_argument("data", type=Path, nargs="+", metavar="DATA",
                          help="one file; or one of each level that --pipeline declares, the top first")  # fmt: skip
    localize.add_argument("--edits", type=Path, action="append", required=True, metavar="FILE")
    localize.add_argument("--weight", action="append", default=[], dest="weights", metavar="NAME=W",
                          help="how much a variable is trusted: the cost of changing it (1)")  # fmt: skip
    localize.add_argument("--workers", type=int, metavar="N", help="processes; one for each processor if not given")
    localize.add_argument("--allow-unknown", action="store_true",
                          help="accept a rule whose verdict is unknown in every record")  # fmt: skip


def _validate_arguments(validate: argparse.ArgumentParser) -> None:
    validate.add_argument("data", type=Path, nargs="+", metavar="DATA",
                          help="one file; or one of each level that --pipeline declares, the top first")  # fmt: skip
    validate.add_argument("--edits", type=Path, action="append", required=True, metavar="FILE")
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
    validate.add_argument("--phase", metavar="NAME", help="phase of a Schematron schema; #ALL for every pattern")
    validate.add_argument("--include", type=Path, metavar="FOLDER",
                          help="folder inside which a Schematron schema may include files")  # fmt: skip


def _edit_arguments(edits: argparse.ArgumentParser) -> None:
    edits.add_argument("files", type=Path, nargs="*", metavar="FILE")
    edits.add_argument("--data", type=Path, metavar="FILE", help="count how many of its records satisfy each edit")
    edits.add_argument("--suggest", action="store_true",
                       help="print rules that hold in --data and do not follow from FILE")  # fmt: skip
    edits.add_argument("--share", type=float, default=1.0, metavar="S",
                       help="--suggest: also what holds in this share of the records (1)")  # fmt: skip
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
    from maskwright.cli.show.edit_tables import print_outcome
    from maskwright.commands.validate import validate_file

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
    if chosen.json:
        print_json(found)
    else:
        print_outcome(found)
    return EXIT_FINE if found["ok"] else EXIT_REFUSED


def _validate_document(chosen: argparse.Namespace) -> int:
    from maskwright.cli.show.edit_tables import print_document_outcome
    from maskwright.commands.validate_document import document_options, validate_document_file

    about_records = {
        "--original": chosen.original, "--fired": chosen.fired, "--allow-unknown": chosen.allow_unknown,
        "--fail-on-unknown": chosen.fail_on_unknown,
    }  # fmt: skip
    said = [flag for flag, value in about_records.items() if value]
    if said:
        refuse(f"{said[0]} is about records, and --document checks a document as a whole")
    if len(chosen.data) > 1:
        refuse("--document checks one document: name one")
    if len(chosen.edits) > 1:
        refuse("--document takes one schema: name one file with --edits")
    found = validate_document_file(
        chosen.data[0], chosen.edits[0], document_options(reading_options(chosen)), svrl=chosen.svrl,
        show_values=chosen.show_values, allow_unfired=chosen.allow_unfired, reporter=reporter(quiet=chosen.json),
    ).to_json()  # fmt: skip
    if chosen.json:
        print_json(found)
    else:
        print_document_outcome(found)
    return EXIT_FINE if found["ok"] else EXIT_REFUSED


def _edits(chosen: argparse.Namespace) -> int:
    from maskwright.cli.show.edit_tables import print_edits
    from maskwright.commands.convert import convert_rules
    from maskwright.commands.describe_edits import describe_edits

    if chosen.suggest:
        return _suggest(chosen)
    if not chosen.files:
        refuse("no rule file is named; to find rules in a data file: maskwright edits --data FILE --suggest")
    if chosen.to is not None:
        text = convert_rules(
            chosen.files, chosen.to, language=chosen.language, data=chosen.data, record=chosen.record,
            options=reading_options(chosen), decimals=chosen.decimals, reporter=reporter(),
        )  # fmt: skip
        if chosen.json:
            print_json({"language": chosen.to, "text": text})
        else:
            print(text, end="")
        return EXIT_FINE
    found = describe_edits(
        chosen.files, data=chosen.data, language=chosen.language, options=reading_options(chosen),
        reporter=reporter(quiet=chosen.json),
    )  # fmt: skip
    if chosen.json:
        print_json(found)
    else:
        print_edits(found)
    return EXIT_INPUT if found["analysis"]["blocked"] else EXIT_FINE


def _suggest(chosen: argparse.Namespace) -> int:
    from maskwright.commands.suggest import suggest_for_file
    from maskwright.edits.suggestions.as_yaml import as_yaml

    if chosen.to is not None or (chosen.data is None and chosen.pipeline is None):
        refuse("--suggest finds rules in a data file: name it with --data, and leave --to out")
    found = suggest_for_file(
        chosen.data, chosen.files, share=chosen.share, language=chosen.language, options=reading_options(chosen),
        reporter=reporter(quiet=chosen.json), limit=chosen.limit, show_values=chosen.show_values,
    )  # fmt: skip
    if chosen.json:
        print_json(found.to_json())
    else:
        print(as_yaml(found, (chosen.data or chosen.pipeline).name), end="")
    return EXIT_FINE


def _localize(chosen: argparse.Namespace) -> int:
    from maskwright.cli.show.edit_tables import print_localisation
    from maskwright.commands.localize import localize_file

    found = localize_file(
        chosen.data, chosen.edits, weights=chosen.weights, options=reading_options(chosen),
        reporter=reporter(quiet=chosen.json), workers=chosen.workers,
    ).to_json()  # fmt: skip
    if chosen.json:
        print_json(found)
    else:
        print_localisation(found)
    unknown = "undecided" in found and not chosen.allow_unknown
    return EXIT_REFUSED if found["violating"] or unknown else EXIT_FINE
