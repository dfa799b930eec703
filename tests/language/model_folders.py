# SPDX-License-Identifier: Apache-2.0
"""Folders of small language models, made with seeded weights, and the same decoder in plain Python.

Both forms of folders: onnxruntime-genai's with GroupQueryAttention, and transformers.js' with attention of plain
operators. The tokenizer is the byte-level one of tests/language/tokenizers.
"""
import array
import json
import math
import pathlib
import random
import re
import struct

TOKENIZER = pathlib.Path(__file__).parent / "tokenizers/byte-level.json"
LAYERS, DIM, HEADS, KV, WIDTH, HIDDEN, CONTEXT = 2, 32, 4, 2, 8, 48, 96
FLOAT, INT32, INT64 = 1, 6, 7
TEMPLATE = """{{ bos_token }}{% for m in messages %}
{% if m.role == 'system' %}({{ m.content | trim }}){% else %}<|user|>{{ m.role }}: {{ m.content }}{% endif %}
{% endfor %}{% if add_generation_prompt %} answer:{% endif %}"""


# ---- protobuf, as far as a model needs it

def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, kind, dims, raw):
    return b"".join(field(1, d) for d in dims) + field(2, kind) + field(8, name) + field(9, raw)


def value_info(name, kind, dims):
    shape = b"".join(field(1, field(1, d) if isinstance(d, int) else field(2, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def attribute(name, value):
    kinds = {int: (3, 2), float: (2, 1), list: (8, 7)}
    number, kind = kinds[type(value)]
    values = value if isinstance(value, list) else [value]
    return field(1, name) + b"".join(field(number, v) for v in values) + field(20, kind)


class Model:
    def __init__(self):
        self.nodes, self.initializers, self.count = b"", b"", 0

    def constant(self, kind, dims, values):
        self.count += 1
        code = {FLOAT: "f", INT32: "i", INT64: "q"}[kind]
        raw = struct.pack(f"<{len(values)}{code}", *values)
        self.initializers += field(5, tensor(f"c{self.count}", kind, dims, raw))
        return f"c{self.count}"

    def weights(self, rows):
        return self.constant(FLOAT, [len(rows), len(rows[0])], [x for row in rows for x in row])

    def numbers(self, *values):
        return self.constant(INT64, [len(values)], values)

    def op(self, kind, inputs, outputs=None, domain="", **attributes):
        self.count += 1
        outputs = outputs or [f"t{self.count}"]
        node = b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs)
        node += field(3, f"n{self.count}") + field(4, kind)
        node += b"".join(field(5, attribute(k, v)) for k, v in attributes.items()) + field(7, domain)
        self.nodes += field(1, node)
        return outputs[0]

    def write(self, path, inputs, outputs):
        graph = self.nodes + field(2, "decoder") + self.initializers
        graph += b"".join(field(11, value_info(*i)) for i in inputs) + b"".join(field(12, value_info(*o)) for o in outputs)
        opsets = field(8, field(1, "") + field(2, 17)) + field(8, field(1, "com.microsoft") + field(2, 1))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(field(1, 8) + field(2, "test") + field(7, graph) + opsets)


# ---- weights, shared by the models and the reference

def rounded(values):
    return list(array.array("f", values))


class Weights:
    def __init__(self, vocabulary, seed, kv):
        rng = random.Random(seed)

        def matrix(rows, columns, scale):
            return [rounded(rng.gauss(0, scale) for _ in range(columns)) for _ in range(rows)]

        self.vocabulary, self.kv = vocabulary, kv
        self.embedding = matrix(vocabulary, DIM, 1)
        self.positions = matrix(CONTEXT, DIM, 0.5)
        self.head = matrix(DIM, vocabulary, 1)
        sizes = {"q": (DIM, HEADS * WIDTH), "k": (DIM, kv * WIDTH), "v": (DIM, kv * WIDTH), "o": (HEADS * WIDTH, DIM),
                 "gate": (DIM, HIDDEN), "up": (DIM, HIDDEN), "down": (HIDDEN, DIM)}
        self.layers = [{n: matrix(a, b, 1.5 / math.sqrt(a)) for n, (a, b) in sizes.items()} for _ in range(LAYERS)]
        self.gains = [rounded(1 + 0.1 * rng.gauss(0, 1) for _ in range(DIM)) for _ in range(2 * LAYERS + 1)]


def times(x, rows):
    return [sum(a * row[j] for a, row in zip(x, rows)) for j in range(len(rows[0]))]


def normed(x, gain):
    scale = 1 / math.sqrt(sum(a * a for a in x) / len(x) + 1e-5)
    return [a * scale * g for a, g in zip(x, gain)]


class Reference:
    """The same decoder, a token at a time, in numbers of Python."""

    def __init__(self, weights, rotary):
        self.w, self.rotary = weights, rotary
        self.cache = [([], []) for _ in range(LAYERS)]

    def turned(self, heads, position):
        if not self.rotary:
            return heads
        half = WIDTH // 2
        out = []
        for h in heads:
            angles = [position / 10000 ** (2 * i / WIDTH) for i in range(half)]
            first = [h[i] * math.cos(a) - h[i + half] * math.sin(a) for i, a in enumerate(angles)]
            out.append(first + [h[i + half] * math.cos(a) + h[i] * math.sin(a) for i, a in enumerate(angles)])
        return out

    def attend(self, y, layer, position):
        w, (keys, values) = self.w.layers[layer], self.cache[layer]
        q, k, v = ([t[i:i + WIDTH] for i in range(0, len(t), WIDTH)] for t in (times(y, w[n]) for n in "qkv"))
        keys.append(self.turned(k, position))
        values.append(v)
        out = []
        for h, head in enumerate(self.turned(q, position)):
            g = h * self.w.kv // HEADS
            scores = [sum(a * b for a, b in zip(head, k[g])) / math.sqrt(WIDTH) for k in keys]
            exps = [math.exp(s - max(scores)) for s in scores]
            out += [sum(e * v[g][i] for e, v in zip(exps, values)) / sum(exps) for i in range(WIDTH)]
        return times(out, w["o"])

    def logits(self, token):
        position = len(self.cache[0][0])
        x = list(self.w.embedding[token])
        if not self.rotary:
            x = [a + b for a, b in zip(x, self.w.positions[position])]
        for layer, w in enumerate(self.w.layers):
            x = [a + b for a, b in zip(x, self.attend(normed(x, self.w.gains[2 * layer]), layer, position))]
            y = normed(x, self.w.gains[2 * layer + 1])
            f = [g / (1 + math.exp(-g)) * u for g, u in zip(times(y, w["gate"]), times(y, w["up"]))]
            x = [a + b for a, b in zip(x, times(f, w["down"]))]
        return times(normed(x, self.w.gains[-1]), self.w.head)


def chosen(logits, seen, penalty):
    changed = [(l / penalty if l > 0 else l * penalty) if i in seen else l for i, l in enumerate(logits)]
    best, second = sorted(changed, reverse=True)[:2]
    assert best - second > 1e-4, "two logits are too close to be compared: take another seed"
    return changed.index(best)


def expected(weights, rotary, prompt, count, penalty=1.0, end=None):
    model, seen, out = Reference(weights, rotary), set(prompt), []
    for token in prompt:
        logits = model.logits(token)
    while len(out) < count and len(prompt) + len(out) <= CONTEXT:
        out.append(chosen(logits, seen, penalty))
        seen.add(out[-1])
        if out[-1] == end or len(prompt) + len(out) > CONTEXT:
            break
        logits = model.logits(out[-1])
    return out


# ---- a tokenizer, for ASCII

class Tokenizer:
    def __init__(self, path):
        whole = json.loads(path.read_text())
        self.vocabulary = whole["model"]["vocab"]
        self.ranks = {tuple(m.split(" ")): i for i, m in enumerate(whole["model"]["merges"])}
        self.added = {t["content"]: t for t in whole["added_tokens"]}
        self.letters, following = {}, 0x100
        for b in range(256):
            own = 0x21 <= b <= 0x7E or 0xA1 <= b <= 0xAC or b >= 0xAE
            self.letters[b] = chr(b) if own else chr(following)
            following += not own
        self.size = 1 + max([*self.vocabulary.values(), *(t["id"] for t in self.added.values())])

    def pieces(self, text):
        for piece in re.findall(r"'s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+", text):
            symbols = [self.letters[b] for b in piece.encode()]
            while True:
                pairs = [(self.ranks.get((a, b), 1 << 30), i) for i, (a, b) in enumerate(zip(symbols, symbols[1:]))]
                if not pairs or min(pairs)[0] == 1 << 30:
                    break
                i = min(pairs)[1]
                symbols[i:i + 2] = [symbols[i] + symbols[i + 1]]
            yield from (self.vocabulary[s] for s in symbols)

    def encode(self, text):
        ids = []
        for part in re.split(r"(<\|user\|>\s*)", text):  # which takes the spaces behind it
            ids += [self.added["<|user|>"]["id"]] if part.startswith("<|user|>") else list(self.pieces(part))
        return ids

    def decode(self, ids):
        texts = {i: t for t, i in self.vocabulary.items()}
        texts.update({t["id"]: t["content"] for t in self.added.values()})
        special = {t["id"] for t in self.added.values() if t["special"]}
        back = {letter: b for b, letter in self.letters.items()}
        data = b""
        for text in (texts[i] for i in ids if i in texts and i not in special):
            data += bytes(back[c] for c in text)
        return data.decode(errors="replace")


# ---- the two folders

def silu(m, y, w):
    gate, up = (m.op("MatMul", [y, m.weights(w[n])]) for n in ("gate", "up"))
    return m.op("MatMul", [m.op("Mul", [m.op("Mul", [gate, m.op("Sigmoid", [gate])]), up]), m.weights(w["down"])])


def caches(kv):
    dims = {"past_key_values": ["batch", kv, "past", WIDTH], "present": ["batch", kv, "total", WIDTH]}
    return [[(f"{n}.{i}.{t}", FLOAT, d) for i in range(LAYERS) for t in ("key", "value")] for n, d in dims.items()]


def norm(m, x, gain):
    return m.op("SimplifiedLayerNormalization", [x, m.constant(FLOAT, [DIM], gain)], axis=-1, epsilon=1e-5, stash_type=1)


def genai_model(w, path):
    m = Model()
    one = m.numbers(1)
    count = m.op("ReduceSum", ["attention_mask", one], keepdims=0)
    lengths = m.op("Cast", [m.op("Sub", [count, one])], to=INT32)
    total = m.op("Gather", [m.op("Shape", ["attention_mask"]), m.constant(INT64, [], [1])], axis=0)
    total = m.op("Cast", [total], to=INT32)
    angles = [p / 10000 ** (2 * i / WIDTH) for p in range(CONTEXT) for i in range(WIDTH // 2)]
    cos, sin = (m.constant(FLOAT, [CONTEXT, WIDTH // 2], [f(a) for a in angles]) for f in (math.cos, math.sin))
    x = m.op("Gather", [m.weights(w.embedding), "input_ids"])
    for i, layer in enumerate(w.layers):
        y = norm(m, x, w.gains[2 * i])
        q, k, v = (m.op("MatMul", [y, m.weights(layer[n])]) for n in "qkv")
        past, present = ([f"{n}.{i}.{t}" for t in ("key", "value")] for n in ("past_key_values", "present"))
        a = m.op("GroupQueryAttention", [q, k, v, *past, lengths, total, cos, sin], [f"a{i}", *present], "com.microsoft",
                 num_heads=HEADS, kv_num_heads=w.kv, do_rotary=1, scale=1 / math.sqrt(WIDTH))
        x = m.op("Add", [x, m.op("MatMul", [a, m.weights(layer["o"])])])
        x = m.op("Add", [x, silu(m, norm(m, x, w.gains[2 * i + 1]), layer)])
    m.op("MatMul", [norm(m, x, w.gains[-1]), m.weights(w.head)], ["logits"])
    past, present = caches(w.kv)
    m.write(path, [("input_ids", INT64, ["batch", "seq"]), ("attention_mask", INT64, ["batch", "all"])] + past,
            [("logits", FLOAT, ["batch", "seq", w.vocabulary])] + present)


def plain_model(w, path):
    m = Model()
    x = m.op("Gather", [m.weights(w.embedding), "input_ids"])
    x = m.op("Add", [x, m.op("Gather", [m.weights(w.positions), "position_ids"])])
    total = m.op("Gather", [m.op("Shape", ["attention_mask"]), m.constant(INT64, [], [1])], axis=0)
    keys = m.op("Range", [m.constant(INT64, [], [0]), total, m.constant(INT64, [], [1])])
    late = m.op("Greater", [keys, m.op("Unsqueeze", ["position_ids", m.numbers(1, 3)])])
    mask = m.op("Where", [late, m.constant(FLOAT, [], [-1e9]), m.constant(FLOAT, [], [0.0])])

    def heads(y, rows, count):
        split = m.op("Reshape", [m.op("MatMul", [y, m.weights(rows)]), m.numbers(0, 0, count, WIDTH)])
        return m.op("Transpose", [split], perm=[0, 2, 1, 3])

    for i, layer in enumerate(w.layers):
        y = norm(m, x, w.gains[2 * i])
        q = heads(y, layer["q"], HEADS)
        k, v = (m.op("Concat", [f"past_key_values.{i}.{t}", heads(y, layer[n], HEADS)], [f"present.{i}.{t}"], axis=2)
                for n, t in (("k", "key"), ("v", "value")))
        scores = m.op("MatMul", [q, m.op("Transpose", [k], perm=[0, 1, 3, 2])])
        scores = m.op("Add", [m.op("Div", [scores, m.constant(FLOAT, [], [math.sqrt(WIDTH)])]), mask])
        a = m.op("Transpose", [m.op("MatMul", [m.op("Softmax", [scores], axis=-1), v])], perm=[0, 2, 1, 3])
        a = m.op("MatMul", [m.op("Reshape", [a, m.numbers(0, 0, HEADS * WIDTH)]), m.weights(layer["o"])])
        x = m.op("Add", [x, a])
        x = m.op("Add", [x, silu(m, norm(m, x, w.gains[2 * i + 1]), layer)])
    m.op("MatMul", [norm(m, x, w.gains[-1]), m.weights(w.head)], ["logits"])
    past, present = caches(HEADS)
    ids = [(n, INT64, ["batch", "seq"]) for n in ("input_ids", "position_ids")]
    m.write(path, ids + [("attention_mask", INT64, ["batch", "all"])] + past,
            [("logits", FLOAT, ["batch", "seq", w.vocabulary])] + present)


def make_genai(folder, w, end):
    genai_model(w, folder / "decoder.onnx")
    names = {f"{p}_{t}_names": f"{n}.%d.{t}" for p, n in (("past", "past_key_values"), ("present", "present")) for t in ("key", "value")}
    inputs = {"input_ids": "input_ids", "attention_mask": "attention_mask", **{k: v for k, v in names.items() if "past" in k}}
    outputs = {"logits": "logits", **{k: v for k, v in names.items() if "present" in k}}
    model = {"type": "llama", "context_length": CONTEXT, "eos_token_id": [end], "vocab_size": w.vocabulary,
             "decoder": {"filename": "decoder.onnx", "inputs": inputs, "outputs": outputs, "num_hidden_layers": LAYERS}}
    (folder / "genai_config.json").write_text(json.dumps({"model": model, "search": {"do_sample": False, "top_k": 50}}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": TEMPLATE, "bos_token": {"content": ""}}))


def make_transformers_js(folder, w, end):
    plain_model(w, folder / "onnx/model.onnx")
    (folder / "config.json").write_text(json.dumps({"model_type": "llama", "max_position_embeddings": CONTEXT, "eos_token_id": 1}))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": end, "repetition_penalty": 1.3, "max_new_tokens": 12}))
    (folder / "tokenizer_config.json").write_text("{}")
    (folder / "chat_template.jinja").write_text(TEMPLATE)
