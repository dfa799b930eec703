// SPDX-License-Identifier: Apache-2.0
// Operators whose result has a shape that only the data say. Their data are made here, so that the
// generator knows the shape of each run and goes on from it.
#include <algorithm>
#include <array>
#include <set>

#include "engine/vocabulary/text_util.h"
#include "tools/random/families.h"
#include "tools/random/fill.h"

namespace quern::tools {
namespace {

// Runs that the model does not have are like the first.
Extent as_in_first(Builder& b, Extent e) {
  for (std::size_t run = b.runs(); run < most_runs; ++run) e[run] = e[0];
  return e;
}

// Truth values as an input, and how many of them are true in each run.
struct Mask {
  DrawnValue value;
  Extent count = {};
};
Mask mask_of(Builder& b, const Extents& dims) {
  Mask m;
  const double share = b.rng.pick(std::vector<double>{0.5, 0.5, 0.8, 0.1, 1});
  m.value = b.input_of(DType::boolean, dims, [&](std::size_t run, const Shape& shape) {
    Tensor t = tensor_of(DType::boolean, shape, [&](std::int64_t) { return b.rng.chance(share); });
    for (const bool is_true : t.span<bool>()) m.count[run] += is_true;
    return t;
  });
  m.count = as_in_first(b, m.count);
  return m;
}

bool compress(Builder& b) {
  const DrawnValue x =
      b.take({.types = b.rng.chance(0.7) ? std::vector<DType>{b.main_type()} : movable_types(),
              .least_rank = 1,
              .most_rank = 4,
              .nonempty = true});
  if (b.rng.chance(0.25)) {
    const Mask m = mask_of(b, {product(x.dims)});
    b.add("Compress", {x, m.value}, {}, moved(x, {m.count}));
    return true;
  }
  const std::int64_t axis = b.rng.below(static_cast<std::int64_t>(x.rank()));
  Extents dims = x.dims;
  Extent& length = dims[static_cast<std::size_t>(axis)];
  // The condition may be shorter than the axis.
  const Mask m = mask_of(b, {b.rng.chance(0.8) ? length : fixed(b.rng.between(1, least(length)))});
  length = m.count;
  const bool negative = b.rng.chance(0.3);
  b.add("Compress", {x, m.value},
        {Builder::integer("axis", negative ? axis - static_cast<std::int64_t>(x.rank()) : axis)},
        moved(x, dims));
  return true;
}

// A small portable map, cut short at times, of grey values that all formats keep.
bool decoded_picture(Builder& b) {
  if (b.opset() < 20) return false;
  const std::int64_t width = b.rng.between(1, 6);
  const std::int64_t height = b.rng.between(1, 6);
  const std::string header = cat("P5\n", width, " ", height, "\n255\n");
  const auto bytes = static_cast<std::int64_t>(header.size()) + width * height;
  std::array<Extent, 2> dims = {fixed(height), fixed(width)};
  const DrawnValue file =
      b.input_of(DType::u8, {fixed(bytes)}, [&](std::size_t run, const Shape& s) {
        const bool is_broken = b.rng.chance(0.2);
        if (is_broken) dims[0][run] = dims[1][run] = 0;
        return tensor_of(DType::u8, s, [&](std::int64_t i) {
          const auto at = static_cast<std::size_t>(i);
          if (at >= header.size()) return static_cast<double>(b.rng.between(0, 255));
          return is_broken && at == 0 ? 0.0 : static_cast<double>(header[at]);
        });
      });
  const std::string_view format =
      b.rng.pick(std::vector<std::string_view>{"RGB", "BGR", "Grayscale"});
  b.add("ImageDecoder", {file}, {Builder::text("pixel_format", format)},
        {DType::u8,
         {as_in_first(b, dims[0]), as_in_first(b, dims[1]), fixed(format == "Grayscale" ? 1 : 3)},
         255,
         false});
  return true;
}

// Selection by a mask as NonZero, Transpose, GatherND, the form in which boolean indexing is
// exported.
bool masked_select(Builder& b) {
  const DrawnValue x =
      b.take({.types = {b.main_type()}, .least_rank = 1, .most_rank = 3, .nonempty = true});
  const std::size_t rank = b.rng.chance(0.6) ? x.rank() : 1;
  const Mask m = mask_of(b, {x.dims.begin(), x.dims.begin() + static_cast<std::ptrdiff_t>(rank)});
  const Extent width = fixed(static_cast<std::int64_t>(rank));
  const DrawnValue found =
      b.add("NonZero", {m.value}, {}, {DType::i64, {width, m.count}, 1e3, false});
  const DrawnValue at = b.add("Transpose", {found}, {Builder::integers("perm", {1, 0})},
                              {DType::i64, {m.count, width}, 1e3, false});
  Extents dims = {m.count};
  dims.insert(dims.end(), x.dims.begin() + static_cast<std::ptrdiff_t>(rank), x.dims.end());
  b.add("GatherND", {x, at}, {}, moved(x, dims));
  return true;
}

// ---- Unique

// Rows of which some are equal: row i is number picks[i] of a few, and each of those differs from
// the others in its first element.
struct Rows {
  DrawnValue value;
  Extent different = {};
};
Rows some_rows(Builder& b, DType type, Extent length, const Extents& row) {
  Rows r;
  Extents dims = {length};
  dims.insert(dims.end(), row.begin(), row.end());
  r.value = b.input_of(type, dims, [&](std::size_t run, const Shape& shape) {
    const std::int64_t inner = std::max<std::int64_t>(shape.elements(1), 1);
    std::set<std::int64_t> seen;
    std::vector<std::int64_t> picks;
    for (std::int64_t i = 0; i < shape[0]; ++i) {
      picks.push_back(b.rng.between(-4, 5));
      seen.insert(picks.back());
    }
    r.different[run] = static_cast<std::int64_t>(seen.size());
    const auto number = [&](std::int64_t i) {
      const std::int64_t pick = picks[static_cast<std::size_t>(i / inner)];
      return i % inner == 0 ? pick : (pick * 7 + i % inner) % 5;
    };
    if (type != DType::string)
      return tensor_of(type, shape, [&](std::int64_t i) { return static_cast<double>(number(i)); });
    std::vector<std::string> texts;
    for (std::int64_t i = 0; i < shape.elements(); ++i) texts.push_back(std::to_string(number(i)));
    return string_tensor(shape, std::move(texts));
  });
  r.different = as_in_first(b, r.different);
  return r;
}

bool unique(Builder& b) {
  const DType type =
      b.rng.pick(std::vector<DType>{DType::i64, DType::f32, DType::i32, DType::i8, DType::string});
  const bool by_axis = b.rng.chance(0.5);
  const Extent length = fixed(b.rng.between(1, 12));
  const Extents row =
      by_axis ? b.random_dims(static_cast<std::size_t>(b.rng.between(0, 2))) : Extents{};
  if (least(product(row)) == 0 || !b.fits(row)) return false;
  const Rows rows = some_rows(b, type, length, row);
  DrawnValue x = rows.value;
  // The input is sometimes a computed value.
  if (type == DType::i64 && b.rng.chance(0.5)) x = b.add("Neg", {x}, {}, {type, x.dims, 9, false});
  Attributes a;
  if (by_axis) a.push_back(Builder::integer("axis", 0));
  if (b.rng.chance(0.4)) a.push_back(Builder::integer("sorted", 0));
  Extents dims = x.dims;
  dims[0] = rows.different;
  const Effect list{DType::i64, {rows.different}, 100, false, true};
  std::vector<Effect> out = {
      {type, dims, 9, false, true}, list, {DType::i64, {length}, 100, false, true}, list};
  out.resize(static_cast<std::size_t>(b.rng.between(1, 4)));
  b.add_some("Unique", {x}, a, out, 1);
  return true;
}

// ---- NonMaxSuppression

// Boxes lie at places that are apart from each other, some at the same place; of those only the one
// of the best score stays.
struct Detections {
  std::vector<std::int64_t> places;  // by image and box
  std::vector<double> scores;        // by image, class and box; all different
};
Detections some_detections(Rng& rng, std::int64_t images, std::int64_t classes,
                           std::int64_t boxes) {
  Detections d;
  for (std::int64_t i = 0; i < images * boxes; ++i) d.places.push_back(rng.below(boxes));
  for (std::int64_t i = 0; i < images * classes * boxes; ++i)
    d.scores.push_back(static_cast<double>(2 * i + 1) / 64);
  for (std::size_t i = d.scores.size(); i > 1; --i)
    std::swap(d.scores[i - 1],
              d.scores[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(i)))]);
  return d;
}

std::int64_t kept_boxes(const Detections& d, std::int64_t images, std::int64_t classes,
                        std::int64_t boxes, std::int64_t most, double threshold) {
  std::int64_t kept = 0;
  for (std::int64_t row = 0; row < images * classes; ++row) {
    std::set<std::int64_t> taken;
    for (std::int64_t i = 0; i < boxes; ++i)
      if (d.scores[static_cast<std::size_t>(row * boxes + i)] > threshold)
        taken.insert(d.places[static_cast<std::size_t>(row / classes * boxes + i)]);
    kept += std::min(static_cast<std::int64_t>(taken.size()), most);
  }
  return kept;
}

bool non_max_suppression(Builder& b) {
  const std::int64_t images = b.rng.between(1, 2);
  const std::int64_t classes = b.rng.between(1, 2);
  const std::int64_t boxes = b.rng.between(1, 8);
  const std::int64_t most = b.rng.between(1, 8);
  const bool center = b.rng.chance(0.3);
  const double threshold = b.rng.chance(0.5) ? static_cast<double>(b.rng.between(1, 20)) / 32 : 0;
  std::vector<Detections> runs;
  Extent count = {};
  for (std::size_t run = 0; run < b.runs(); ++run) {
    runs.push_back(some_detections(b.rng, images, classes, boxes));
    count[run] = kept_boxes(runs.back(), images, classes, boxes, most, threshold);
  }
  count = as_in_first(b, count);
  const DrawnValue at = b.input_of(
      DType::f32, {fixed(images), fixed(boxes), fixed(4)}, [&](std::size_t run, const Shape& s) {
        return tensor_of(DType::f32, s, [&](std::int64_t i) {
          const auto place = static_cast<double>(runs[run].places[static_cast<std::size_t>(i / 4)]);
          const bool is_size = center && i % 4 >= 2;
          return is_size ? 2.0 : 8 * place + (i % 4 >= 2 ? 2 : 0);
        });
      });
  const DrawnValue scores = b.input_of(DType::f32, {fixed(images), fixed(classes), fixed(boxes)},
                                       [&](std::size_t run, const Shape& s) {
                                         return tensor_of(DType::f32, s, [&](std::int64_t i) {
                                           return runs[run].scores[static_cast<std::size_t>(i)];
                                         });
                                       });
  Attributes a;
  if (center || b.rng.chance(0.3)) a.push_back(Builder::integer("center_point_box", center));
  Values in = {b.steady(at), b.steady(scores), b.numbers_operand({most}),
               b.steady(b.scalar(DType::f32, 0.5))};
  if (threshold > 0) in.push_back(b.steady(b.scalar(DType::f32, threshold)));
  const DrawnValue kept =
      b.add("NonMaxSuppression", in, a, {DType::i64, {count, fixed(3)}, 100, false, true});
  if (images > 1 || !b.rng.chance(0.6)) return true;
  // The boxes themselves.
  const DrawnValue which = b.add("Gather", {kept, b.scalar(DType::i64, 2)},
                                 {Builder::integer("axis", 1)}, {DType::i64, {count}, 100, false});
  b.add("Gather", {at, which}, {Builder::integer("axis", 1)},
        {DType::f32, {fixed(1), count, fixed(4)}, 64, false});
  return true;
}

constexpr std::array data_dependent_table = {
    Family{"compress", 1, compress},
    Family{"decoded-picture", 0.3, decoded_picture},
    Family{"masked-select", 0.8, masked_select},
    Family{"unique", 0.8, unique},
    Family{"non-max-suppression", 0.6, non_max_suppression},
};

}  // namespace

std::span<const Family> data_dependent_families() {
  return data_dependent_table;
}

}  // namespace quern::tools
