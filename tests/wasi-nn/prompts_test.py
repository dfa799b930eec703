# SPDX-License-Identifier: Apache-2.0
"""Guests with prompts in a runner: prompts_test.py SOURCE [EXAMPLES] -- RUNNER..., where EXAMPLES is a folder with the
published guests llama and llama-stream (wasmedge-ggml-*.wasm of WasmEdge-WASINN-examples, QUERN_PROMPT_GUESTS of CMake)
and RUNNER is `quern wasm` or `node run.mjs`. The model is a small one that is made here, and what it says is compared
with a decoder in plain Python. Exits with 77 where no guest can be built."""
import json
import pathlib
import subprocess
import sys
import tempfile

from guests import SKIPPED, can_build, compiled, node_flags, node_version
from prompt_model import CONTEXT, PROMPT, Model

ROOT = pathlib.Path(sys.argv[1])
EXAMPLES, RUNNER = sys.argv[2:sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1:]


class Host:
    """The runner with the folder as the model `default`."""

    def __init__(self, command, folder):
        is_node = command[0] == "node"
        self.command = [command[0], *node_flags(), *command[1:]] if is_node else command
        self.model = ["--model", f"default={folder}"]

    def run(self, guest, *words, text="", before=()):
        return subprocess.run([*self.command, str(guest), *self.model, *before, "--", *words], input=text,
                              capture_output=True, text=True, errors="replace", timeout=240, check=False)


def check_whole(host, model, guest):
    count, tokens, text = model.answer(PROMPT)
    done = host.run(guest, "default", PROMPT, "{}")
    said, numbers = done.stdout[:-1].rsplit("\n", 1)
    assert done.returncode == 0 and said == text, (done, text)
    numbers = json.loads(numbers)
    assert (numbers["input_tokens"], numbers["output_tokens"]) == (count, len(tokens)), (numbers, count, tokens)
    assert isinstance(numbers["llama_build_number"], int) and isinstance(numbers["llama_commit"], str), numbers
    short = host.run(guest, "default", PROMPT, '{"n-predict": 5, "unknown": [1], "enable-log": false}')
    assert short.stdout.startswith(model.answer(PROMPT, 5)[2] + "\n{"), short
    stop = text[4:6]
    stopped = host.run(guest, "default", PROMPT, json.dumps({"reverse-prompt": stop}))
    assert stopped.stdout.startswith(text[:text.index(stop)] + "\n{"), (stopped, text)


def check_stream(host, model, guest):
    """Two lines: what was said is the next prompt's beginning."""
    first = PROMPT + "\n"
    _, _, text = model.answer(first, CONTEXT)
    done = host.run(guest, "default", text=first)
    fills = len(model.tokenizer.encode(first)) + len(model.answer(first)[1]) > CONTEXT
    wanted = text + "\n" + ("(What was said is too long, and is forgotten.)\n" if fills else "")
    assert done.returncode == 0 and done.stdout == wanted, (done, wanted)
    if not fills:
        said = first + text + "Why\n"
        wanted += model.answer(said)[2] + "\n"
        done = host.run(guest, "default", text=first + "Why\n")
        assert done.stdout.startswith(wanted), (done, wanted)


def check_errors(host, guest):
    for words, code in (((PROMPT, '{"temp": "hot"}'), 1), ((PROMPT, "{"), 2), (("word " * 200, "{}"), 102),
                        ((PROMPT, '{"ctx-size": 5}'), 102)):
        done = host.run(guest, "default", *words)
        assert done.returncode == 1 and f"error {code}\n" in done.stderr, (words, code, done)
    assert "error 8\n" in host.run(guest, "none", PROMPT).stderr
    full = host.run(guest, "default", "The limit of a model is", '{"ctx-size": 14}')
    assert full.returncode == 1 and "error 101" in full.stderr and full.stdout.count("\n") >= 1, full


def check_limits(host, guest):
    """And what a tenant's figures say of it."""
    poor = host.run(guest, "default", PROMPT, before=["--limits", "resident-bytes=1000000"])
    assert poor.returncode != 0 and "error 7" in poor.stderr, poor
    figures = host.run(guest, "default", PROMPT, "{}", before=["--json"])
    resident = json.loads(figures.stderr)
    assert resident["computes"]["ok"] == 1 and resident["resident_bytes_peak"] > 0, resident


def conversation(host, guest, lines):
    """What the guest writes until it asks again after these lines; at the end of its input it would wait for ever."""
    process = subprocess.Popen([*host.command, str(guest), *host.model, "--", "default"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, errors="replace")
    try:
        process.stdin.write("".join(line + "\n" for line in lines))
        process.stdin.flush()
        said = []
        while said.count("USER:\n") <= len(lines):
            line = process.stdout.readline()
            assert line, (guest, said, process.wait())
            said.append(line)
        return "".join(said)
    finally:
        process.kill()
        process.wait()


def check_published(host, model, folder):
    """Unmodified: one-shot, and a conversation of two lines."""
    count, tokens, text = model.answer(PROMPT)
    system = "You are a helpful, respectful and honest assistant. Always answer as short as possible, while being safe."
    for name in ("llama", "llama-stream"):
        guest = folder / f"wasmedge-ggml-{name}.wasm"
        done = host.run(guest, "default", PROMPT)
        assert done.returncode == 0, done
        assert done.stdout.startswith(f'Prompt:\n{PROMPT}\nResponse:\n[INFO] llama_commit: "quern '), done
        assert done.stdout.count(f"[INFO] Number of input tokens: {count}\n") == 2, done
        assert done.stdout.endswith(f"[INFO] Number of output tokens: {len(tokens)}\n"), done
        assert text.strip() in done.stdout, (done, text)
        said = conversation(host, guest, ["Why", "How"])
        long = len(model.tokenizer.encode(f"[INST] <<SYS>> {system} <</SYS>> Why [/INST]"))
        assert said.count("USER:\n") == 3 and said.count("ASSISTANT:\n") == 2, said
        assert ("Prompt too long" in said) == (long > CONTEXT - 4), (said, long)
    return 2


def main():
    if RUNNER[0] == "node" and node_version() < 18:
        print("there is no Node 18")
        return SKIPPED
    with tempfile.TemporaryDirectory() as parent:
        if not can_build(parent):
            print("clang cannot build for wasm32-wasi here")
            return SKIPPED
        folder = pathlib.Path(parent) / "model"
        folder.mkdir()
        model = Model(folder)
        host = Host(RUNNER, folder)
        guest = compiled(ROOT / "examples/wasi-nn/chat.c", parent)
        check_whole(host, model, guest)
        check_stream(host, model, guest)
        check_errors(host, guest)
        if RUNNER[0] != "node":
            check_limits(host, guest)
        published = [check_published(host, model, pathlib.Path(p)) for p in EXAMPLES if pathlib.Path(p).is_dir()]
    print(f"prompts ok, {sum(published)} published guests")
    return 0


if __name__ == "__main__":
    sys.exit(main())
