# SPDX-License-Identifier: Apache-2.0
"""Copies of the sources with changes in them, and their builds."""
import re
import subprocess
import sys

from changes import ROOT

INCLUDE = b'#include "tests/mutation/mutant.h"\n#line 1\n'
# Where a device takes its shaders from.
LOOKUP = ("engine/devices/vulkan/core.cpp", "const auto all = shaders();",
          "const auto all = ::quern_mutation::shaders_for(shaders(), name);")


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", **options)


class Tree:
    """Holds all changes of C++ at once, each behind its number; those of shaders are built beside it."""

    def __init__(self, folder, preset, jobs, options=(), unity=False):
        # Where the presets build too: for a compiler's cache, the same commands.
        self.source, self.build, self.jobs = folder / "tree", folder / "tree/build" / preset, jobs
        self.command = ["cmake", "--preset", preset, "-DQUERN_TESTS=ON", *options,
                        f"-DQUERN_UNITY={'ON' if unity else 'OFF'}"]
        self.source.mkdir(parents=True, exist_ok=True)

    def write(self, changes):
        by_path = {}
        for c in changes:
            if c.area != "shaders":
                by_path.setdefault(c.path, []).append(c)
        listed = run(["git", "ls-files"], cwd=ROOT).stdout.split()
        self.drop_all_but(set(listed))
        for path in listed:
            self.put(path, by_path.get(path, []))

    def drop_all_but(self, listed):
        """Removes sources of an earlier commit, which globs would find."""
        for path in self.source.rglob("*"):
            name = str(path.relative_to(self.source))
            if path.is_file() and not name.startswith("build/") and name not in listed:
                path.unlink()

    def put(self, path, changes):
        data = (ROOT / path).read_bytes()
        if changes or path == LOOKUP[0]:
            lines = data.decode().split("\n")
            for c in changes:
                lines[c.line] = c.after.replace("@", str(c.number))
            # Not by -include: what is not changed may come from the compiler's cache.
            data = INCLUDE + "\n".join(lines).encode()
        if path == LOOKUP[0]:
            assert LOOKUP[1].encode() in data, f"{path} has no '{LOOKUP[1]}'"
            data = data.replace(LOOKUP[1].encode(), LOOKUP[2].encode())
        target = self.source / path
        if target.exists() and target.read_bytes() == data:
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        target.chmod((ROOT / path).stat().st_mode)

    def configure(self):
        launcher = run(["sh", "-c", "command -v ccache"]).stdout.strip()
        command = list(self.command)
        if launcher:
            command += [f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}", f"-DCMAKE_C_COMPILER_LAUNCHER={launcher}"]
        done = run(command, cwd=self.source)
        if done.returncode:
            sys.exit(done.stdout + done.stderr)

    def build_all(self, changes):
        """Leaves out changes that do not compile; answers those that do."""
        alive = list(changes)
        for _ in range(20):
            self.write(alive)
            done = run(["cmake", "--build", self.build, "-j", str(self.jobs), "--", "-k", "0"])
            if done.returncode == 0:
                return alive
            wrong = set(re.findall(r"([\w./-]+\.(?:cpp|h)):(\d+):\d+: error", done.stdout))
            bad = []
            for path, line in wrong:
                here = [c for c in alive if path.endswith("/" + c.path) or path == c.path]
                at = [c for c in here if abs(c.line + 1 - int(line)) <= 1]
                bad += at or here
            if not bad:
                sys.exit(done.stdout[-4000:] + done.stderr[-2000:])
            alive = [c for c in alive if c not in bad]
        sys.exit("the changed tree does not build")

    # ---- shaders

    def variants(self):
        """Name of a shader that is built -> its sources, those that it includes among them."""
        found = {}
        for listed in (self.build / "shaders").glob("*.spv.d"):
            name = listed.name.removesuffix(".spv.d").removesuffix("_nv")
            found[name] = set(re.findall(r"(shaders/[\w.]+)", listed.read_text()))
        return found

    def build_shaders(self, change, names):
        """A folder with those variants as the change makes them; None: it does not compile."""
        folder = self.source.parent / f"shaders-{change.number}"
        sources = folder / "source"
        sources.mkdir(parents=True, exist_ok=True)
        for path in (self.source / "shaders").iterdir():
            if path.is_file():
                (sources / path.name).write_bytes(path.read_bytes())
        lines = (ROOT / change.path).read_text().split("\n")
        lines[change.line] = change.after
        (folder / "source" / change.path.split("/")[1]).write_text("\n".join(lines))
        targets = [f"shaders/{name}.spv" for name in names]
        commands = run(["ninja", "-C", self.build, "-t", "commands", *targets]).stdout.splitlines()
        for command in commands:
            if ".spv" not in command or "glslc" not in command and "to_khr" not in command:
                continue
            # The same commands, from the changed sources into the folder.
            command = re.sub(r"[^\s\"]*shaders/(\w+\.spv[.\w]*)", lambda m: str(folder / m[1]), command)
            command = command.replace(str(self.source / "shaders"), str(sources))
            if run(["sh", "-c", command], cwd=self.build).returncode:
                return None
        return folder
