// SPDX-License-Identifier: Apache-2.0
// Small steps that the tests of the public API share. A failure ends the test.
#pragma once

#include <chrono>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <quern/device.h>
#include <quern/executable.h>
#include <quern/graph_builder.h>
#include <quern/session.h>

#include "tests/sanitized.h"

namespace quern::testing {

// The value, or the end of the test with the error's sentence.
template <class T>
T must(Result<T> result, const char* what = "call") {
  if (!result) {
    ADD_FAILURE() << what << ": " << result.error().message();
    std::abort();
  }
  return std::move(result).value();
}
inline void must(const Status& status, const char* what = "call") {
  if (status.ok()) return;
  ADD_FAILURE() << what << ": " << status.message();
  std::abort();
}

// True if oneDNN is built in, found, and not turned off.
inline bool has_onednn() {
  const auto cpu = must(open_device("cpu"));
  for (const auto& [name, value] : cpu->info().properties)
    if (name == "onednn") return !value.starts_with("none");
  return false;
}

template <class T>
Tensor tensor(const Shape& shape, std::initializer_list<T> values) {
  constexpr DType dtype = std::is_same_v<T, float>          ? DType::f32
                          : std::is_same_v<T, bool>         ? DType::boolean
                          : std::is_same_v<T, std::int64_t> ? DType::i64
                          : std::is_same_v<T, std::uint8_t> ? DType::u8
                          : std::is_same_v<T, std::int8_t>  ? DType::i8
                                                            : DType::i32;
  static_assert(dtype != DType::i32 || std::is_same_v<T, std::int32_t>);
  return Tensor::from_values<T>(dtype, shape, std::span(values.begin(), values.size()));
}

// f32 elements that repeat every 97 and lie in [-0.5, 0.5].
inline Tensor pattern(const Shape& shape, int seed = 1) {
  Tensor t = must(Tensor::zeros({DType::f32, shape}));
  auto* data = reinterpret_cast<float*>(t.mutable_data());
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    data[i] = static_cast<float>((i * 37 + seed * 11) % 97) / 96.0F - 0.5F;
  return t;
}

inline std::shared_ptr<const Executable> compile(Model model, std::string_view device = "cpu",
                                                 const CompileOptions& options = {}) {
  return must(Executable::compile(std::move(model), must(open_device(device)), options), "compile");
}

inline std::unique_ptr<Session> session_of(std::shared_ptr<const Executable> executable,
                                           int threads = 0) {
  return must(Session::create(std::move(executable), {.threads = threads}), "create");
}

template <class T = float>
std::vector<T> values(const TensorView& view) {
  const auto s = view.span<T>();
  return {s.begin(), s.end()};
}

// A pattern for every input; dimensions that are free are 8.
inline std::vector<Tensor> inputs_of(const Executable& e) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < e.inputs().size(); ++i) {
    Shape shape;
    for (std::int64_t d : e.inputs()[i].dims) shape.push_back(d < 0 ? 8 : d);
    inputs.push_back(pattern(shape, static_cast<int>(i) + 3));
  }
  return inputs;
}

// The bytes of all outputs.
inline std::vector<std::vector<std::byte>> run(
    Session& session, const std::vector<Tensor>& inputs,
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max()) {
  for (std::size_t i = 0; i < inputs.size(); ++i) must(session.set_input(i, inputs[i].view()));
  must(session.run_until(deadline), "run");
  std::vector<std::vector<std::byte>> outputs;
  for (std::size_t i = 0; i < session.executable().outputs().size(); ++i) {
    const TensorView t = must(session.output(i));
    outputs.emplace_back(t.data, t.data + t.type.bytes());
  }
  return outputs;
}

}  // namespace quern::testing
