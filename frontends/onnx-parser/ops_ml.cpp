// SPDX-License-Identifier: Apache-2.0
// ai.onnx.ml: what prepares features, tables of labels, and maps. Linear models and support vectors
// are in ops_ml_linear.cpp, trees in ops_ml_trees.cpp.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/ml_scores.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/data_dependent.h"
#include "graph/ops/features.h"
#include "graph/ops/one_hot.h"
#include "graph/ops/pad.h"
#include "graph/ops/reduce.h"
#include "graph/ops/reshape.h"
#include "graph/ops/tile.h"
#include "graph/ops/unary_kind.h"

namespace quern::onnx {
namespace {

// ---- features ----------------------------------------------------------------------------------

// A parameter for each feature or one for all: fails where it is known to be neither.
void want_parameters(NodeImport& n, std::string_view name, std::size_t count) {
  const Dim features = n.dim(n.in(0), -1);
  if (count == 1 || !features.known() || features.is(static_cast<std::int64_t>(count))) return;
  n.fail(cat("attribute '", name, "' has ", count, " numbers for ", features.value(), " features"));
}

// A rank that only the data tells is taken for one of these.
void want_rows_of_numbers(NodeImport& n) {
  if (n.dtype(n.in(0)) == DType::string || n.rank(n.in(0)).value_or(0) > 2)
    n.unsupported("takes rows of numbers");
}

// (x - offset) * scale
void import_scaler(NodeImport& n) {
  const std::vector<float> offset = n.numbers("offset");
  const std::vector<float> scale = n.numbers("scale");
  if (offset.empty() || offset.size() != scale.size())
    return n.fail(cat("has ", offset.size(), " numbers for 'offset' and ", scale.size(),
                      " for 'scale', wants as many"));
  want_parameters(n, "scale", scale.size());
  const DType type = n.dtype(n.in(0)) == DType::f64 ? DType::f64 : DType::f32;
  want_rows_of_numbers(n);
  if (!n.ok()) return;
  const ValueId x = cast(n, n.in(0), type);
  const ValueId moved = sub(n, x, float_list(n, type, offset));
  const ValueId scaled = mul(n, moved, float_list(n, type, scale));
  n.set(0, cast(n, scaled, DType::f32));
}

enum class Norm : std::uint8_t { max, l1, l2 };

// Each row by its greatest element, the sum of its magnitudes or its length; a row of which that is
// 0 stays as it is.
void import_normalizer(NodeImport& n) {
  const Norm norm =
      n.choice<Norm>("norm", "MAX", {{"MAX", Norm::max}, {"L1", Norm::l1}, {"L2", Norm::l2}});
  want_rows_of_numbers(n);
  if (!n.ok()) return;
  const ValueId x = cast(n, n.in(0), DType::f32);
  const ReduceKind kind = norm == Norm::max  ? ReduceKind::max
                          : norm == Norm::l1 ? ReduceKind::l1
                                             : ReduceKind::l2;
  const ValueId size = reduce(n, kind, x, {-1});
  const ValueId is_zero = binary(n, BinaryKind::equal, size, n.scalar_like(size, 0));
  const ValueId divisor = where(n, is_zero, n.scalar_like(size, 1), size);
  n.set(0, div(n, x, divisor));
}

// Elements that equal the replaced value; NaN is equal to NaN.
ValueId is_replaced(NodeImport& n, double replaced) {
  if (std::isnan(replaced)) return unary(n, UnaryKind::is_nan, n.in(0));
  return binary(n, BinaryKind::equal, n.in(0), n.scalar_like(n.in(0), replaced));
}

void import_imputer(NodeImport& n) {
  const std::vector<float> floats = n.numbers("imputed_value_floats");
  const Ints ints = n.ints("imputed_value_int64s");
  const float replaced_float = n.number("replaced_value_float", 0);
  const std::int64_t replaced_int = n.integer("replaced_value_int64", 0);
  const bool is_float = n.dtype(n.in(0)) == DType::f32 || n.dtype(n.in(0)) == DType::f64;
  if (!is_float && n.dtype(n.in(0)) != DType::i64) n.fail("takes f32, f64 or i64");
  if (is_float ? floats.empty() : ints.empty())
    n.fail("has no values to impute of its input's type");
  want_parameters(n, is_float ? "imputed_value_floats" : "imputed_value_int64s",
                  is_float ? floats.size() : ints.size());
  if (!n.ok()) return;
  const ValueId values = is_float ? float_list(n, n.dtype(n.in(0)), floats) : n.ints_constant(ints);
  const ValueId replaced =
      is_float ? is_replaced(n, replaced_float)
               : binary(n, BinaryKind::equal, n.in(0),
                        n.constant(Tensor::scalar<std::int64_t>(DType::i64, replaced_int)));
  n.set(0, where(n, replaced, values, n.in(0)));
}

void import_binarizer(NodeImport& n) {
  const double threshold = n.number("threshold", 0);
  if (!n.ok()) return;
  const ValueId above = binary(n, BinaryKind::greater, n.in(0), n.scalar_like(n.in(0), threshold));
  n.set(0, cast(n, above, n.dtype(n.in(0))));
}

// Elements along the last axis; those of a list become a row, also where only the data tells that x
// is one.
void import_array_feature_extractor(NodeImport& n) {
  const std::optional<std::int64_t> rank = n.rank(n.in(0));
  if (rank == 0) n.fail("takes no scalar");
  if (!n.ok()) return;
  const ValueId x = rank == 1 ? unsqueeze(n, n.in(0), {0}) : n.in(0);
  ValueId y = gather(n, x, reshape(n, n.in(1), Ints{-1}), -1);
  if (!rank) y = n.add(Expand{}, {y, n.ints_constant({1, 1})});
  n.set(0, y);
}

// Rows of the inputs side by side, each cut or filled up with zeros to its width.
void import_feature_vectorizer(NodeImport& n) {
  const Ints widths = n.ints("inputdimensions");
  if (widths.size() != n.input_count())
    return n.fail(cat("attribute 'inputdimensions' has ", widths.size(), " numbers for ",
                      n.input_count(), " inputs"));
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const std::int64_t rank = n.known_rank(n.in(i));
    if (widths[i] < 0) n.fail(cat("attribute 'inputdimensions' holds ", widths[i]));
    if (n.dtype(n.in(i)) == DType::string || (n.ok() && rank == 0))
      n.fail(cat("input ", i, " is no list or matrix of numbers"));
    if (!n.ok()) return;
    ValueId x = cast(n, n.in(i), DType::f32);
    if (rank == 1) x = unsqueeze(n, x, {0});
    if (rank > 2) x = n.add(Flatten{.axis = 1}, {x});
    const Dim width = n.dim(x, 1);
    const std::int64_t missing = width.known() ? widths[i] - width.value() : widths[i];
    if (missing > 0) x = n.add(Pad{}, {x, n.ints_constant({0, 0, 0, missing})});
    if (!width.known() || missing < 0) x = slice(n, x, 0, widths[i], 1);
    parts.push_back(x);
  }
  n.set(0, concat(n, std::move(parts), 1));
}

// ---- tables ------------------------------------------------------------------------------------

// The values of a table, and the one for what no key is, as its last element.
Tensor with_default(NodeImport& n, const Tensor& values, const Tensor& fallback) {
  const std::int64_t count = values.shape().elements();
  if (values.dtype() == DType::string) {
    std::vector<std::string> texts;
    for (const StringRef& s : values.span<StringRef>()) texts.emplace_back(s.view());
    texts.emplace_back(fallback.span<StringRef>()[0].view());
    return string_tensor({count + 1}, std::move(texts));
  }
  if (!n.charge(values.bytes())) return {};
  auto all = Tensor::zeros({values.dtype(), Shape{count + 1}});
  if (!all) return {};
  std::memcpy(all->mutable_data(), values.data(), values.bytes());
  std::memcpy(all->mutable_data() + values.bytes(), fallback.data(), fallback.bytes());
  return std::move(all).value();
}

// values[place of x among the keys], or the default.
void look_up(NodeImport& n, const Tensor& keys, const Tensor& values, const Tensor& fallback) {
  if (keys.shape().elements() != values.shape().elements())
    n.fail(
        cat("has ", keys.shape().elements(), " keys and ", values.shape().elements(), " values"));
  if (n.ok() && values.dtype() != fallback.dtype())
    n.fail("the default is not of the values' type");
  if (n.ok() && fallback.shape().elements() != 1) n.fail("the default is not one element");
  if (!n.ok()) return;
  const ValueId key_list = n.constant(keys.reshaped(Shape{keys.shape().elements()}));
  const ValueId table = n.constant(with_default(n, values, fallback));
  const ValueId place = n.add(KeyIndex{}, {n.in(0), key_list});
  if (n.ok()) n.set(0, gather(n, table, place, 0));
}

Tensor text_list(NodeImport& n, std::string_view name) {
  auto texts = n.texts(name);
  const auto count = static_cast<std::int64_t>(texts.size());
  return string_tensor({count}, std::move(texts));
}
Tensor one_text(std::string text) {
  return string_tensor({1}, {std::move(text)});
}

// `what` is "keys" or "values": a list of one of three types, or a tensor.
Tensor table_side(NodeImport& n, const std::string& what) {
  std::vector<Tensor> found;
  if (n.has_attribute(what + "_tensor"))
    if (auto t = n.tensor(what + "_tensor")) found.push_back(*std::move(t));
  if (n.has_attribute(what + "_strings")) found.push_back(text_list(n, what + "_strings"));
  if (n.has_attribute(what + "_int64s"))
    found.push_back(list_tensor(DType::i64, n.ints(what + "_int64s")));
  if (n.has_attribute(what + "_floats"))
    found.push_back(list_tensor(DType::f32, n.numbers(what + "_floats")));
  if (found.size() != 1) n.fail(cat("has ", found.size(), " lists of ", what, ", wants one"));
  return n.ok() ? found.front() : Tensor();
}

Tensor default_of(NodeImport& n, DType type) {
  const std::string text = n.text("default_string", "_Unused");
  const std::int64_t integer = n.integer("default_int64", -1);
  const float number = n.number("default_float", -0.0F);
  if (n.has_attribute("default_tensor"))
    if (auto t = n.tensor("default_tensor")) return *std::move(t);
  if (type == DType::string) return one_text(text);
  if (type == DType::i64) return Tensor::scalar<std::int64_t>(type, integer);
  if (type == DType::f32) return Tensor::scalar<float>(type, number);
  return type == DType::f64 ? Tensor::scalar<double>(type, number)
                            : number_tensor(type, static_cast<double>(integer));
}

// NaN is a key like others, as opset 4 says; ONNX Runtime finds it from that opset on.
void import_label_encoder(NodeImport& n) {
  const Tensor keys = table_side(n, "keys");
  const Tensor values = table_side(n, "values");
  if (!n.ok()) return;
  const Tensor fallback = default_of(n, values.dtype());
  if (n.ok()) look_up(n, keys, values, fallback);
}

Tensor counting_list(std::int64_t count) {
  Ints numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(i);
  return list_tensor(DType::i64, numbers);
}

// Names and numbers of categories: strings become numbers, and the other way round.
void import_categories(NodeImport& n, const Tensor& names, const Tensor& numbers) {
  const std::string text = n.text("default_string", "_Unused");
  const std::int64_t integer = n.integer("default_int64", -1);
  if (!n.ok()) return;
  if (n.dtype(n.in(0)) == DType::string)
    look_up(n, names, numbers, Tensor::scalar<std::int64_t>(DType::i64, integer));
  else
    look_up(n, numbers, names, one_text(text));
}

// LabelEncoder of opset 1: the number of a class is its place.
void import_class_numbers(NodeImport& n) {
  const Tensor names = text_list(n, "classes_strings");
  import_categories(n, names, counting_list(names.shape().elements()));
}

void import_category_mapper(NodeImport& n) {
  const Tensor names = text_list(n, "cats_strings");
  import_categories(n, names, list_tensor(DType::i64, n.ints("cats_int64s")));
}

// A row of zeros with a one at the place of the category; of an unknown one all zeros, or an error
// of the run.
void import_one_hot_encoder(NodeImport& n) {
  const Ints ints = n.ints("cats_int64s");
  const std::vector<std::string> texts = n.texts("cats_strings");
  const bool zeros = n.flag("zeros", Flag::on);
  if (ints.empty() == texts.empty()) n.fail("wants one list of categories");
  if (texts.empty() == (n.dtype(n.in(0)) == DType::string))
    n.fail("its categories are not of its input's type");
  Ints sorted = ints;
  std::ranges::sort(sorted);
  std::vector<std::string> sorted_texts = texts;
  std::ranges::sort(sorted_texts);
  if (std::ranges::adjacent_find(sorted) != sorted.end() ||
      std::ranges::adjacent_find(sorted_texts) != sorted_texts.end())
    n.fail("a category is given twice");
  if (!n.ok()) return;
  const auto count = static_cast<std::int64_t>(std::max(ints.size(), texts.size()));
  const ValueId keys =
      texts.empty() ? n.ints_constant(ints) : n.constant(string_tensor({count}, texts));
  const ValueId x = texts.empty() ? cast(n, n.in(0), DType::i64) : n.in(0);
  ValueId place = n.add(KeyIndex{}, {x, keys});
  // The place of an unknown category is out of range here.
  if (!zeros) place = gather(n, n.constant(counting_list(count)), place, 0);
  const ValueId depth = n.constant(Tensor::scalar<std::int64_t>(DType::i64, count));
  const ValueId values = float_list(n, DType::f32, {0, 1});
  if (n.ok()) n.set(0, n.add(OneHot{.axis = -1}, {place, depth, values}));
}

// ---- maps --------------------------------------------------------------------------------------

// The columns whose labels count, of equal ones the last.
Ints columns_of(const ClassLabels& labels) {
  std::set<std::string_view> texts;
  std::set<std::int64_t> ints;
  Ints columns;
  for (std::size_t i = labels.size(); i-- > 0;) {
    const bool is_new = labels.texts.empty() ? ints.insert(labels.ints[i]).second
                                             : texts.insert(labels.texts[i]).second;
    if (is_new) columns.push_back(static_cast<std::int64_t>(i));
  }
  std::ranges::reverse(columns);
  return columns;
}

// A map for each row: its values are the row, its keys the labels of the columns.
void import_zip_map(NodeImport& n) {
  const ClassLabels labels = read_labels(n, "classlabels_int64s");
  const ValueId x = feature_rows(n);
  if (!n.ok()) return;
  const Dim columns = n.dim(x, 1);
  const auto count = static_cast<std::int64_t>(labels.size());
  if (columns.known() && !columns.is(count))
    return n.fail(cat("has ", count, " labels for ", columns.value(), " columns"));
  const Ints kept = columns_of(labels);
  const ValueId all = labels.texts.empty() ? n.ints_constant(labels.ints)
                                           : n.constant(string_tensor({count}, labels.texts));
  if (static_cast<std::int64_t>(kept.size()) == count)
    return n.set_map(0, x == n.in(0) ? n.add(Identity{}, {x}) : x, all);
  const ValueId places = n.ints_constant(kept);
  n.set_map(0, gather(n, x, places, 1), gather(n, all, places, 0));
}

// A row of the values of the wanted keys of input 0, a map; `fallback`, [1], for those it lacks.
ValueId values_at(NodeImport& n, ValueId values, ValueId wanted, ValueId fallback) {
  const ValueId place = n.add(KeyIndex{}, {wanted, n.keys_of(0)});
  return unsqueeze(n, gather(n, concat(n, {values, fallback}, 0), place, 0), {0});
}

// A list of one number, or of a text.
ValueId list_of_one(NodeImport& n, DType type, double number, std::string text) {
  return n.constant(type == DType::string ? one_text(std::move(text))
                                          : number_tensor(type, number).reshaped({1}));
}

void import_dict_vectorizer(NodeImport& n) {
  const Ints ints = n.ints("int64_vocabulary");
  const std::vector<std::string> texts = n.texts("string_vocabulary");
  if (ints.empty() == texts.empty()) n.fail("wants one vocabulary");
  const ValueId keys = n.keys_of(0);
  if (n.ok() && texts.empty() == (n.dtype(keys) == DType::string))
    n.fail("its vocabulary is not of the type of the map's keys");
  if (!n.ok()) return;
  const auto count = static_cast<std::int64_t>(texts.size());
  const ValueId wanted =
      texts.empty() ? n.ints_constant(ints) : n.constant(string_tensor({count}, texts));
  const ValueId missing = list_of_one(n, n.dtype(n.in(0)), 0, "");
  n.set(0, values_at(n, n.in(0), wanted, missing));
}

// The values of a map in the order of its keys, as a row.
ValueId in_order_of_keys(NodeImport& n) {
  const ValueId keys = n.keys_of(0);
  const ValueId count = shape_of(n, keys);
  const std::vector<ValueId> sorted =
      n.add_many(TopK{.axis = 0, .largest = false}, {keys, count}, 2);
  return n.ok() ? unsqueeze(n, gather(n, n.in(0), sorted[1], 0), {0}) : no_value;
}

enum class MapForm : std::uint8_t { dense, sparse };

// SPARSE: the value of each key below max_map at its place.
void import_cast_map(NodeImport& n) {
  const auto type = n.choice<DType>(
      "cast_to", "TO_FLOAT",
      {{"TO_FLOAT", DType::f32}, {"TO_INT64", DType::i64}, {"TO_STRING", DType::string}});
  const auto form = n.choice<MapForm>("map_form", "DENSE",
                                      {{"DENSE", MapForm::dense}, {"SPARSE", MapForm::sparse}});
  const std::int64_t places = n.integer("max_map", 1);
  const ValueId keys = n.keys_of(0);
  if (n.ok() && n.dtype(keys) != DType::i64) n.fail("takes a map whose keys are integers");
  if (form == MapForm::dense) return n.set(0, cast(n, in_order_of_keys(n), type));
  constexpr std::int64_t places_max = 1 << 24;
  if (places < 1 || places > places_max)
    n.fail(cat("attribute 'max_map' is ", places, ", wants 1 to ", places_max));
  if (!n.ok() || !n.charge(8 * static_cast<std::size_t>(places))) return;
  const ValueId missing = list_of_one(n, type, 0, "0.f");
  const ValueId values = cast(n, n.in(0), type);
  n.set(0, values_at(n, values, n.constant(counting_list(places)), missing));
}

constexpr OpRow ml_rows[] = {
    {"ArrayFeatureExtractor", 1, import_array_feature_extractor, two},
    {"Binarizer", 1, import_binarizer},
    {"CastMap", 1, import_cast_map},
    {"CategoryMapper", 1, import_category_mapper},
    {"DictVectorizer", 1, import_dict_vectorizer},
    {"FeatureVectorizer", 1, import_feature_vectorizer, any},
    {"Imputer", 1, import_imputer},
    {"LabelEncoder", 1, import_class_numbers},
    {"LabelEncoder", 2, import_label_encoder},
    {"Normalizer", 1, import_normalizer},
    {"OneHotEncoder", 1, import_one_hot_encoder},
    {"Scaler", 1, import_scaler},
    {"ZipMap", 1, import_zip_map},
};

}  // namespace

OpRows ml_ops() {
  return ml_rows;
}

}  // namespace quern::onnx
