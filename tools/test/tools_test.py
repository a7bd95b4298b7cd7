"""Tests of the small tools: the golden runner, the masks, the output blocks of documents, the benchmark ratio."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools"))
from volatile import mask  # noqa: E402


def load(name, path):
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


doc_blocks = load("doc_blocks", "tools/doc_blocks")
bench_ratio = load("bench_ratio", "tools/bench_ratio")


class Masks(unittest.TestCase):
    def test_search_time_and_speed(self):
        a = mask('{"search": {"plans": 12, "time_s": 0.0123, "plans_per_s": 1e6}, "step_time_s": 1.5}')
        self.assertEqual(a, '{"search": {"plans": 12, "time_s": 0, "plans_per_s": 0}, "step_time_s": 1.5}')
        self.assertEqual(mask("12,345 plans in 0.21 s (58.8 k plans/s)"), "12,345 plans in * s (* plans/s)")
        self.assertEqual(mask("catalog 0a1b2c3d4e"), "catalog *")

    def test_digest_of_a_sweep(self):
        self.assertEqual(mask('{"item":0,"sweep":"0123456789abcdef",'), '{"item":0,"sweep":"0",')
        self.assertEqual(mask("12,0123456789abcdef,true\n"), "12,0,true\n")

    def test_nothing_else(self):
        text = '{"breakdown": [{"name": "compute", "time_s": 0.5}]} step 1.2 s, 64 plans fit, catalog gpus'
        self.assertEqual(mask(text), text)


class SourceDigest(unittest.TestCase):
    def digest(self, *texts, names="abc"):
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder) / name for name in names[: len(texts)]]
            for file, text in zip(files, texts):
                file.write_text(text)
            made = pathlib.Path(folder) / "made.cpp"
            inputs = f"-DINPUTS={';'.join(map(str, files))}"
            script = str(ROOT / "tools/digest_sources.cmake")
            subprocess.run(["cmake", f"-DOUTPUT={made}", inputs, "-P", script], check=True)
            return re.search(r'kSourceDigest = "([0-9a-f]{16})";', made.read_text())[1]

    def test_changes_with_any_content_and_with_nothing_else(self):
        one = self.digest("int a;", "int b;")
        self.assertEqual(one, self.digest("int a;", "int b;", names="xy"))
        others = {self.digest("int a;", "int b; "), self.digest("int b;", "int a;"), self.digest("int a;int b;")}
        self.assertEqual(len(others | {one}), 4)


class Golden(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.case = pathlib.Path(self.folder.name) / "case.cmd"
        self.program = pathlib.Path(self.folder.name) / "program"
        self.case.write_text("# What it shows.\nshardplan plan 'two words'\n")
        self.write_program("echo \"got $1,$2\"; echo oops >&2; exit 1")

    def write_program(self, body):
        self.program.write_text(f"#!/bin/sh\n{body}\n")
        self.program.chmod(0o755)

    def run_case(self, **extra):
        environment = {k: v for k, v in os.environ.items() if k != "UPDATE_GOLDEN"} | extra
        command = [sys.executable, str(ROOT / "tests/golden/run.py"), "--program", str(self.program), str(self.case)]
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    def test_missing_expectation_fails(self):
        self.assertEqual(self.run_case().returncode, 1)

    def test_update_then_equal(self):
        self.assertEqual(self.run_case(UPDATE_GOLDEN="1").returncode, 0)
        self.assertEqual(self.case.with_suffix(".out").read_text(), "got plan,two words\n")
        self.assertEqual(self.case.with_suffix(".err").read_text(), "oops\n")
        self.assertEqual(self.case.with_suffix(".status").read_text(), "1\n")
        self.assertEqual(self.run_case().returncode, 0)

    def test_each_difference_is_found(self):
        self.run_case(UPDATE_GOLDEN="1")
        for body in ("echo other; echo oops >&2; exit 1", "echo 'got plan,two words'; exit 1",
                     "echo 'got plan,two words'; echo oops >&2; exit 0",
                     "printf 'got plan,two words'; echo oops >&2; exit 1"):
            self.write_program(body)
            done = self.run_case()
            self.assertEqual(done.returncode, 1, body)
            self.assertIn("UPDATE_GOLDEN=1", done.stdout)

    def test_refuses_another_command(self):
        self.case.write_text("rm -rf x\n")
        self.assertNotEqual(self.run_case().returncode, 0)


class DocBlocks(unittest.TestCase):
    def test_outputs_are_replaced_and_commands_kept(self):
        text = "a\n```console {cmd}\n$ one \\\n    more\nold\n$ two\n```\n```console\n$ three\nleft\n```\n"
        new = doc_blocks.refreshed(text, lambda command: f"<{command.split()[0]}>\n")
        self.assertEqual(
            new, "a\n```console {cmd}\n$ one \\\n    more\n<one>\n$ two\n<two>\n```\n```console\n$ three\nleft\n```\n"
        )
        self.assertEqual(doc_blocks.refreshed(new, lambda command: f"<{command.split()[0]}>\n"), new)

    def test_check_reports_a_stale_block_and_writes_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text("```console {cmd}\n$ echo new\nold\n```\n")
            command = [sys.executable, str(ROOT / "tools/doc_blocks"), "--program", "/bin/true"]
            check = subprocess.run([*command, "--check", str(page)], capture_output=True, text=True)
            self.assertEqual(check.returncode, 1)
            self.assertIn("-old\n+new", check.stdout)
            self.assertIn("old", page.read_text())
            subprocess.run([*command, str(page)], check=True, capture_output=True)
            self.assertEqual(page.read_text(), "```console {cmd}\n$ echo new\nnew\n```\n")
            self.assertEqual(subprocess.run([*command, "--check", str(page)]).returncode, 0)


class GeneratedPages(unittest.TestCase):
    def test_a_stale_page_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program"
            program.write_text("#!/bin/sh\necho 'surely not this'\n")
            program.chmod(0o755)
            done = subprocess.run([str(ROOT / "tools/check_generated.sh"), str(program)], capture_output=True)
            self.assertEqual(done.returncode, 1)


class BenchRatio(unittest.TestCase):
    def result(self, folder, name, time):
        path = pathlib.Path(folder) / name
        runs = [
            {"name": "a", "cpu_time": time, "time_unit": "us", "run_type": "iteration"},
            {"name": "a", "cpu_time": 9 * time, "time_unit": "us", "run_type": "iteration"},
            {"name": "a_mean", "cpu_time": 5 * time, "time_unit": "us", "run_type": "aggregate"},
        ]
        path.write_text(json.dumps({"benchmarks": runs}))
        return path

    def run_main(self, *arguments):
        old, sys.argv = sys.argv, ["bench_ratio", *map(str, arguments)]
        try:
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                return bench_ratio.main(), printed.getvalue()
        finally:
            sys.argv = old

    def test_ratio_to_the_run_before(self):
        with tempfile.TemporaryDirectory() as folder:
            status, printed = self.run_main(self.result(folder, "now.json", 2))
            self.assertIn("new", printed)
            status, printed = self.run_main(self.result(folder, "now.json", 3), "--limit", 1.4)
            self.assertIn("  1.50 x           3,000 ns  a\n", printed)
            self.assertEqual(status, 1)
            self.assertEqual(self.run_main(self.result(folder, "now.json", 3), "--limit", 1.4)[0], 0)


if __name__ == "__main__":
    unittest.main()
