"""As much C++ as tidy needs: where comments and strings are, and where functions begin and end.

It reads text, not a syntax tree, so that it needs no compiler; it understands the style of this repository
(clang-format'ed, no macros that open or close a brace).
"""

import re

TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)")
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<digits>(?<![\w])\d[\w']*)
      | (?P<char>'(?:\\.|[^'\\\n])+')""",
    re.S | re.X,
)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def blanked(text):
    return re.sub(r"[^\n]", " ", text)


def blank_comments_and_strings(text, keep_comments=False):
    """The same text with comments and the insides of literals as spaces: offsets and lines stay."""

    def replace(match):
        if match["comment"]:
            return match[0] if keep_comments else blanked(match[0])
        if match["digits"]:
            return match[0]
        first = match[0].index('"') if '"' in match[0][:4] and not match["char"] else 0
        return blanked(match[0][:first]) + match[0][first] + blanked(match[0][first + 1 : -1]) + match[0][-1]

    return TOKEN.sub(replace, text)


def blank_comments(text):
    return TOKEN.sub(lambda match: blanked(match[0]) if match["comment"] else match[0], text)


def functions(text):
    """(name, first line, number of lines) of each function body at namespace or class scope.

    A lambda counts as part of the function or initialiser that it stands in.
    """
    code = blank_comments_and_strings(text)
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: blanked(m[0]), code, flags=re.M)
    found, scopes = [], []  # scopes: (kind, offset where its head begins, name)
    head, depth = 0, 0
    for match in re.finditer(r"[{};()]", code):
        at, char = match.start(), match[0]
        if char in "()":
            depth += 1 if char == "(" else -1
        elif char == "{":
            inside = scopes and scopes[-1][0] != "scope"
            kind, name = ("inner", "") if inside or depth else classify(code[head:at])
            scopes.append((kind, head, name))
            if kind == "scope":
                head = at + 1
        elif char == "}" and scopes:
            kind, start, name = scopes.pop()
            if kind == "function":
                first = line_of(code, start + len(code[start:]) - len(code[start:].lstrip()))
                found.append((name, first, line_of(code, at) - first + 1))
            if kind in ("function", "scope", "enum"):
                head = at + 1
        elif char == ";" and depth == 0 and not (scopes and scopes[-1][0] != "scope"):
            head = at + 1
    return found


def classify(head):
    """What a brace after this text opens at namespace or class scope: scope, enum, function or inner."""
    head = re.sub(r"\b(?:public|private|protected)\s*:(?!:)", " ", head).strip()
    head = without_template_prefix(head)
    plain = re.sub(r"\balignas\s*\([^)]*\)", " ", head)
    if re.match(r"(?:inline\s+)?namespace\b", plain) or re.fullmatch(r'extern\s*"\s*"', plain):
        return "scope", ""
    if re.match(r"(?:typedef\s+)?(?:class|struct|union)\b", plain) and "(" not in plain:
        return "scope", ""
    if re.match(r"enum\b", plain):
        return "enum", ""
    outside = re.sub(r"\boperator\s*(?:\(\s*\)|[^\s(]+)", "operator_", plain)
    while re.search(r"\([^()]*\)", outside):
        outside = re.sub(r"\([^()]*\)", "@", outside)
    if "@" not in outside or re.search(r"(?<![=!<>])=(?!=)", outside):
        return "inner", ""
    if re.search(r"@[^:]*(?<!:):(?!:)", outside) and re.search(r"[\w>]$", outside):
        return "inner", ""  # a member initialised with braces; the body comes later
    name = re.search(r"([\w~]+)\s*@", outside)
    return "function", name[1] if name else "?"


def without_template_prefix(head):
    while match := re.match(r"template\s*<", head):
        depth, at = 1, match.end()
        while at < len(head) and depth:
            depth += {"<": 1, ">": -1}.get(head[at], 0)
            at += 1
        head = head[at:].lstrip()
    return head
