// SPDX-License-Identifier: Apache-2.0
// Attention of queries to keys and values.
#pragma once

#include <cstdint>

#include "graph/op.h"

namespace quern {

// softmax(scale * q k^T + mask) v over (q, k, v, mask?), each [..., heads, rows, width]; the heads
// of q are a multiple of those of k and v. Recognised by the passes; also ONNX Attention.
struct Attention {
  float scale = 1;
  bool k_transposed = false;  // k is [..., heads, width, rows]

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("scale", s.scale), f("k_transposed", s.k_transposed);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Attention&) const = default;
};

// (past [B, heads, M, width], rows [B, heads, S, width], before i64 [B], length i64 [1]) -> [B,
// heads, T, width], T the number in `length`: of sequence b the first before[b] rows of the past,
// the new rows behind them, zeros behind these. Where T = M, a run may bind the result to the
// memory of the past: only the new rows are written then, and what lies behind them stays.
struct CacheAppend {
  // A promise of who made the graph: no query row i reads a row of the result behind before[b] + i,
  // whatever masks say.
  bool causal = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("causal", s.causal);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const CacheAppend&) const = default;
};

// Causal attention over the rows of a cache that count: (q [B, heads, S, width], k [B, key heads,
// T, width], v [B, key heads, T, value width], before i64 [B], bias?, sink? [heads]). Row i of
// sequence b sees the keys up to its own, before[b] + i, and of these the last `window` (0: all).
// Its scores are scale * q k^T, turned to softcap * tanh(scores / softcap) unless softcap is 0,
// plus the bias, which broadcasts to [B, heads, S, T]; its softmax has the head's sink as one score
// more that no key has. Keys and values may be 16-bit floats where q is f32. com.microsoft
// GroupQueryAttention.
struct CachedAttention {
  float scale = 1;
  float softcap = 0;
  std::int64_t window = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("scale", s.scale), f("softcap", s.softcap), f("window", s.window);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const CachedAttention&) const = default;
};

using AttentionOps = OpList<Attention, CacheAppend, CachedAttention>;

}  // namespace quern
