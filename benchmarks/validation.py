"""Validation of a large XML file against a Schematron rule set: processor seconds, peak memory, and the ratio to peers.

    python benchmarks/validation.py [--records 1000000] [--peer-records 100000] [--form plain|comment|varied]

16 integer variables, 5 rules (two sums, a product, a range, a governing rule), 1 % of the cells broken, SVRL written
with ``fired: summary``. Each measurement is a process of its own, one thread evaluating, start-up included. Peers:
``lxml.isoschematron`` with the same rules, in chunks of 1000 records (its fair form) and on the whole document (what
people run; it is quadratic in failures times records). All must count the same failures for each rule.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

SCHEMA = """<schema xmlns="http://purl.oclc.org/dsdl/schematron">
<pattern id="sum"><rule context="Record"><assert id="a1" test="number(V9) + number(V10) = number(V14)">Total
<value-of select="V14"/> is not the sum</assert></rule></pattern>
<pattern id="net"><rule context="Record"><assert id="a2" test="number(V8) + number(V7) = number(V6)">Net</assert></rule>
</pattern>
<pattern id="product"><rule context="Record"><assert id="a3" test="number(V5) * number(V15) = number(V16)">Product of
<value-of select="V5"/> and <value-of select="V15"/></assert></rule></pattern>
<pattern id="range"><rule context="Record"><assert id="a4" test="0 &lt;= number(V3) and number(V3) &lt;= 7500">Range
<value-of select="V3"/></assert></rule></pattern>
<pattern id="governing"><rule context="Record"><assert id="a5"
test="not(number(V11) &lt; 1115) or (number(V13) &lt;= number(V12))">Governing</assert></rule></pattern>
</schema>"""
BLOCK = 20_000
P = 16

OURS = """
import json, resource, sys
from maskwright.cli.main import main
import contextlib, io
out = io.StringIO()
sys.argv = ["maskwright", "validate", sys.argv[1], "--edits", sys.argv[2], "--svrl", sys.argv[3], "--json"]
with contextlib.redirect_stdout(out):
    main()
found = json.loads(out.getvalue())
"""
CHUNKED = """
import json, re, resource, sys
from lxml import etree, isoschematron
schema = isoschematron.Schematron(etree.parse(sys.argv[2]), store_report=True)
counts = {}
def check(document):
    schema.validate(document)
    for failed in schema.validation_report.iter("{http://purl.oclc.org/dsdl/svrl}failed-assert"):
        counts[failed.get("id")] = counts.get(failed.get("id"), 0) + 1
size = int(sys.argv[3])
if size == 0:
    check(etree.parse(sys.argv[1], etree.XMLParser(huge_tree=True)))
else:
    buffer, end = [], b"</Record>"
    rest = b""
    with open(sys.argv[1], "rb") as file:
        file.readline()
        while piece := file.read(1 << 20):
            records = (rest + piece).split(end)
            rest = records.pop()
            buffer += records
            while len(buffer) >= size:
                check(etree.fromstring(b"<Records>" + end.join(buffer[:size]) + end + b"</Records>"))
                del buffer[:size]
    if buffer:
        check(etree.fromstring(b"<Records>" + end.join(buffer) + end + b"</Records>"))
found = {"edits": [{"name": name, "violations": counts.get(name, 0)} for name in ("a1", "a2", "a3", "a4", "a5")]}
"""
MEASURED = """
usage = resource.getrusage(resource.RUSAGE_SELF)
# The peak since the program was loaded: ru_maxrss of a child starts with what its parent had.
peak = int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) / 1024
print(json.dumps({"cpu": usage.ru_utime + usage.ru_stime, "peak": peak,
                  "counts": [edit["violations"] for edit in found["edits"]]}))
"""


def write_data(path: Path, records: int, form: str) -> None:
    """Records that obey the five rules, then 1 % of all cells put wrong; `form` is how they are written."""
    rng = np.random.default_rng(20261121)
    with path.open("w", encoding="ascii") as file:
        file.write("<Records>\n")
        for start in range(0, records, BLOCK):
            n = min(BLOCK, records - start)
            v = rng.integers(0, 5000, (n, P + 1))
            v[:, 14] = v[:, 9] + v[:, 10]
            v[:, 6] = v[:, 7] + v[:, 8]
            v[:, 15] = rng.integers(0, 90, n)
            v[:, 16] = v[:, 5] * v[:, 15]
            v[:, 12] = np.maximum(v[:, 12], v[:, 13])
            v[rng.random((n, P + 1)) < 0.01] += 7501
            names = [f"V{j}" for j in range(1, P + 1)]
            line = "<Record>" + "".join(f"<{name}>%d</{name}>" for name in names) + "</Record>\n"
            rows = [line % tuple(row) for row in v[:, 1:].tolist()]
            if form == "comment" and start == 0:
                rows[0] = rows[0].replace("</V1>", "<!-- checked --></V1>", 1)
            if form == "varied":
                # Every third record lacks a variable of no rule, each time another: records of many forms.
                for i in range(0, n, 3):
                    name = ("V1", "V2", "V4")[i % 9 // 3]
                    rows[i] = rows[i].replace(f"<{name}>", f"<{name}><![CDATA[").replace(f"</{name}>", f"]]></{name}>")
            file.write("".join(rows))
        file.write("</Records>\n")


def measure(code: str, *arguments: object) -> dict[str, object]:
    """Run in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", code + MEASURED, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


def main() -> None:
    """Print one line for each program and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--peer-records", type=int, default=100_000, help="0: no peers")
    parser.add_argument("--chunked-records", type=int, help="for the chunked peer; left out: as many as ours")
    parser.add_argument("--form", choices=("plain", "comment", "varied"), default="plain")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        schema, svrl = folder / "rules.sch", folder / "out.svrl"
        schema.write_text(SCHEMA)
        large, small = folder / "large.xml", folder / "small.xml"
        write_data(large, chosen.records, chosen.form)
        print(f"{chosen.records:,} records, {large.stat().st_size / 1e6:.0f} MB, form {chosen.form}")
        ours = measure(OURS, large, schema, svrl)
        show("maskwright", chosen.records, ours)
        if not chosen.peer_records:
            return
        chunked_records = chosen.chunked_records or chosen.records
        if chunked_records != chosen.records:
            write_data(large, chunked_records, chosen.form)
        chunked = measure(CHUNKED, large, schema, 1000)
        show("isoschematron, chunks of 1000", chunked_records, chunked)
        ratio = float(str(chunked["cpu"])) / chunked_records / (float(str(ours["cpu"])) / chosen.records)
        print(f"    {ratio:.1f} times our processor seconds a record")
        if chunked_records == chosen.records and chunked["counts"] != ours["counts"]:
            sys.exit("the counts differ")
        write_data(small, chosen.peer_records, chosen.form)
        ours_small = measure(OURS, small, schema, svrl)
        whole = measure(CHUNKED, small, schema, 0)
        show("maskwright", chosen.peer_records, ours_small)
        show("isoschematron, whole document", chosen.peer_records, whole)
        print(f"    {float(str(whole['cpu'])) / float(str(ours_small['cpu'])):.0f} times our processor seconds")
        if whole["counts"] != ours_small["counts"]:
            sys.exit("the counts differ")


def show(name: str, records: int, found: dict[str, object]) -> None:
    """One line."""
    cpu, peak = float(str(found["cpu"])), float(str(found["peak"]))
    spent = f"{records:>10,} records {cpu:>8.1f} s CPU {peak:>6.0f} MB"
    print(f"{name:<32} {spent}  failures {found['counts']}", flush=True)


if __name__ == "__main__":
    main()
