// SPDX-License-Identifier: Apache-2.0
#include "tools/random/fill.h"

#include <limits>
#include <memory>
#include <utility>

#include "graph/numeric.h"

namespace quern::tools {
namespace {

template <class T>
T wild_float(Rng& rng) {
  switch (rng.below(12)) {
    case 0: return T(std::numeric_limits<float>::quiet_NaN());
    case 1: return T(std::numeric_limits<float>::infinity());
    case 2: return T(-std::numeric_limits<float>::infinity());
    case 3: return T(0.0F);
    case 4: return T(-0.0F);
    case 5: return T(rng.chance(0.5) ? 1e-40F : -3e-39F);
    case 6: return T(static_cast<float>(rng.between(-3, 3)) + 0.5F);
    default: return T(static_cast<float>(rng.real(-4, 4)));
  }
}

// On a coarse grid equal elements occur.
enum class Spread : std::uint8_t { anywhere, on_grid };

double tame_number(Rng& rng, Numbers numbers, Spread spread) {
  const bool grid = spread == Spread::on_grid;
  if (numbers == Numbers::positive)
    return grid ? 0.25 + static_cast<double>(rng.between(0, 12)) / 8 : rng.real(0.25, 1.75);
  return grid ? static_cast<double>(rng.between(-8, 8)) / 8 : rng.real(-1, 1);
}

template <class T>
T wild_integer(Rng& rng) {
  using Limits = std::numeric_limits<T>;
  switch (rng.below(6)) {
    case 0: return Limits::min();
    case 1: return Limits::max();
    case 2: return 0;
    case 3: return static_cast<T>(-1);
    default: return static_cast<T>(rng.next());
  }
}

template <class T>
T random_element(Rng& rng, Numbers numbers, Spread spread) {
  if constexpr (std::is_same_v<T, StringRef>) {
    return {};
  } else if constexpr (std::is_same_v<T, bool>) {
    return rng.chance(0.5);
  } else if constexpr (is_few_bits<T>) {
    return T(rng.between(T::lowest, T::highest));
  } else if constexpr (std::is_integral_v<T>) {
    if (numbers == Numbers::wild) return wild_integer<T>(rng);
    const bool above_zero = std::is_unsigned_v<T> || numbers == Numbers::positive;
    return static_cast<T>(above_zero ? rng.between(1, 9) : rng.between(-9, 9));
  } else {
    if (numbers == Numbers::wild) return wild_float<T>(rng);
    return T(static_cast<float>(tame_number(rng, numbers, spread)));
  }
}

// Empty, short and long ones, with equal ones among them.
Tensor random_strings(Rng& rng, const Shape& shape) {
  static const std::vector<std::string> words = {
      "", "a", "B", "quern", "Quern", "m\u00fchle", "a stone that turns upon another one"};
  std::vector<std::string> texts(static_cast<std::size_t>(shape.elements()));
  for (std::string& s : texts) s = rng.pick(words);
  return string_tensor(shape, std::move(texts));
}

}  // namespace

Tensor string_tensor(const Shape& shape, std::vector<std::string> texts) {
  struct Storage {
    std::vector<std::string> texts;
    std::vector<StringRef> refs;
  };
  auto storage = std::make_shared<Storage>();
  storage->texts = std::move(texts);
  for (const std::string& s : storage->texts) storage->refs.push_back({s.data(), s.size()});
  storage->refs.reserve(1);  // so that no elements are somewhere, too
  const auto* data = reinterpret_cast<const std::byte*>(storage->refs.data());
  return {{DType::string, shape}, std::move(storage), data};
}

Result<Tensor> owned_copy(const TensorView& from) {
  if (from.type.dtype != DType::string)
    return Tensor::copy_of(from.type, {from.data, from.type.bytes()});
  std::vector<std::string> texts;
  for (const StringRef& s : from.span<StringRef>()) texts.emplace_back(s.view());
  return string_tensor(from.type.shape, std::move(texts));
}

Tensor random_tensor(Rng& rng, DType dtype, const Shape& shape, Numbers numbers) {
  if (dtype == DType::string) return random_strings(rng, shape);
  Tensor t = Tensor::zeros({dtype, shape}).value();
  const Spread spread = rng.chance(0.4) ? Spread::on_grid : Spread::anywhere;
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = reinterpret_cast<T*>(t.mutable_data());
    for (std::int64_t i = 0; i < shape.elements(); ++i)
      to[i] = random_element<T>(rng, numbers, spread);
  });
  return t;
}

Tensor tensor_of(DType dtype, const Shape& shape,
                 const std::function<double(std::int64_t)>& value) {
  Tensor t = Tensor::zeros({dtype, shape}).value();
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, StringRef>) {
      T* to = reinterpret_cast<T*>(t.mutable_data());
      for (std::int64_t i = 0; i < shape.elements(); ++i) to[i] = static_cast<T>(value(i));
    }
  });
  return t;
}

}  // namespace quern::tools
