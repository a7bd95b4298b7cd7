#!/usr/bin/env python3
"""Asks the real questions of tests/golden (question_*.cmd) and the drills, and reads the sentences of the answers: is
every number in them a value of the JSON, to the digits that are printed?

    tests/sentence_numbers.py PROGRAM

A number in a sentence that is no value of the answer was made up on the way to the reader, or rounded twice. Plans as
they are spelled are left out: they are told in parts beside it.
"""

import bisect
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/golden"))
from run import read_command  # noqa: E402

ASKED = [case for kind in ("question", "drill_solve") for case in sorted((ROOT / "tests/golden").glob(f"{kind}_*.cmd"))]
SENTENCES = ("statement", "reason", "price", "proof", "then", "magnitude")
FACTORS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60, "h": 3600,
           "days": 86400, "%": 0.01, "k": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
FACTORS |= {prefix + "B/s": factor for prefix, factor in (("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12))}
NUMBER = re.compile(r"(?<![\w.,·-])(\d[\d,]*)(\.\d+)?(?: ?(" + "|".join(map(re.escape, sorted(FACTORS, key=len, reverse=True))) + r")(?![\w/]))?")
SPELLED_PLAN = re.compile(r"\b[a-z]+\d+·\S+")
# Names that hold numbers, and the share of a band (validate/bands.h).
NAMES = re.compile(r"Llama 3|8 in 10|ZeRO-\d|[a-z0-9-]*\d+[a-z-][a-z0-9-]*|arXiv:\S+|fp8|bf16|stage \d+|1F1B")


def leaves(value):
    if isinstance(value, dict):
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield abs(float(value))


def sentences(value):
    """Each sentence with the finding that it stands in."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in SENTENCES and isinstance(inner, str):
                yield inner, value
            else:
                yield from sentences(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from sentences(inner)


def stands_in(numbers, low, high):
    at = bisect.bisect_left(numbers, low)
    return at < len(numbers) and numbers[at] <= high


def check(name, case, program):
    done = subprocess.run([program, *read_command(case), "--json"], cwd=ROOT, capture_output=True, text=True, timeout=300)
    if done.returncode not in (0, 1):
        return [f"{name}: exit status {done.returncode}: {done.stderr}"], 0, 0
    answer = json.loads(done.stdout)
    everywhere = sorted(leaves(answer))
    wrong, said, own = [], 0, 0
    for sentence, finding in sentences(answer):
        here = sorted(leaves(finding))
        for digits, fraction, unit in NUMBER.findall(NAMES.sub("", SPELLED_PLAN.sub("", sentence))):
            factor = FACTORS.get(unit, 1)
            value = float(digits.replace(",", "") + fraction) * factor
            # Half of the last digit that is printed; rates that are needed are rounded up.
            slack = 1.01 * factor * 10.0 ** -(len(fraction) - 1 if fraction else 0) + 1e-9 * value
            slack = slack if unit.endswith("B/s") else slack / 2
            low, high = value - slack, value + slack
            said += 1
            own += stands_in(here, low, high)
            if not stands_in(here, low, high) and not stands_in(everywhere, low, high):
                wrong.append(f"{name}: {digits}{fraction} {unit} is no value of the answer: {sentence}")
    return wrong, said, own


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    wrong, said, own = [], 0, 0
    for case in ASKED:
        name = case.stem
        more, numbers, here = check(name, case, program)
        wrong += more
        said += numbers
        own += here
        print(f"{name}: {numbers} numbers, {here} of them values of their own finding")
    for line in wrong:
        print(line)
    if said < 300 or len(ASKED) < 13:
        wrong.append("too few")
        print(f"only {said} numbers in {len(ASKED)} answers were found: the sentences or questions are not where they were")
    print(f"{said} numbers, {own} of their own finding, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
