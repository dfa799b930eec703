// SPDX-License-Identifier: Apache-2.0
// com.microsoft: Fourier transforms, complex numbers, distances, slices, hashes, positions,
// crops of pictures. Source: docs/ContribOperators.md of ONNX Runtime, and its kernels where the
// text says nothing.
#include <string>
#include <string_view>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/cast.h"
#include "graph/ops/conv.h"
#include "graph/ops/matmul.h"
#include "graph/ops/random.h"
#include "graph/ops/reduce.h"
#include "graph/ops/strings.h"
#include "graph/ops/unary_kind.h"

namespace quern::onnx {
namespace {

// ---- Fourier transforms: of the last dimension, with half of the spectrum

void check_transform(NodeImport& n) {
  if (n.integer("signal_ndim", 1) != 1 || n.integer("onesided", 1) != 1 ||
      n.integer("normalized", 0) != 0)
    n.unsupported("only transforms of one dimension, one-sided and not normalised, are supported");
}

// [..., n] -> [..., n / 2 + 1, 2]
void import_rfft(NodeImport& n) {
  check_transform(n);
  const ValueId x = unsqueeze(n, n.in(0), {-1});
  n.set(0, n.add(Dft{.onesided = true}, {x, no_value, n.scalar(DType::i64, -2)}));
}

// [..., m, 2] -> [..., 2 (m - 1)]
void import_irfft(NodeImport& n) {
  check_transform(n);
  const Dft op{.inverse = true, .onesided = true};
  n.set(0, squeeze(n, n.add(op, {n.in(0), no_value, n.scalar(DType::i64, -2)}), {-1}));
}

// ---- complex numbers: pairs in the last dimension

enum class Conjugate : std::uint8_t { neither, second };

template <Conjugate Which>
void import_complex_mul(NodeImport& n) {
  for (const ValueId v : {n.in(0), n.in(1)})
    if (const Dim d = n.dim(v, -1); d.known() && d.value() != 2)
      return n.fail(cat("a last dimension of ", d.value(), " holds no complex numbers, wants 2"));
  const auto part = [&](std::size_t i, std::int64_t at) {
    return slice(n, n.in(i), at, at + 1, -1);
  };
  const ValueId a = part(0, 0), b = part(0, 1), c = part(1, 0), d = part(1, 1);
  const ValueId ac = mul(n, a, c), bd = mul(n, b, d), ad = mul(n, a, d), bc = mul(n, b, c);
  const bool is_plain = Which == Conjugate::neither;
  const ValueId real = is_plain ? sub(n, ac, bd) : add(n, ac, bd);
  const ValueId imaginary = is_plain ? add(n, ad, bc) : sub(n, bc, ad);
  n.set(0, concat(n, {real, imaginary}, -1));
}

// ---- distances

// |a|^2 - 2 a b + |b|^2 of each row a [M, N] with each row b [K, N]: rounding may make a small one
// negative, whose sign is dropped.
void import_cdist(NodeImport& n) {
  enum class Metric { euclidean, squared };
  const auto metric =
      n.choice<Metric>("metric", "sqeuclidean",
                       {{"euclidean", Metric::euclidean}, {"sqeuclidean", Metric::squared}});
  const std::int64_t ranks[] = {n.known_rank(n.in(0)), n.known_rank(n.in(1))};
  if (n.ok() && (ranks[0] != 2 || ranks[1] != 2)) n.fail("its inputs must have rank 2");
  if (!n.ok()) return;
  const ValueId product = n.add(MatMul{.transpose_b = true, .alpha = -2}, {n.in(0), n.in(1)});
  const ValueId rows = reduce(n, ReduceKind::sum_square, n.in(0), {1});
  const ValueId columns = transpose(n, reduce(n, ReduceKind::sum_square, n.in(1), {1}), {1, 0});
  const ValueId sum = add(n, add(n, product, rows), columns);
  const ValueId squared = unary(n, UnaryKind::abs, sum);
  n.set(0, metric == Metric::squared ? squared : unary(n, UnaryKind::sqrt, squared));
}

// ---- indices

// All slices of `size` elements along a dimension, each in a dimension behind the last one.
void import_unfold(NodeImport& n) {
  const std::int64_t size = n.integer("size"), step = n.integer("step", 1);
  const std::int64_t rank = n.known_rank(n.in(0));
  std::int64_t at = n.integer("dim", -1);
  if (!n.ok()) return;
  if (at < 0) at += rank;
  if (size < 1 || step < 1 || at < 0 || at >= rank)
    return n.fail(cat("slices of ", size, " elements at every ", step, ", along dimension ", at,
                      " of ", rank));
  const Dim length = n.dim(n.in(0), at);
  if (length.known() && length.value() < size)
    return n.fail(cat("slices of ", size, " elements of a dimension of ", length.value()));
  const ValueId y = windows_along(n, n.in(0), at, {.size = size, .step = step});
  Ints perm;
  for (std::int64_t i = 0; i <= rank; ++i)
    if (i != at + 1) perm.push_back(i);
  perm.push_back(at + 1);
  n.set(0, transpose(n, y, perm));
}

// (table, indices, padding_idx?, scale_grad_by_freq?): the last two are of training.
void import_torch_embedding(NodeImport& n) {
  n.set(0, gather(n, n.in(0), n.in(1), 0));
}

// (words [S, L] of characters, of which 0 is none, filters [M, 1, window, E], bias [M], characters
// [C, E]): the greatest tanh of a filter along each word. A word shorter than the window has one
// place; one that begins with 0 has none, and gives zeros, where ONNX Runtime writes nothing.
void import_word_conv_embedding(NodeImport& n) {
  const auto check = [&](std::string_view name, std::size_t input, std::int64_t axis) {
    const std::int64_t wanted = n.integer(name, -1);
    const Dim d = n.dim(n.in(input), axis);
    if (n.ok() && wanted != -1 && d.known() && d.value() != wanted)
      n.fail(cat("attribute '", name, "' is ", wanted, " beside ", d.value(), " of input ", input));
  };
  check("embedding_size", 1, 0);
  check("conv_window_size", 1, 2);
  check("char_embedding_size", 3, 1);
  const ValueId words = n.in(0);
  const ValueId letters = unsqueeze(n, gather(n, n.in(3), words, 0), {1});
  const ValueId filtered = squeeze(n, n.add(Conv{}, {letters, n.in(1), n.in(2)}), {3});
  const ValueId values = unary(n, UnaryKind::tanh, filtered);
  const ValueId is_letter = binary(n, BinaryKind::greater, words, n.scalar_like(words, 0));
  const ValueId length = reduce(n, ReduceKind::sum, cast(n, is_letter, DType::i64), {1});
  const ValueId beyond = sub(n, length, scalar_dim(n, n.in(1), 2));
  const ValueId last = binary(n, BinaryKind::max, beyond, n.scalar(DType::i64, 0));
  const ValueId places = counting(n, scalar_dim(n, values, 2));
  const ValueId inside = unsqueeze(n, binary(n, BinaryKind::less_equal, places, last), {1});
  const ValueId shown = where(n, inside, values, n.scalar_like(values, -1));
  const ValueId greatest = squeeze(n, reduce(n, ReduceKind::max, shown, {2}), {2});
  n.set(0, where(n, slice(n, is_letter, 0, 1, 1), greatest, n.scalar_like(greatest, 0)));
}

// Distances below half of the buckets have one each, the others share the rest by their logarithm
// up to the greatest distance.
ValueId bucket_of(NodeImport& n, ValueId distance, ValueId buckets, std::int64_t greatest) {
  const ValueId exact = div(n, buckets, n.scalar(DType::i64, 2));
  const ValueId width = cast(n, exact, DType::f32);
  const ValueId ratio = div(n, cast(n, distance, DType::f32), width);
  const ValueId most = div(n, n.scalar(DType::f32, static_cast<double>(greatest)), width);
  const ValueId span = unary(n, UnaryKind::log, most);
  const ValueId share = div(n, unary(n, UnaryKind::log, ratio), span);
  const ValueId shared = cast(n, sub(n, buckets, exact), DType::f32);
  const ValueId further = cast(n, mul(n, share, shared), DType::i64);
  const ValueId last = add(n, buckets, -1);
  const ValueId large = binary(n, BinaryKind::min, add(n, exact, further), last);
  return where(n, binary(n, BinaryKind::less, distance, exact), distance, large);
}

// (table, query length, key length), both lengths the same: the table of [buckets, heads] lies in
// memory as [heads, buckets].
void import_relative_position_bias(NodeImport& n) {
  const bool both_ways = n.flag("is_bidirectional", Flag::off);
  const std::int64_t greatest = n.integer("max_distance");
  const Dim known = n.dim(n.in(0), 0);
  const std::int64_t sides = both_ways ? 2 : 1;
  if (!n.ok()) return;
  if (greatest < 1 || greatest > (std::int64_t{1} << 31) ||
      (known.known() && (known.value() < 2 * sides || greatest <= known.value() / sides / 2)))
    return n.fail(cat("a greatest distance of ", greatest, " in ",
                      known.known() ? cat(known.value()) : std::string("any number of"),
                      " buckets"));
  const auto number = [&](std::int64_t v) { return n.scalar(DType::i64, static_cast<double>(v)); };
  const auto positions = [&](std::size_t i) { return counting(n, reshape(n, n.in(i), Ints{})); };
  const ValueId rows = unsqueeze(n, positions(1), {1});
  const ValueId offset = sub(n, positions(2), rows);
  const ValueId backward = unary(n, UnaryKind::neg, offset);
  const ValueId distance = both_ways ? unary(n, UnaryKind::abs, backward)
                                     : binary(n, BinaryKind::max, backward, number(0));
  const ValueId all = scalar_dim(n, n.in(0), 0);
  const ValueId buckets = both_ways ? div(n, all, number(2)) : all;
  ValueId bucket = bucket_of(n, distance, buckets, greatest);
  if (both_ways) {
    const ValueId is_forward = binary(n, BinaryKind::greater, offset, number(0));
    bucket = add(n, bucket, mul(n, cast(n, is_forward, DType::i64), buckets));
  }
  const ValueId heads = dims_of(n, n.in(0), 1, 2);
  const ValueId table = reshape(n, n.in(0), join_dims(n, {heads, dims_of(n, n.in(0), 0, 1)}));
  n.set(0, unsqueeze(n, gather(n, table, bucket, 1), {0}));
}

// ---- parts of pictures

// Along one dimension of space: the places [R, size] of the elements of each crop between `from`
// and `to` [R, 1], which are shares of the length, and whether they lie inside.
struct CropPlaces {
  ValueId at = no_value;
  ValueId inside = no_value;
};

CropPlaces places_of_crop(NodeImport& n, std::size_t corner, std::int64_t axis, std::int64_t size) {
  const DType type = n.dtype(n.in(1));
  const auto edge = [&](std::size_t i) {
    const auto column = static_cast<std::int64_t>(i);
    return slice(n, n.in(1), column, column + 1, 1);
  };
  const ValueId last = cast(n, add(n, scalar_dim(n, n.in(0), axis), -1), type);
  const ValueId from = mul(n, edge(corner), last);
  const ValueId to = mul(n, edge(corner + 2), last);
  CropPlaces places;
  if (size == 1) {
    places.at = mul(n, add(n, from, to), 0.5);
  } else {
    const ValueId count = counting(n, n.scalar(DType::i64, static_cast<double>(size)));
    const ValueId width = n.scalar(type, static_cast<double>(size - 1));
    const ValueId step = div(n, sub(n, to, from), width);
    const ValueId inner = add(n, from, mul(n, step, cast(n, count, type)));
    const ValueId is_last =
        binary(n, BinaryKind::equal, count, n.scalar(DType::i64, static_cast<double>(size - 1)));
    places.at = where(n, is_last, to, inner);
  }
  const ValueId above = binary(n, BinaryKind::greater_equal, places.at, n.scalar(type, 0));
  const ValueId below = binary(n, BinaryKind::less_equal, places.at, last);
  places.inside = binary(n, BinaryKind::logical_and, above, below);
  // Those outside read the first element, and their result is another.
  places.at = where(n, places.inside, places.at, n.scalar(type, 0));
  return places;
}

// The elements of crops [R, height, width, C] at rows [R, height] and columns [R, width] of
// pictures that lie as `lines` [N * H * W, C].
ValueId elements_at(NodeImport& n, ValueId lines, ValueId rows, ValueId columns) {
  const ValueId height = scalar_dim(n, n.in(0), 2), width = scalar_dim(n, n.in(0), 3);
  const ValueId picture = unsqueeze(n, cast(n, n.in(2), DType::i64), {1});
  const ValueId first = mul(n, picture, height);
  // A picture before the first one is out of range, too, and does not count from the end.
  const ValueId is_one = binary(n, BinaryKind::greater_equal, picture, n.scalar(DType::i64, 0));
  const ValueId none = n.scalar(DType::i64, static_cast<double>(std::int64_t{1} << 52));
  const ValueId row = mul(n, add(n, first, cast(n, rows, DType::i64)), width);
  const ValueId at = add(n, unsqueeze(n, where(n, is_one, row, none), {2}),
                         unsqueeze(n, cast(n, columns, DType::i64), {1}));
  return gather(n, lines, at, 0);
}

// a + (b - a) * share
ValueId between(NodeImport& n, ValueId a, ValueId b, ValueId share) {
  return add(n, a, mul(n, sub(n, b, a), share));
}

// (x [N, C, H, W], corners [R, 4] as shares of height and width, pictures [R], size [2])
void import_crop_and_resize(NodeImport& n) {
  enum class Mode { linear, nearest };
  const auto mode =
      n.choice<Mode>("mode", "bilinear", {{"bilinear", Mode::linear}, {"nearest", Mode::nearest}});
  const float outside = n.number("extrapolation_value", 0);
  const auto size = n.constant_ints(n.in(3));
  if (!n.ok()) return;
  if (!size) return n.unsupported("the size of its crops is no constant");
  if (size->size() != 2 || (*size)[0] < 1 || (*size)[1] < 1)
    return n.fail("wants a height and a width of its crops");
  const ValueId channels = dims_of(n, n.in(0), 1, 2);
  const ValueId lines =
      reshape(n, channels_last(n, n.in(0), 4), join_dims(n, {n.ints_constant({-1}), channels}));
  const CropPlaces y = places_of_crop(n, 0, 2, (*size)[0]), x = places_of_crop(n, 1, 3, (*size)[1]);
  ValueId value = no_value;
  if (mode == Mode::nearest) {
    const auto nearest = [&](ValueId at) { return unary(n, UnaryKind::floor, add(n, at, 0.5)); };
    const ValueId rows = nearest(y.at);
    value = elements_at(n, lines, rows, nearest(x.at));
  } else {
    const ValueId top = unary(n, UnaryKind::floor, y.at), left = unary(n, UnaryKind::floor, x.at);
    const ValueId bottom = unary(n, UnaryKind::ceil, y.at), right = unary(n, UnaryKind::ceil, x.at);
    const ValueId down = unsqueeze(n, sub(n, y.at, top), {2, 3});
    const ValueId along = unsqueeze(n, sub(n, x.at, left), {1, 3});
    const ValueId corners[] = {elements_at(n, lines, top, left), elements_at(n, lines, top, right),
                               elements_at(n, lines, bottom, left),
                               elements_at(n, lines, bottom, right)};
    const ValueId upper = between(n, corners[0], corners[1], along);
    const ValueId lower = between(n, corners[2], corners[3], along);
    value = between(n, upper, lower, down);
  }
  const ValueId rows_inside = unsqueeze(n, y.inside, {2, 3});
  const ValueId inside =
      binary(n, BinaryKind::logical_and, rows_inside, unsqueeze(n, x.inside, {1, 3}));
  n.set(0, channels_first(n, where(n, inside, value, n.scalar_like(n.in(0), outside)), 4));
}

// ---- hashes: MurmurHash3_x86_32 of the bytes of a number or a string, in u32

ValueId rotated(NodeImport& n, ValueId x, int by) {
  const ValueId up = binary(n, BinaryKind::shift_left, x, n.scalar(DType::u32, by));
  const ValueId down = binary(n, BinaryKind::shift_right, x, n.scalar(DType::u32, 32 - by));
  return binary(n, BinaryKind::bitwise_or, up, down);
}

ValueId with_upper_bits(NodeImport& n, ValueId h, int by) {
  const ValueId upper = binary(n, BinaryKind::shift_right, h, n.scalar(DType::u32, by));
  return binary(n, BinaryKind::bitwise_xor, h, upper);
}

ValueId hashed(NodeImport& n, const std::vector<ValueId>& words, std::uint32_t seed) {
  ValueId h = n.scalar(DType::u32, seed);
  for (const ValueId word : words) {
    const ValueId mixed = rotated(n, mul(n, word, 0xcc9e2d51), 15);
    h = binary(n, BinaryKind::bitwise_xor, mul(n, mixed, 0x1b873593), h);
    h = add(n, mul(n, rotated(n, h, 13), 5), 0xe6546b64);
  }
  const auto bytes = static_cast<double>(4 * words.size());
  h = binary(n, BinaryKind::bitwise_xor, h, n.scalar(DType::u32, bytes));
  h = mul(n, with_upper_bits(n, h, 16), 0x85ebca6b);
  h = mul(n, with_upper_bits(n, h, 13), 0xc2b2ae35);
  return with_upper_bits(n, h, 16);
}

void import_murmur_hash(NodeImport& n) {
  const auto seed = static_cast<std::uint32_t>(n.integer("seed", 0));
  const bool is_positive = n.flag("positive", Flag::on);
  const auto bits = [&](DType to) {
    return n.dtype(n.in(0)) == to ? n.in(0) : n.add(BitCast{.to = to}, {n.in(0)});
  };
  std::vector<ValueId> words;
  switch (n.dtype(n.in(0))) {
    case DType::i32:
    case DType::u32:
    case DType::f32: words = {bits(DType::u32)}; break;
    case DType::i64:
    case DType::u64:
    case DType::f64: {
      const ValueId all = bits(DType::u64);
      const ValueId mask = n.scalar(DType::u64, 0xffffffff);
      const ValueId low = binary(n, BinaryKind::bitwise_and, all, mask);
      const ValueId high = binary(n, BinaryKind::shift_right, all, n.scalar(DType::u64, 32));
      words = {cast(n, low, DType::u32), cast(n, high, DType::u32)};
      break;
    }
    case DType::string: break;
    default:
      return n.unsupported(cat("hashes of ", name_of(n.dtype(n.in(0))), " are not supported"));
  }
  const ValueId h =
      words.empty() ? n.add(StringHash{.seed = seed}, {n.in(0)}) : hashed(n, words, seed);
  n.set(0, is_positive ? h : n.add(BitCast{.to = DType::i32}, {h}));
}

constexpr OpRow microsoft_math_rows[] = {
    {"CDist", 1, import_cdist, two},
    {"ComplexMul", 1, import_complex_mul<Conjugate::neither>, two},
    {"ComplexMulConj", 1, import_complex_mul<Conjugate::second>, two},
    {"CropAndResize", 1, import_crop_and_resize, {4, 4}},
    {"Irfft", 1, import_irfft},
    {"MurmurHash3", 1, import_murmur_hash},
    {"RelativePositionBias", 1, import_relative_position_bias, three},
    {"Rfft", 1, import_rfft},
    {"TorchEmbedding", 1, import_torch_embedding, {2, 4}},
    {"UnfoldTensor", 1, import_unfold},
    {"WordConvEmbedding", 1, import_word_conv_embedding, {4, 4}},
};

}  // namespace

OpRows microsoft_math_ops() {
  return microsoft_math_rows;
}

}  // namespace quern::onnx
