#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains small tokenizers of each family on texts of this repository, as tokenizer.json files.

  tests/language/train_tokenizers.py OUTDIR        all of them
  tests/language/train_tokenizers.py OUTDIR NAME   one

Training is plain and slow; what it gives depends only on the texts.
"""
import base64
import collections
import json
import math
import pathlib
import re
import struct
import sys
import unicodedata

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXTS = ["docs/limits.md", "docs/error-bounds.md", "engine/vocabulary/text_util.h", "tests/check_layers.py"]
EXTRA = ("Žluťoučký kůň úpěl ďábelské ódy. Ça va très bien, naïve café. 日本語の文章です。 Привет, мир! "
         "Ελληνικά κείμενα. 안녕하세요 세계. 😀 🇩🇪 “quoted” — dash… 1234567890 don't I'll we've ") * 8
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\w+| ?[^\s\w]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")


def corpus():
    return "\n".join((ROOT / name).read_text() for name in TEXTS) + EXTRA


def byte_letters():
    own = [b for b in range(256) if 0x21 <= b <= 0x7E or 0xA1 <= b <= 0xAC or b >= 0xAE]
    letters, following = {}, 0x100
    for b in range(256):
        letters[b] = chr(b) if b in own else chr(following)
        following += b not in own
    return letters


def learn_merges(words, count):
    """words: tuples of symbols -> how often. The most frequent pair first, of equals the first in order."""
    merges = []
    while len(merges) < count:
        pairs = collections.Counter()
        for word, n in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += n
        if not pairs:
            break
        best = max(pairs.items(), key=lambda item: (item[1], item[0]))[0]
        merges.append(best)
        joined = {}
        for word, n in words.items():
            out, i = [], 0
            while i < len(word):
                if word[i:i + 2] == best:
                    out.append(best[0] + best[1])
                    i += 2
                else:
                    out.append(word[i])
                    i += 1
            joined[tuple(out)] = joined.get(tuple(out), 0) + n
        words = joined
    return merges


def added(id, content, **options):
    return {"id": id, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": False, "special": True, **options}


def file_of(model, tokens=(), **parts):
    whole = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": list(tokens), "normalizer": None,
             "pre_tokenizer": None, "post_processor": None, "decoder": None}
    return {**whole, **parts, "model": model}


def byte_level(count=420, pattern=None, pairs=False, **model):
    letters = byte_letters()
    words = collections.Counter(tuple(letters[b] for b in piece.encode()) for piece in re.findall(GPT2, corpus()))
    merges = learn_merges(words, count)
    vocabulary = sorted(letters.values()) + [a + b for a, b in merges]
    vocab = {token: i for i, token in enumerate(dict.fromkeys(vocabulary))}
    n = len(vocab)
    tokens = [added(n, "<|end|>"), added(n + 1, "<|user|>", rstrip=True), added(n + 2, "<|mask|>", lstrip=True),
              added(n + 3, "tensor", normalized=True, special=False, single_word=True)]
    split = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": pattern is None}
    if pattern:
        split = {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}, split]}
    return file_of({"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                    "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                    "vocab": vocab, "merges": [list(m) if pairs else " ".join(m) for m in merges], **model}, tokens,
                   pre_tokenizer=split, decoder={"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True})


def gpt2():
    return byte_level()


def llama3():
    whole = byte_level(300, LLAMA3, True, ignore_merges=True)
    n = whole["added_tokens"][0]["id"]
    whole["post_processor"] = {"type": "Sequence", "processors": [
        {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True},
        {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<|end|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
         "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
         "special_tokens": {"<|end|>": {"id": "<|end|>", "ids": [n], "tokens": ["<|end|>"]}}}]}
    return whole


def fallback_words():
    return collections.Counter("▁" + w for w in corpus().replace("\n", " ").split(" ") if w)


def template(first, id):
    return {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": first, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {first: {"id": first, "ids": [id], "tokens": [first]}}}


FALLBACK_DECODER = {"type": "Sequence", "decoders": [
    {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
    {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}


def llama2():
    words = collections.Counter()
    for word, n in fallback_words().items():
        if word.isascii() or word[1:].isascii():
            words[tuple(word)] += n
    merges = learn_merges(words, 260)
    letters = sorted({c for word in words for c in word})
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)] + letters + [a + b for a, b in merges]
    vocab = {t: i for i, t in enumerate(dict.fromkeys(tokens))}
    return file_of({"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
                    "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True,
                    "vocab": vocab, "merges": [" ".join(m) for m in merges]},
                   [added(0, "<unk>"), added(1, "<s>"), added(2, "</s>")],
                   normalizer={"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
                                                                   {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
                   post_processor=template("<s>", 1), decoder=FALLBACK_DECODER)


def suffix_bpe():
    """As CLIP's: small letters, a suffix at the end of each word, unknown characters one token each."""
    words = collections.Counter()
    for word in re.findall(r"[a-z]+|[0-9]|[^\sa-z0-9]+", corpus().lower()):
        words[tuple(word[:-1]) + (word[-1] + "</w>",)] += 1
    words = collections.Counter({w: n for w, n in words.items() if "".join(w).isascii()})
    merges = learn_merges(words, 250)
    letters = sorted({c for w in words for c in w} | {c + "</w>" for w in words for c in "".join(w).replace("</w>", "")})
    vocab = {t: i for i, t in enumerate(dict.fromkeys(["<unk>"] + letters + [a + b for a, b in merges]))}
    return file_of({"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": "",
                    "end_of_word_suffix": "</w>", "fuse_unk": False, "byte_fallback": False,
                    "vocab": vocab, "merges": [" ".join(m) for m in merges]}, [added(0, "<unk>")],
                   normalizer={"type": "Sequence", "normalizers": [
                       {"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}, {"type": "Lowercase"}]},
                   pre_tokenizer={"type": "Sequence", "pretokenizers": [
                       {"type": "Split", "pattern": {"Regex": r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"},
                        "behavior": "Removed", "invert": True}]},
                   decoder={"type": "BPEDecoder", "suffix": "</w>"})


def charsmap(pairs):
    """A precompiled_charsmap: a double array over the UTF-8 of the first of each pair, and the second of each."""
    texts, at = b"", {}
    for key, text in pairs:
        at[key.encode()] = len(texts)
        texts += text.encode() + b"\0"
    tree = {}
    for key in at:
        node = tree
        for b in key:
            node = node.setdefault(b, {})
        node[0] = at[key]
    units, used = {0: 0}, {0}

    def place(node, index):
        labels = sorted(node)
        base = index ^ 1
        while any((base ^ label) in used or base ^ label == index for label in labels) or base == 0:
            base += 1
        offset = index ^ base
        while offset >= 1 << 21:
            raise ValueError("too far")
        units[index] = units.get(index, 0) | offset << 10 | (0x100 if 0 in node else 0)
        used.update(base ^ label for label in labels)
        for label in labels:
            if label == 0:
                units[base] = 1 << 31 | node[0]
            else:
                units[base ^ label] = label
                place(node[label], base ^ label)

    place(tree, 0)
    size = max(units) + 256
    array = b"".join(struct.pack("<I", units.get(i, 0)) for i in range(size))
    return base64.b64encode(struct.pack("<I", len(array)) + array + texts).decode()


def unigram(**parts):
    counts = collections.Counter()
    for word, n in fallback_words().items():
        for begin in range(len(word)):
            for end in range(begin + 1, min(len(word), begin + 8) + 1):
                counts[word[begin:end]] += n
    letters = sorted(t for t in counts if len(t) == 1 and (t.isascii() or t == "▁"))
    longer = [t for t, n in sorted(counts.items(), key=lambda i: (-i[1] * len(i[0]), i[0])) if len(t) > 1][:420]
    total = sum(counts[t] for t in letters + longer)
    scores = [[t, round(math.log(counts[t] / total), 6)] for t in letters + longer]
    special = [["<pad>", 0.0], ["</s>", 0.0], ["<unk>", 0.0]]
    return special, scores, parts


def t5():
    special, scores, _ = unigram()
    pairs = [(chr(c), unicodedata.normalize("NFKC", chr(c))) for c in list(range(0xA0, 0x180)) + list(range(0x2100, 0x2190)) +
             list(range(0xFB00, 0xFB07)) + list(range(0xFF01, 0xFF60)) if unicodedata.normalize("NFKC", chr(c)) != chr(c)]
    pairs += [(a + m, unicodedata.normalize("NFC", a + m)) for a in "aeiouAEIOU" for m in "\u0300\u0301\u0308"]
    pairs += [("\t", " "), ("\n", " "), ("\u200b", " "), ("\u0001", "")]
    return file_of({"type": "Unigram", "unk_id": 2, "vocab": special + scores, "byte_fallback": False},
                   [added(0, "<pad>"), added(1, "</s>"), added(2, "<unk>")],
                   normalizer={"type": "Sequence", "normalizers": [
                       {"type": "Precompiled", "precompiled_charsmap": charsmap(pairs)},
                       {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]},
                   pre_tokenizer={"type": "Sequence", "pretokenizers": [
                       {"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}]},
                   post_processor={"type": "TemplateProcessing",
                                   "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
                                   "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
                                   "special_tokens": {"</s>": {"id": "</s>", "ids": [1], "tokens": ["</s>"]}}},
                   decoder={"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True})


def unigram_bytes():
    special, scores, _ = unigram()
    least = min(s for _, s in scores)
    vocab = special + [[f"<0x{b:02X}>", least] for b in range(256)] + scores
    return file_of({"type": "Unigram", "unk_id": 2, "vocab": vocab, "byte_fallback": True},
                   [added(0, "<pad>"), added(1, "</s>"), added(2, "<unk>")],
                   normalizer={"type": "Sequence", "normalizers": [{"type": "Nmt"}, {"type": "NFKC"}, {"type": "Strip", "strip_left": False, "strip_right": True}]},
                   pre_tokenizer={"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False},
                   decoder=FALLBACK_DECODER)


def bert(small=True):
    text = corpus().lower() if small else corpus()
    text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn") if small else text
    words = collections.Counter()
    for word in re.findall(r"\w+|[^\w\s]", text):
        words[(word[0],) + tuple("##" + c for c in word[1:])] += 1
    letters = {c for w in words for c in w}
    pieces = collections.Counter()
    for word, n in words.items():
        for begin in range(len(word)):
            for end in range(begin + 2, min(len(word), begin + 7) + 1):
                pieces[word[begin] + "".join(c[2:] for c in word[begin + 1:end])] += n * (end - begin)
    longer = [p for p, _ in sorted(pieces.items(), key=lambda i: (-i[1], i[0]))[:400]]
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + sorted(letters) + longer
    vocab = {t: i for i, t in enumerate(dict.fromkeys(tokens))}
    return file_of({"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocab},
                   [added(i, t) for i, t in enumerate(tokens[:4])] + [added(4, "[MASK]", lstrip=True)],
                   normalizer={"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": small},
                   pre_tokenizer={"type": "BertPreTokenizer"},
                   post_processor={"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
                   decoder={"type": "WordPiece", "prefix": "##", "cleanup": True})


def bert_cased():
    return bert(False)


def words():
    """Whole words, cut in the ways that no other file here has."""
    counts = collections.Counter(re.findall(r"\w+", corpus()))
    vocab = {t: i for i, t in enumerate(["[UNK]", ".", ",", "-", "#"] + [w for w, _ in counts.most_common(300)])}
    return file_of({"type": "WordLevel", "unk_token": "[UNK]", "vocab": vocab}, [added(0, "[UNK]")],
                   normalizer={"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Strip", "strip_left": True, "strip_right": True}]},
                   pre_tokenizer={"type": "Sequence", "pretokenizers": [
                       {"type": "Whitespace"}, {"type": "Punctuation", "behavior": "MergedWithPrevious"}, {"type": "Digits", "individual_digits": False},
                       {"type": "Split", "pattern": {"String": "in"}, "behavior": "MergedWithNext", "invert": False},
                       {"type": "Split", "pattern": {"Regex": "[A-Z]+"}, "behavior": "Contiguous", "invert": False},
                       {"type": "CharDelimiterSplit", "delimiter": "_"}]},
                   post_processor={"type": "RobertaProcessing", "sep": ["#", 4], "cls": [".", 1], "trim_offsets": True, "add_prefix_space": True})


ALL = {"byte-level": gpt2, "byte-level-split": llama3, "byte-fallback": llama2, "word-suffix": suffix_bpe, "unigram": t5,
       "unigram-bytes": unigram_bytes, "word-piece": bert, "word-piece-cased": bert_cased, "words": words}


def main(folder, *names):
    for name in names or ALL:
        path = pathlib.Path(folder) / f"{name}.json"
        path.write_text(json.dumps(ALL[name](), ensure_ascii=False, separators=(",", ":")) + "\n")
        print(path, path.stat().st_size)


if __name__ == "__main__":
    main(*sys.argv[1:])
