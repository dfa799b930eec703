// SPDX-License-Identifier: Apache-2.0
// Cast: the elements of x converted to another type.
//
// ONNX: Cast, CastLike, opsets 1 to 25, every pair of types. Float to float rounds once, to nearest
// even; float to integer truncates and saturates, NaN gives 0; integer to integer keeps the low
// bits. Float to an integer of 4 or 2 bits rounds halves to even and keeps the low bits, as the
// specification's pages on these types say. 8-bit floats saturate or not by the attribute, and
// f8e8m0 rounds by another. Text: number_text.h.
//
// Elements pass through one of three wide forms (double, i64, u64), none of which loses anything,
// so that 24 readers and 3 x 24 writers do the work of 576 conversions.
#include "graph/ops/cast.h"

#include <algorithm>
#include <cmath>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"
#include "kernels/contract/number_text.h"
#include "kernels/contract/string_room.h"
#include "kernels/cpu/cast_rows.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// ---- reference

template <class T>
inline constexpr bool is_wide_unsigned = std::is_same_v<T, std::uint64_t>;
template <class T>
inline constexpr bool is_whole = std::is_integral_v<T> || is_few_bits<T>;
template <class T>
using Wide = std::conditional_t<is_wide_unsigned<T>, std::uint64_t,
                                std::conditional_t<is_whole<T>, std::int64_t, double>>;

// The last bits of a whole number.
template <class To>
To low_bits(std::int64_t v) {
  const std::int64_t low = v & (To::highest - To::lowest);
  return To(low > To::highest ? low + 2 * To::lowest : low);
}

// The element as a double; a value that no double can hold keeps a sticky last bit, so that it
// still rounds correctly.
double sticky_double(std::uint64_t v) {
  if (v >> 53) v = (v & ~std::uint64_t{2047}) | ((v & 2047) != 0 ? 2048 : 0);
  return static_cast<double>(v);
}
double sticky_double(std::int64_t v) {
  const auto u = static_cast<std::uint64_t>(v);
  return v < 0 ? -sticky_double(0 - u) : sticky_double(u);
}
double sticky_double(double v) {
  return v;
}

// What a cast says of types that cannot hold a number.
struct Rules {
  Overflow overflow;
  PowerRounding rounding;
};

template <class To, class From>
To narrow(From v, Rules rules) {
  if constexpr (is_few_bits<To> && std::is_floating_point_v<From>) {
    return low_bits<To>(convert<std::int64_t>(std::nearbyint(v)));
  } else if constexpr (is_few_bits<To>) {
    return low_bits<To>(convert<std::int64_t>(v));
  } else if constexpr (requires { To::format; }) {
    To y;
    y.bits = float_to_small_float(To::format, round_to_odd(sticky_double(v)), rules.overflow);
    return y;
  } else if constexpr (std::is_same_v<To, E8M0>) {
    To y;
    y.bits = double_to_power(sticky_double(v), rules.rounding, rules.overflow);
    return y;
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(sticky_double(v));
  } else {
    return convert<To>(v);
  }
}

// Through a buffer of wide elements, a piece at a time.
template <class From, class F>
void in_pieces(const From* x, std::int64_t n, std::int64_t cost, StopCheck& check, F&& write) {
  constexpr std::int64_t piece = 256;
  Wide<From> wide[piece];
  for (std::int64_t begin = 0; begin < n && !check.spend(cost * piece); begin += piece) {
    const std::int64_t count = std::min(piece, n - begin);
    for (std::int64_t i = 0; i < count; ++i) wide[i] = static_cast<Wide<From>>(x[begin + i]);
    write(begin, count, wide);
  }
}

Rules rules_of(const Cast& op) {
  return {op.saturate ? Overflow::to_largest : Overflow::to_infinity, op.rounding};
}

template <class From>
void cast_piece(const ReferenceCall& call, std::int64_t begin, std::int64_t count, const From* x) {
  const Rules rules = rules_of(call.as<Cast>());
  visit_dtype(call.outputs[0].type.dtype, [&]<class To>(TypeTag<To>) {
    if constexpr (!std::is_same_v<To, StringRef>) {
      To* y = call.outputs[0].as<To>() + begin;
      for (std::int64_t i = 0; i < count; ++i) y[i] = narrow<To>(x[i], rules);
    }
  });
}

void print_piece(const ReferenceCall& call, std::int64_t begin, std::int64_t count, const auto* x) {
  auto* y = call.outputs[0].as<StringRef>() + begin;
  NumberText text;
  for (std::int64_t i = 0; i < count; ++i)
    y[i] = call.strings.add(text.print(x[i], call.inputs[0].type.dtype));
}

Status parse_strings(const ReferenceCall& call) {
  const std::span<const StringRef> x = call.inputs[0].span<StringRef>();
  StopCheck check(call.stop);
  const Rules rules = rules_of(call.as<Cast>());
  return visit_dtype(call.outputs[0].type.dtype, [&]<class To>(TypeTag<To>) -> Status {
    To* y = call.outputs[0].as<To>();
    if constexpr (std::is_same_v<To, StringRef>) {
      copy_bytes(call.inputs[0].data, x.size_bytes(), call.outputs[0].data, check);
    } else {
      for (const StringRef s : x) {
        if (check.spend(64 + static_cast<std::int64_t>(s.size))) break;
        const auto number = parse_number(s.view(), call.outputs[0].type.dtype);
        if (!number)
          return {Code::invalid_argument, cat("'", printable(s.view(), 40), "' is not a number")};
        *y++ = std::visit([&](auto v) { return narrow<To>(v, rules); }, *number);
      }
    }
    return {};
  });
}

Status cast_reference(const ReferenceCall& call) {
  if (call.inputs[0].type.dtype == DType::string) return parse_strings(call);
  const bool to_text = call.outputs[0].type.dtype == DType::string;
  if (to_text) QUERN_TRY(check_room(call.strings));
  const std::int64_t n = call.inputs[0].type.shape.elements();
  visit_dtype(call.inputs[0].type.dtype, [&]<class From>(TypeTag<From>) {
    if constexpr (!std::is_same_v<From, StringRef>) {
      StopCheck check(call.stop);
      in_pieces(call.inputs[0].as<From>(), n, to_text ? 256 : 4, check,
                [&](auto begin, auto count, const auto* wide) {
                  to_text ? print_piece(call, begin, count, wide)
                          : cast_piece(call, begin, count, wide);
                });
    }
  });
  return {};
}

constexpr CpuImplementation cast_implementations[] = {{"rows", select_cast_rows}};

}  // namespace

const OpKernels& Cast::kernels() {
  static constexpr OpKernels table{
      .reference = {cast_reference}, .cpu = cast_implementations, .gpu = gpu::select_cast};
  return table;
}

}  // namespace quern
