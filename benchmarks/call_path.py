"""How many files a run goes through: a CSV of 300 records with one edit and one step, or ``maskwright validate``.

Files entered and changes of file are counted by a profile of every call of Maskwright's own functions; modules are
those of `sys.modules` at the end, less those that Python itself has loaded when it starts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
import sys
before = set(sys.modules)
own, last, changes = set(), None, 0
def seen(frame, event, argument):
    global last, changes
    if event == "call":
        name = frame.f_code.co_filename
        if "/maskwright" in name and frame.f_code.co_name != "<module>":
            own.add(name)
            changes += name != last
            last = name
{profile}
import time
from maskwright.cli.main import main
began = time.process_time()
code = main({arguments!r})
import json
sys.setprofile(None)
loaded = set(sys.modules) - before
print(json.dumps(dict(code=code, files=len(own), changes=changes, modules=len(loaded),
    maskwright=sum(name.partition(".")[0].startswith("maskwright") for name in loaded),
    packages=len({{name.partition(".")[0] for name in loaded}}), seconds=round(time.process_time(), 3),
    names=sorted(loaded))))
"""
PIPELINE = """maskwright: 1
data: {source: people.csv}
edits: ["wages + pensions == income"]
protect: [{method: microaggregation, params: {k: 5}}]
output: {data: masked.csv}
seed: 1
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modules", action="store_true", help="list the modules that were loaded")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [f"{1000 + 7 * number % 5000},{number * 13 % 900}" for number in range(300)]
        texts = [f"{row},{sum(map(int, row.split(',')))}" for row in rows]
        (Path(folder) / "people.csv").write_text("wages,pensions,income\n" + "\n".join(texts) + "\n")
        (Path(folder) / "pipeline.yaml").write_text(PIPELINE)
        (Path(folder) / "rules.yaml").write_text('edits: ["wages + pensions == income"]\n')
        for title, arguments in (
            ("run", ["run", "pipeline.yaml", "--quiet"]),
            ("validate", ["validate", "people.csv", "--edits", "rules.yaml"]),
        ):
            for profile in ("", "sys.setprofile(seen)"):
                code = PROGRAM.format(profile=profile, arguments=arguments)
                done = subprocess.run(
                    [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
                )
                if done.returncode:
                    sys.exit(done.stderr)
                found = json.loads(done.stdout.splitlines()[-1])
                names = found.pop("names")
                if profile:
                    print(f"{title}: {found['files']} files entered, {found['changes']} changes of file")
                else:
                    print(
                        f"{title}: exit code {found['code']}, {found['modules']} modules loaded in {found['packages']} "
                        f"packages, {found['maskwright']} of them Maskwright's, {found['seconds']} s of processor time"
                    )
                    if options.modules:
                        print(*names, sep="\n")


if __name__ == "__main__":
    main()
