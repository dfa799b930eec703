// SPDX-License-Identifier: Apache-2.0
// Any bytes as a model that is compiled and run on zeros, with every operator by its plainest form
// and by its best: an answer or an error, in bounded memory, soon after the deadline.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <quern/device.h>
#include <quern/executable.h>
#include <quern/onnx.h>
#include <quern/session.h>

namespace {

using namespace quern;  // NOLINT

constexpr std::size_t memory_limit = 1 << 20;
constexpr std::chrono::milliseconds time_limit(200);
// A run stops between kernels, so what one may do is bounded before.
constexpr double work_limit = 1e6;

// Free dimensions are 2. Nothing: too large, or no tensor can have it.
std::optional<TensorType> concrete(const ValueSpec& spec) {
  Shape shape;
  if (spec.dims.size() > Shape::max_rank) return std::nullopt;
  for (std::int64_t d : spec.dims) shape.push_back(d < 0 ? 2 : d);
  const auto elements = shape.checked_elements(size_of(spec.dtype));
  if (!elements || static_cast<std::size_t>(*elements) > memory_limit / 4) return std::nullopt;
  return TensorType{spec.dtype, shape};
}

bool bind_zeros(Session& session, std::vector<Tensor>& keep) {
  const std::vector<ValueSpec>& inputs = session.executable().inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].kind != ValueSpec::Kind::tensor) {
      const bool is_sequence = inputs[i].kind == ValueSpec::Kind::sequence;
      const Status s = is_sequence ? session.set_input_sequence(i, {}) : session.set_input_none(i);
      if (!s.ok()) return false;
      continue;
    }
    const auto type = concrete(inputs[i]);
    auto zeros = type ? Tensor::zeros(*type) : Status(Code::invalid_argument, "too large");
    if (!zeros || !session.set_input(i, zeros->view()).ok()) return false;
    keep.push_back(std::move(*zeros));
  }
  return true;
}

bool is_small(const Session& session) {
  const PlanInfo plan = session.plan_info();
  return std::all_of(plan.steps.begin(), plan.steps.end(),
                     [](const StepInfo& s) { return s.flops + s.bytes <= work_limit; });
}

// Every byte that a run hands out is there.
void read_outputs(const Session& session) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < session.executable().outputs().size(); ++i) {
    const auto count = session.output_count(i);
    for (std::size_t k = 0; count && k < *count; ++k) {
      const auto v = session.output_element(i, k);
      if (!v) continue;
      for (std::size_t b = 0; b < v->type.bytes(); ++b)
        sum += static_cast<std::uint8_t>(v->data[b]);
    }
  }
  if (sum == 0x123456789abcdef) std::puts("");  // the reads stay
}

void run(const Model& model, const std::string& device_name) {
  auto device = open_device(device_name);
  if (!device) std::abort();
  CompileOptions options;
  options.threads = 1;
  options.memory_limit = memory_limit;
  auto executable = Executable::compile(model.clone(), *device, options);
  if (!executable) return;
  auto session = Session::create(*executable);
  if (!session) return;
  std::vector<Tensor> inputs;
  if (!bind_zeros(**session, inputs)) return;
  if (!(*session)->prepare().ok() || !is_small(**session)) return;
  // Twice: the second run goes the way of a plan that is there.
  for (int i = 0; i < 2; ++i)
    if ((*session)->run_until(std::chrono::steady_clock::now() + time_limit).ok())
      read_outputs(**session);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto model = parse_onnx(bytes, nullptr, "", {.max_bytes = 4 << 20});
  if (!model) return 0;
  for (const char* device : {"reference", "cpu"}) run(*model, device);
  return 0;
}
