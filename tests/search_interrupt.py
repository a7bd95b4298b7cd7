#!/usr/bin/env python3
"""Ctrl-C in each part of what `shardplan plan` searches: it ends soon, with the best so far, and says so.

    tests/search_interrupt.py PROGRAM

The program runs on a terminal of its own; the line that it draws there says in which part it is.
"""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import unittest

PROGRAM = ""
MACHINE = ["--gpu", "h100-sxm", "--framework", "megatron"]
# Long enough to be seen: half a second passes before the line is there.
SIZES = ["plan", "--preset", "llama3-70b", *MACHINE, "--gpus", "8:8192:8", "--global-batch", "3840"]
ONE = ["plan", "--preset", "llama3-405b", *MACHINE, "--gpus", "7680", "--global-batch", "3840", "--whole-space"]
LONG = ["plan", "--preset", "deepseek-v3", *MACHINE, "--gpus", "2048", "--global-batch", "15360", "--whole-space"]
FRONT = ["plan", "--preset", "llama3-70b", *MACHINE, "--gpus", "64:2048:64", "--pareto"]
WAIT_S = 60


class Running:
    """The program, its standard error a terminal of which `drawn` is what it has drawn."""

    def __init__(self, arguments):
        self.drawn = ""
        self.terminal, other = pty.openpty()
        self.process = subprocess.Popen(
            [PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=other, text=True
        )
        os.close(other)

    def read(self):
        if select.select([self.terminal], [], [], 0.02)[0]:
            try:
                self.drawn += os.read(self.terminal, 4096).decode()
            except OSError:  # the other side is closed
                pass

    def wait_for(self, pattern):
        """Whether that was drawn before the program ended."""
        end = time.monotonic() + WAIT_S
        while not re.search(pattern, self.drawn):
            if self.process.poll() is not None:
                return False
            if time.monotonic() > end:
                self.process.kill()
                raise AssertionError(f"no {pattern} in {self.drawn!r}")
            self.read()
        return True

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def finish(self):
        out = self.process.communicate(timeout=WAIT_S)[0]
        self.read()
        os.close(self.terminal)
        return self.process.returncode, out


class Interrupt(unittest.TestCase):
    def stopped(self, arguments, pattern):
        """Interrupts where the line has the pattern; the answer as JSON."""
        running = Running([*arguments, "--json"])
        if not running.wait_for(pattern):
            running.finish()
            self.skipTest("the machine is too fast for its line to be seen")
        running.interrupt()
        begun = time.monotonic()
        status, out = running.finish()
        self.assertLess(time.monotonic() - begun, 10)
        self.assertRegex(running.drawn, r"\r(shardplan: stopped before its end: .*\s+)?$", "the line is taken away")
        return status, json.loads(out)

    def test_sizes(self):
        status, answer = self.stopped(SIZES, r"searching: (legal sizes|bounds of sizes|sizes) \d+ of \d+; Ctrl-C")
        self.assertGreater(answer["sizes"]["not_looked_at"], 0)
        self.assertTrue(answer["search"]["stopped"])
        self.assertEqual(status, 130)
        self.assertEqual(answer["cluster"]["gpus"] is None, answer["feasible"] is None)

    def test_bounds_of_sizes(self):
        status, answer = self.stopped(SIZES, r"searching: bounds of sizes \d+ of \d+; Ctrl-C")
        if not answer["sizes"]["only_bounded"]:
            self.skipTest("the sizes were bounded before it was interrupted")
        self.assertIsNone(answer["feasible"])
        self.assertIsNone(answer["cluster"]["gpus"], "no size was chosen")
        self.assertIsNone(answer["cluster"]["name"])
        self.assertEqual(status, 130)

    def test_text_of_sizes_that_were_bounded(self):
        running = Running(SIZES)
        if not running.wait_for(r"searching: bounds of sizes \d+ of \d+; Ctrl-C"):
            running.finish()
            self.skipTest("the machine is too fast for its line to be seen")
        running.interrupt()
        status, out = running.finish()
        if "step-time: stopped while" not in out:
            self.skipTest("the sizes were bounded before it was interrupted")
        self.assertEqual(status, 130)
        self.assertIn("step-time: stopped while it was worked out what each size can reach at best", out)
        self.assertNotIn("x h100-sxm", out, "no size was chosen")
        self.assertIn("shardplan: stopped before its end: there may be a plan", running.drawn)

    def test_layouts(self):
        status, answer = self.stopped(LONG, r"searching: layouts \d+ of \d+; Ctrl-C")
        if not answer["search"]["stopped"]:
            self.skipTest("the layouts were searched before it was interrupted")
        self.assertIn("threshold: sequence", answer["search"]["not_looked_at"])
        self.assertIn(answer["feasible"], (True, None))
        self.assertEqual(status, 130)

    def test_what_would_change_the_answer(self):
        status, answer = self.stopped(ONE, r"searching: (unused axes|thresholds) \d+ of \d+; Ctrl-C")
        self.assertFalse(answer["search"]["stopped"], "the plan was found before")
        self.assertTrue(answer["search"]["not_looked_at"])
        self.assertTrue(answer["feasible"])
        self.assertEqual(status, 0)

    def test_pareto(self):
        status, answer = self.stopped(FRONT, r"searching: sizes of the front \d+ of \d+; Ctrl-C")
        self.assertTrue(answer["pareto_stopped"])
        self.assertFalse(answer["search"]["stopped"], "the plan was found before")
        self.assertEqual(status, 130)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
