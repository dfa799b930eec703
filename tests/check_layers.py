# SPDX-License-Identifier: Apache-2.0
"""Reads the includes of every source and checks who may know whom (ARCHITECTURE.md)."""
import pathlib
import re
import sys

# What asks the operating system. It knows nothing of ours, and whoever has a layer may include it.
PLATFORM = "engine/vocabulary/platform"
# Folders of the engine other than include, vocabulary and c_api may include all of these.
BELOW_ENGINE = ["engine/include", "engine/vocabulary", "graph", "graph/memory", "kernels", "kernels/contract"]

# Own folder is always allowed; the longest matching folder is the layer of a file.
ALLOWED = {
    "engine/include": [],
    PLATFORM: [],
    "engine/vocabulary": ["engine/include"],
    "graph/memory": ["engine/include", "engine/vocabulary"],
    "graph": ["engine/include", "engine/vocabulary", "graph/memory"],
    "kernels": ["engine/include", "engine/vocabulary", "graph"],
    "kernels/contract": ["engine/include", "engine/vocabulary", "graph"],
    "kernels/simd": ["engine/include", "graph", "kernels/contract"],
    "kernels/onednn": ["engine/include", "engine/vocabulary", "graph", "kernels/contract", "kernels/cpu"],
    "kernels/cpu": ["engine/include", "engine/vocabulary", "graph", "kernels/contract", "kernels/simd",
                    "kernels/onednn"],
    "kernels/gpu": ["engine/include", "engine/vocabulary", "graph", "kernels/contract"],
    "kernels/pictures": ["engine/include", "engine/vocabulary", "kernels/contract"],
    "kernels/reference": ["engine/include", "engine/vocabulary", "graph", "kernels/contract", "kernels/cpu",
                          "kernels/gpu", "kernels/onednn", "kernels/pictures", "kernels/simd"],
    "engine/builder": BELOW_ENGINE,
    "engine/lowering": [*BELOW_ENGINE, "engine/compile"],
    "engine/run": [*BELOW_ENGINE, "engine/compile", "engine/devices", "engine/devices/cpu"],
    "engine/devices": [*BELOW_ENGINE, "engine/compile", "engine/run", "engine/devices/null",
                       "engine/devices/vulkan"],
    "engine/devices/vulkan": [*BELOW_ENGINE, "kernels/gpu", "shaders", "engine/compile", "engine/run",
                              "engine/devices", "engine/devices/cpu"],
    "engine/devices/null": [*BELOW_ENGINE, "kernels/gpu", "engine/compile", "engine/run", "engine/devices",
                            "engine/devices/cpu"],
    "engine/devices/cpu": [*BELOW_ENGINE, "engine/compile", "engine/run", "engine/devices"],
    "engine/compile": [*BELOW_ENGINE, "engine/lowering", "engine/run", "engine/devices",
                       "engine/devices/cpu", "engine/builder"],
    "engine/artefact": [*BELOW_ENGINE, "engine/compile", "engine/lowering", "engine/devices/cpu"],
    # Above what runs: the runner has none of it, and is nobody's but the runner's.
    "engine/planning": [*BELOW_ENGINE, "engine/compile", "engine/lowering", "engine/artefact"],
    "engine/c_api/runner": [*BELOW_ENGINE, "engine/c_api", "engine/compile", "engine/artefact"],
    "shaders": [],
    "engine/c_api": ["engine/include"],
    "frontends/onnx-parser": ["engine/include", "engine/vocabulary", "graph"],
    "frontends/planner": ["engine/include", "engine/vocabulary", "engine/c_api", "graph/memory"],
    "frontends/language": ["engine/include", "engine/vocabulary"],
    "frontends/wasi-nn": ["engine/include", "engine/vocabulary", "frontends/onnx-parser"],
    "frontends/wasi-nn/c_api": ["engine/include", "engine/c_api", "frontends/wasi-nn", "frontends/wasi-nn/prompts"],
    "frontends/wasi-nn/prompts": ["engine/include", "engine/vocabulary", "frontends/wasi-nn", "frontends/language"],
    "tools": ["engine/include", "engine/vocabulary", "graph", "graph/memory", "frontends/onnx-parser",
              "frontends/wasi-nn", "frontends/wasi-nn/prompts", "frontends/language"],
    "examples": ["engine/include", "frontends/onnx-parser"],
}
# Headers of operating systems. Beside the platform's folder they may stand in tests and benchmarks, which run on
# Linux alone, and in the system that `quern wasm` gives its guests by the calls of the one below.
SYSTEM = re.compile(r"(sys|linux|asm|arpa|netinet)/.*|(unistd|fcntl|dlfcn|link|elf|poll|spawn|sched|pthread|signal|"
                    r"dirent|termios|execinfo|io|process|direct|windows|winternl|psapi|ws2tcpip|winsock2)\.h|csignal")
SYSTEM_MAY_STAND = ("tests/", "bench/", PLATFORM + "/", "tools/wasm/")
# Third-party headers and where they may stand.
ONLY = {
    "dnnl": ["kernels"],
    "oneapi": ["kernels"],
    "onednn_dispatch.h": ["kernels"],
    "Eigen": ["tests"],
    "vulkan": ["engine/devices/vulkan"],
    "CLI": ["tools"],
    "wabt": ["tools/wasm"],
    "node_api.h": ["frontends/wasi-nn/node"],
    "wasm_export.h": ["frontends/wasi-nn/include"],
    "wasmedge": ["frontends/wasi-nn/include"],
    "wasmtime.h": ["frontends/wasi-nn/include"],
    "wasm-rt.h": ["frontends/wasi-nn/include"],
    "nlohmann": ["tools", "tests", "bench", "frontends/wasi-nn", "frontends/language"],
    "stb": ["tools", "examples"],
    "fmt": ["tools"],
    "gtest": ["tests"],
    "gmock": ["tests"],
    "benchmark": ["bench"],
}
SUFFIXES = (".h", ".hpp", ".c", ".cc", ".cpp", ".inc")
FOLDERS = sorted(ALLOWED, key=len, reverse=True)


def layer(path):
    return next((f for f in FOLDERS if path.startswith(f + "/")), None)


def breaches(root):
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root).as_posix()
        if path.suffix not in SUFFIXES or relative.startswith(("build", ".")):
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+([<"])([^>"]+)[>"]', line)
            if match:
                yield from judge(relative, number, match.group(2), is_system=match.group(1) == "<")


def judge(relative, number, include, is_system):
    mine = layer(relative)
    target = "engine/include" if include.startswith("quern/") else layer(include)
    if mine and target and target not in (mine, PLATFORM) and target not in ALLOWED[mine]:
        yield f"{relative}:{number}: {mine} may not include {target} ({include})"
    if is_system and SYSTEM.fullmatch(include) and not relative.startswith(SYSTEM_MAY_STAND):
        yield f"{relative}:{number}: <{include}> may stand only in {PLATFORM}"
    library = include.split("/")[0]
    if library in ONLY and not any(relative.startswith(w + "/") for w in ONLY[library]):
        yield f"{relative}:{number}: <{include}> may stand only in {', '.join(ONLY[library])}"


def self_test():
    def is_refused(relative, include, is_system=True):
        return bool(list(judge(relative, 1, include, is_system)))
    assert is_refused("graph/text.cpp", "sys/mman.h") and is_refused("tools/run.cpp", "unistd.h")
    assert not is_refused(PLATFORM + "/posix/pages.cpp", "sys/mman.h")
    assert not is_refused("graph/text.cpp", "vector")
    assert not is_refused("kernels/simd/simd.cpp", PLATFORM + "/process.h", is_system=False)
    assert is_refused(PLATFORM + "/posix/pages.cpp", "graph/text.h", is_system=False)


def main():
    self_test()
    found = list(breaches(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "layers ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
