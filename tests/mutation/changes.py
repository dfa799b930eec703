# SPDX-License-Identifier: Apache-2.0
"""Small semantic changes of the sources: what can be changed, and a draw of them."""
import hashlib
import pathlib
import random
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Area -> its sources. The longest folder wins.
AREAS = {
    "kernels": ["kernels"],
    "gpu": ["kernels/gpu"],
    "passes": ["graph/passes"],
    "graph": ["graph"],
    "planner": ["graph/memory"],
    "lowering": ["engine/lowering", "engine/planning"],
    "engine": ["engine"],
    "vulkan": ["engine/devices/vulkan"],
    "parser": ["frontends/onnx-parser"],
    "wasi-nn": ["frontends/wasi-nn"],
    "shaders": ["shaders"],
}

SWAPS = [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "),
         (" != ", " == "), (" && ", " || "), (" || ", " && "), (" + 1", ""), (" - 1", ""),
         (" + ", " - "), (" - ", " + "), (" * ", " + "), (" / ", " * "), ("std::min", "std::max"),
         ("std::max", "std::min"), ("ranges::any_of", "ranges::all_of"),
         ("ranges::all_of", "ranges::any_of"), ("ranges::none_of", "ranges::any_of"),
         ("true", "false"), ("false", "true"), ("axis", "axis + 1"), ("min(", "max("), ("max(", "min(")]


class Change:
    """`after` is the line that is built, with the number of the change for @, `shown` what it then means."""

    def __init__(self, area, path, line, kind, before, after, shown):
        self.area, self.path, self.line, self.kind = area, path, line, kind
        self.before, self.after, self.shown = before, after, shown
        self.number = 0

    def key(self):
        """What names the change in equivalent.txt, also when lines move."""
        text = f"{self.path}|{self.before.strip()}|{self.shown.strip()}"
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def __str__(self):
        return f"{self.path}:{self.line + 1}: {self.kind}: {self.before.strip()}  ->  {self.shown.strip()}"


def balanced(text, start):
    """The end of the parenthesis that opens at `start`, or -1."""
    depth = 0
    for i in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return -1


def expressions(line):
    """Spans of whole expressions of a line whose value a change may take the place of."""
    found = []
    condition = re.match(r"\s*(?:\} else )?(?:if|while) \(", line)
    if condition and "constexpr" not in line:
        end = balanced(line, condition.end() - 1)
        begin = condition.end()
        if end > 0 and ";" in line[begin:end]:
            begin = line.rindex("; ", begin, end) + 2
        if end > 0 and " = " not in line[begin:end]:
            found.append((begin, end))
    loop = re.match(r"\s*for \([^;]*; ([^;]+); [^;]+\)", line)
    if loop:
        found.append(loop.span(1))
    for pattern in (r"\s*return ([^{}\[\"]+);$",
                    r"\s*(?:const )?(?:auto|bool|int|float|double|std::\w+)&? \w+ = ([^{}\[\"]+);$"):
        match = re.match(pattern, line)
        if match and match.group(1).count("(") == match.group(1).count(")"):
            found.append(match.span(1))
    return found


def changes_of(area, path, text):
    found = []
    is_shader = area == "shaders"
    for number, line in enumerate(text.splitlines()):
        code = line.split("//")[0].rstrip()
        if not code.strip() or "static_assert" in code or "constexpr" in code or code.lstrip().startswith("#"):
            continue
        for begin, end in expressions(code):
            inner = code[begin:end]
            for old, new in SWAPS:
                at = inner.find(old)
                if at < 0 or (old.isalpha() and re.search(r"\w", inner[at + len(old):at + len(old) + 1] or " ")):
                    continue
                changed = inner[:at] + new + inner[at + len(old):]
                whole = changed if is_shader else f"(QUERN_MUTANT(@) ? ({changed}) : ({inner}))"
                found.append(Change(area, path, number, "swap", line, code[:begin] + whole + code[end:],
                                    code[:begin] + changed + code[end:]))
            if re.match(r"\s*if \(", code):
                never = "false" if is_shader else f"(!QUERN_MUTANT(@) && ({inner}))"
                found.append(Change(area, path, number, "never", line, code[:begin] + never + code[end:],
                                    code[:begin] + "false" + code[end:]))
        call = re.match(r"(\s+)((?:QUERN_TRY|[a-z_][\w.\->]*)\(.*\);)$", code)
        if call and code.count("(") == code.count(")") and not re.match(r"\s*(return|if|for|while|switch)\b", code):
            # In braces, so that an else behind it stays with its own if.
            drop = "{}" if is_shader else f"{{ if (!QUERN_MUTANT(@)) {call.group(2)} }}"
            found.append(Change(area, path, number, "drop", line, call.group(1) + drop, call.group(1) + "(nothing)"))
    return found


def area_of(path):
    best = max(((folder, area) for area, folders in AREAS.items() for folder in folders
                if path.startswith(folder + "/")), key=lambda p: len(p[0]), default=None)
    return best[1] if best else None


def sources():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    for path in listed.stdout.split():
        area = area_of(path)
        suffixes = (".comp", ".glsl") if area == "shaders" else (".cpp",)
        if area and path.endswith(suffixes):
            yield area, path


def candidates_of(only):
    """All changes that there are, by area."""
    by_area = {}
    for area, path in sources():
        if only and area not in only:
            continue
        by_area.setdefault(area, []).extend(changes_of(area, path, (ROOT / path).read_text()))
    return by_area


def named(keys, only):
    """The changes of those keys that the sources still have, one a line."""
    found = {}
    for area, candidates in candidates_of(only).items():
        for change in candidates:
            if change.key() in keys:
                found.setdefault((change.path, change.line), change)
    for number, change in enumerate(found.values(), 1):
        change.number = number
    return list(found.values())


def draw(count, seed, only):
    """At most one change a line, from the areas in turn."""
    lots = random.Random(seed)
    by_area = candidates_of(only)
    for candidates in by_area.values():
        lots.shuffle(candidates)
    drawn, lines = [], set()
    while len(drawn) < count and any(by_area.values()):
        for area in sorted(by_area):
            while by_area[area] and len(drawn) < count:
                change = by_area[area].pop()
                if (change.path, change.line) in lines:
                    continue
                lines.add((change.path, change.line))
                change.number = len(drawn) + 1
                drawn.append(change)
                break
    return drawn
