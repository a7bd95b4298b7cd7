#!/usr/bin/env python3
"""Runs every command that `shardplan drill solve` prints; each must exit 0 or 1 and say something.

    tests/drill_commands.py PROGRAM

Where SHOWN names a scenario, the value of each row must also stand in what the commands under its table print. What
a scenario finds must be, to the last digit, what `plan` and `serve` find for the commands that it names.
"""
import json
import re
import shlex
import subprocess
import sys

DRILLS = ("1", "2", "3")
SHOWN = {("2", "D")}
FINDINGS = ("axes", "not_used", "failure_modes", "thresholds", "unknowns", "nothing_fits")
# What a command does not find, and a scenario may add.
LEFT_BY = {"serve": ("axes", "not_used", "nothing_fits")}


def run(program, arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120)


def tables(program, drill):
    """(scenario, rows, commands) of each table, a row as its columns, in order."""
    solved = run(program, ["drill", "solve", drill])
    if solved.returncode != 0:
        sys.exit(f"drill solve {drill}: exit status {solved.returncode}\n{solved.stderr}")
    scenario, rows, commands = "", [], []
    for line in solved.stdout.splitlines() + [""]:
        if line.startswith("$ "):
            commands.append(line[2:])
            continue
        if commands:
            yield scenario, rows, commands
            rows, commands = [], []
        if heading := re.match(r"(\S+): ", line):
            scenario = heading[1]
        if line.startswith("  "):
            rows.append(re.split(r" {2,}", line.strip()))
        else:
            rows = []


def shows(outputs, value):
    """Whether a value stands in an output, not as the tail of a longer number."""
    return any(re.search(rf"(?<![\d.,]){re.escape(value)}(?![\w])", text) for text in outputs)


def unlike_engine(program, drill):
    """(findings compared, those that are not the engine's)."""
    bad, compared = [], 0
    for scenario in json.loads(run(program, ["drill", "solve", drill, "--json"]).stdout)["scenarios"]:
        for key, command in scenario["commands"].items():
            words = shlex.split(command)[1:]
            if words[0] == "comm":
                continue  # it finds nothing but the cost
            engine = json.loads(run(program, [*words, "--json"]).stdout)
            for finding in ["binding_constraint"] if key == "binding_constraint" else FINDINGS:
                if finding in LEFT_BY.get(words[0], ()) and not engine.get(finding):
                    continue
                compared += 1
                if scenario[finding] != engine[finding]:
                    bad.append(f"drill {drill} {scenario['id']}: {finding} is not what {command} finds")
    return compared, bad


def main():
    program = sys.argv[1]
    outputs, bad, values = {}, [], 0
    for drill in DRILLS:
        for scenario, rows, commands in tables(program, drill):
            for line in commands:
                if line in outputs:
                    continue
                words = shlex.split(line)
                done = run(program, words[1:])
                outputs[line] = done.stdout
                if words[0] != "shardplan" or done.returncode not in (0, 1) or not done.stdout or done.stderr:
                    bad.append(f"drill {drill}: {line}: exit status {done.returncode} {done.stderr.strip()}")
            if (drill, scenario) not in SHOWN:
                continue
            for row in rows:
                values += 1
                if not shows([outputs[line] for line in commands], row[1]):
                    bad.append(f"drill {drill} {scenario}: {row[0]}: no command under the table prints {row[1]}")
    compared = 0
    for drill in DRILLS:
        findings, unlike = unlike_engine(program, drill)
        compared += findings
        bad += unlike
    print("\n".join(bad) or f"{len(outputs)} commands ran, {values} rows are printed by theirs, {compared} findings are the engine's")
    sys.exit(1 if bad or len(outputs) < len(DRILLS) or values < 15 * len(SHOWN) or compared < 40 else 0)


if __name__ == "__main__":
    main()
