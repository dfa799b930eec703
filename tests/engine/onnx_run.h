// SPDX-License-Identifier: Apache-2.0
// Runs an ONNX file made by onnx_writer.h as a user would, on a device and at a level of
// optimisation, so that tests can say what all of them must agree on.
#pragma once

#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <quern/device.h>
#include <quern/executable.h>
#include <quern/onnx.h>
#include <quern/session.h>

#include "tests/onnx-parser/onnx_writer.h"

namespace quern::testing {

// One way to run a model; all of them have to give the same answer.
struct Way {
  const char* device = "cpu";
  bool optimize = true;

  friend void PrintTo(const Way& w, std::ostream* os) {
    *os << w.device << (w.optimize ? "" : ", no passes");
  }
};
inline const std::vector<Way>& ways() {
  static const std::vector<Way> all = {{"cpu"}, {"cpu", false}, {"reference"}};
  return all;
}

// An input or an output: the tensor, or the elements of a sequence.
using Tensors = std::vector<Tensor>;

inline Result<Tensor> copied(const TensorView& t) {
  return Tensor::copy_of(t.type, {t.data, t.type.bytes()});
}

// The outputs, or the first error on the way to them.
inline Result<Tensors> run_onnx(const std::string& bytes, const Tensors& inputs, const Way& way) {
  const auto view = std::as_bytes(std::span(bytes));
  QUERN_ASSIGN(Model model, parse_onnx(view, nullptr));
  QUERN_ASSIGN(const auto device, open_device(way.device));
  CompileOptions options;
  options.optimize = way.optimize;
  QUERN_ASSIGN(const auto executable, Executable::compile(std::move(model), device, options));
  QUERN_ASSIGN(const auto session, Session::create(executable));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    QUERN_TRY(session->set_input(i, inputs[i].view()));
  QUERN_TRY(session->run());
  Tensors outputs;
  for (std::size_t i = 0; i < executable->outputs().size(); ++i) {
    QUERN_ASSIGN(const TensorView t, session->output(i));
    QUERN_ASSIGN(outputs.emplace_back(), copied(t));
  }
  return outputs;
}

// "f32[2] 1 2; i64[] 7", or "error: " and the sentence.
inline std::string answer(const std::string& bytes, const Tensors& inputs, const Way& way) {
  const auto outputs = run_onnx(bytes, inputs, way);
  if (!outputs) return "error: " + std::string(outputs.error().message());
  std::string s;
  for (const Tensor& t : *outputs) {
    s += (s.empty() ? "" : "; ") + t.type().text();
    for (std::int64_t i = 0; i < std::min<std::int64_t>(t.shape().elements(), 16); ++i) {
      const auto at = static_cast<std::size_t>(i);
      s += " " + (t.dtype() == DType::f32   ? ::testing::PrintToString(t.span<float>()[at])
                  : t.dtype() == DType::i64 ? std::to_string(t.span<std::int64_t>()[at])
                  : t.dtype() == DType::i32 ? std::to_string(t.span<std::int32_t>()[at])
                  : t.dtype() == DType::u32 ? std::to_string(t.span<std::uint32_t>()[at])
                  : t.dtype() == DType::i8  ? std::to_string(t.span<std::int8_t>()[at])
                                            : std::to_string(t.span<std::uint8_t>()[at]));
    }
  }
  return s;
}

// The same answer in every way.
inline void expect_everywhere(const std::string& bytes, const Tensors& inputs,
                              const ::testing::Matcher<std::string>& wanted) {
  for (const Way& way : ways())
    EXPECT_THAT(answer(bytes, inputs, way), wanted) << ::testing::PrintToString(way);
}

}  // namespace quern::testing
