# SPDX-License-Identifier: Apache-2.0
"""Published memory-planning instances through `quern plan`: planning_test.py QUERN FOLDER [MODELS]

A number before .csv (A.1048576.csv) is the capacity that the instance is known to fit; the networks
in lifetimes/ are known to fit their lower bound. The trace in trace/ is played to every pool.
"""
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile


def overlap(rows):
    """Whether two rows that live at one time share bytes, by sweeping over pairs."""
    rows = sorted((int(r["lower"]), int(r["upper"]), int(r["offset"]), int(r["size"])) for r in rows)
    live = []
    for lower, upper, offset, size in rows:
        live = [b for b in live if b[0] > lower]
        if any(o < offset + size and offset < o + s for _, o, s in live):
            return True
        live.append((upper, offset, size))
    return False


def plan(quern, path, *options):
    done = subprocess.run([quern, "plan", path, "--json", *options], capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout)


def judge(quern, path, folder):
    """What is wrong with the answer to an instance, or None."""
    out = folder / "plan.csv"
    options = ["--strategy", "auto", "--time-limit", "60", "--csv", str(out)]
    capacity = re.search(r"\.(\d+)\.csv$", path.name)
    if capacity:
        options += ["--capacity", capacity[1]]
    code, answer = plan(quern, str(path), *options)
    row = answer["strategies"][0]
    with open(out, newline="") as f:
        rows = list(csv.DictReader(f))
    if code != 0:
        return f"exit code {code}"
    if not capacity and row["status"] != "optimal":
        return f"{row['arena_bytes']} bytes, the bound is {row['lower_bound']}"
    if max(int(r["offset"]) + int(r["size"]) for r in rows) != row["arena_bytes"] or overlap(rows):
        return "the plan that was written is wrong"
    print(f"{path.name}: {row['arena_bytes']} bytes, {row['status']}, {row['plan_ms']:.1f} ms")
    return None


def judge_pools(quern, folder):
    """What is wrong with the pools on 300 runs of changing shapes, or None: how much more than a plan for
    each shape they reserve. What the rules of known pools give was computed elsewhere."""
    _, answer = plan(quern, str(folder / "bert-base-lifetimes.csv"), "--runs", str(folder / "bert-base-runs.csv"))
    if answer["static_bytes"] != 18874368 or answer["runs"] != 300:
        return f"static plans take {answer['static_bytes']} bytes"
    over = {p["pool"]: p["over_static"] for p in answer["pools"]}
    print("bert-base:", ", ".join(f"{name} {ratio:.3f}" for name, ratio in over.items()))
    if over["best-fit-arena"] > 1.08:
        return f"the default pool reserves {over['best-fit-arena']}"
    known = {"best-fit-arena-kept": 1.083, "bfc": 1.72, "bfc-as-requested": 3.27, "power-of-two": 3.33,
             "size-classes": 7.67, "budget-list": 5.10}
    wrong = [f"{name} is {over[name]:.3f}, known as {ratio}" for name, ratio in known.items()
             if abs(over[name] - ratio) > 0.006]
    return "; ".join(wrong) or None


# Arenas of these networks after ordering and writing in place, where no kernel takes memory to work in:
# bounds by a search of another program, or lower ones.
WITHOUT_SCRATCH = {"yolox-nano/model.onnx": 5537792, "arch/arch-mobilenetv2/model.onnx": 6021120,
                   "light_resnet50.onnx": 5218304, "light_inception_v1.onnx": 4646400,
                   "light_vgg19.onnx": 25690112, "light_squeezenet.onnx": 3928576}
# Where the light_ ones may lie: among the models, or where Debian 13's libonnx-testdata puts them.
LIGHT = pathlib.Path("/usr/share/libonnx-testdata/data/light")


def judge_models(quern, folder):
    """What is wrong with the plans of real models, or None: each is as small as its order allows."""
    wrong = []
    for path in sorted(folder.glob("*/model.onnx")):
        code, answer = plan(quern, str(path), "--strategy", "auto")
        row = answer["strategies"][0] if code == 0 else {"status": answer}
        if row["status"] != "optimal":
            wrong.append(f"{path}: {row['status']}")
    return "; ".join(wrong) or None


def judge_scratch(quern, folder):
    """What is wrong with the plans of networks whose kernels take no memory to work in, or None."""
    wrong = []
    for name, most in WITHOUT_SCRATCH.items():
        places = [folder / name, folder / "arch/light" / name, LIGHT / name]
        path = next((p for p in places if p.exists()), None)
        if not path:
            print(f"{name}: not here, not judged")
            continue
        on, off = [plan(quern, str(path), "--strategy", "auto", "--scratch", scratch)[1]["strategies"][0]
                   for scratch in ("on", "off")]
        print(f"{name}: {off['arena_bytes']} bytes, with scratch {on['arena_bytes']}")
        if off["arena_bytes"] > most or (on["status"], off["status"]) != ("optimal", "optimal"):
            wrong.append(f"{path}: {off['arena_bytes']} bytes without scratch, known is {most}; "
                         f"{off['status']}, with scratch {on['status']}")
    return "; ".join(wrong) or None


PICTURES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "pictures"


def judge_picture(quern, folder, scratch):
    """Whether the picture in docs/ is what is drawn now: the searches take turns by steps, not by time."""
    drawn = scratch / "plan-k.svg"
    plan(quern, str(folder / "minimalloc" / "K.1048576.csv"), "--capacity", "1048576", "--strategy",
         "greedy-by-size,auto", "--time-limit", "60", "--svg", str(drawn))
    if drawn.read_text() != (PICTURES / drawn.name).read_text():
        return f"docs/pictures/{drawn.name} is not what is drawn now: bench/plan_pictures.sh"
    return None


def main():
    quern, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    paths = [p for f in ("minimalloc", "idealloc", "lifetimes") for p in sorted((folder / f).glob("*.csv"))]
    if not paths:
        sys.exit(f"no instances in {folder}")
    with tempfile.TemporaryDirectory() as scratch:
        faults = {p.name: judge(quern, p, pathlib.Path(scratch)) for p in paths}
        faults["picture"] = judge_picture(quern, folder, pathlib.Path(scratch))
    faults["trace"] = judge_pools(quern, folder / "trace")
    if len(sys.argv) > 3:
        faults["models"] = judge_models(quern, pathlib.Path(sys.argv[3]))
        faults["scratch"] = judge_scratch(quern, pathlib.Path(sys.argv[3]))
    wrong = [f"{name}: {fault}" for name, fault in faults.items() if fault]
    sys.exit("\n".join(wrong) if wrong else 0)


if __name__ == "__main__":
    main()
