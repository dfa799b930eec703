// SPDX-License-Identifier: Apache-2.0
#include "kernels/gpu/steps.h"

#include <algorithm>
#include <array>

#include "graph/ops/binary_kind.h"
#include "graph/ops/unary.h"
#include "kernels/contract/iterate.h"
#include "kernels/gpu/grid.h"

namespace quern::gpu {
namespace {

// The ways in which steps.glsl reads an operand.
enum Read : std::uint32_t { read_none, read_flat, read_scalars, read_single, read_vectors };
constexpr std::uint32_t swapped_code = 128;

// True for the functions of FEW_STEPS in steps.glsl.
bool is_few(std::uint32_t code) {
  constexpr std::array few = {24U, 25U, 26U, 30U, 31U, 37U, 40U, 41U, 64U, 65U, 193U, 66U, 73U};
  return std::ranges::find(few, code) != few.end();
}

bool commutes(BinaryKind kind) {
  return kind == BinaryKind::add || kind == BinaryKind::mul;
}

}  // namespace

std::optional<std::uint32_t> code_of(UnaryKind kind) {
  switch (kind) {
    // clang-format off
    case UnaryKind::abs: return 1;            case UnaryKind::neg: return 2;
    case UnaryKind::sign: return 3;           case UnaryKind::ceil: return 4;
    case UnaryKind::floor: return 5;          case UnaryKind::round: return 6;
    case UnaryKind::sqrt: return 7;           case UnaryKind::reciprocal: return 8;
    case UnaryKind::exp: return 9;            case UnaryKind::log: return 10;
    case UnaryKind::sin: return 11;           case UnaryKind::cos: return 12;
    case UnaryKind::tan: return 13;           case UnaryKind::asin: return 14;
    case UnaryKind::acos: return 15;          case UnaryKind::atan: return 16;
    case UnaryKind::sinh: return 17;          case UnaryKind::cosh: return 18;
    case UnaryKind::tanh: return 19;          case UnaryKind::asinh: return 20;
    case UnaryKind::acosh: return 21;         case UnaryKind::atanh: return 22;
    case UnaryKind::erf: return 23;           case UnaryKind::sigmoid: return 24;
    case UnaryKind::relu: return 25;          case UnaryKind::leaky_relu: return 26;
    case UnaryKind::elu: return 27;           case UnaryKind::selu: return 28;
    case UnaryKind::celu: return 29;          case UnaryKind::hard_sigmoid: return 30;
    case UnaryKind::hard_swish: return 31;    case UnaryKind::softplus: return 32;
    case UnaryKind::softsign: return 33;      case UnaryKind::mish: return 34;
    case UnaryKind::gelu: return 35;          case UnaryKind::gelu_tanh: return 36;
    case UnaryKind::swish: return 37;         case UnaryKind::thresholded_relu: return 38;
    case UnaryKind::shrink: return 39;        case UnaryKind::clip: return 40;
    case UnaryKind::affine: return 41;        case UnaryKind::scaled_tanh: return 42;
    case UnaryKind::is_nan: return 43;        case UnaryKind::is_inf: return 44;
    case UnaryKind::logical_not: return 45;   case UnaryKind::bitwise_not: return 46;
      // clang-format on
  }
  return std::nullopt;
}

std::optional<std::uint32_t> code_of(BinaryKind kind) {
  switch (kind) {
    // clang-format off
    case BinaryKind::add: return 64;          case BinaryKind::sub: return 65;
    case BinaryKind::mul: return 66;          case BinaryKind::div: return 67;
    case BinaryKind::pow: return 68;          case BinaryKind::mod: return 69;
    case BinaryKind::fmod: return 70;         case BinaryKind::min: return 71;
    case BinaryKind::max: return 72;          case BinaryKind::prelu: return 73;
    case BinaryKind::logical_and: return 74;  case BinaryKind::logical_or: return 75;
    case BinaryKind::logical_xor: return 76;  case BinaryKind::equal: return 80;
    case BinaryKind::less: return 81;         case BinaryKind::less_equal: return 82;
    case BinaryKind::greater: return 83;      case BinaryKind::greater_equal: return 84;
    case BinaryKind::bitwise_and: return 77;  case BinaryKind::bitwise_or: return 78;
    case BinaryKind::bitwise_xor: return 79;  case BinaryKind::shift_left: return 85;
    case BinaryKind::shift_right: return 86;
      // clang-format on
  }
  return std::nullopt;
}

bool Steps::add(const Unary& op) {
  const auto code = code_of(op.kind);
  if (!code || steps_.size() == max || (set_ == StepSet::few && !is_few(*code))) return false;
  steps_.push_back(
      {.code = *code, .alpha = static_cast<float>(op.alpha), .beta = static_cast<float>(op.beta)});
  return true;
}

bool Steps::add_factor(float factor) {
  return add(Unary{UnaryKind::affine, factor, 0});
}

// The operand's index as a function of the result's index in memory order.
bool Steps::place_operand(const KernelInput& operand, Step& step) const {
  const Shape& from = operand.desc.shape;
  if (operand.desc.dtype != DType::f32) return false;
  if (from.elements() == 1) {
    step.read = read_single;
    step.layout = Layout::row_major(from);
    return true;
  }
  if (from == target_.shape) {
    step.layout = target_.layout;
    step.period = word(from.elements());
    step.read = target_.vectors ? read_flat : read_scalars;
    return true;
  }
  step.layout = Layout::row_major(from);
  const Shape strides = broadcast_strides(from, target_.shape);
  const auto loop = make_loop(target_.shape, std::array{strides, target_.layout.strides},
                              memory_order(target_.shape, target_.layout.strides));
  if (!loop) return false;
  // Blocks of `inner` equal elements that repeat with a period of `period` blocks.
  const auto& dims = loop->dims;
  const auto& own = loop->strides[0];
  std::size_t d = 0;
  if (own[0] == 0) step.inner = word(dims[d++]);
  if (d == dims.size() || own[d] != 1) return false;
  step.period = word(dims[d++]);
  if (d < dims.size() && own[d] != 0) return false;
  if (++d < dims.size()) return false;
  const bool aligned = target_.vectors && step.inner == 1 && step.period % 4 == 0;
  step.read = aligned ? read_vectors : read_scalars;
  return true;
}

bool Steps::add(const BinaryStep& op, const KernelInput& operand) {
  auto code = code_of(op.kind);
  if (!code || steps_.size() == max) return false;
  if (op.swapped && !commutes(op.kind)) *code += swapped_code;
  if (set_ == StepSet::few && !is_few(*code)) return false;
  Step step{.code = *code, .operand = BufferUse::input(op.read)};
  if (!place_operand(operand, step)) return false;
  steps_.push_back(step);
  return true;
}

bool Steps::add_sum(std::uint32_t input, const KernelInput& operand) {
  return add({.kind = BinaryKind::add, .read = input}, operand);
}

bool Steps::add_flat(BufferUse operand) {
  if (steps_.size() == max) return false;
  steps_.push_back({.code = *code_of(BinaryKind::add),
                    .read = target_.vectors ? read_flat : read_scalars,
                    .operand = operand,
                    .period = word(target_.shape.elements())});
  return true;
}

bool Steps::add_bias(std::uint32_t input, std::int64_t channels) {
  if (steps_.size() == max) return false;
  const bool aligned = target_.vectors && channels % 4 == 0;
  steps_.push_back({.code = *code_of(BinaryKind::add),
                    .read = aligned ? read_vectors : read_scalars,
                    .operand = BufferUse::input(input),
                    .period = word(channels),
                    .layout = Layout::row_major({channels})});
  return true;
}

std::size_t Steps::add_post_ops(const KernelRequest& request) {
  std::size_t taken = 0;
  for (const PostOp& p : request.post_ops) {
    const auto* binary = std::get_if<BinaryPostOp>(&p);
    const bool added = binary ? add({binary->kind, request.read_of(*binary), binary->swapped},
                                    request.operands[binary->operand])
                              : add(*unary_of(p));
    if (!added) break;
    ++taken;
  }
  return taken;
}

void Steps::finish(Dispatch& d) const {
  d.constants.resize(10, 0);
  for (std::size_t i = 0; i < max; ++i) d.constants.push_back(i < size() ? steps_[i].code : 0);
  for (std::size_t i = 0; i < max; ++i) d.constants.push_back(i < size() ? steps_[i].read : 0);
  for (std::size_t i = 0; i < max; ++i) {
    const Step s = i < size() ? steps_[i] : Step();
    d.push.insert(d.push.end(), {word(s.alpha), word(s.beta), s.period, s.inner});
    // An unused binding still needs a buffer.
    d.buffers.push_back(s.read ? s.operand : d.buffers.front());
  }
}

void Steps::ask_layouts(std::vector<Layout>& input_layouts) const {
  for (const Step& s : steps_) {
    if (!s.read || s.operand.of != BufferUse::Of::input) continue;
    if (input_layouts.size() <= s.operand.index) input_layouts.resize(s.operand.index + 1);
    input_layouts[s.operand.index] = s.layout;
  }
}

}  // namespace quern::gpu
