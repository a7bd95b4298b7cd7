#!/usr/bin/env python3
"""Kills `shardplan sweep` in the middle, cuts its file short and goes on: nothing may be lost or done twice.

    tests/sweep_resume.py PROGRAM

Whatever was done to a sweep, its file must in the end be the same, byte by byte, as that of one that ran through.
"""

import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = ""
GRID = {
    "preset": ["llama3-8b", "llama3-70b"],
    "machine": [{"gpu": "h100-sxm", "gpus": [8, 16, 32, 64]}, {"gpu": "h200", "gpus": [16, 48]}],
    "seq": [4096, 8192],
    "global-batch": [256, 512],
    "tp": [None, 3],  # 3 divides no number of heads here: rows in error
    "tokens": "1T",
    "deadline": "100d",  # some rows are in time and some are late
}
ITEMS = 2 * 6 * 2 * 2 * 2
WAIT_S = 60


class SweepResume(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)
        cls.grid = cls.path / "grid.json"
        cls.grid.write_text(json.dumps(GRID))
        cls.whole = {}
        for ending in ("jsonl", "csv"):
            done = subprocess.run(cls.command("--format", ending, "--threads", "1"), capture_output=True)
            assert done.returncode == 1, done.stderr
            cls.whole[ending] = done.stdout
        assert cls.whole["jsonl"].count(b"\n") == ITEMS

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def command(cls, *more):
        return [PROGRAM, "sweep", str(cls.grid), *more]

    def setUp(self):
        self.file = self.path / f"{self.id().rpartition('.')[2]}.jsonl"

    def sweep(self, *more):
        return subprocess.run(self.command("--out", str(self.file), *more), capture_output=True, text=True)

    def start(self, *more):
        command = self.command("--out", str(self.file), *more)
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def rows(self):
        return self.file.read_bytes().count(b"\n") if self.file.exists() else 0

    def wait_for_rows(self, count, running):
        end = time.monotonic() + WAIT_S
        while self.rows() < count and running.poll() is None:
            self.assertLess(time.monotonic(), end, "no rows")
            time.sleep(0.001)

    def finish(self, ending="jsonl"):
        """Goes on to the end; the file must be that of a sweep that ran through."""
        before = self.rows()
        done = self.sweep("--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        summary = json.loads(done.stdout)
        self.assertTrue(summary["complete"])
        self.assertEqual(summary["kept"], before - (1 if ending == "csv" and before else 0))
        self.assertEqual(summary["feasible"] + summary["infeasible"] + summary["errors"], ITEMS)
        self.assertEqual(summary["late"], self.whole["jsonl"].count(b'"in_time":false'))
        self.assertEqual(self.file.read_bytes(), self.whole[ending])

    def test_threads_make_no_difference(self):
        for threads in ("2", "3", "16"):
            done = subprocess.run(self.command("--threads", threads), capture_output=True)
            self.assertEqual(done.stdout, self.whole["jsonl"], f"{threads} threads")

    def test_each_item_is_there_once(self):
        rows = [json.loads(line) for line in self.whole["jsonl"].splitlines()]
        self.assertEqual([row["item"] for row in rows], list(range(ITEMS)))
        self.assertEqual({row["feasible"] for row in rows}, {True, False, None})
        self.assertEqual({row["in_time"] for row in rows}, {True, False, None})

    def test_killed_again_and_again(self):
        killed = 0
        for rows in range(5, ITEMS - 5, 9):
            running = self.start("--threads", "2")
            self.wait_for_rows(rows, running)
            running.kill()
            killed += running.wait() == -signal.SIGKILL
            self.assertTrue(self.whole["jsonl"].startswith(self.file.read_bytes()))
        self.assertGreater(killed, 3, "the sweep ran through before it was killed")
        self.finish()

    def test_cut_short(self):
        chance = random.Random(0)
        for ending, whole in self.whole.items():
            self.file = self.file.with_suffix("." + ending)
            last = whole.rstrip(b"\n").rfind(b"\n") + 1
            cuts = [0, 1, 40, len(whole) - 1, len(whole), last, last - 1, last + 1, last + 30]
            for cut in cuts + [chance.randrange(len(whole)) for _ in range(4)]:
                with self.subTest(ending=ending, cut=cut):
                    self.file.write_bytes(whole[:cut])
                    self.finish(ending)

    def test_interrupted(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                self.file.unlink(missing_ok=True)
                running = self.start()
                self.wait_for_rows(3, running)
                running.send_signal(number)
                self.assertEqual(running.wait(), 128 + number)
                self.assertTrue(self.file.read_bytes().endswith(b"\n"))
                self.assertLess(self.rows(), ITEMS)
                self.finish()

    def test_a_whole_file_is_left_alone(self):
        self.file.write_bytes(self.whole["jsonl"])
        self.finish()

    def test_rows_of_another_sweep_are_left_alone(self):
        for held in (self.whole["csv"], self.whole["jsonl"].replace(b'"sweep":"', b'"sweep":"0', 1), b"notes"):
            self.file.write_bytes(held)
            done = self.sweep("--json")
            self.assertEqual(done.returncode, 2)
            self.assertEqual(json.loads(done.stdout)["error"]["code"], "other_sweep")
            self.assertEqual(self.file.read_bytes(), held)
        self.assertEqual(self.sweep("--overwrite").returncode, 1)
        self.assertEqual(self.file.read_bytes(), self.whole["jsonl"])

    def test_two_at_once(self):
        running = self.start()
        self.wait_for_rows(1, running)
        second = self.sweep("--json")
        running.kill()
        running.wait()
        self.assertEqual(second.returncode, 2)
        self.assertEqual(json.loads(second.stdout)["error"]["code"], "in_use")
        self.finish()


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
