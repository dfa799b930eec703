// SPDX-License-Identifier: Apache-2.0
// Holds a device to the CPU, family by family. What fails is printed as the text of its graph.
#pragma once

#include <cmath>
#include <cstring>

#include "tests/engine/all_families.h"
#include "tests/engine/engine_test.h"

namespace quern::testing {

// Both round, in another order of sums.
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

// On `device` as on the CPU.
inline void expect_like_cpu(const Family& family, const std::shared_ptr<Device>& device,
                            const CompileOptions& options = {}) {
  const auto on_cpu = compile(family.make());
  SCOPED_TRACE(std::string(family.name) + " on " + device->info().name + ", strategy '" +
               options.strategy + "'\n" + on_cpu->text());
  const auto on_device = must(Executable::compile(family.make(), device, options));
  const auto inputs = inputs_of(*on_cpu);
  const auto found = run(*session_of(on_device), inputs);
  const auto wanted = run(*session_of(on_cpu), inputs);
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    SCOPED_TRACE(on_cpu->outputs()[i].name);
    expect_close(found[i], wanted[i], on_cpu->outputs()[i].dtype);
  }
}

}  // namespace quern::testing
