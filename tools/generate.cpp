// SPDX-License-Identifier: Apache-2.0
// Elements for inputs that were not given: the same for the same seed, on every machine.
#include <array>
#include <memory>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "tools/inputs.h"

namespace quern::tools {
namespace {

constexpr std::array<std::string_view, 6> words = {"the", "mill",   "grinds",
                                                   "a",   "kernel", "slowly"};

// Strings in static memory, their references owned by the tensor.
Tensor random_strings(const Shape& shape, std::mt19937_64& random) {
  auto refs = std::make_shared<std::vector<StringRef>>();
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const std::string_view w = words[random() % words.size()];
    refs->push_back({w.data(), w.size()});
  }
  refs->reserve(1);
  const auto* data = reinterpret_cast<const std::byte*>(refs->data());
  return {{DType::string, shape}, refs, data};
}

// One after the other, so that they differ as long as there are others. The tensor keeps the keys.
Tensor listed_strings(const Shape& shape, const Tensor& keys) {
  struct Storage {
    std::vector<StringRef> refs;
    Tensor keys;
  };
  auto storage = std::make_shared<Storage>(Storage{{}, keys});
  const auto all = keys.span<StringRef>();
  storage->refs.reserve(static_cast<std::size_t>(shape.elements()) + 1);
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape.elements()); ++i)
    storage->refs.push_back(all[i % all.size()]);
  const auto* data = reinterpret_cast<const std::byte*>(storage->refs.data());
  return {{DType::string, shape}, std::move(storage), data};
}

// The number at a place of a list of keys, for an input that may have another type.
template <class T>
T listed_element(const Tensor& keys, std::int64_t i) {
  T element{};
  visit_dtype(keys.dtype(), [&](auto tag) {
    using Key = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, Key>)
      element = keys.span<Key>()[static_cast<std::size_t>(i)];
    else if constexpr (std::is_arithmetic_v<Key>)
      element = convert<T>(static_cast<double>(keys.span<Key>()[static_cast<std::size_t>(i)]));
  });
  return element;
}

// The meaning of an input, guessed by its name; masks are all ones.
enum class Meaning : std::uint8_t { numbers, mask };

// Element i of n, a whole number.
std::int64_t fitting_number(std::mt19937_64& random, const Fit& fit, std::int64_t i,
                            std::int64_t n) {
  switch (fit.form) {
    case Fit::Form::reshape: return i == 0 ? -1 : 1;
    case Fit::Form::counting: return i;
    case Fit::Form::parts: return fit.high / n + (i == 0 ? fit.high % n : 0);
    default: {
      const auto count = static_cast<std::uint64_t>(fit.high - fit.low) + 1;
      return fit.low + static_cast<std::int64_t>((random() >> 11) % count);
    }
  }
}

// Element i of an input of n that fits its readers.
template <class T>
T fitting_element(std::mt19937_64& random, const Fit& fit, std::int64_t i, std::int64_t n) {
  if (fit.form == Fit::Form::listed)
    return listed_element<T>(fit.keys, i % fit.keys.shape().elements());
  const std::int64_t v = fitting_number(random, fit, i, n);
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(v);
  else
    return T(static_cast<float>(v));
}

template <class T>
T random_element(std::mt19937_64& random, Meaning meaning) {
  const bool mask = meaning == Meaning::mask;
  const std::uint64_t bits = random() >> 11;
  if constexpr (std::is_same_v<T, bool>) {
    return mask || (bits & 1) != 0;
  } else if constexpr (is_float_type<T> || !is_number_type<T>) {
    if constexpr (is_few_bits<T>) {
      return T(static_cast<int>(bits % (T::highest + 1)));
    } else {
      return T(mask ? 1.0F : static_cast<float>(static_cast<double>(bits) * 0x1p-53));
    }
  } else if constexpr (sizeof(T) == 1) {
    return mask ? T(1) : static_cast<T>(bits);
  } else {
    return mask ? T(1) : static_cast<T>(bits % 10);  // indices and tokens that few models refuse
  }
}

}  // namespace

Result<Tensor> generate_tensor(const TensorType& type, std::string_view name, std::uint64_t seed,
                               const std::optional<Fit>& fit) {
  std::mt19937_64 random(seed);
  if (!type.shape.checked_elements(size_of(type.dtype)))
    return Status(Code::invalid_argument,
                  cat(type.text(), " is not a size that a tensor can have"));
  const bool has_texts =
      fit && fit->form == Fit::Form::listed && fit->keys.dtype() == DType::string;
  if (type.dtype == DType::string)
    return has_texts ? listed_strings(type.shape, fit->keys) : random_strings(type.shape, random);
  QUERN_ASSIGN(Tensor t, Tensor::zeros(type));
  const Meaning meaning =
      name.find("mask") != std::string_view::npos ? Meaning::mask : Meaning::numbers;
  visit_dtype(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, StringRef>) {
      T* data = reinterpret_cast<T*>(t.mutable_data());
      const std::int64_t n = type.shape.elements();
      for (std::int64_t i = 0; i < n; ++i)
        data[i] = fit ? fitting_element<T>(random, *fit, i, n) : random_element<T>(random, meaning);
    }
  });
  return t;
}

}  // namespace quern::tools
