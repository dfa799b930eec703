// SPDX-License-Identifier: Apache-2.0
// Guests of wasi-nn with little memory, models for them, and how far the process grows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <malloc.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontends/wasi-nn/instance.h"
#include "tests/engine/engine_test.h"
#include "tests/onnx-parser/onnx_writer.h"
#include "tests/sanitized.h"
#include "tests/wasi-nn/guest.h"

namespace quern::testing {

namespace onnx = quern::onnx_test;
namespace nn = quern::wasi_nn;

inline constexpr std::size_t mb = 1'000'000;

// A line of /proc/self/status, in bytes.
inline std::size_t memory_line(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == name + ":") {
      std::size_t kib = 0;
      status >> kib;
      return 1024 * kib;
    }
  return 0;
}

// How far the process's memory rises while `work` runs.
inline std::size_t peak_growth(const std::function<void()>& work) {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << 5;  // the peak is what there is now
  const std::size_t before = memory_line("VmRSS");
  work();
  return memory_line("VmHWM") - std::min(before, memory_line("VmHWM"));
}

// Sanitizers take memory of their own.
inline void expect_at_most(std::size_t growth, std::size_t most) {
  ::testing::Test::RecordProperty("megabytes", std::to_string(static_cast<double>(growth) / mb));
  if (sanitized) return;
  EXPECT_LE(static_cast<double>(growth) / mb, static_cast<double>(most) / mb) << "MB";
}

// ---- guests

constexpr std::size_t with_slack(std::size_t resident_bytes) {
  return resident_bytes + resident_bytes / 10 + 8 * mb;
}

inline std::shared_ptr<nn::Instance> instance_with(std::size_t resident_bytes) {
  nn::TenantOptions options;
  options.limits = {};
  options.limits.most.resident_bytes = resident_bytes;
  options.threads = 1;
  options.gpu_or_nothing = true;
  return nn::Instance::create(nn::Tenant::create(options));
}

inline nn::Bytes as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

inline nn::Handle must_load(nn::Instance& instance, const std::string& model,
                            nn::Target target = nn::Target::cpu) {
  nn::Handle graph = 0;
  const nn::Bytes part = as_bytes(model);
  const nn::Error error = instance.load({&part, 1}, nn::Encoding::onnx, target, &graph);
  EXPECT_TRUE(error.ok()) << error.text;
  return graph;
}

// Weights of 4 channels by 4, 3 by 3, in a chain over images of any size.
inline std::string chain_of_convolutions(int length) {
  onnx::GraphParts g;
  std::vector<std::string> names = {"x"};
  const std::string weights(4 * 4 * 9 * 4, '\0');
  for (int i = 0; i < length; ++i) {
    names.push_back("y" + std::to_string(i));
    g.initializers.push_back(
        onnx::raw_tensor("w" + std::to_string(i), onnx::f32, {4, 4, 3, 3}, weights));
  }
  std::vector<std::string> constants;
  for (int i = 0; i < length; ++i) constants.push_back("w" + std::to_string(i));
  for (std::size_t i = 0; i < constants.size(); ++i)
    g.nodes.push_back(onnx::node("Conv", {names[i], constants[i]}, {names[i + 1]},
                                 {onnx::integers("pads", {1, 1, 1, 1})}));
  g.inputs = {onnx::value("x", onnx::f32, {1, 4, "H", "W"})};
  g.outputs = {onnx::value(names.back(), onnx::f32, {1, 4, "H", "W"})};
  return onnx::make_model(g);
}

// Runs images of up to 23 by `widest`, a plan for each shape.
inline void run_many_shapes(nn::Instance& instance, const std::string& model, std::int64_t widest,
                            nn::Target target = nn::Target::cpu) {
  const nn::Handle graph = must_load(instance, model, target);
  nn::Handle context = 0;
  ASSERT_TRUE(instance.init_execution_context(graph, std::nullopt, &context).ok());
  for (std::int64_t h = 4; h < 24; ++h)
    for (std::int64_t w = 4; w <= widest; ++w) {
      nn::ContextUse use;
      ASSERT_TRUE(instance.use(context, &use).ok());
      const TensorType type{DType::f32, {1, 4, h, w}};
      const std::vector<std::byte> zeros(type.bytes());
      ASSERT_TRUE(use.set_input(0, type, zeros).ok());
      const nn::Error error = use.compute();
      ASSERT_TRUE(error.ok()) << h << " x " << w << ": " << error.text;
    }
}

}  // namespace quern::testing
