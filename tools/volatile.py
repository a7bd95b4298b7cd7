"""What may differ between two runs of the same command: how long the search took, and the digests of the
catalog and of a sweep, which holds the catalog's.

The golden tests and the output blocks of the documents compare and store text after mask(), nothing else is hidden.
"""

import re

NUMBER = r"[-+0-9.][-+0-9.eE]*"
RULES = [
    # JSON: "search": {"plans": …, "time_s": …, "plans_per_s": …}
    (re.compile(rf'("search":\s*\{{[^}}]*?"time_s":\s*){NUMBER}'), r"\g<1>0"),
    (re.compile(rf'("plans_per_s":\s*){NUMBER}'), r"\g<1>0"),
    (re.compile(r'("catalog_digest":\s*")[0-9a-f]+'), r"\g<1>0"),
    # Rows of a sweep: JSON and CSV.
    (re.compile(r'("sweep":\s*")[0-9a-f]{16}(?=")'), r"\g<1>0"),
    (re.compile(r"^(\d+,)[0-9a-f]{16}(?=,|$)", re.M), r"\g<1>0"),
    # Text: "… plans in 0.21 s (1.2 M plans/s)", "catalog 0a1b2c3d"
    (re.compile(r"(\bplans\b[^\n]*? in )[0-9.,]+ (?:ns|us|µs|ms|s)\b"), r"\g<1>* s"),
    (re.compile(r"[0-9.,]+ ?[kM]? ?plans/s"), "* plans/s"),
    (re.compile(r"(\bcatalog )[0-9a-f]{8,}\b"), r"\g<1>*"),
]


def mask(text):
    for pattern, replacement in RULES:
        text = pattern.sub(replacement, text)
    return text
