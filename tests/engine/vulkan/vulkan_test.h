// SPDX-License-Identifier: Apache-2.0
// What tests of the Vulkan device share.
#pragma once

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "tests/engine/engine_test.h"

namespace quern::testing {

// The device's name with validation where the layer is installed; "" where there is no Vulkan.
inline const std::string& device_name() {
  static const std::string name = [] {
    if (open_device("vulkan,validate")) return "vulkan,validate";
    return open_device("vulkan") ? "vulkan" : "";
  }();
  return name;
}

class VulkanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device_name().empty())
      GTEST_SKIP() << "no Vulkan device: install mesa-vulkan-drivers for one in software";
  }
};

inline std::vector<Tensor> inputs_of(const Executable& e) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < e.inputs().size(); ++i) {
    Shape shape;
    for (std::int64_t d : e.inputs()[i].dims) shape.push_back(d < 0 ? 8 : d);
    inputs.push_back(pattern(shape, static_cast<int>(i) + 3));
  }
  return inputs;
}

inline std::vector<std::vector<std::byte>> run(Session& session,
                                               const std::vector<Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) must(session.set_input(i, inputs[i].view()));
  must(session.run(), "run");
  std::vector<std::vector<std::byte>> outputs;
  for (std::size_t i = 0; i < session.executable().outputs().size(); ++i) {
    const TensorView t = must(session.output(i));
    outputs.emplace_back(t.data, t.data + t.type.bytes());
  }
  return outputs;
}

inline void expect_close(const std::vector<std::byte>& a, const std::vector<std::byte>& b,
                         DType dtype) {
  ASSERT_EQ(a.size(), b.size());
  if (dtype != DType::f32) {
    EXPECT_EQ(a, b);
    return;
  }
  for (std::size_t i = 0; i < a.size(); i += 4) {
    float x = 0, y = 0;
    std::memcpy(&x, a.data() + i, 4);
    std::memcpy(&y, b.data() + i, 4);
    ASSERT_NEAR(x, y, 1e-5F + 2e-5F * std::abs(y)) << "element " << i / 4;
  }
}

}  // namespace quern::testing
