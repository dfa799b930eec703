// SPDX-License-Identifier: Apache-2.0
#include "engine/compile/dispatch_check.h"

#include <algorithm>

#include "engine/vocabulary/text_util.h"

namespace quern {
namespace {

using Base = Step::Operand::Base;

// The limit of Dispatch::push (kernels/contract/gpu.h).
constexpr std::size_t most_push_words = 32;

class StepCheck {
 public:
  StepCheck(const Program& program, const Step& step, const DispatchLimits& limits)
      : program_(program), step_(step), limits_(limits) {}

  Status run() const {
    if (step_.kind == Step::Kind::host) return {};
    QUERN_TRY(operands("input", step_.inputs, step_.input_bytes));
    QUERN_TRY(operands("output", step_.outputs, step_.output_bytes));
    if (step_.scratch_bytes && step_.kind == Step::Kind::device)
      QUERN_TRY(
          inside("scratch", step_.scratch_offset, step_.scratch_bytes, program_.device_plan.size));
    for (const Dispatch& d : step_.dispatches) {
      QUERN_TRY(dispatch(d));
      for (const Dispatch& candidate : d.candidates) QUERN_TRY(dispatch(candidate));
    }
    return {};
  }

 private:
  Status wrong(std::string_view what) const {
    return {Code::internal, cat("node '", printable(step_.node), "' (", step_.op, "): ", what)};
  }

  Status inside(std::string_view what, std::uint64_t offset, std::uint64_t bytes,
                std::uint64_t size) const {
    if (offset <= size && bytes <= size - offset) return {};
    return wrong(cat(what, " wants bytes ", offset, " to ", offset + bytes, " of ", size));
  }

  Status operands(std::string_view kind, std::span<const Step::Operand> list,
                  std::span<const std::uint64_t> bytes) const {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Step::Operand& o = list[i];
      const std::string what = cat(kind, " ", i);
      if (o.base == Base::device_constant) {
        if (o.index >= program_.device_constants.size())
          return wrong(
              cat(what, " is device constant ", o.index, " of ", program_.device_constants.size()));
        QUERN_TRY(inside(what, o.offset, bytes[i], constant_bytes(o.index)));
      }
      if (o.base != Base::device_arena) continue;
      // Transfers may begin at any byte.
      if (step_.kind == Step::Kind::device && o.offset % limits_.alignment != 0)
        return wrong(
            cat(what, " begins at ", o.offset, ", wants a multiple of ", limits_.alignment));
      QUERN_TRY(inside(what, o.offset, bytes[i], program_.device_plan.size));
    }
    return {};
  }

  std::uint64_t constant_bytes(std::uint32_t i) const {
    return limits_.constant_bytes(program_.device_constants[i].get());
  }

  Status dispatch(const Dispatch& d) const {
    for (const std::uint32_t groups : d.groups)
      if (groups == 0 || groups > limits_.target.max_groups)
        return wrong(
            cat(d.shader, " has ", groups, " groups, wants 1 to ", limits_.target.max_groups));
    if (d.push.size() > most_push_words)
      return wrong(cat(d.shader, " pushes ", d.push.size(), " words, at most ", most_push_words));
    for (const BufferUse& use : d.buffers) QUERN_TRY(buffer(d, use));
    return {};
  }

  Status buffer(const Dispatch& d, const BufferUse& use) const {
    switch (use.of) {
      case BufferUse::Of::input:
        if (use.written) return wrong(cat(d.shader, " writes input ", use.index));
        return part(cat(d.shader, ", input ", use.index), use, step_.input_bytes);
      case BufferUse::Of::output:
        return part(cat(d.shader, ", output ", use.index), use, step_.output_bytes);
      case BufferUse::Of::scratch:
        return inside(cat(d.shader, ", scratch"), use.offset, use.bytes,
                      whole_vectors(step_.scratch_bytes));
      case BufferUse::Of::constant: {
        if (use.written) return wrong(cat(d.shader, " writes constant ", use.index));
        if (use.index >= step_.gpu_constants.size())
          return wrong(
              cat(d.shader, " reads constant ", use.index, " of ", step_.gpu_constants.size()));
        const std::uint64_t size = constant_bytes(step_.gpu_constants[use.index]);
        return inside(cat(d.shader, ", constant ", use.index), use.offset, use.bytes,
                      whole_vectors(size));
      }
    }
    return wrong(cat(d.shader, " has a buffer of no kind"));
  }

  Status part(const std::string& what, const BufferUse& use,
              std::span<const std::uint64_t> sizes) const {
    if (use.index >= sizes.size()) return wrong(cat(what, " of ", sizes.size()));
    return inside(what, use.offset, use.bytes, whole_vectors(sizes[use.index]));
  }

  const Program& program_;
  const Step& step_;
  const DispatchLimits& limits_;
};

}  // namespace

Status check_dispatches(const Program& program, const DispatchLimits& limits) {
  for (const Step& step : program.steps) QUERN_TRY(StepCheck(program, step, limits).run());
  return {};
}

}  // namespace quern
