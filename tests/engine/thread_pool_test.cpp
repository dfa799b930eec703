// SPDX-License-Identifier: Apache-2.0
// Sessions whose kernels run on the threads of a pool, quern's or a host's: the same answers, no
// other threads, no more than were asked for.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <thread>

#include <quern/processor_time.h>
#include <quern/thread_pool.h>

#include "tests/engine/engine_models.h"
#include "tests/process_time.h"
#include "tests/serial_pool.h"

namespace quern::testing {
namespace {

struct PoolModel {
  const char* name;
  Model (*make)();
  std::vector<Tensor> inputs;
  bool is_wide;  // large enough for several threads, by oneDNN too
};

Model wide_conv_model() {
  GraphBuilder g("wide");
  Operand x = g.input("x", DType::f32, {"n", 32, 28, 28});
  for (int i = 0; i < 3; ++i) {
    const Operand w = g.constant(pattern({i == 1 ? 96 : 32, i == 2 ? 96 : 32, 3, 3}, i));
    x = g.relu(g.conv(x, w, {}, {.pads = {1, 1, 1, 1}}));
  }
  g.output("y", g.matmul(x, g.constant(pattern({28, 200}))));
  return must(g.build(), "build");
}

std::vector<PoolModel> pool_models() {
  std::vector<PoolModel> all;
  all.push_back({"wide, one image", wide_conv_model, {pattern({1, 32, 28, 28})}, true});
  all.push_back({"wide, five images", wide_conv_model, {pattern({5, 32, 28, 28})}, true});
  all.push_back({"convolutions", conv_model, {pattern({4, 3, 40, 40})}, false});
  return all;
}

std::unique_ptr<Session> pool_session(Model model, std::shared_ptr<ThreadPool> pool,
                                      int threads = 0) {
  return must(Session::create(compile(std::move(model)),
                              {.threads = threads, .thread_pool = std::move(pool)}));
}

std::vector<float> first_output(Session& session, const std::vector<Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) must(session.set_input(i, inputs[i].view()));
  must(session.run());
  const auto y = must(session.output(0)).span<float>();
  return {y.begin(), y.end()};
}

void expect_close(const std::vector<float>& found, const std::vector<float>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  double scale = 1;
  for (const float v : wanted) scale = std::max<double>(scale, std::abs(v));
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], wanted[i], 2e-5 * scale) << "element " << i;
}

TEST(ThreadPool, GivesTheAnswersOfOpenMp) {
  for (const PoolModel& m : pool_models()) {
    SCOPED_TRACE(m.name);
    const auto wanted = first_output(*session_of(compile(m.make()), 1), m.inputs);
    for (const int threads : {1, 2, 3, 8}) {
      const auto own = must(make_thread_pool(threads));
      const auto serial = std::make_shared<SerialPool>(threads);
      for (const auto& pool : {own, std::shared_ptr<ThreadPool>(serial)}) {
        const auto session = pool_session(m.make(), pool);
        EXPECT_EQ(session->threads(), threads);
        const auto first = first_output(*session, m.inputs);
        expect_close(first, wanted);
        EXPECT_EQ(first_output(*session, m.inputs), first) << "other bits the second time";
      }
      if (threads == 1 || m.is_wide || has_onednn())
        EXPECT_EQ(serial->tasks > 0, threads > 1 && m.is_wide);
    }
  }
}

TEST(ThreadPool, IsThatOfTheExecutableUnlessTheSessionHasAnother) {
  const auto a = std::make_shared<SerialPool>(3), b = std::make_shared<SerialPool>(2);
  const auto executable = compile(wide_conv_model(), "cpu", {.thread_pool = a});
  const std::vector<Tensor> inputs = {pattern({2, 32, 28, 28})};
  const auto of_executable = must(Session::create(executable));
  EXPECT_EQ(of_executable->threads(), 3);
  first_output(*of_executable, inputs);
  EXPECT_GT(a->tasks, 0);
  EXPECT_EQ(b->tasks, 0);
  const int before = a->tasks;
  const auto own = must(Session::create(executable, {.thread_pool = b}));
  EXPECT_EQ(own->threads(), 2);
  first_output(*own, inputs);
  EXPECT_EQ(a->tasks, before);
  EXPECT_GT(b->tasks, 0);
}

TEST(ThreadPool, LendsARunNoMoreThreadsThanItAskedFor) {
  const auto pool = std::make_shared<SerialPool>(16);
  EXPECT_EQ(pool_session(wide_conv_model(), pool, 3)->threads(), 3);
  EXPECT_EQ(pool_session(wide_conv_model(), pool, 99)->threads(), 16);
  const auto one = pool_session(wide_conv_model(), pool, 1);
  EXPECT_EQ(one->threads(), 1);
  first_output(*one, {pattern({2, 32, 28, 28})});
  EXPECT_EQ(pool->tasks, 0) << "a run of one thread stays on its caller's";
}

std::ptrdiff_t threads_of_process() {
  const std::filesystem::directory_iterator all("/proc/self/task");
  return std::distance(begin(all), end(all));
}

// A team of OpenMP's threads stays with the thread that it was made for.
TEST(ThreadPool, HasAllThreadsThatKernelsRunOn) {
  const std::vector<Tensor> inputs = {pattern({2, 32, 28, 28})};
  const auto executable = compile(wide_conv_model());
  std::thread([&] {
    const std::ptrdiff_t before = threads_of_process();
    const auto session =
        must(Session::create(executable, {.thread_pool = std::make_shared<SerialPool>(4)}));
    first_output(*session, inputs);
    EXPECT_EQ(threads_of_process(), before);
    const auto openmp = session_of(executable, 2);
    first_output(*openmp, inputs);
    EXPECT_EQ(threads_of_process(), before + openmp->threads() - 1);
  }).join();
}

// oneDNN's convolutions keep the number of threads that they are made for.
TEST(OpenMpTeam, IsNotWokenForASmallConvolution) {
  GraphBuilder g("small");
  const Operand x = g.input("x", DType::f32, {1, 24, 1, 33});
  g.output("y", g.conv(x, g.constant(pattern({16, 24, 1, 1}))));
  const auto executable = compile(must(g.build()), "cpu", {.threads = 2});
  std::thread([&] {
    const std::ptrdiff_t before = threads_of_process();
    const auto session = session_of(executable, 2);
    first_output(*session, {pattern({1, 24, 1, 33})});
    EXPECT_EQ(threads_of_process(), before);
  }).join();
}

TEST(ThreadPool, ServesManySessionsAtOneTime) {
  const auto pool = must(make_thread_pool(3));
  const auto executable = compile(wide_conv_model(), "cpu", {.thread_pool = pool});
  const std::vector<Tensor> inputs = {pattern({2, 32, 28, 28})};
  const auto wanted = first_output(*must(Session::create(executable)), inputs);
  std::vector<std::thread> hosts;
  for (int h = 0; h < 4; ++h)
    hosts.emplace_back([&] {
      const auto session = must(Session::create(executable));
      for (int i = 0; i < 5; ++i) EXPECT_EQ(first_output(*session, inputs), wanted);
    });
  for (std::thread& t : hosts) t.join();
}

TEST(ThreadPool, OutlivesItsOwnersHandle) {
  std::unique_ptr<Session> session;
  {
    auto pool = must(make_thread_pool(2));
    session = pool_session(wide_conv_model(), std::move(pool));
  }
  first_output(*session, {pattern({1, 32, 28, 28})});
}

TEST(ThreadPool, ARunEndsAtItsDeadline) {
  GraphBuilder g("long");
  const Operand a = g.input("a", DType::f32, {3000, 3000});
  g.output("y", g.matmul(a, a));
  const auto session = pool_session(must(g.build()), must(make_thread_pool(2)));
  const Tensor input = pattern({3000, 3000});
  must(session->set_input(0, input.view()));
  must(session->prepare());
  constexpr double most_ms = sanitized ? 6000 : 300;
  const auto ended_run = [&] {
    return process_ms_of([&] {
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
      EXPECT_EQ(session->run_until(deadline).code(), Code::timed_out);
    });
  };
  EXPECT_LT(least_of(most_ms, ended_run), most_ms);
}

// The time of a pool's threads counts for the run that they worked for.
TEST(ThreadPool, TimeOfItsThreadsCountsForTheCaller) {
  const auto pool = must(make_thread_pool(2));
  const auto session = pool_session(wide_conv_model(), pool);
  const std::vector<Tensor> inputs = {pattern({16, 32, 28, 28})};
  first_output(*session, inputs);
  const auto before = processor_time(2);
  const double process_before = process_ms();
  for (int i = 0; i < 5; ++i) first_output(*session, inputs);
  const double counted =
      std::chrono::duration<double, std::milli>(processor_time(2) - before).count();
  const double used = process_ms() - process_before;
  EXPECT_GT(counted, 0.8 * used);
  EXPECT_LT(counted, 1.2 * used);
}

}  // namespace
}  // namespace quern::testing
