# SPDX-License-Identifier: Apache-2.0
"""The folder of a small language model for guests with prompts, and what it says."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "language"))

from model_folders import CONTEXT, KV, TOKENIZER, Tokenizer, Weights, expected, make_genai  # noqa: E402

__all__ = ["CONTEXT", "PROMPT", "Model"]
PROMPT = "A run"


class Model:
    """What the decoder in Python says."""

    def __init__(self, folder):
        self.tokenizer = Tokenizer(TOKENIZER)
        self.weights = Weights(self.tokenizer.size, 170, KV)  # whose answer to the prompt is ASCII
        ids = self.tokenizer.encode(PROMPT)
        self.end = expected(self.weights, True, ids, 16)[-1]  # so that an answer ends with it
        (folder / "tokenizer.json").write_bytes(TOKENIZER.read_bytes())
        make_genai(folder, self.weights, self.end)

    def answer(self, prompt, count=1 << 20):
        ids = self.tokenizer.encode(prompt)
        tokens = expected(self.weights, True, ids, count, end=self.end)
        ended = tokens[-1] == self.end
        return len(ids), tokens, self.tokenizer.decode(tokens[:-1] if ended else tokens)
