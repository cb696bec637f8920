#!/usr/bin/env bash
# The release drill: builds sdist and wheel from what is committed, collects every wheel that an installation needs, and
# installs and runs Maskwright from that folder alone, with the network cut off. docs/how-to/air-gapped.md says the same
# for an office. `.ci/air_gapped.sh [FOLDER]` keeps the archives and the wheels in FOLDER, which must not exist.
# Needs Python >= 3.11 with venv (PYTHON names another interpreter), git, and a package index for the first half.
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
kept=${1:-$scratch/kept}
if [ -e "$kept" ]; then
  printf '%s exists; name a folder that does not\n' "$kept" >&2
  exit 2
fi
mkdir -p "$kept/dist" "$kept/wheels"
kept=$(cd "$kept" && pwd)
export PIP_DISABLE_PIP_VERSION_CHECK=1
python=${PYTHON:-python3}

say() { printf '\n== %s (%s s)\n' "$1" "$SECONDS"; }

say "a clean tree: what is committed"
if [ -n "$(git status --porcelain)" ]; then
  printf '!! there are changes that are not committed: they are NOT in what is built\n'
fi
mkdir "$scratch/tree"
git archive HEAD | tar -x -C "$scratch/tree"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

say "the sdist, and the wheel from the sdist"
"$python" -m venv "$scratch/building"
"$scratch/building/bin/pip" install --quiet build twine
# What is published is for any machine: it carries no machine code.
MASKWRIGHT_KERNELS=none "$scratch/building/bin/python" -m build --outdir "$kept/dist" "$scratch/tree"
"$scratch/building/bin/twine" check --strict "$kept"/dist/*
"$scratch/building/bin/python" .ci/check_archives.py "$kept"/dist/*
(cd "$kept/dist" && sha256sum ./*)

say "every wheel that it needs, with checksums"
"$scratch/building/bin/pip" wheel --quiet --wheel-dir "$kept/wheels" "$kept"/dist/*.whl
(cd "$kept/wheels" && sha256sum ./*.whl > SHA256SUMS)
cat "$kept/wheels/SHA256SUMS"

say "without a network"
cat > "$scratch/offline.sh" << 'OFFLINE'
set -euo pipefail
cd "$SCRATCH"
# A socket knows nothing of proxies: only the namespace cuts it off.
if [ "$CUT_OFF" = namespace ] && "$PYTHON" -c 'import socket; socket.create_connection(("192.0.2.1", 9), timeout=3)' 2> /dev/null; then
  echo 'the network is not cut off' >&2
  exit 1
fi
(cd "$WHEELS" && sha256sum --check --quiet SHA256SUMS)
"$PYTHON" -m venv "$SCRATCH/installed"
"$SCRATCH/installed/bin/pip" install --quiet --no-index --find-links "$WHEELS" maskwright
"$SCRATCH/installed/bin/pip" check
PATH="$SCRATCH/installed/bin:$PATH"
maskwright --version
maskwright plugins --strict > "$SCRATCH/plugins.txt"
maskwright demo "$SCRATCH/demo"
maskwright validate "$SCRATCH/demo/masked.xml" --record Household --edits "$SCRATCH/demo/survey.sch"
OFFLINE
# Nothing of the caller's settings may help: neither an index nor a folder of wheels that pip is configured to look in.
clean=(env -i "PATH=$PATH" "HOME=$scratch" "LANG=${LANG:-C.UTF-8}" PIP_CONFIG_FILE=/dev/null PIP_NO_INPUT=1
  PIP_DISABLE_PIP_VERSION_CHECK=1 "SCRATCH=$scratch" "WHEELS=$kept/wheels" "PYTHON=$python")
if unshare --map-root-user --net true 2> /dev/null; then
  printf 'cut off by: a network namespace that has no network\n'
  "${clean[@]}" CUT_OFF=namespace unshare --map-root-user --net bash "$scratch/offline.sh"
else
  printf '!! cut off by proxies at a dead port only: this system gives no network namespace (unshare)\n'
  "${clean[@]}" CUT_OFF=proxies http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9 all_proxy=http://127.0.0.1:9 \
    bash "$scratch/offline.sh"
fi

say "passed: installed and run without a network"
