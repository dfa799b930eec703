#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hold quern on a GPU with Vulkan to PyTorch on the same GPU with CUDA.

    torch_gpu.py QUERN MODELS [--device vulkan] [--rounds N]

MODELS is the folder that holds arch-resnet50 and the others of the table below. PyTorch runs the same
networks, with weights of its own, as graphs of CUDA with the copies up and down, which is the fastest it
has without a compiler; TF32 is off, cuDNN chooses by measuring. quern's number is the median run of
`quern bench`, which also copies up and down. They take turns; shown are the medians of the rounds.

Needs PyTorch with CUDA, torchvision and transformers.
"""
import argparse
import json
import os
import statistics
import subprocess
import time

import torch
import torchvision

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.benchmark = True


def vision(name):
    return lambda: getattr(torchvision.models, name)(weights=None), (1, 3, 224, 224), []


def minilm():
    from transformers import BertConfig, BertModel
    return BertModel(BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
                                intermediate_size=1536))


class WhisperEncoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        from transformers import WhisperConfig, WhisperModel
        self.encoder = WhisperModel(WhisperConfig(
            d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536,
            decoder_layers=1, decoder_attention_heads=6, decoder_ffn_dim=1536)).encoder

    def forward(self, x):
        return self.encoder(x).last_hidden_state


# The model's folder: how PyTorch makes it, the shape of its input, further options of quern.
NETWORKS = {
    "arch-resnet50": vision("resnet50"),
    "arch-mobilenetv2": vision("mobilenet_v2"),
    "arch-densenet121": vision("densenet121"),
    "arch-efficientnet-b0": vision("efficientnet_b0"),
    "arch-minilm-l6": (minilm, (1, 128),
                       ["--dim", "batch_size=1", "--dim", "sequence_length=128",
                        "--input", "token_type_ids=zeros", "--input", "attention_mask=ones"]),
    "arch-whisper-tiny-enc": (WhisperEncoder, (1, 80, 3000), []),
}


def recorded(make, shape, dtype):
    """A function that copies an input up, replays the network and copies its answer down."""
    net = make().eval().cuda().to(dtype)
    if len(shape) == 2:
        host = torch.randint(0, 30000, shape).pin_memory()
    else:
        host = torch.randn(shape, dtype=dtype).pin_memory()
    x = host.cuda()

    def answer():
        out = net(x)
        return out if isinstance(out, torch.Tensor) else out.last_hidden_state

    with torch.inference_mode():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                answer()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = answer()

    def run():
        x.copy_(host, non_blocking=True)
        graph.replay()
        return out.cpu()

    return run


def torch_ms(run):
    for _ in range(5):
        run()
    times = []
    for _ in range(50):
        begin = time.perf_counter()
        run()
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times)


def quern_ms(quern, model, device, options):
    out = subprocess.run([quern, "bench", model, "--device", device, "--time", "0.3", "--json", *options],
                         capture_output=True, text=True, check=True).stdout
    return json.loads(out)["benchmarks"][0]["real_time"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("quern")
    parser.add_argument("models")
    parser.add_argument("--device", default="vulkan")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}; ms a run, copies included")
    print(f"{'model':24}{'type':>6}{'quern':>9}{'torch':>9}{'ratio':>7}")
    for name, (make, shape, options) in NETWORKS.items():
        model = os.path.join(args.models, name, "model.onnx")
        for dtype, device in ((torch.float32, args.device), (torch.float16, args.device + ",f16")):
            run = recorded(make, shape, dtype)
            rounds = [(quern_ms(args.quern, model, device, options), torch_ms(run))
                      for _ in range(args.rounds)]
            ours, theirs = (statistics.median(r[i] for r in rounds) for i in (0, 1))
            kind = "f32" if dtype == torch.float32 else "f16"
            print(f"{name:24}{kind:>6}{ours:9.3f}{theirs:9.3f}{theirs / ours:7.2f}", flush=True)


if __name__ == "__main__":
    main()
