// SPDX-License-Identifier: Apache-2.0
// Computes on a pool of threads: the host's, or the one that all tenants share that ask for it.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <quern/thread_pool.h>

#include "frontends/wasi-nn/config.h"
#include "frontends/wasi-nn/instance.h"
#include "tests/process_time.h"
#include "tests/serial_pool.h"
#include "tests/wasi-nn/models.h"

namespace quern::wasi_nn_test {
namespace {

using namespace quern::wasi_nn;  // NOLINT
using quern::testing::process_time;
using quern::testing::SerialPool;

// A context of a tenant, ready to compute the product of ones.
struct Products {
  std::shared_ptr<Instance> instance;
  ContextUse use;

  explicit Products(const std::shared_ptr<Tenant>& tenant) : instance(Instance::create(tenant)) {
    const std::string model = slow_model(30);
    const Bytes part = as_bytes(model);
    Handle graph = 0, context = 0;
    EXPECT_TRUE(instance->load({&part, 1}, Encoding::onnx, Target::cpu, &graph).ok());
    EXPECT_TRUE(instance->init_execution_context(graph, std::nullopt, &context).ok());
    EXPECT_TRUE(instance->use(context, &use).ok());
    const std::vector<float> ones(std::size_t{512} * 512, 1);
    EXPECT_TRUE(use.set_input(0, {DType::f32, {512, 512}}, as_bytes(ones)).ok());
  }
};

TEST(TenantThreadPool, RunsTheComputesOfAllThatHaveIt) {
  const auto pool = std::make_shared<SerialPool>(3);
  int before = 0;
  for (int i = 0; i < 2; ++i) {
    Products products(Tenant::create({.thread_pool = pool}));
    EXPECT_TRUE(products.use.compute().ok());
    EXPECT_GE(pool->tasks, before + 3) << i;
    before = pool->tasks;
  }
  Products one(Tenant::create({.threads = 1, .thread_pool = pool}));
  EXPECT_TRUE(one.use.compute().ok());
  EXPECT_EQ(pool->tasks, before) << "a compute of one thread stays on its caller's";
}

// The threads that help are counted for the tenant that they help, as those of OpenMP are.
TEST(TenantThreadPool, TimeOfItsThreadsIsThatOfTheCompute) {
  const auto tenant = Tenant::create({.thread_pool = make_thread_pool(2).value()});
  Products products(tenant);
  ASSERT_TRUE(products.use.compute().ok());
  const auto counted = tenant->figures().activity.compute_time;
  const auto began = process_time();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(products.use.compute().ok());
  const auto all = static_cast<double>((process_time() - began).count());
  const auto mine =
      static_cast<double>((tenant->figures().activity.compute_time - counted).count());
  EXPECT_LE(mine, 1.01 * all);
  EXPECT_GE(mine, 0.9 * all) << "but for the while that threads look for tasks";
}

TEST(TenantThreadPool, TheOneOfTheProcessIsSharedWhereAFileSaysSo) {
  const auto tenant_of = [](std::string_view text) {
    Config config;
    std::shared_ptr<Tenant> tenant;
    EXPECT_TRUE(read_config(text, "here", &config).ok());
    const bool is_made = create_tenant(config, &tenant).ok();
    EXPECT_EQ(is_made, tenant != nullptr);
    return tenant;
  };
  EXPECT_EQ(tenant_of("{}")->options().thread_pool, nullptr);
  EXPECT_EQ(tenant_of(R"({"thread_pool": false})")->options().thread_pool, nullptr);
  EXPECT_EQ(tenant_of(R"({"weight": 5})"), nullptr) << "of what?";
  const auto one = tenant_of(R"({"thread_pool": true})");
  const auto other = tenant_of(R"({"thread_pool": true, "weight": 5})");
  const auto shared = shared_thread_pool().value();
  for (const auto& tenant : {one, other}) {
    ASSERT_NE(tenant->options().thread_pool, nullptr);
    EXPECT_EQ(tenant->options().thread_pool->threads(), shared->threads());
  }
  EXPECT_EQ(shared, shared_thread_pool().value()) << "as long as tenants have it";
  Products products(one);
  EXPECT_TRUE(products.use.compute().ok());
}

}  // namespace
}  // namespace quern::wasi_nn_test
