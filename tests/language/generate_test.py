# SPDX-License-Identifier: Apache-2.0
"""`quern generate` on folders that are made here (model_folders.py), against a decoder in plain Python.

  generate_test.py QUERN ROOT
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from model_folders import HEADS, KV, TOKENIZER, Tokenizer, Weights, expected, make_genai, make_transformers_js

QUERN = sys.argv[1]
PROMPTS = ["The limit of a model is", "A run", " while the\n  rows of it are", "Hello <|user|> there, it's"]


# ---- what is checked

def run(*arguments, text=None, fails=False):
    done = subprocess.run([QUERN, "generate", *map(str, arguments), "-t", "1"], input=text, capture_output=True, text=True, timeout=250)
    assert (done.returncode != 0) == fails, f"{arguments}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def answer(*arguments):
    return json.loads(run(*arguments, "--json").stdout)


def check_greedy(folder, w, rotary, tokenizer, count, penalty, end):
    for prompt in PROMPTS:
        ids = tokenizer.encode(prompt)
        wanted = expected(w, rotary, ids, count, penalty, end)
        found = answer(folder, "-p", prompt, *(["-n", count] if end is None else []))
        assert found["prompt_tokens"] == len(ids), (prompt, found["prompt_tokens"], ids)
        assert found["tokens"] == wanted, (prompt, found["tokens"], wanted)
        text = tokenizer.decode(wanted[:-1] if wanted[-1] == end else wanted)
        assert found["text"] == text, (prompt, found["text"], text)
        assert found["end"] == ("end_token" if wanted[-1] == end else "length")
    limit = ["-n", count] if end is None else []
    plain = run(folder, "-p", prompt, *limit)
    assert plain.stdout == found["text"] + "\n", (plain.stdout, found["text"])
    assert "tokens" in plain.stderr
    assert run(folder, *limit, text=prompt).stdout == plain.stdout


def check_options(folder, w, tokenizer):
    ids = tokenizer.encode("A run")
    long = expected(w, True, ids, 1 << 20)
    found = answer(folder, "-p", "A run", "-n", 1000)
    assert found["end"] == "context" and found["tokens"] == long, (found["end"], found["tokens"], long)
    text = tokenizer.decode(long[:30])
    stop = text[10:13]
    found = answer(folder, "-p", "A run", "-n", 30, "--stop", stop)
    assert found["end"] == "stop_text" and found["text"] == text[:text.index(stop)], found
    first = answer(folder, "-p", "A run", "-n", 30, "--temperature", 1.5, "--seed", 5)["tokens"]
    assert first == answer(folder, "-p", "A run", "-n", 30, "--temperature", 1.5, "--seed", 5)["tokens"]
    assert first != answer(folder, "-p", "A run", "-n", 30, "--temperature", 1.5, "--seed", 6)["tokens"]
    assert long[:30] == answer(folder, "-p", "A run", "-n", 30, "--top-k", 1, "--seed", 6)["tokens"]


def check_chat(folder, w, tokenizer):
    messages = [("system", "Mill!"), ("user", "Why")]
    prompt = "(Mill!)<|user|>user: Why answer:"
    ids = tokenizer.encode(prompt)
    wanted = expected(w, True, ids, 8)
    found = answer(folder, "--system", messages[0][1], "-p", messages[1][1], "-n", 8)
    assert found["tokens"] == wanted, (found, wanted)
    talk = run(folder, "--system", "Mill!", "-n", 8, text="Why\nHow\n").stdout
    first = tokenizer.decode(wanted)
    second = tokenizer.encode(f"(Mill!)<|user|>user: Why<|user|>assistant: {first}<|user|>user: How answer:")
    assert talk == f"{first}\n{tokenizer.decode(expected(w, True, second, 8))}\n", talk


def check_errors(folder, parent):
    for arguments, part in (((parent / "none", "-p", "x"), "no folder"), ((folder, "-p", ""), ""),
                            ((folder, "--file", "../x.onnx", "-p", "x"), "below the folder"),
                            ((folder, "--file", "x.onnx", "-p", "x"), "no model"),
                            ((folder, "-p", "word " * 500), "there is room"),
                            ((folder, "-p", "x", "--top-p", "2"), "--top-p")):
        done = run(*arguments, text="", fails=True)
        assert part in done.stderr, (arguments, done.stderr)
    broken = parent / "broken"
    broken.mkdir()
    (broken / "genai_config.json").write_text('{"model": {"decoder": {"filename": "/etc/passwd"}}}')
    assert "below the folder" in run(broken, "-p", "x", fails=True).stderr
    (broken / "genai_config.json").write_text("{")
    assert "genai_config.json" in run(broken, "-p", "x", fails=True).stderr


def full_pipe():
    """The ends of a pipe that takes not one byte more, and how many are in it."""
    r, w = os.pipe()
    os.set_blocking(w, False)
    held = 0
    try:
        while True:
            held += os.write(w, b"." * (1 if held else 1 << 20))
    except BlockingIOError:
        os.set_blocking(w, True)
        return r, w, held


def sleeps(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


def check_interrupt(folder):
    """Ctrl-C while the first token waits for a reader: the answer ends there, and the exit code says so."""
    whole = run(folder, "-p", "A run", "-n", 90).stdout
    r, w, held = full_pipe()
    process = subprocess.Popen([QUERN, "generate", str(folder), "-p", "A run", "-t", "1", "-n", "90"], stdout=w,
                               stderr=subprocess.PIPE, text=True)
    os.close(w)
    asleep, end = 0, time.monotonic() + 60
    while asleep < 10 and time.monotonic() < end:
        time.sleep(0.03)
        asleep = asleep + 1 if sleeps(process.pid) else 0
    assert asleep == 10 and process.poll() is None
    process.send_signal(signal.SIGINT)
    with open(r, "rb") as pipe:
        text = pipe.read()[held:].decode()
    errors = process.stderr.read()
    assert process.wait(timeout=60) == 1, (process.returncode, errors)
    assert "quern generate:" not in errors, errors
    assert text.endswith("\n") and len(text) > 1 and whole.startswith(text[:-1]), (text, whole)
    assert len(text) < len(whole) / 4, (text, whole)


def main():
    tokenizer = Tokenizer(TOKENIZER)
    ids = tokenizer.encode(PROMPTS[1])
    with tempfile.TemporaryDirectory() as parent:
        parent = pathlib.Path(parent)
        for name in ("genai", "transformers.js"):
            (parent / name).mkdir()
            (parent / name / "tokenizer.json").write_bytes(TOKENIZER.read_bytes())
        genai, other = parent / "genai", parent / "transformers.js"
        w = Weights(tokenizer.size, 17, KV)
        make_genai(genai, w, tokenizer.size + 5)
        check_greedy(genai, w, True, tokenizer, 40, 1.0, None)
        check_options(genai, w, tokenizer)
        check_chat(genai, w, tokenizer)
        check_errors(genai, parent)
        check_interrupt(genai)
        w = Weights(tokenizer.size, 17, HEADS)
        end = expected(w, False, ids, 8, 1.3)[-1]  # so that an answer ends with it
        make_transformers_js(other, w, end)
        check_greedy(other, w, False, tokenizer, 12, 1.3, end)
    print("generate ok")


main()
