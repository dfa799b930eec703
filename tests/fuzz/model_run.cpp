// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/model_run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>

#include <quern/session.h>

namespace quern::fuzz {
namespace {

constexpr std::size_t memory_limit = 1 << 20;
constexpr std::chrono::milliseconds time_limit(300);
// A run stops between kernels, so what one may do is bounded before.
constexpr double work_limit = 1e6;

// ---- inputs ------------------------------------------------------------------------------------

// Free dimensions are 2, then 3. Nothing: too large, or no tensor can have it.
std::optional<TensorType> concrete(const ValueSpec& spec, int round) {
  Shape shape;
  if (spec.dims.size() > Shape::max_rank) return std::nullopt;
  for (std::int64_t d : spec.dims) shape.push_back(d < 0 ? 2 + round : d);
  if (!spec.has_rank) shape = {2, 3};
  const auto elements = shape.checked_elements(size_of(spec.dtype));
  if (!elements || static_cast<std::size_t>(*elements) > memory_limit / 4) return std::nullopt;
  return TensorType{spec.dtype, shape};
}

double number_at(std::size_t i, int round) {
  return (static_cast<double>((i * 37 + 11 + static_cast<std::size_t>(round) * 5) % 23) - 11) / 8;
}
// A short tensor is likely a shape, axes or indices.
std::int64_t integer_at(std::size_t i, std::size_t count, int round) {
  const std::size_t step = count <= 8 ? i * 3 + 1 : i * 7 + 3;
  return static_cast<std::int64_t>((step + static_cast<std::size_t>(round)) % 5) - 1;
}

template <class T>
void fill(std::byte* data, std::size_t count, const auto& value_at) {
  for (std::size_t i = 0; i < count; ++i) {
    const T v = static_cast<T>(value_at(i));
    std::memcpy(data + i * sizeof v, &v, sizeof v);
  }
}

void fill_numbers(Tensor& t, int round, Inputs inputs) {
  constexpr std::array<std::uint16_t, 5> halves = {0x3c00, 0xbc00, 0x3800, 0, 0x4000};
  constexpr std::array<std::uint16_t, 5> brains = {0x3f80, 0xbf80, 0x3f00, 0, 0x4000};
  std::byte* data = t.mutable_data();
  const auto count = static_cast<std::size_t>(t.shape().elements());
  // Each by another factor, so that what cancels in sums moves too.
  const double step = inputs == Inputs::moved ? 0x1p-18 : 0;
  const auto real = [&](std::size_t i) {
    return number_at(i, round) * (1 + static_cast<double>(i % 7 + 1) * step);
  };
  const auto integer = [&](std::size_t i) { return integer_at(i, count, round); };
  const auto natural = [&](std::size_t i) { return integer_at(i, count, round) + 1; };
  switch (t.dtype()) {
    case DType::f32: return fill<float>(data, count, real);
    case DType::f64: return fill<double>(data, count, real);
    case DType::f16:
      return fill<std::uint16_t>(data, count, [&](std::size_t i) { return halves[i % 5]; });
    case DType::bf16:
      return fill<std::uint16_t>(data, count, [&](std::size_t i) { return brains[i % 5]; });
    case DType::i8:
    case DType::i4: return fill<std::int8_t>(data, count, integer);
    case DType::i2:
      return fill<std::int8_t>(data, count, [&](std::size_t i) { return integer(i) / 2; });
    case DType::u2:
      return fill<std::uint8_t>(data, count, [&](std::size_t i) { return natural(i) / 2; });
    case DType::f8e8m0:  // 2^-1 to 2^3
      return fill<std::uint8_t>(data, count, [&](std::size_t i) { return natural(i) + 126; });
    case DType::i16: return fill<std::int16_t>(data, count, integer);
    case DType::i32: return fill<std::int32_t>(data, count, integer);
    case DType::i64: return fill<std::int64_t>(data, count, integer);
    case DType::u16: return fill<std::uint16_t>(data, count, natural);
    case DType::u32: return fill<std::uint32_t>(data, count, natural);
    case DType::u64: return fill<std::uint64_t>(data, count, natural);
    case DType::boolean:
      return fill<std::uint8_t>(data, count, [&](std::size_t i) { return (i + 1) % 3 != 0; });
    case DType::string: {
      static constexpr std::string_view texts[] = {"mill", "", "Stone", "1.5"};
      return fill<StringRef>(data, count, [&](std::size_t i) {
        return StringRef{texts[i % 4].data(), texts[i % 4].size()};
      });
    }
    default: return fill<std::uint8_t>(data, count, natural);
  }
}

Status bind_all(Session& session, std::span<const OracleInput> inputs) {
  using Kind = tools::BoundedValue::Kind;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const OracleInput& in = inputs[i];
    if (in.kind == Kind::none) {
      QUERN_TRY(session.set_input_none(i));
    } else if (in.kind == Kind::sequence) {
      std::vector<TensorView> views;
      for (const Tensor& t : in.tensors) views.push_back(t.view());
      QUERN_TRY(session.set_input_sequence(i, views));
    } else {
      QUERN_TRY(session.set_input(i, in.tensors[0].view()));
    }
  }
  return {};
}

// ---- outputs -----------------------------------------------------------------------------------

// Every byte that a run hands out is there.
Answer::Element copied(const TensorView& v) {
  Answer::Element e{v.type, {}, {}};
  if (v.type.dtype == DType::string) {
    for (const StringRef& s : v.span<StringRef>()) e.texts.emplace_back(s.view());
  } else {
    e.bytes.assign(v.data, v.data + v.type.bytes());
  }
  return e;
}

Status read_outputs(const Session& session, Answer& answer) {
  for (std::size_t i = 0; i < session.executable().outputs().size(); ++i) {
    auto& elements = answer.outputs.emplace_back();
    QUERN_ASSIGN(const std::size_t count, session.output_count(i));
    for (std::size_t k = 0; k < count; ++k) {
      QUERN_ASSIGN(const TensorView v, session.output_element(i, k));
      elements.push_back(copied(v));
    }
  }
  return {};
}

// ---- runs --------------------------------------------------------------------------------------

Status check_work(const Session& session) {
  const PlanInfo plan = session.plan_info();
  for (const StepInfo& s : plan.steps)
    if (s.flops + s.bytes > work_limit) return {Code::busy, "too much work for a fuzzer"};
  return {};
}

Answer refusal(const Status& status) {
  return {status.code(), std::string(status.message()), {}};
}

Answer run_round(Session& session, int round, Inputs inputs) {
  std::vector<OracleInput> given;
  Answer answer;
  const auto all = [&]() -> Status {
    QUERN_ASSIGN(given, make_inputs(session.executable().inputs(), round, inputs));
    QUERN_TRY(bind_all(session, given));
    QUERN_TRY(session.prepare());
    QUERN_TRY(check_work(session));
    QUERN_TRY(session.run_until(std::chrono::steady_clock::now() + time_limit));
    return read_outputs(session, answer);
  };
  const Status status = all();
  return status.ok() ? answer : refusal(status);
}

}  // namespace

Result<std::vector<OracleInput>> make_inputs(const std::vector<ValueSpec>& specs, int round,
                                             Inputs inputs) {
  using Kind = ValueSpec::Kind;
  std::vector<OracleInput> all;
  for (const ValueSpec& spec : specs) {
    OracleInput& in = all.emplace_back();
    const bool is_optional =
        spec.kind == Kind::optional_tensor || spec.kind == Kind::optional_sequence;
    if (is_optional && round == 1) {
      in.kind = tools::BoundedValue::Kind::none;
      continue;
    }
    const auto type = concrete(spec, round);
    if (!type) return Status(Code::busy, "an input is too large");
    QUERN_ASSIGN(in.tensors.emplace_back(), Tensor::zeros(*type));
    fill_numbers(in.tensors[0], round, inputs);
    if (spec.kind != Kind::sequence && spec.kind != Kind::optional_sequence) continue;
    in.kind = tools::BoundedValue::Kind::sequence;
    in.tensors.push_back(in.tensors[0]);
  }
  return all;
}

std::string tested_device() {
  const char* chosen = std::getenv("QUERN_FUZZ_DEVICE");
  return chosen ? chosen : "cpu";
}

std::vector<Answer> run_model(const Model& model, const std::string& device_name,
                              CompileOptions options, Inputs inputs) {
  // To open a GPU takes longer than a model.
  static std::map<std::string, std::shared_ptr<Device>> devices;
  std::shared_ptr<Device>& device = devices[device_name];
  if (!device) {
    auto opened = open_device(device_name);
    if (!opened) {
      std::fprintf(stderr, "%s\n", std::string(opened.error().message()).c_str());
      std::abort();
    }
    device = *opened;
  }
  options.memory_limit = memory_limit;
  std::vector<Answer> answers;
  auto executable = Executable::compile(model.clone(), device, options);
  if (!executable) return std::vector<Answer>(rounds, refusal(executable.error()));
  auto session = Session::create(*executable);
  if (!session) return std::vector<Answer>(rounds, refusal(session.error()));
  for (int round = 0; round < rounds; ++round)
    answers.push_back(run_round(**session, round, inputs));
  return answers;
}

}  // namespace quern::fuzz
