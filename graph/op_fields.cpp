// SPDX-License-Identifier: Apache-2.0
#include "graph/op_fields.h"

namespace quern {
namespace {

using namespace std::string_view_literals;

template <std::size_t N>
using Names = std::array<std::string_view, N>;

constexpr Names<46> unary = {"abs",         "neg",
                             "sign",        "ceil",
                             "floor",       "round",
                             "sqrt",        "reciprocal",
                             "exp",         "log",
                             "sin",         "cos",
                             "tan",         "asin",
                             "acos",        "atan",
                             "sinh",        "cosh",
                             "tanh",        "asinh",
                             "acosh",       "atanh",
                             "erf",         "sigmoid",
                             "relu",        "leaky_relu",
                             "elu",         "selu",
                             "celu",        "hard_sigmoid",
                             "hard_swish",  "softplus",
                             "softsign",    "mish",
                             "gelu",        "gelu_tanh",
                             "swish",       "thresholded_relu",
                             "shrink",      "clip",
                             "affine",      "scaled_tanh",
                             "is_nan",      "is_inf",
                             "logical_not", "bitwise_not"};
static_assert(unary[static_cast<std::size_t>(UnaryKind::bitwise_not)] == "bitwise_not");

constexpr Names<23> binary = {
    "add",         "sub",         "mul",        "div",         "pow",          "mod",
    "fmod",        "min",         "max",        "prelu",       "logical_and",  "logical_or",
    "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left",   "shift_right",
    "equal",       "less",        "less_equal", "greater",     "greater_equal"};
static_assert(binary[static_cast<std::size_t>(BinaryKind::greater_equal)] == "greater_equal");

constexpr Names<10> reduce = {"sum", "mean", "max",     "min",         "prod",
                              "l1",  "l2",   "log_sum", "log_sum_exp", "sum_square"};
constexpr Names<2> cumulative = {"sum", "prod"};
constexpr Names<4> auto_pad = {"notset", "same_upper", "same_lower", "valid"};
constexpr Names<3> pool = {"max", "average", "lp"};
constexpr Names<3> roi = {"align_average", "align_max", "max"};
constexpr Names<3> softmax = {"softmax", "log_softmax", "hardmax"};
constexpr Names<4> pad = {"constant", "reflect", "edge", "wrap"};
constexpr Names<3> gather = {"axis", "elements", "nd"};
constexpr Names<2> scatter = {"elements", "nd"};
constexpr Names<5> scatter_reduction = {"none", "add", "mul", "max", "min"};
constexpr Names<3> depth_space = {"depth_to_space_dcr", "depth_to_space_crd", "space_to_depth"};
constexpr Names<3> resize = {"nearest", "linear", "cubic"};
constexpr Names<7> coordinates = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",  "align_corners",
    "asymmetric", "tf_crop_and_resize",   "tf_half_pixel_for_nn"};
constexpr Names<4> nearest = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
constexpr Names<3> aspect = {"stretch", "not_larger", "not_smaller"};
constexpr Names<3> grid_padding = {"zeros", "border", "reflection"};
constexpr Names<3> rnn = {"rnn", "gru", "lstm"};
constexpr Names<3> direction = {"forward", "reverse", "bidirectional"};
constexpr Names<2> random = {"uniform", "normal"};
constexpr Names<3> case_action = {"none", "lower", "upper"};
constexpr Names<3> tf_idf = {"tf", "idf", "tfidf"};
constexpr Names<6> sequence = {"construct", "empty", "at", "insert", "erase", "length"};
constexpr Names<3> optional = {"make", "has_element", "get_element"};

}  // namespace

std::span<const std::string_view> enum_names(UnaryKind) {
  return unary;
}
std::span<const std::string_view> enum_names(BinaryKind) {
  return binary;
}
std::span<const std::string_view> enum_names(ReduceKind) {
  return reduce;
}
std::span<const std::string_view> enum_names(CumulativeKind) {
  return cumulative;
}
std::span<const std::string_view> enum_names(AutoPad) {
  return auto_pad;
}
std::span<const std::string_view> enum_names(PoolKind) {
  return pool;
}
std::span<const std::string_view> enum_names(RoiKind) {
  return roi;
}
std::span<const std::string_view> enum_names(SoftmaxKind) {
  return softmax;
}
std::span<const std::string_view> enum_names(PadMode) {
  return pad;
}
std::span<const std::string_view> enum_names(GatherKind) {
  return gather;
}
std::span<const std::string_view> enum_names(ScatterKind) {
  return scatter;
}
std::span<const std::string_view> enum_names(ScatterReduction) {
  return scatter_reduction;
}
std::span<const std::string_view> enum_names(DepthSpaceKind) {
  return depth_space;
}
std::span<const std::string_view> enum_names(ResizeMode) {
  return resize;
}
std::span<const std::string_view> enum_names(CoordinateMode) {
  return coordinates;
}
std::span<const std::string_view> enum_names(NearestMode) {
  return nearest;
}
std::span<const std::string_view> enum_names(AspectPolicy) {
  return aspect;
}
std::span<const std::string_view> enum_names(GridPadding) {
  return grid_padding;
}
std::span<const std::string_view> enum_names(RnnKind) {
  return rnn;
}
std::span<const std::string_view> enum_names(Direction) {
  return direction;
}
std::span<const std::string_view> enum_names(RandomKind) {
  return random;
}
std::span<const std::string_view> enum_names(CaseAction) {
  return case_action;
}
std::span<const std::string_view> enum_names(TfIdfMode) {
  return tf_idf;
}
std::span<const std::string_view> enum_names(SequenceKind) {
  return sequence;
}
std::span<const std::string_view> enum_names(OptionalKind) {
  return optional;
}

}  // namespace quern
