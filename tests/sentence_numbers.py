#!/usr/bin/env python3
"""Asks real questions and reads the sentences of the answers: is every number in them a value of the JSON, to the digits
that are printed?

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
PLAN = "plan --json"
QUESTIONS = {
    "8b on one node": f"{PLAN} --preset llama3-8b --gpu h100-sxm --gpus 8 --seq 8192 --global-batch 512",
    "70b on 64": f"{PLAN} --model examples/llama-3.1-70b/config.json --gpu h100-sxm --gpus 64 --seq 8192 --global-batch 512",
    "70b on 32 of 40 GB": f"{PLAN} --preset llama3-70b --gpu a100-40gb-sxm --gpus 32 --seq 4096 --global-batch 256 --framework megatron",
    "175b on 1,024": f"{PLAN} --preset gpt3-175b --gpu a100-80gb-sxm --gpus 1024 --seq 2048 --global-batch 1536 --framework megatron",
    "405b on 16,384": f"{PLAN} --preset llama3-405b --gpu h100-sxm --gpus 16384 --seq 8192 --global-batch 2048",
    "405b, 128k tokens": f"{PLAN} --preset llama3-405b --gpu h100-sxm --gpus 8192 --seq 131072 --global-batch 128",
    "mixture on 256": f"{PLAN} --preset qwen3-235b-a22b --gpu h200 --gpus 256 --seq 4096 --global-batch 1024 --framework megatron",
    "three tiers": f"{PLAN} --preset llama3-70b --cluster examples/cluster-3-tier.json --seq 8192 --global-batch 1024",
    "adapters on four L40S": f"{PLAN} --preset llama3-8b --gpu l40s --gpus 4 --seq 4096 --global-batch 32 --lora 16",
    "state does not fit": f"{PLAN} --preset llama3-405b --gpu h100-sxm --gpus 64 --seq 8192 --global-batch 1024",
    "sequence does not fit": f"{PLAN} --preset llama3-8b --gpu h100-sxm --gpus 8 --seq 2097152 --global-batch 8",
    "served": "serve --json --preset llama3-70b --gpu h100-sxm --gpus 8 --seq 8192 --batch 16 --tpot-ms 20",
}
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


def check(name, command, program):
    done = subprocess.run([program, *command.split()], cwd=ROOT, capture_output=True, text=True, timeout=300)
    if done.returncode not in (0, 1):
        return [f"{name}: exit status {done.returncode}: {done.stderr}"], 0, 0
    answer = json.loads(done.stdout)
    everywhere = sorted(leaves(answer))
    wrong, said, own = [], 0, 0
    for sentence, finding in sentences(answer):
        here = sorted(leaves(finding))
        quoted = finding.get("source")
        if isinstance(quoted, str) and quoted:
            sentence = sentence.replace(quoted, "")
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
    for name, command in QUESTIONS.items():
        more, numbers, here = check(name, command, program)
        wrong += more
        said += numbers
        own += here
        print(f"{name}: {numbers} numbers, {here} of them values of their own finding")
    for line in wrong:
        print(line)
    if said < 300:
        wrong.append("too few")
        print(f"only {said} numbers were found: the sentences are not where they were")
    print(f"{said} numbers, {own} of their own finding, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
