# SPDX-License-Identifier: Apache-2.0
"""examples/cluster on two local workers of which one dies, and after a sweep that was killed:
cluster_test.py SOURCE libquern.so libquern_plan_banks.so"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(sys.argv[1]).resolve()
sys.path[:0] = [str(SOURCE / "tests/python"), str(SOURCE / "examples/cluster")]
from python_test import python_with  # noqa: E402

SWEEP = SOURCE / "examples/cluster/sweep.py"
# Instances of 8 to 31 buffers; the time of a search is not what this is about.
PLAN = ["--seconds", "0.02", "--workers", "2"]


def rows_of(path):
    rows = []
    for line in path.read_text().splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            pass  # of a process that was killed as it wrote
    return rows


def all_once(path, wanted):
    rows = rows_of(path)
    keys = [row["key"] for row in rows if "lost" not in row]
    assert len(keys) == len(set(keys)) == wanted, (len(keys), len(set(keys)), wanted)
    return rows


def a_worker_that_dies(folder):
    """Kills one of two workers after a tenth of the results, in this process."""
    import distributed

    import sweep
    sys.path[:0] = sweep.PATHS
    os.environ["PYTHONPATH"] = os.pathsep.join(sweep.PATHS)
    import tasks
    items = {f"spill-{n}": {"family": "spill", "buffers": 8 + n % 12, "seed": n, "strategy": "auto", "seconds": 0.02}
             for n in range(300)}
    path = folder / "dies.jsonl"
    results = sweep.Results(path)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster, \
            distributed.Client(cluster) as client:
        killed, pids = None, client.run(os.getpid)
        assert len(pids) == 2, pids
        for n, _ in enumerate(sweep.run(client, tasks.plan, items, results)):
            if n == len(items) // 10:
                address, killed = next(iter(client.run(os.getpid).items()))
                os.kill(killed, signal.SIGKILL)
        assert killed in pids.values() and killed not in client.run(os.getpid).values()
    results.close()
    rows = all_once(path, len(items))
    assert not any("error" in row for row in rows), rows
    # Work that was done twice has the same answers as work that was done here.
    by_key = {row["key"]: row for row in rows}
    for key in list(items)[::37]:
        alone = tasks.plan(items[key])
        if alone["status"] == by_key[key]["status"] == "optimal":
            assert (alone["cost"], alone["bytes"]) == (by_key[key]["cost"], by_key[key]["bytes"]), key
    return f"worker {address} was killed, {len(rows)} results"


def a_sweep_that_dies(folder):
    """The sweep itself is killed; what it had written is not done again."""
    path = folder / "again.jsonl"
    words = [sys.executable, SWEEP, "plan", path, "--count", "400", *PLAN]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
        deadline = time.monotonic() + 100
        while not (path.exists() and path.read_bytes().count(b"\n") > 30):
            assert first.poll() is None and time.monotonic() < deadline, "the first sweep wrote nothing"
            time.sleep(0.02)
        first.kill()
    before = path.read_bytes()
    with path.open("ab") as file:
        file.write(b'{"key": "spill-8-0", "sta')
    whole = len({row["key"] for row in rows_of(path)})
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert f"400 items, {whole} of them are there already" in done.stdout, done.stdout
    assert path.read_bytes().startswith(before)
    all_once(path, 400)
    return f"{whole} of 400 results stayed"


def pictures(folder):
    """The digit of the model's own test data as a picture, one that is larger, and a file that is none."""
    import numpy as np
    data = (SOURCE / "examples/digits/test_data_set_0/input_0.pb").read_bytes()[-28 * 28 * 4:]
    seven = (np.frombuffer(data, np.float32).reshape(28, 28) * 255).round().astype(np.uint8)
    shots = folder / "shots"
    shots.mkdir()
    (shots / "grey.pgm").write_bytes(b"P5\n# a comment\n28 28\n255\n" + seven.tobytes())
    twice = np.repeat(np.repeat(seven, 2, 0), 2, 1)
    (shots / "colours.ppm").write_bytes(b"P6 56 56 255\n" + np.repeat(twice[:, :, None], 3, 2).tobytes())
    (shots / "short.pgm").write_bytes(b"P5\n28 28\n255\n")
    path = folder / "pictures.jsonl"
    words = [sys.executable, SWEEP, "pictures", path, SOURCE / "examples/digits/digits.onnx", shots, "--workers", "1",
             "--top", "2"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "3 results, 1 errors" in done.stdout, done.stdout
    rows = {row["key"]: row for row in rows_of(path)}
    assert rows["grey.pgm"]["top"][0][0] == rows["colours.ppm"]["top"][0][0] == 7, rows
    assert "short.pgm" in rows and "ValueError" in rows["short.pgm"]["error"], rows
    return "3 pictures"


def main():
    os.environ |= {"QUERN_LIBRARY": sys.argv[2], "QUERN_PLAN_LIBRARY": sys.argv[3], "PYTHONDONTWRITEBYTECODE": "1"}
    python = python_with("numpy", "distributed", packages="python3-numpy, python3-distributed")
    if python != sys.executable:
        os.execv(python, [python, *sys.argv])
    with tempfile.TemporaryDirectory() as folder:
        for test in (a_worker_that_dies, a_sweep_that_dies, pictures):
            print(f"{test.__name__}: {test(pathlib.Path(folder))}", flush=True)
    print("ok")


if __name__ == "__main__":
    main()
