#!/usr/bin/env python3
"""Writes reports with `shardplan plan --report` and `shardplan serve --report` and reads them: are they whole, small and safe, and do they say what
the JSON says?

    tests/report_page.py PROGRAM

A page must be well-formed XML with each id once and no link to nowhere, stay under 2 MB at 16,384 GPUs, hold nothing
that runs or loads, show names from a person's files as text, and open the formula of each number that it begins with. Every quantity that it prints outside of the
catalog's figures must be a number of the JSON, as it is printed, or stand in one of its sentences.
"""

import bisect
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[1]
LARGEST_BYTES = 2_000_000
HOSTILE = "<script>alert(1)</script>"
SERVING = ["serve", "--preset", "llama3-70b", "--gpu", "h100-sxm"]
PLANS = {
    "small": ["--preset", "llama3-8b", "--gpu", "h100-sxm", "--gpus", "8", "--global-batch", "64", "--pareto"],
    "pipeline": ["--model", "examples/llama-3.1-70b/config.json", "--gpu", "h100-sxm", "--gpus", "64"],
    "run": ["--preset", "llama3-8b", "--gpu", "h100-sxm", "--gpus", "8:32:8", "--tokens", "15T", "--price", "2.5"],
    "large": ["--preset", "llama3-405b", "--gpu", "h100-sxm", "--gpus", "16384", "--fix", "tp=8,pp=16"],
    "deep": ["--preset", "llama3-405b", "--gpu", "h100-sxm", "--gpus", "16128", "--fix", "tp=8,pp=126"],
    "late": ["--preset", "llama3-8b", "--gpu", "h100-sxm", "--gpus", "8", "--tokens", "15T", "--deadline", "1d"],
    "nothing": ["--preset", "llama3-405b", "--gpu", "h100-sxm", "--gpus", "8"],
}
SERVED = {
    "served": [*SERVING, "--gpus", "16", "--batch", "16", "--seq", "8192", "--tpot-ms", "30"],
    "served, no limit": [*SERVING, "--gpus", "8", "--tp", "8", "--batch", "64"],
    "served too late": [*SERVING, "--gpus", "8", "--tp", "4", "--batch", "16", "--tpot-ms", "5"],
    "not served": [*SERVING, "--gpus", "8", "--tp", "1", "--pp", "1"],
}
CASES = {name: ["plan", *arguments] for name, arguments in PLANS.items()} | SERVED
NO = {"late", "nothing", "served too late", "not served"}  # exit status 1
# What no formula made: the error of a sum that does not fit.
PLAIN = {"memory too much"}
UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "s": 1, "ms": 1e-3, "us": 1e-6}
UNITS |= {prefix + "B/s": factor for prefix, factor in (("", 1), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12))}
QUANTITY = re.compile(r"(?<![\w.,])(\d[\d,]*(?:\.\d+)?) (" + "|".join(sorted(UNITS, key=len, reverse=True)) + r")(?![\w/])")
HALF_DIGIT = 5.1e-4  # quantities are printed with four digits


class Findings(list):
    def check(self, good, what):
        if not good:
            self.append(what)


def run(program, arguments):
    return subprocess.run([program, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=300)


def tag(node):
    return node.tag.rpartition("}")[2]


def text_of(node, without=()):
    """The words of a page, those of some sections left out, with a space between elements that do not run on."""
    if tag(node) in ("style", "svg") or node.get("id") in without:
        return ""
    parts = [node.text or ""]
    for child in node:
        parts += [text_of(child, without), child.tail or ""]
    inline = tag(node) in ("b", "wbr", "code", "button", "a", "cite")
    return "".join(parts) if inline else " " + "".join(parts) + " "


def check_whole(root, where, found):
    nodes = list(root.iter())
    ids = [node.get("id") for node in nodes if node.get("id")]
    found.check(len(ids) == len(set(ids)), f"{where}: an id stands twice")
    for node in nodes:
        for name in ("popovertarget", "aria-labelledby"):
            if node.get(name):
                found.check(node.get(name) in ids, f"{where}: {name} of no element: {node.get(name)}")
        link = node.get("href", "")
        if link.startswith("#"):
            found.check(link[1:] in ids, f"{where}: a link to nowhere: {link}")
        else:
            found.check(not link or link.startswith("http"), f"{where}: a link with another scheme: {link}")
        found.check(tag(node) not in ("script", "img", "link", "iframe", "object"), f"{where}: <{tag(node)}>")
        found.check(not any(name.startswith("on") or name in ("src", "style") for name in node.attrib), f"{where}: {node.attrib}")


def known_numbers(answer):
    """All numbers of a JSON value, sorted, and all its texts as one."""
    numbers, texts = [], []

    def walk(value):
        if isinstance(value, dict):
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)
        elif isinstance(value, str):
            texts.append(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            numbers.append(abs(float(value)))  # what is missing is told as much as what is left

    walk(answer)
    return sorted(numbers), "\n".join(texts)


def check_numbers(root, answer, where, found):
    numbers, texts = known_numbers(answer)
    quantities = QUANTITY.findall(text_of(root, without={"sources"}))
    found.check(len(quantities) > 20, f"{where}: only {len(quantities)} quantities in it")
    for digits, unit in set(quantities):
        value = float(digits.replace(",", "")) * UNITS[unit]
        slack = abs(value) * HALF_DIGIT + 1e-12
        at = bisect.bisect_left(numbers, value - slack)
        near = at < len(numbers) and numbers[at] <= value + slack
        found.check(near or f"{digits} {unit}" in texts, f"{where}: {digits} {unit} is not in the JSON")


def check_headline(root, name, found):
    """Each number that the page begins with opens its formula."""
    seen = 0
    for part in root.iter():
        if part.get("class") != "figures":
            continue
        for entry in part:
            what, value = text_of(entry[0]).strip(), entry[1]
            opens = [node for node in value.iter() if node.get("popovertarget")]
            found.check(opens or what in PLAIN, f"{name}: {what} opens no formula")
            seen += 1
    found.check(seen >= 4 or name in ("nothing",), f"{name}: {seen} numbers to begin with")


def check_pages(program, folder, found):
    for name, command in CASES.items():
        page = folder / f"{name}.html"
        more = ["--report", str(page), "--explain", "--json"]
        if command[0] == "plan":
            more += ["--timeline", str(folder / "step.svg")]
        done = run(program, [*command, *more])
        expected = 1 if name in NO else 0
        found.check(done.returncode == expected, f"{name}: exit status {done.returncode}: {done.stderr}")
        answer = json.loads(done.stdout)
        found.check(answer.get("report") == {"file": str(page)}, f"{name}: the JSON does not name the report")
        size = page.stat().st_size
        print(f"{name}: {size:,} bytes")
        found.check(size < LARGEST_BYTES, f"{name}: {size} bytes")
        root = ElementTree.parse(page).getroot()
        check_whole(root, name, found)
        check_numbers(root, answer, name, found)
        check_headline(root, name, found)
        words = " ".join(text_of(root).split())
        for left in answer["thresholds_not_sought"]:
            found.check(f'{left["parameter"]} is not sought' in words, f'{name}: nothing says that {left["parameter"]} is not sought')


def check_hostile(program, folder, found):
    """Names from a person's files: of a model, by its path, and of a cluster and a tier."""
    model = folder / HOSTILE
    model.mkdir(parents=True)
    (model / "config.json").write_text((ROOT / "examples/llama-3.1-70b/config.json").read_text())
    cluster = json.loads((ROOT / "examples/cluster-3-tier.json").read_text())
    cluster["name"] = HOSTILE + '"\'&\x1b'
    for tier in cluster["tiers"]:
        tier["name"] = f'{tier["name"]}"><img src=x onerror=alert(1)>'
    (folder / "cluster.json").write_text(json.dumps(cluster))
    page = folder / "hostile.html"
    done = run(program, ["plan", "--model", str(model), "--cluster", str(folder / "cluster.json"), "--report", str(page)])
    found.check(done.returncode == 0, f"hostile: exit status {done.returncode}: {done.stderr}")
    root = ElementTree.parse(page).getroot()
    check_whole(root, "hostile", found)
    found.check(HOSTILE in text_of(root), "hostile: the model's name is not shown")


def check_refused(program, folder, found):
    for command in ("plan", "serve"):
        for path in (folder / "no" / "such" / "page.html", folder / "page.txt"):
            done = run(program, [command, "--preset", "llama3-8b", "--gpus", "8", "--report", str(path)])
            found.check(done.returncode == 2 and not done.stdout, f"{command} {path.name}: exit status {done.returncode}")
            found.check("--report" in done.stderr and not path.exists(), f"{command} {path.name}: {done.stderr}")


def main():
    program, found = sys.argv[1], Findings()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_pages(program, folder, found)
        check_hostile(program, folder, found)
        check_refused(program, folder, found)
    for what in found:
        print(what)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
