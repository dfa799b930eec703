// SPDX-License-Identifier: Apache-2.0
// KeyIndex: the position of each element in a list of keys, or the number of keys where it is none
// of them.
//
// ONNX: the tables of ai.onnx.ml (LabelEncoder, CategoryMapper, OneHotEncoder) are this and a
// Gather or OneHot behind it. Of equal keys the first one counts; NaN is equal to NaN.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "graph/numeric.h"
#include "graph/ops/features.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/sorting.h"

namespace quern {
namespace {

// Fewer elements are compared with each key: sorting the keys would take longer.
constexpr std::int64_t few_elements = 8;

template <class T>
bool is_less(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(b) ? !std::isnan(a) : a < b;
  else if constexpr (std::is_same_v<T, StringRef>)
    return a.view() < b.view();
  else
    return a < b;
}

template <class T>
std::int64_t comparison_cost(const T& key) {
  if constexpr (std::is_same_v<T, StringRef>) return 8 + static_cast<std::int64_t>(key.size / 8);
  return 2;
}

template <class T>
class Keys {
 public:
  Keys(const ReferenceCall& call, StopCheck& check)
      : keys_(call.inputs[1].span<T>()), check_(check) {
    order_ = {call.scratch.take<std::uint32_t>(keys_.size()), keys_.size()};
    spare_ = call.scratch.take<std::uint32_t>(keys_.size());
  }

  void sort() {
    std::iota(order_.begin(), order_.end(), 0u);
    const auto before = [this](std::uint32_t a, std::uint32_t b) {
      if (less(keys_[a], keys_[b])) return true;
      return !less(keys_[b], keys_[a]) && a < b;
    };
    sort_until(order_.data(), static_cast<std::int64_t>(order_.size()), spare_, before, 8, check_);
  }

  std::int64_t place_of(const T& x) {
    const auto at =
        std::lower_bound(order_.begin(), order_.end(), x,
                         [this](std::uint32_t a, const T& value) { return less(keys_[a], value); });
    if (at == order_.end() || less(x, keys_[*at])) return static_cast<std::int64_t>(keys_.size());
    return *at;
  }

  std::int64_t search(const T& x) {
    const auto at = std::find_if(keys_.begin(), keys_.end(), [&](const T& key) {
      return check_.is_over() || (!less(key, x) && !less(x, key));
    });
    return at - keys_.begin();
  }

 private:
  // Anything once the check is over.
  bool less(const T& a, const T& b) { return !check_.spend(comparison_cost(a)) && is_less(a, b); }

  std::span<const T> keys_;
  std::span<std::uint32_t> order_;
  std::uint32_t* spare_ = nullptr;
  StopCheck& check_;
};

template <class T>
void find_all(const ReferenceCall& call) {
  StopCheck check(call.stop);
  Keys<T> keys(call, check);
  const auto x = call.inputs[0].span<T>();
  auto* y = call.outputs[0].as<std::int64_t>();
  const bool few = static_cast<std::int64_t>(x.size()) < few_elements;
  if (!few) keys.sort();
  for (std::size_t i = 0; i < x.size() && !check.spend(4); ++i)
    y[i] = few ? keys.search(x[i]) : keys.place_of(x[i]);
}

Status key_index_reference(const ReferenceCall& call) {
  visit_dtype(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_same_v<T, StringRef> || std::is_floating_point_v<T> || is_integer_type<T>)
      find_all<T>(call);
  });
  return {};
}

std::size_t key_index_scratch(const Op&, std::span<const TensorType> inputs,
                              std::span<const TensorType>) {
  return 2 *
         Scratch::bytes_for<std::uint32_t>(static_cast<std::size_t>(inputs[1].shape.elements()));
}

}  // namespace

const OpKernels& KeyIndex::kernels() {
  static constexpr OpKernels table{.reference = {key_index_reference, key_index_scratch}};
  return table;
}

}  // namespace quern
