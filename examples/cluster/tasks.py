# SPDX-License-Identifier: Apache-2.0
"""What a worker does with one item of a sweep. Each function takes values that JSON can hold and returns such a row;
nothing here knows of a cluster."""
import functools
import re
import time

import numpy as np

import instances  # bench/planning
import quern

_GAP = rb"(?:\s+|#[^\n]*\n)+"
_HEADER = re.compile(rb"P[56]" + _GAP + rb"(\d+)" + _GAP + rb"(\d+)" + _GAP + rb"(\d+)\s")


def plan(item):
    """Plans one generated instance: {"family", "buffers", "seed", "strategy", "seconds"}."""
    make, _ = instances.FAMILIES[item["family"]]
    problem = quern.plan.Problem.from_csv(instances.text_of(*make(instances.Random(item["seed"]), item["buffers"])))
    begin = time.perf_counter()
    try:
        found = problem.plan(item["strategy"], seconds=item["seconds"])
    except quern.OutOfMemory as error:  # no plan fits the banks, or none was found
        return {**item, "status": "none", "why": str(error), "ms": 1e3 * (time.perf_counter() - begin)}
    return {**item, "status": found.status, "cost": found.cost, "cost_bound": found.cost_bound, "bytes": found.size,
            "bound": found.lower_bound, "ms": 1e3 * (time.perf_counter() - begin)}


@functools.cache
def _model(path, threads):
    """One for each process of a worker."""
    return quern.load(path, threads=threads)


def _pixels(path):
    """Rows x columns x channels, 0 to 255. PGM and PPM without any package, others by Pillow (python3-pil)."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] not in (b"P5", b"P6"):
        from PIL import Image
        return np.asarray(Image.open(path).convert("RGB"))
    header = _HEADER.match(data)
    if not header:
        raise ValueError(f"{path}: no header of a PGM or PPM file")
    columns, rows, most = map(int, header.groups())
    channels = 3 if data[:2] == b"P6" else 1
    if most > 255:
        raise ValueError(f"{path}: numbers up to {most}, wanted 8 bits")
    return np.frombuffer(data, np.uint8, rows * columns * channels, header.end()).reshape(rows, columns, channels)


def tensor_of(pixels, shape, dtype, item):
    """As the input of a model: 1 x channels x rows x columns, by the nearest pixel; a dimension of -1 is as it is."""
    _, channels, rows, columns = (have if want < 0 else want
                                  for want, have in zip(shape, (1, pixels.shape[2], *pixels.shape[:2])))
    if channels not in (1, 3):
        raise ValueError(f"an input of {channels} channels, wanted 1 or 3")
    if channels != pixels.shape[2]:
        pixels = pixels.mean(axis=2, keepdims=True) if channels == 1 else np.repeat(pixels, 3, axis=2)
    at_rows = (np.arange(rows) + 0.5) * pixels.shape[0] / rows
    at_columns = (np.arange(columns) + 0.5) * pixels.shape[1] / columns
    picture = pixels[at_rows.astype(int)[:, None], at_columns.astype(int)] * (item["white"] / 255)
    if item["bgr"]:
        picture = picture[:, :, ::-1]
    return np.ascontiguousarray(picture.transpose(2, 0, 1)[None], dtype)


def look(item):
    """Runs a picture through a model: {"picture", "model", "threads", "white", "bgr", "top"}."""
    model = _model(item["model"], item["threads"])
    wanted, output = model.inputs[0], model.outputs[0].name
    dims = [d if isinstance(d, int) else -1 for d in wanted.shape]
    if len(dims) != 4:
        raise ValueError(f"input '{wanted.name}' has {len(dims)} dimensions, wanted 4: a picture")
    image = tensor_of(_pixels(item["picture"]), dims, wanted.numpy_dtype, item)
    begin = time.perf_counter()
    scores = np.asarray(model.run({wanted.name: image})[output], np.float32).ravel()
    ms = 1e3 * (time.perf_counter() - begin)
    best = np.argsort(-scores, kind="stable")[:item["top"]]
    return {"picture": item["picture"], "top": [[int(k), round(float(scores[k]), 6)] for k in best], "ms": ms}
