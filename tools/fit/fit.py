#!/usr/bin/python3
"""Fits the constants of the step-time model to published step times, through the program itself.

    tools/fit/fit.py validation/training_time.csv validation/training_time_small.csv [--write] [--tables FILE]

The program is run with candidate catalogs (`validate --kind training-time --catalog DIR`); nothing of the model is repeated
here. Robust least squares on log(predicted / measured): pseudo-Huber, sources with many rows weighed down to the square
root of 80 over their number, priors of tools/fit/parameters.py as further residuals. Each source, and each family of
sources, is left out of the fit in turn and predicted by the rest. --write puts the constants into catalog/*.json with their
uncertainty: the posterior's, and the jackknife's over the sources. Needs numpy (python3-numpy).
"""

import argparse
import concurrent.futures
import copy
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

from parameters import parameters

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ("devices", "timing")
# A residual of this size, in log, is one: what repeats of the same layout differ by.
NOISE = 0.06
MOST_ROWS = 80
SMALL = "vtrain-single"
STEP = 0.02


def element(node, part):
    if part.startswith("["):
        key, value = part[1:-1].split("=")
        return next(e for e in node if e[key] == value or value in e[key])
    return node[part]


def holder(catalog, place):
    node = catalog[place[0]]
    for part in re.findall(r"\[[^\]]*\]|[^/]+", place[1]):
        node = element(node, part)
    return node


class Model:
    """The program with other constants."""

    def __init__(self, program, files):
        self.program, self.files = program, files
        self.catalog = {f.stem: json.loads(f.read_text()) for f in (ROOT / "catalog").glob("*.json")}
        self.parameters = parameters()
        self.prior = np.array([p.prior if p.linear else np.log(p.prior) for p in self.parameters])
        self.spread = np.array([p.spread for p in self.parameters])
        rows = {r["id"]: r for file in files for r in csv.DictReader(open(file, newline=""))}
        first = self.run(self.start())
        self.ids = sorted(first)
        self.rows = [rows[i] for i in self.ids]
        self.measured = np.array([float(r["measured_step_s"]) for r in self.rows])
        # Rows of toys inform the fit, but are no part of what it is judged by.
        self.judged = np.array([r["source_key"] != SMALL for r in self.rows])

    def start(self):
        """The constants as the catalog has them."""
        values = [holder(self.catalog, p.places[0])["value"] for p in self.parameters]
        return np.array([v if p.linear else np.log(v) for p, v in zip(self.parameters, values)])

    def value(self, p, x):
        return min(max(x, 0.0), 0.98) if p.linear else float(np.exp(x))

    def with_constants(self, theta):
        catalog = {f: copy.deepcopy(self.catalog[f]) for f in FILES}
        for p, x in zip(self.parameters, theta):
            for place in p.places:
                most = 1.0 if place[0] == "devices" and "contention" not in place[1] and "k_half" not in place[1] else 1e9
                holder(catalog, place)["value"] = min(most, self.value(p, x) * (place[2] if len(place) > 2 else 1))
        return catalog

    def run(self, theta):
        with tempfile.TemporaryDirectory() as folder:
            for name, content in {**self.catalog, **self.with_constants(theta)}.items():
                (pathlib.Path(folder) / f"{name}.json").write_text(json.dumps(content))
            command = [self.program, "validate", "--kind", "training-time", "--catalog", folder, "--json", *self.files]
            done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: {done.stderr or done.stdout[:500]}")
        return {r["id"]: r["predicted"] for r in json.loads(done.stdout)["rows_detail"]}

    def log_ratio(self, theta):
        predicted = self.run(theta)
        return np.log(np.array([predicted[i] for i in self.ids]) / self.measured)

    def jacobian(self, theta, at):
        """By differences towards the priors: where a constant sits at a limit, the way out of it is what counts."""

        def column(i):
            moved, by = theta.copy(), STEP if theta[i] < self.prior[i] else -STEP
            moved[i] += by
            return (self.log_ratio(moved) - at) / by

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return np.array(list(pool.map(column, range(len(theta))))).T

    def weights(self):
        count = {}
        for r in self.rows:
            count[r["source_key"]] = count.get(r["source_key"], 0) + 1
        return np.array([min(1.0, np.sqrt(MOST_ROWS / count[r["source_key"]])) for r in self.rows])


def huber(r):
    """Of a residual in units of noise: its pseudo-Huber loss, and the weight that least squares gives it."""
    root = np.sqrt(1 + (r / 2) ** 2)
    return 4 * (root - 1) * 2, 1 / root


def loss(model, theta, ratio, weights):
    of_rows, _ = huber(ratio / NOISE)
    return float((weights**2 * of_rows / 2).sum() + (((theta - model.prior) / model.spread) ** 2).sum() / 2)


def step(model, theta, ratio, jacobian, weights, damping):
    _, w = huber(ratio / NOISE)
    w = weights * np.sqrt(w) / NOISE
    a = jacobian * w[:, None]
    precision = a.T @ a + np.diag(1 / model.spread**2)
    gradient = a.T @ (ratio * w) + (theta - model.prior) / model.spread**2
    return -np.linalg.solve(precision + damping * np.diag(np.diag(precision)), gradient), precision


def fit(model, theta, weights, rounds, jacobian=None):
    """Gauss-Newton; a Jacobian that is given is kept."""
    kept = jacobian is not None
    ratio = model.log_ratio(theta)
    best, damping, precision = loss(model, theta, ratio, weights), 1e-3, None
    for _ in range(rounds):
        if not kept:
            jacobian = model.jacobian(theta, ratio)
        for _ in range(8):
            move, precision = step(model, theta, ratio, jacobian, weights, damping)
            there = model.log_ratio(theta + move)
            value = loss(model, theta + move, there, weights)
            if value < best:
                break
            damping = max(damping, 1e-2) * 4
        else:
            break
        gain, theta, ratio, best, damping = best - value, theta + move, there, value, damping / 10
        if not kept:
            print(f"loss {best:.2f}, {summary(ratio[model.judged])}", file=sys.stderr)
        if gain < 0.05:
            break
    return theta, ratio, jacobian, precision


def summary(ratio):
    e = np.exp(ratio) - 1
    return f"median {np.median(abs(e)):.2%}, p90 {np.percentile(abs(e), 90):.2%}, bias {np.median(e):+.2%}"


def left_out(model, theta, jacobian, weights, key, known):
    """Each row predicted by a fit that has seen no row of its `key`, and those fits' constants. `known`: fits by the
    rows that they have not seen; a family of one source is fitted once."""
    predicted, constants = np.zeros(len(model.ids)), {}
    names = sorted({r[key] for r in model.rows})

    def one(name):
        own = np.array([r[key] == name for r in model.rows])
        if own.tobytes() not in known:
            near, _, _, _ = fit(model, theta, weights * ~own, 8, jacobian)
            known[own.tobytes()] = fit(model, near, weights * ~own, 6)  # with differences of its own: some move far
        return name, own, known[own.tobytes()]

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, own, (moved, ratio, _, _) in pool.map(one, names):
            predicted[own], constants[name] = ratio[own], moved
    return predicted, constants


def regret(model, ratio):
    """Of the layout ranked first in each group of measured layouts: its time over the best one's, and Kendall's tau."""
    groups = {}
    for i, r in enumerate(model.rows):
        if r.get("layout_group") and model.judged[i]:
            groups.setdefault(r["layout_group"], []).append(i)
    lost, tau = [], []
    for of_group in groups.values():
        if len(of_group) < 4:
            continue
        m = model.measured[of_group]
        p = m * np.exp(ratio[of_group])
        lost.append(m[np.argmin(p)] / m.min() - 1)
        pairs = [np.sign((m[a] - m[b]) * (p[a] - p[b])) for a in range(len(m)) for b in range(a)]
        tau.append(np.mean(pairs))
    return (len(lost), float(np.mean(lost)), float(np.max(lost)), float(np.mean(tau))) if lost else None


def write_catalog(model, theta, precision, by_source):
    """The constants in place, the rest of the files as they were."""
    sd = np.sqrt(np.diag(np.linalg.inv(precision)))
    jackknife = np.array(list(by_source.values()))
    moved = np.sqrt((len(jackknife) - 1) / len(jackknife) * ((jackknife - jackknife.mean(0)) ** 2).sum(0))
    catalog = model.with_constants(theta)
    for i, p in enumerate(model.parameters):
        known = sd[i] < 0.8 * p.spread
        unit = "" if p.linear else " %"
        scale = 1 if p.linear else 100
        note = f"+- {sd[i] * scale:.2g}{unit}, jackknife over sources {moved[i] * scale:.2g}{unit}"
        for place in p.places:
            node = holder(catalog, place)
            node["value"] = float(f"{node['value']:.4g}")
            node["source"] = "step-time-fit" if known else "step-time-prior"
            node["note"] = note if known else f"prior {p.prior:.4g} +- {p.spread * scale:.2g}{unit}"
    follow(model.catalog["devices"], catalog["devices"])
    for name in FILES:
        path = ROOT / "catalog" / f"{name}.json"
        path.write_text(replaced(path.read_text(), model.catalog[name], catalog[name]))


def numbers(node, path=()):
    """Each {"value", "source"} below a node, with its path."""
    for key, below in node.items():
        if isinstance(below, dict):
            yield from [(path + (key,), below)] if "value" in below else numbers(below, path + (key,))


def follow(before, after):
    """Devices that are assumed to reach what a fitted one does go with it."""
    moved = {}
    for old, new in zip(before["devices"], after["devices"]):
        for (path, was), (_, now) in zip(numbers(old["efficiency"]), numbers(new["efficiency"])):
            if now["source"].startswith("step-time") and now["value"] != was["value"]:
                moved[path, was["value"]] = now["value"]
    for device in after["devices"]:
        for path, number in numbers(device["efficiency"]):
            if number["source"] == "assumed-relative":
                number["value"] = moved.get((path, number["value"]), number["value"])


def write_left_out(model, ratio):
    """What each row is predicted by constants that have seen no row of its source: error bands are made of these."""
    lines = ["id,left_out_s"]
    for i, measured, r, judged in zip(model.ids, model.measured, ratio, model.judged):
        if judged:
            lines.append(f"{i},{measured * np.exp(r):.4g}")
    (ROOT / "validation" / "training_time_left_out.csv").write_text("\n".join(lines) + "\n")


def replaced(text, before, after):
    """The text of a file with the numbers that changed, found one after another in its own order."""
    olds, news = [], []

    def walk(a, b):
        if isinstance(a, dict) and "value" in a and "source" in a:
            olds.append(a)
            news.append(b)
        elif isinstance(a, dict):
            for k in a:
                walk(a[k], b[k])
        elif isinstance(a, list):
            for x, y in zip(a, b):
                walk(x, y)

    walk(before, after)
    at = 0
    for old, new in zip(olds, news):
        match = re.compile(r"\{\s*\"value\"[^{}]*\}").search(text, at)
        if json.loads(match.group()) != old:
            sys.exit(f"the numbers are not where they were: {match.group()}")
        made = match.group() if old == new else json.dumps(new)
        text = text[: match.start()] + made + text[match.end() :]
        at = match.start() + len(made)
    return text


def table(model, title, ratio):
    lines = [f"| {title} | {len(ratio)} | " + " | ".join(cells(ratio)) + " |"]
    return lines


def cells(ratio):
    e = np.exp(ratio) - 1
    return [f"{np.median(abs(e)):.1%}", f"{np.mean(abs(e)):.1%}", f"{np.percentile(abs(e), 90):.1%}", f"{np.median(e):+.1%}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--program", default=str(ROOT / "build/release/shardplan"))
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--write", action="store_true", help="put the constants into catalog/*.json")
    parser.add_argument("--tables", help="write the error tables here, as Markdown")
    parser.add_argument("--quick", action="store_true", help="no source is left out")
    args = parser.parse_args()
    model = Model(args.program, args.files)
    weights = model.weights()
    theta, ratio, jacobian, precision = fit(model, model.start(), weights, args.rounds)
    judged = model.judged
    print(f"{judged.sum()} rows, {len(theta)} constants: {summary(ratio[judged])}")
    if not judged.all():
        print(f"{(~judged).sum()} rows of {SMALL}: {summary(ratio[~judged])}")
    print("choosing: groups, mean and largest regret, tau:", regret(model, ratio))
    for p, x in zip(model.parameters, theta):
        print(f"  {p.name}: {model.value(p, x):.4g} (prior {p.prior:.4g})")
    results, known = {"in sample": ratio}, {}
    by_source = {}
    if not args.quick:
        results["each source left out"], by_source = left_out(model, theta, jacobian, weights, "source_key", known)
        print("sources left out:", summary(results["each source left out"][judged]), regret(model, results["each source left out"]))
        if "family" in model.rows[0]:
            results["each family left out"], _ = left_out(model, theta, jacobian, weights, "family", known)
            print("families left out:", summary(results["each family left out"][judged]))
    if args.tables:
        from tables import tables

        pathlib.Path(args.tables).write_text(tables(model, results, regret, cells))
    if args.write:
        write_catalog(model, theta, precision, by_source)
        if by_source:
            write_left_out(model, results["each source left out"])


if __name__ == "__main__":
    main()
