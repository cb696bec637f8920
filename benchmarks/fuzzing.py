"""Random damage to data, schema and YAML: no crash, no hang, no waste, and never a wrong "valid".

    python benchmarks/fuzzing.py [--mutations 100000] [--seed 1]

Half of the mutations are of a data file (which obeys its rules), a quarter of a schema (the data then break it), a
quarter of YAML rules and of a pipeline file. One to four bytes or pieces are changed, taken out, doubled or put in.
What is looked for: any exception but the errors for people, more than 5 s of processor time, more than 500 MB, and
a verdict "valid" where lxml finds a violation or no XML at all.
"""

from __future__ import annotations

import argparse
import collections
import random
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from lxml import etree, isoschematron

from maskwright.commands.validate import validate_file
from maskwright.foundation.errors import MaskwrightError
from maskwright.foundation.progress import Quiet
from maskwright.pipeline.reading import resolve_file

if TYPE_CHECKING:
    from types import FrameType

LONGEST = 5.0
TARGETS = {"data": "data.xml", "schema": "rules.sch", "rules": "rules.yaml", "pipeline": "pipeline.yaml"}
MOST_MEMORY = 500
SCHEMA = b"""<schema xmlns="http://purl.oclc.org/dsdl/schematron"><let name="c" value="7500"/>
<pattern id="a"><rule context="Record"><let name="t" value="number(V3)"/>
<assert test="number(V1) + number(V2) = $t">The sum of <value-of select="V1"/></assert>
<report test="V1 &gt; $c">too much</report></rule></pattern>
<pattern id="b"><rule context="Record">
<assert test="not(number(V1) &lt; 12) or (number(V2) &lt;= number(V3))">m</assert>
<assert test="V4 = 'a' or V4 = 'b'" role="error">m</assert></rule></pattern></schema>
"""
RULES = b"""- V1 + V2 == V3
- {rule: if V1 < 12 then V2 <= V3, name: governing, severity: error}
- V4 in {"a", "b"}
- 0 <= V1 <= 7500
- {rule: "abs(V1 - V2) <= 10000", message: far apart}
"""
PIPELINE = b"""maskwright: 1
data: {source: data.xml, record: Record, variables: {V4: {role: other}}}
edits:
  - V1 + V2 == V3
  - {schematron: rules.sch}
  - {rule: if V1 < 12 then V2 <= V3, name: governing}
protect:
  - {method: microaggregation, params: {k: 3}}
measure: [pil]
output: {data: masked.xml}
seed: 42
"""
PIECES = [
    b"<!DOCTYPE r [<!ENTITY x 'y'>]>",
    b"&x;",
    b"&#0;",
    b"&#55;",
    b"]]>",
    b"<![CDATA[",
    b"<!--",
    b"-->",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"<V1>",
    b"</V1>",
    b"<Record>",
    b"</Record>",
    b"/>",
    b"'",
    b'"',
    b"(" * 300,
    b"not(",
    b"$c",
    b"$",
    b"//",
    b"1e3",
    b"-",
    b"div 0",
    b"number(",
    b"9" * 400,
    b"count(//Record) = 1 or ",
    b"[1]",
    b" xmlns='urn:x'",
    b"{",
    b"[",
    b"*a",
    b"&a [*a]",
    b"!!python/object:x",
    b"\t",
    b": ",
    b"- ",
    b"^ 99999999",
    b"mod 0",
    b"if ",
    b"V1..V4",
    b"<include href='x'/>",
]


class HangError(Exception):
    """More than the allowed processor time."""


def stop(number: int, frame: FrameType | None) -> None:
    """End a mutation that takes too long."""
    raise HangError


def data_of(pick: random.Random, valid: bool) -> bytes:
    """Twelve records that obey the rules; in the others the sum of the third is wrong."""
    lines = []
    for i in range(12):
        a, b = pick.randrange(12, 5000), pick.randrange(5000)
        total = a + b + (0 if valid or i != 2 else 1)
        lines.append(f"<Record><V1>{a}</V1><V2>{b}</V2><V3>{total}</V3><V4>{pick.choice('ab')}</V4></Record>\n")
    return ("<?xml version='1.0'?>\n<Data>\n" + "".join(lines) + "</Data>\n").encode()


def mutated(pick: random.Random, content: bytes) -> bytes:
    """Damage in one to four places."""
    found = bytearray(content)
    for _ in range(pick.choice([1, 1, 1, 2, 4])):
        place = pick.randrange(len(found) + 1)
        match pick.randrange(8):
            case 0:
                found[place : place + 1] = bytes([pick.randrange(256)])
            case 1:
                del found[place : place + pick.choice([1, 1, 2, 20])]
            case 2:
                found[place:place] = found[place : place + pick.choice([1, 5, 60])]
            case 3:
                found[place:place] = pick.choice(PIECES)
            case _:
                found[place : place + 1] = bytes([pick.choice(b"01234567890123456789 .-Vab<>&;=/()[]{}:'\"\n")])
    return bytes(found)


def is_refuted(schema: isoschematron.Schematron | bytes, data: bytes) -> bool:
    """Whether lxml finds a violation, or no XML; rules it cannot take refute nothing."""
    try:
        root = etree.fromstring(data)
    except etree.XMLSyntaxError:
        return True
    try:
        if isinstance(schema, bytes):
            finder = isoschematron.Schematron.ASSERTS_AND_REPORTS
            schema = isoschematron.Schematron(etree.fromstring(schema), error_finder=finder)
        return not schema.validate(root)
    except (etree.LxmlError, etree.XMLSyntaxError):
        return False


def attempt(target: str, paths: dict[str, Path]) -> tuple[str, str | None]:
    """Run the damaged files: what came of it, and what is wrong with that."""
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    try:
        if target == "pipeline":
            resolve_file(paths["pipeline.yaml"])
            return "read", None
        rules = paths["rules.yaml" if target == "rules" else "rules.sch"]
        found = validate_file(paths["data.xml"], [rules], reporter=Quiet())
    except MaskwrightError:
        return "refused", None
    except HangError:
        return "hang", "hang"
    except Exception as error:  # noqa: BLE001 - a crash is what is looked for
        return "crash", repr(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return ("valid" if found.ok else "invalid"), None


def damaged(pick: random.Random, target: str) -> dict[str, bytes]:
    """Contents of all files, the target's damaged."""
    contents = {
        "data.xml": data_of(pick, target == "data"),
        "rules.sch": SCHEMA,
        "rules.yaml": RULES,
        "pipeline.yaml": PIPELINE,
    }
    name = TARGETS[target]
    return contents | {name: mutated(pick, contents[name])}


def main() -> None:
    """Damage, run, count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutations", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    pick = random.Random(chosen.seed)
    finder = isoschematron.Schematron.ASSERTS_AND_REPORTS
    compiled = isoschematron.Schematron(etree.fromstring(SCHEMA), error_finder=finder)
    counts: collections.Counter[str] = collections.Counter()
    slowest, faults = 0.0, 0
    folder = Path(tempfile.mkdtemp())
    for _ in range(chosen.mutations):
        target = pick.choice(["data", "data", "data", "data", "schema", "schema", "rules", "pipeline"])
        contents = damaged(pick, target)
        for name, content in contents.items():
            (folder / name).write_bytes(content)
        start = time.process_time()
        outcome, fault = attempt(target, {name: folder / name for name in contents})
        slowest = max(slowest, time.process_time() - start)
        if outcome == "valid" and target in ("data", "schema"):
            oracle = compiled if target == "data" else contents["rules.sch"]
            fault = "wrong valid" if is_refuted(oracle, contents["data.xml"]) else None
        counts[f"{target} {outcome}"] += 1
        if fault is not None:
            faults += 1
            kept = folder / f"fault-{faults}"
            kept.mkdir()
            for name, content in contents.items():
                (kept / name).write_bytes(content)
            print(f"{target}: {fault}; kept in {kept}", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    for name, count in sorted(counts.items()):
        print(f"{name:<18} {count:>8,}")
    print(f"{chosen.mutations:,} mutations, {faults} faults, slowest {slowest:.2f} s CPU, peak {peak:.0f} MB")
    sys.exit(1 if faults or peak > MOST_MEMORY else 0)


if __name__ == "__main__":
    main()
