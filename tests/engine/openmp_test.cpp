// SPDX-License-Identifier: Apache-2.0
// Hosts that use OpenMP themselves: teams that are smaller than a plan was made for would leave
// parts of oneDNN's results unwritten. The environment's limits are set by tests/commands.txt.
#include "kernels/contract/openmp.h"

#include <dlfcn.h>

#include "tests/engine/engine_models.h"

namespace quern::testing {
namespace {

// Runs `body` on the first thread of a parallel region of two.
void in_a_region(const std::function<void()>& body) {
  ASSERT_TRUE(open_openmp());
  void* library = ::dlopen("libgomp.so.1", RTLD_NOW);
  const auto parallel = reinterpret_cast<void (*)(void (*)(void*), void*, unsigned, unsigned)>(
      ::dlsym(library, "GOMP_parallel"));
  static const auto thread_num =
      reinterpret_cast<int (*)()>(::dlsym(library, "omp_get_thread_num"));
  ASSERT_TRUE(parallel && thread_num);
  parallel(
      [](void* f) {
        if (thread_num() == 0) (*static_cast<const std::function<void()>*>(f))();
      },
      const_cast<std::function<void()>*>(&body), 2, 0);
  ::dlclose(library);
}

std::vector<std::vector<std::byte>> answers(Session& session) {
  return run(session, {pattern({4, 3, 40, 40})});
}

std::vector<std::vector<std::byte>> wanted() {
  return answers(*session_of(compile(conv_model()), 1));
}

TEST(OpenMpHost, MayRunInsideOfItsRegion) {
  if (!open_openmp()) GTEST_SKIP() << "there is no libgomp";
  const auto session = session_of(compile(conv_model()), 2);
  EXPECT_EQ(answers(*session), wanted());
  in_a_region([&] {
    // The environment may give the region one thread.
    const auto team = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, "omp_get_num_threads"));
    EXPECT_EQ(in_openmp_team(), team() > 1);
    EXPECT_EQ(answers(*session), wanted());
  });
  EXPECT_EQ(answers(*session), wanted()) << "outside again";
}

TEST(OpenMpHost, MayCompileAndPlanInsideOfItsRegion) {
  if (!open_openmp()) GTEST_SKIP() << "there is no libgomp";
  std::unique_ptr<Session> session;
  in_a_region([&] {
    session = session_of(compile(conv_model()), 2);
    EXPECT_EQ(answers(*session), wanted());
  });
  EXPECT_EQ(answers(*session), wanted());
}

TEST(OpenMpHost, KeepsItsOwnSettings) {
  if (!open_openmp()) GTEST_SKIP() << "there is no libgomp";
  const auto get = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
  const auto set = reinterpret_cast<void (*)(int)>(::dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  ASSERT_TRUE(get && set);
  set(3);
  answers(*session_of(compile(conv_model()), 2));
  EXPECT_EQ(get(), 3);
}

// The environment may allow fewer threads than wanted, but never none.
TEST(OpenMpHost, ARunHasOneToAsManyThreadsAsThereAreCpus) {
  EXPECT_EQ(threads_of_run(1), 1);
  EXPECT_GE(threads_of_run(0), 1);
  EXPECT_LE(threads_of_run(0), default_threads());
  EXPECT_EQ(threads_of_run(default_threads() + 62), threads_of_run(0));
  EXPECT_EQ(threads_of_run(-1), threads_of_run(0));
}

TEST(OpenMpHost, ASessionTellsItsThreads) {
  const auto executable = compile(conv_model(), "cpu", {.threads = 1000});
  EXPECT_EQ(session_of(executable, 0)->threads(), threads_of_run(0));
  EXPECT_EQ(session_of(executable, 1)->threads(), 1);
  EXPECT_EQ(session_of(executable, 1000)->threads(), threads_of_run(0));
}

}  // namespace
}  // namespace quern::testing
