#!/usr/bin/env python3
"""Runs one command line and compares what a user sees with what is stored.

NAME.cmd holds one line that starts with `shardplan` (lines before it that start with # say what the case shows).
It is run at the root of the repository; standard output is compared with NAME.out, standard error with NAME.err (no
such file: none expected) and the exit status with NAME.status. UPDATE_GOLDEN=1 writes these files instead.
"""

import argparse
import difflib
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from volatile import mask  # noqa: E402


def read_command(case):
    lines = [line for line in case.read_text().splitlines() if line.strip() and not line.startswith("#")]
    words = shlex.split(lines[0]) if len(lines) == 1 else []
    if words[:1] != ["shardplan"]:
        sys.exit(f"{case}: expected one command line that starts with 'shardplan'")
    return words[1:]


def run(program, arguments):
    environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
    done = subprocess.run(
        [program, *arguments], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=120
    )
    return {
        ".out": mask(done.stdout.decode(errors="replace")),
        ".err": mask(done.stderr.decode(errors="replace")),
        ".status": f"{done.returncode}\n",
    }


def update(case, seen):
    for suffix, text in seen.items():
        path = case.with_suffix(suffix)
        if text:
            path.write_text(text)
        else:
            path.unlink(missing_ok=True)


def differences(case, seen):
    found = []
    for suffix, text in seen.items():
        path = case.with_suffix(suffix)
        stored = path.read_text() if path.exists() else ""
        found += difflib.unified_diff(
            stored.splitlines(), text.splitlines(), str(path.name), f"{path.name} (now)", lineterm=""
        )
        if not found and stored != text:
            found.append(f"{path.name}: differs in the newline at its end")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("case", type=pathlib.Path)
    options = parser.parse_args()
    seen = run(os.path.abspath(options.program), read_command(options.case))
    if os.environ.get("UPDATE_GOLDEN") == "1":
        update(options.case, seen)
        return 0
    found = differences(options.case, seen)
    if found:
        print(*found, sep="\n")
        print(f"\n{options.case.read_text().strip()}\nIf the new output is right: UPDATE_GOLDEN=1 make test, and read the diff.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
