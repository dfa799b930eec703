// SPDX-License-Identifier: Apache-2.0
// Hosts that use OpenMP themselves: teams that are smaller than a plan was made for would leave
// parts of oneDNN's results unwritten. The environment's limits are set by tests/commands.txt.
#include "kernels/contract/openmp.h"

#include <chrono>
#include <dlfcn.h>
#include <thread>

#include <quern/processor_time.h>

#include "tests/engine/engine_models.h"
#include "tests/engine/fork.h"
#include "tests/process_time.h"

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
  // Later runs of the session borrow it too.
  static const std::vector<Tensor> inputs = {pattern({4, 3, 40, 40})};
  return run(session, inputs);
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

// ---- fork() ------------------------------------------------------------------------------------

// A session of as many threads as the process may use, that has run.
struct Forker {
  Forker() : session(session_of(compile(conv_model()), 0)), expected(answers(*session)) {}
  bool runs() const { return answers(*session) == expected; }
  bool compiles_and_runs() const {
    return answers(*session_of(compile(conv_model()), 0)) == expected;
  }

  std::unique_ptr<Session> session;
  std::vector<std::vector<std::byte>> expected;
};

TEST(Fork, AChildRunsAndCompilesAsItsParentDid) {
  const Forker f;
  EXPECT_TRUE(holds_in_child([&] { return f.runs(); }));
  EXPECT_TRUE(f.runs()) << "the parent has a team again";
  EXPECT_TRUE(holds_in_child([&] { return f.compiles_and_runs(); }));
  EXPECT_TRUE(holds_in_child([&] { return f.runs() && holds_in_child([&] { return f.runs(); }); }))
      << "a child's child";
}

TEST(Fork, AChildOfAThreadRuns) {
  const Forker f;
  bool holds = false;
  std::thread([&] {
    holds = f.runs() && holds_in_child([&] { return f.runs() && f.compiles_and_runs(); });
  }).join();
  EXPECT_TRUE(holds);
  EXPECT_TRUE(f.runs());
}

TEST(Fork, AChildRunsThatWasForkedInARegion) {
  if (!open_openmp()) GTEST_SKIP() << "there is no libgomp";
  const Forker f;
  in_a_region([&] {
    EXPECT_TRUE(holds_in_child([&] { return f.runs() && f.runs() && f.compiles_and_runs(); }));
  });
}

TEST(Fork, AChildCountsItsOwnProcessorTime) {
  const Forker f;
  const int threads = f.session->threads();
  (void)processor_time(threads);
  EXPECT_TRUE(holds_in_child([&] {
    const auto began = processor_time(threads);
    return f.runs() && processor_time(threads) > began;
  }));
}

TEST(Fork, ASubmittedRunIsTheParents) {
  const Forker f;
  ASSERT_TRUE(f.session->submit().ok());
  while (!f.session->is_done()) std::this_thread::yield();
  EXPECT_TRUE(holds_in_child([&] {
    const Status status = f.session->wait();
    return status.code() == Code::invalid_argument && f.runs() && f.session->submit().ok() &&
           f.session->wait().ok();
  }));
  EXPECT_TRUE(f.session->wait().ok());
  EXPECT_TRUE(holds_in_child([&] { return f.session->submit().ok() && f.session->wait().ok(); }));
}

TEST(Fork, AChildMayEndASessionOfItsParent) {
  auto f = std::make_unique<Forker>();
  ASSERT_TRUE(f->session->submit().ok() && f->session->wait().ok());
  EXPECT_TRUE(holds_in_child([&] {
    f.reset();
    return true;
  }));
}

// ---- processor time ----------------------------------------------------------------------------

TEST(ProcessorTime, HasTheThreadsOfTheTeam) {
  const auto executable = compile(conv_model());
  for (const int threads : {1, 2}) {
    const auto session = session_of(executable, threads);
    const Tensor image = pattern({8, 3, 160, 160});
    must(session->set_input(0, image.view()));
    must(session->run());
    (void)processor_time(session->threads());
    const auto all = process_time();
    const auto mine = processor_time(session->threads());
    for (int i = 0; i < 20; ++i) must(session->run());
    const double counted = static_cast<double>((processor_time(session->threads()) - mine).count());
    const double whole = static_cast<double>((process_time() - all).count());
    EXPECT_LE(counted, 1.01 * whole);
    EXPECT_GE(counted, 0.95 * whole) << threads;
  }
}

}  // namespace
}  // namespace quern::testing
