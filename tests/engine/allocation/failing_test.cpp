// SPDX-License-Identifier: Apache-2.0
// Every allocation may fail: a child process refuses one of them, or all from one on, while a model
// is read, compiled and run. The answer is a value (out_of_memory), or the work succeeds without;
// afterwards the same session and a new one give the right numbers. Where the allocation was that
// of a library that dies of it, the test names it.
//
// A sample is tried; QUERN_REFUSE_EVERY=1 tries each allocation, which takes some minutes.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <new>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/vocabulary/guarded.h"
#include "tests/engine/allocation/counter.h"
#include "tests/engine/engine_models.h"
#include "tests/engine/test_models.h"

namespace quern {
namespace {

using quern::testing::Failing;
using quern::testing::must;
using quern::testing::pattern;

struct Work {
  std::string name;
  std::function<Model()> build;  // by a GraphBuilder, whose calls may throw
  std::string path;              // or read from this file
  std::vector<Tensor> inputs;
  int threads = 1;
};

// A child writes its report into memory that it shares with its parent.
enum class Ending : std::uint8_t { died, succeeded, refused, other_code, threw, wrong_after };
struct Report {
  Ending ending;
  std::uint64_t asked;
  char library[256];  // in which it died
  char message[256];
};

// One model, from its making to its numbers.
class Attempt {
 public:
  explicit Attempt(const Work& work) : work_(work) {
    if (work.build) model_ = work.build();
  }

  Status all() {
    if (!model_) {
      QUERN_ASSIGN(model_, load_onnx(work_.path));
    }
    CompileOptions options;
    options.threads = work_.threads;
    QUERN_ASSIGN(auto executable, Executable::compile(std::move(*model_), nullptr, options));
    QUERN_ASSIGN(session_, Session::create(std::move(executable)));
    return again();
  }
  bool has_session() const { return session_ != nullptr; }
  Status again() {
    for (std::size_t i = 0; i < work_.inputs.size(); ++i)
      QUERN_TRY(session_->set_input(i, work_.inputs[i].view()));
    return session_->run();
  }
  std::vector<float> numbers() const {
    std::vector<float> all;
    for (std::size_t i = 0; i < session_->executable().outputs().size(); ++i) {
      const TensorView v = must(session_->output(i));
      if (v.type.dtype != DType::f32) continue;
      all.insert(all.end(), v.as<float>(), v.as<float>() + v.type.shape.elements());
    }
    return all;
  }

 private:
  const Work& work_;
  std::optional<Model> model_;
  std::unique_ptr<Session> session_;
};

// oneDNN may have been lost for good, so that the last bits differ.
bool agree(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= 1e-4F * (1 + std::abs(b[i])))) return false;
  return true;
}

Status refused_work(Attempt& attempt, Report& report, std::uint64_t first, Failing failing) {
  try {
    testing::refuse_allocations(first, failing);
    Status status = attempt.all();
    report.asked = testing::allow_allocations();
    return status;
  } catch (...) {
    report.asked = testing::allow_allocations();
    throw;
  }
}

// The work of a child; `wanted` are the numbers without a failure, empty while nobody knows them.
Ending attempt(const Work& work, const std::vector<float>& wanted, std::uint64_t first,
               Failing failing, Report& report) {
  Attempt refused(work);
  Ending ending = Ending::succeeded;
  try {
    const Status status = refused_work(refused, report, first, failing);
    if (!status.ok())
      ending = status.code() == Code::out_of_memory ? Ending::refused : Ending::other_code;
    std::strncpy(report.message, std::string(status.message()).c_str(), sizeof report.message - 1);
  } catch (const std::exception& e) {
    std::strncpy(report.message, e.what(), sizeof report.message - 1);
    ending = Ending::threw;
  }
  if (ending == Ending::threw || ending == Ending::other_code || wanted.empty()) return ending;
  Attempt fresh(work);
  for (Attempt* a : {&refused, &fresh}) {
    if (a == &refused && !a->has_session()) continue;
    const Status status = a->has_session() ? a->again() : a->all();
    if (status.ok() && agree(a->numbers(), wanted)) continue;
    std::snprintf(report.message, sizeof report.message, "%s: %s",
                  a == &refused ? "the same session" : "a new one",
                  status.ok() ? "other numbers" : std::string(status.message()).c_str());
    return Ending::wrong_after;
  }
  return ending;
}

Report* of_this_child = nullptr;

// This runs when a child dies or a library ends it, and notes the library that did so.
void note_death(int /*signal*/) {
  (void)testing::allow_allocations();
  testing::name_innermost_library(of_this_child->library, sizeof of_this_child->library);
  _exit(1);
}

template <class T>
T* shared_with_children(std::size_t count) {
  return static_cast<T*>(
      mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

// Computed by a child: this process stays as it was, without oneDNN and threads.
std::vector<float> numbers_of(const Work& work) {
  constexpr std::size_t most = 1 << 16;
  auto* shared = shared_with_children<float>(most + 1);
  if (const pid_t pid = fork(); pid == 0) {
    Attempt plain(work);
    must(plain.all());
    const std::vector<float> numbers = plain.numbers();
    if (numbers.size() > most) _exit(1);
    std::ranges::copy(numbers, shared + 1);
    shared[0] = static_cast<float>(numbers.size());
    _exit(0);
  } else {
    waitpid(pid, nullptr, 0);
  }
  std::vector<float> numbers(shared + 1, shared + 1 + static_cast<std::size_t>(shared[0]));
  munmap(shared, (most + 1) * sizeof(float));
  return numbers;
}

class Child {
 public:
  Child() : report_(shared_with_children<Report>(1)) {}
  ~Child() { munmap(report_, sizeof(Report)); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  Report operator()(const Work& work, const std::vector<float>& wanted, std::uint64_t first,
                    Failing failing) {
    *report_ = {};
    const pid_t child = fork();
    if (child == 0) {
      of_this_child = report_;
      for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGALRM}) std::signal(signal, note_death);
      std::atexit([] { note_death(0); });
      alarm(10);
      (void)!std::freopen("/dev/null", "w", stderr);  // the last words of libraries
      report_->ending = attempt(work, wanted, first, failing, *report_);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    // Without memory for what is local to a thread, the dynamic loader ends the process so.
    constexpr int of_loader = 127;
    if (WIFEXITED(status) && WEXITSTATUS(status) == of_loader)
      std::strncpy(report_->library, "ld.so", sizeof report_->library - 1);
    return *report_;  // zeros where it died
  }

 private:
  Report* report_;
};

std::vector<Work> works() {
  std::vector<Work> all;
  const auto add = [&](std::string name, std::function<Model()> build, const Shape& shape,
                       int threads) {
    Work& work = all.emplace_back();
    work.name = std::move(name);
    work.build = std::move(build);
    work.inputs.push_back(pattern(shape));
    work.threads = threads;
  };
  add("Digits", {}, {1, 1, 28, 28}, 1);
  all.back().path = QUERN_SOURCE_DIR "/examples/digits/digits.onnx";
  add("Transformer", testing::transformer_model, {48, 32}, 2);
  add("Lstm", testing::lstm_model, {20, 1, 16}, 1);
  add("Chosen", testing::chosen_rows_model, {64, 64}, 2);
  all.back().inputs.push_back(testing::first_rows(64, 17));
  return all;
}

TEST(Refused, AnErrorNeedsNoMemory) {
  if (!testing::can_count_allocations()) GTEST_SKIP() << "malloc belongs to somebody else here";
  std::string sentence(100, 'x');
  testing::refuse_allocations(0, Failing::all);
  Status status(Code::invalid_argument, std::move(sentence));
  Status same = status.copy();
  Status thrown = guarded([]() -> Status { throw std::bad_alloc(); });
  testing::allow_allocations();
  for (const Status* s : {&status, &same, &thrown}) {
    EXPECT_EQ(s->code(), Code::out_of_memory);
    EXPECT_EQ(s->message(), "the system has no more memory");
  }
  EXPECT_EQ(std::move(same).in("here").message(), "the system has no more memory");
}

// By its name it is run before tests that start threads, which no child has.
class RefusedWorkDeathTest : public ::testing::TestWithParam<std::tuple<std::size_t, Failing>> {};

TEST_P(RefusedWorkDeathTest, IsAnErrorAndNoMore) {
  if (!testing::can_count_allocations()) GTEST_SKIP() << "malloc belongs to somebody else here";
  const auto [at, failing] = GetParam();
  const Work work = std::move(works()[at]);
  Child child;
  const Report whole = child(work, {}, ~std::uint64_t{0}, Failing::one);
  ASSERT_EQ(whole.ending, Ending::succeeded) << whole.message;
  ASSERT_GT(whole.asked, 500U);
  const std::vector<float> wanted = numbers_of(work);
  ASSERT_FALSE(wanted.empty());

  const char* every = std::getenv("QUERN_REFUSE_EVERY");
  const std::uint64_t step = every ? static_cast<std::uint64_t>(std::atoi(every))
                                   : std::max<std::uint64_t>(1, whole.asked / 60);
  std::map<std::string, int> of_libraries;
  std::map<Ending, int> endings;
  const std::string own = "engine_allocation_tests";
  // Runs come last, and need little: each of the last ones is refused, too.
  constexpr std::uint64_t last = 40;
  std::vector<std::uint64_t> refused;
  for (std::uint64_t first = step / 2; first < whole.asked; first += step) refused.push_back(first);
  for (std::uint64_t first = whole.asked - last; first < whole.asked; ++first)
    refused.push_back(first);
  for (const std::uint64_t first : refused) {
    const Report r = child(work, wanted, first, failing);
    ++endings[r.ending];
    if (r.ending == Ending::succeeded || r.ending == Ending::refused) continue;
    const std::string_view library = r.library;
    const bool is_theirs = r.ending == Ending::died && !library.empty() && library != own;
    if (is_theirs) ++of_libraries[r.library];
    EXPECT_TRUE(is_theirs) << "allocation " << first << " of " << whole.asked << " (" << library
                           << "): ending " << static_cast<int>(r.ending) << " " << r.message;
  }
  std::printf(
      "%-12s %llu allocations, every %llu and the last %llu: %d succeeded, %d out of memory",
      work.name.c_str(), static_cast<unsigned long long>(whole.asked),
      static_cast<unsigned long long>(step), static_cast<unsigned long long>(last),
      endings[Ending::succeeded], endings[Ending::refused]);
  for (const auto& [library, count] : of_libraries)
    std::printf(", %d lost in %s", count, library.c_str());
  std::printf("\n");
}

INSTANTIATE_TEST_SUITE_P(Works, RefusedWorkDeathTest,
                         ::testing::Combine(::testing::Range<std::size_t>(0, 4),
                                            ::testing::Values(Failing::one, Failing::all)),
                         [](const auto& info) {
                           return works()[std::get<0>(info.param)].name +
                                  (std::get<1>(info.param) == Failing::one ? "One" : "All");
                         });

}  // namespace
}  // namespace quern
