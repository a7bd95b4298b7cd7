#!/usr/bin/env python3
"""Runs every command that `shardplan drill solve` prints under its tables; each must exit 0 or 1 and say something.

    tests/drill_commands.py PROGRAM
"""

import shlex
import subprocess
import sys

DRILLS = ("1", "2", "3")


def run(program, arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120)


def commands(program):
    """Each printed command once, in order."""
    found = {}
    for drill in DRILLS:
        solved = run(program, ["drill", "solve", drill])
        if solved.returncode != 0:
            sys.exit(f"drill solve {drill}: exit status {solved.returncode}\n{solved.stderr}")
        for line in solved.stdout.splitlines():
            if line.startswith("$ "):
                found.setdefault(line[2:], drill)
    return found


def main():
    program = sys.argv[1]
    found = commands(program)
    bad = []
    for line, drill in found.items():
        words = shlex.split(line)
        done = run(program, words[1:])
        if words[0] != "shardplan" or done.returncode not in (0, 1) or not done.stdout or done.stderr:
            bad.append(f"drill {drill}: {line}: exit status {done.returncode} {done.stderr.strip()}")
    print("\n".join(bad) or f"{len(found)} commands ran")
    sys.exit(1 if bad or len(found) < len(DRILLS) else 0)


if __name__ == "__main__":
    main()
