# SPDX-License-Identifier: Apache-2.0
"""The open instances of bench/planning: open_instances_test.py QUERN SOURCE

What quern answers is a plan for the checker, which shares nothing with quern, and never better than what is proven;
answers with a fault are refused.
"""
import pathlib
import subprocess
import sys
import tempfile

QUERN, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
sys.path.insert(0, str(SOURCE / "bench" / "planning"))
import check  # noqa: E402
import instances  # noqa: E402

QUICK = ("spill-12", "spill-20", "apart-12", "apart-20", "reuse-8", "reuse-12", "rings-10", "rings-16", "spring-10")


def answer_of(name, text, folder, strategy):
    problem, out = folder / f"{name}.csv", folder / f"{name}.{strategy}.csv"
    problem.write_text(text)
    subprocess.run([QUERN, "plan", problem, "--strategy", strategy, "--time-limit", "5", "--csv", out], check=False,
                   capture_output=True)
    return out.read_text() if out.exists() else None


def refused(text, answer):
    try:
        check.judge(text, answer)
    except check.Wrong as wrong:
        return str(wrong)
    return None


def moved(answer, change):
    """The answer with cells of its first buffer changed."""
    head, _, table = answer.rpartition("\n\n")
    lines = table.split("\n")
    columns, cells = lines[0].split(","), lines[1].split(",")
    for column, value in change.items():
        cells[columns.index(column)] = value
    lines[1] = ",".join(cells)
    return head + "\n\n" + "\n".join(lines)


def judge_faults(text, answer):
    faults = {"which is none of its banks": {"bank": "dram"}, "misaligned": {"offset": "-64"},
              "no offset": {"offset": ""}, "takes": {"bank": "sram", "offset": "1000000"}}
    wrong = [f"{change} is {refused(text, moved(answer, change))}, wanted {fault}" for fault, change in faults.items()
             if fault not in (refused(text, moved(answer, change)) or "")]
    everywhere = "id,offset,bank\n" + "".join(f"{n},0,flash\n" for n in range(12))
    if "overlap" not in (refused(text, everywhere) or ""):
        wrong.append("all at 0 is a plan")
    return wrong


def main():
    texts, known, wrong = dict(instances.instances()), check.optima(), []
    if list(texts) != list(known):
        wrong.append("optima.csv has other instances than instances.py makes")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for name, text in texts.items():
            if name in known and known[name]["buffers"] != str(len(check.Problem(text).buffers)):
                wrong.append(f"{name} is not the instance of optima.csv")
            for strategy in ("auto", "exact") if name in QUICK else ("greedy-by-size",):
                answer = answer_of(name, text, folder, strategy)
                if answer is None:
                    wrong += [f"{name}: no plan by {strategy}"] if name in QUICK else []
                    continue
                plan = check.judge(text, answer)
                best = int(known[name]["cost"]), int(known[name]["bytes"])
                if plan < best and known[name]["proof"] != "open":
                    wrong.append(f"{name}: {plan} by {strategy}, proven was {best}")
                if name in QUICK and strategy == "auto" and plan != best:
                    wrong.append(f"{name}: {plan} by auto, known is {best}")
                if name == "spill-12" and strategy == "auto":
                    wrong += judge_faults(text, answer)
    sys.exit("\n".join(wrong) if wrong else 0)


if __name__ == "__main__":
    main()
