#!/usr/bin/env bash
# What the Dockerfile does, in an environment of its own, where no container engine is at hand: installs, removes the
# tests of libraries, compiles the kernels, and then runs the demo as another user, who must find all of them compiled.
# It is no image: base system, labels and layers stay untried. Needs Python >= 3.11 with venv and a package index.
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"
environment=$scratch/maskwright
export NUMBA_CPU_NAME=generic NUMBA_CACHE_DIR=$environment/kernels PYTHONDONTWRITEBYTECODE=1
unset PYTHONPATH

"${PYTHON:-python3}" -m venv "$environment"
"$environment/bin/pip" install --quiet --disable-pip-version-check --compile .
"$environment/bin/pip" check
"$environment/bin/python" packaging/without_tests.py "$environment"
"$environment/bin/pip" uninstall --quiet --yes pip
mkdir "$NUMBA_CACHE_DIR"
"$environment/bin/python" tests/compile_kernels.py partitions
"$environment/bin/python" tests/compile_kernels.py others
"$environment/bin/maskwright" demo "$scratch/demo" > "$scratch/first.txt"
chmod --recursive a+rwX "$NUMBA_CACHE_DIR"
du -sm "$environment" | cut -f 1 | sed 's/$/ MB in all/'

mkdir "$scratch/work"
chmod 777 "$scratch/work"
compiled=$(find "$NUMBA_CACHE_DIR" -type f -printf '%p %T@\n' | sort | sha256sum)
other=()
if [ "$(id -u)" = 0 ]; then
  other=(setpriv --reuid 10001 --regid 10001 --clear-groups)
else
  printf '!! not root: the demo runs as the same user\n'
fi
(cd "$scratch/work" && HOME=$scratch/work "${other[@]}" "$environment/bin/maskwright" demo > "$scratch/second.txt")
if [ "$compiled" != "$(find "$NUMBA_CACHE_DIR" -type f -printf '%p %T@\n' | sort | sha256sum)" ]; then
  printf 'the demo compiled kernels again, which the image should hold\n' >&2
  exit 1
fi
cmp "$scratch/demo/masked.xml" "$scratch/work/maskwright-demo/masked.xml"
printf 'all kernels were found, by another user, and the masked file is the same\n'
