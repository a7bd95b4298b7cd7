#!/usr/bin/env python3
"""Where a file that the program writes ends up: beside links, through them, in what is no file.

    tests/output_files.py PROGRAM
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ""


class OutputFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        (self.path / "there").mkdir()
        self.link = self.path / "link.svg"
        self.target = self.path / "there" / "drawing.svg"

    def draw(self, **how):
        command = [PROGRAM, "comm", "--gpu", "h100-sxm", "--gpus", "8", "--sweep", "8B:1MB", "--svg", str(self.link)]
        return subprocess.run(command, capture_output=True, text=True, **how)

    def written_through_the_link(self):
        done = self.draw()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.link.is_symlink(), "the link stays one")
        self.assertIn("<svg", self.target.read_text())
        self.assertEqual(sorted(p.name for p in self.path.rglob("*")), ["drawing.svg", "link.svg", "there"])

    def test_a_link_is_written_through(self):
        self.target.write_text("old")
        self.link.symlink_to(self.target)
        self.written_through_the_link()

    def test_a_link_to_what_is_not_there_yet(self):
        self.link.symlink_to("there/drawing.svg")
        self.written_through_the_link()

    def test_a_link_to_a_link(self):
        self.target.symlink_to("../real.svg")
        self.link.symlink_to("there/drawing.svg")
        self.assertEqual(self.draw().returncode, 0)
        self.assertTrue(self.link.is_symlink() and self.target.is_symlink())
        self.assertFalse((self.path / "real.svg").is_symlink())

    def test_links_without_an_end(self):
        self.link.symlink_to("there/drawing.svg")
        self.target.symlink_to("../link.svg")
        done = self.draw()
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot be written", done.stderr)
        self.assertTrue(self.link.is_symlink() and self.target.is_symlink())

    def test_a_pipe_stays_a_pipe(self):
        os.mkfifo(self.target)
        self.link.symlink_to(self.target)
        reader = subprocess.Popen(["cat", str(self.target)], stdout=subprocess.PIPE, text=True)
        done = self.draw(timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.target.is_fifo())
        reader.communicate(timeout=60)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
