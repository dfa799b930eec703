// SPDX-License-Identifier: Apache-2.0
// TfIdfVectorizer: counts the n-grams of a pool in a sequence, or in each row of a matrix, of
// integers or strings.
//
// ONNX: TfIdfVectorizer (opset 9). An n-gram is n items at equal distances of 1 to max_skip_count +
// 1; single items count once. Item i of ngram_indexes and of weights belongs to the i-th n-gram of
// the pool. tf: the count; idf: the weight where there is any; tfidf: the count times the weight; a
// missing weight is 1.
#include <algorithm>
#include <numeric>

#include "graph/ops/strings.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"
#include "kernels/contract/sorting.h"

namespace quern {
namespace {

// ---- reference

template <class Item>
Item pool_item(const TfIdfVectorizer& op, std::size_t i) {
  if constexpr (std::is_same_v<Item, std::int64_t>) {
    return op.pool_int64s[i];
  } else {
    return op.pool_strings[i];
  }
}
template <class Item>
Item input_item(const TensorView& x, std::int64_t i) {
  if constexpr (std::is_same_v<Item, std::int64_t>) {
    return index_at(x, i);
  } else {
    return x.as<StringRef>()[i].view();
  }
}

// n-gram `id` (its number in the pool) stands at pool items [begin, begin + length).
struct Gram {
  std::size_t id, begin, length;
};

// `count` items of the input, `step` apart.
struct Sample {
  std::int64_t first, step, count;
};

template <class Item>
class Vectorizer {
 public:
  explicit Vectorizer(const ReferenceCall& call)
      : op_(call.as<TfIdfVectorizer>()), x_(call.inputs[0]), check_(call.stop) {
    grams_ = {call.scratch.take<Gram>(op_.ngram_indexes.size()), op_.ngram_indexes.size()};
    std::size_t id = 0;
    for (std::size_t i = 0; i < op_.ngram_counts.size(); ++i) {
      const NgramSection s = section_of(op_, i);
      for (std::size_t at = s.begin; at < s.end; at += s.length, ++id)
        grams_[id] = {id, at, s.length};
    }
    auto* spare = call.scratch.take<Gram>(grams_.size());
    const auto before = [this](const Gram& a, const Gram& b) {
      const int way = compare(a, b);
      return way != 0 ? way < 0 : a.id < b.id;
    };
    sort_until(grams_.data(), static_cast<std::int64_t>(grams_.size()), spare, before, 8, check_);
  }

  bool is_over() { return check_.spend(4); }

  // Counts the n-grams of items [begin, end) of the input in y.
  void count(std::int64_t begin, std::int64_t end, float* y) {
    for (std::int64_t n = op_.min_gram_length; n <= op_.max_gram_length && !check_.spend(8); ++n) {
      const std::int64_t reach = n - 1;
      for (std::int64_t step = 1; step - 1 <= op_.max_skip_count; ++step) {
        if (reach != 0 && step > (end - begin - 1) / reach) break;
        for_each_until(end - begin - reach * step, 16, check_, [&](std::int64_t i) {
          add({begin + i, step, n}, y);
        });
        if (check_.is_over()) return;
        if (reach == 0) break;
      }
    }
  }

 private:
  int order(const Item& a, const Item& b) {
    std::int64_t cost = 2;
    if constexpr (std::is_same_v<Item, std::string_view>)
      cost += static_cast<std::int64_t>(std::min(a.size(), b.size()) / 4);
    return check_.spend(cost) || a == b ? 0 : a < b ? -1 : 1;
  }

  int compare(const Gram& a, const Gram& b) {
    if (a.length != b.length) return a.length < b.length ? -1 : 1;
    for (std::size_t i = 0; i < a.length; ++i)
      if (int way = order(pool_item<Item>(op_, a.begin + i), pool_item<Item>(op_, b.begin + i)))
        return way;
    return 0;
  }
  int compare(const Gram& a, const Sample& b) {
    const auto count = static_cast<std::size_t>(b.count);
    if (a.length != count) return a.length < count ? -1 : 1;
    for (std::size_t i = 0; i < a.length; ++i)
      if (int way = order(pool_item<Item>(op_, a.begin + i),
                          input_item<Item>(x_, b.first + static_cast<std::int64_t>(i) * b.step)))
        return way;
    return 0;
  }

  void add(const Sample& sample, float* y) {
    const auto at =
        std::lower_bound(grams_.begin(), grams_.end(), sample,
                         [this](const Gram& g, const Sample& s) { return compare(g, s) < 0; });
    if (at == grams_.end() || compare(*at, sample) != 0) return;
    float& sum = y[op_.ngram_indexes[at->id]];
    const float weight =
        op_.mode == TfIdfMode::tf || op_.weights.empty() ? 1.0f : op_.weights[at->id];
    sum = op_.mode == TfIdfMode::idf ? weight : sum + weight;
  }

  const TfIdfVectorizer& op_;
  const TensorView& x_;
  StopCheck check_;
  std::span<Gram> grams_;
};

template <class Item>
void vectorize(const ReferenceCall& call) {
  const Shape& x = call.inputs[0].type.shape;
  Vectorizer<Item> vectorizer(call);
  const std::int64_t rows = x.rank() == 2 ? x[0] : 1;
  const std::int64_t width = call.outputs[0].type.shape.back();
  for (std::int64_t r = 0; r < rows && !vectorizer.is_over(); ++r)
    vectorizer.count(r * x.back(), (r + 1) * x.back(), call.outputs[0].as<float>() + r * width);
}

Status tf_idf_reference(const ReferenceCall& call) {
  StopCheck check(call.stop);
  zero_bytes(call.outputs[0].type.bytes(), call.outputs[0].data, check);
  if (call.inputs[0].type.dtype == DType::string) {
    vectorize<std::string_view>(call);
  } else {
    vectorize<std::int64_t>(call);
  }
  return {};
}

std::size_t tf_idf_scratch(const Op& op, std::span<const TensorType>, std::span<const TensorType>) {
  return 2 * Scratch::bytes_for<Gram>(op.as<TfIdfVectorizer>()->ngram_indexes.size());
}

}  // namespace

const OpKernels& TfIdfVectorizer::kernels() {
  static constexpr OpKernels table{.reference = {tf_idf_reference, tf_idf_scratch}};
  return table;
}

}  // namespace quern
