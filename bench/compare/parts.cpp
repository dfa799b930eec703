// SPDX-License-Identifier: Apache-2.0
#include "bench/compare/parts.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <type_traits>
#include <utility>

#include "engine/vocabulary/text_util.h"

namespace quern::bench {
namespace {

template <class Key>
std::vector<std::size_t> order_of(const Tensor& keys) {
  std::vector<std::size_t> order(static_cast<std::size_t>(keys.shape().elements()));
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto all = keys.span<Key>();
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    if constexpr (std::is_same_v<Key, StringRef>)
      return all[a].view() < all[b].view();
    else
      return all[a] < all[b];
  });
  return order;
}

// The elements of a list in another order. It keeps the list, which may own strings.
Result<Tensor> reordered(const Tensor& list, const std::vector<std::size_t>& order) {
  QUERN_ASSIGN(Tensor moved, Tensor::zeros(list.type()));
  const std::size_t size = size_of(list.dtype());
  for (std::size_t i = 0; i < order.size(); ++i)
    std::memcpy(moved.mutable_data() + i * size, list.data() + order[i] * size, size);
  const std::byte* data = moved.data();
  auto owner = std::make_shared<std::pair<Tensor, Tensor>>(std::move(moved), list);
  return Tensor(list.type(), std::move(owner), data);
}

}  // namespace

std::string keys_name(const std::string& map) {
  return map + ".keys";
}

std::string part_name(const std::string& whole, std::size_t part) {
  return cat(whole, "[", part, "]");
}

Status append_map(const Tensor& keys, const Tensor& values, const std::string& name,
                  std::vector<NamedTensor>& to) {
  if (keys.dtype() != DType::string && keys.dtype() != DType::i64)
    return {Code::unsupported, cat("a map with keys of ", name_of(keys.dtype()))};
  if (keys.shape() != values.shape())
    return {Code::internal, cat("a map of ", keys.shape().elements(), " keys and ",
                                values.shape().elements(), " values")};
  const std::vector<std::size_t> order =
      keys.dtype() == DType::string ? order_of<StringRef>(keys) : order_of<std::int64_t>(keys);
  QUERN_ASSIGN(Tensor first, reordered(keys, order));
  QUERN_ASSIGN(Tensor second, reordered(values, order));
  to.push_back({keys_name(name), std::move(first)});
  to.push_back({name, std::move(second)});
  return {};
}

}  // namespace quern::bench
