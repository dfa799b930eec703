// SPDX-License-Identifier: Apache-2.0
// Threads that wait for work sleep: two threads that share the work of short runs with gaps between
// them take hardly more CPU time than one thread for all of it. With libgomp's own settings
// (GOMP_SPINCOUNT=300000 shows it) they take several times as much, and two processes on two cores
// starve each other.
#include <chrono>
#include <cstdlib>
#include <thread>
#include <unistd.h>

#include "tests/engine/engine_models.h"
#include "tests/process_time.h"

namespace quern {
namespace {

using quern::testing::must;
using quern::testing::process_ms;

// CPU time of all threads for 150 runs.
double cost_ms(int threads) {
  const auto session = testing::session_of(testing::compile(testing::conv_model()), threads);
  const Tensor image = testing::pattern({1, 3, 96, 96});
  must(session->set_input(0, image.view()));
  must(session->run());
  const double before = process_ms();
  for (int i = 0; i < 150; ++i) {
    must(session->run());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return process_ms() - before;
}

TEST(IdleThreads, Sleep) {
  if (std::getenv("OMP_WAIT_POLICY")) GTEST_SKIP() << "the environment decides";
  const double one = cost_ms(1);
  const double two = cost_ms(2);
  EXPECT_LT(two, 2 * one + 30) << "one thread takes " << one << " ms";
}

// The variable that makes them sleep is libgomp's alone.
TEST(IdleThreads, LeaveTheEnvironmentAsItWas) {
  char** const before = environ;
  const bool chosen = std::getenv("GOMP_SPINCOUNT") != nullptr;
  (void)cost_ms(1);
  EXPECT_EQ(environ, before);
  EXPECT_EQ(std::getenv("GOMP_SPINCOUNT") != nullptr, chosen);
}

}  // namespace
}  // namespace quern
