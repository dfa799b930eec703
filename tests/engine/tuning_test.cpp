// SPDX-License-Identifier: Apache-2.0
// Implementations that are chosen by measuring: the table, its file, and what compiling makes of
// it.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <quern/artefact.h>
#include <quern/tuning.h>

#include "tests/engine/every_device.h"
#include "tests/expect.h"

namespace quern::testing {
namespace {

// A 3x3 with what is fused into it, a 1x1, and a product. The 3x3 has few channels, so that
// Winograd's form, which rounds more, stays near the others.
Model tuned_model() {
  GraphBuilder g("tuned");
  const Operand x = floats(g, "x", {1, 4, 20, 20});
  const Operand a = g.named("wide", g.relu(g.conv(x, weights(g, {48, 4, 3, 3}, 1),
                                                  weights(g, {48}, 2), {.pads = {1, 1, 1, 1}})));
  const Operand b = g.named("narrow", g.conv(a, weights(g, {24, 48, 1, 1}, 3)));
  g.output("rows", g.matmul(g.reshape(b, {24, 400}), weights(g, {400, 16}, 4)));
  return must(g.build());
}

// Maps of 590 kB, of which two live at a time, between smaller ones. Windows of 5x5 have no form of
// Winograd's, which a plan in stripes has not and which rounds more.
Model model_of_large_maps() {
  GraphBuilder g("maps");
  Operand x = floats(g, "x", {1, 4, 96, 96});
  std::uint64_t layer = 0;
  for (const std::int64_t channels : {16, 16, 16, 4}) {
    const std::int64_t before = layer == 0 ? 4 : 16;
    const Operand w = weights(g, {channels, before, 5, 5}, ++layer);
    x = g.relu(g.conv(x, w, {}, {.pads = {2, 2, 2, 2}}));
  }
  g.output("y", x);
  return must(g.build());
}

CompileOptions tuned_options(const Tuning& tuning) {
  CompileOptions o{.threads = 1};
  o.tuning = std::make_shared<const Tuning>(tuning);
  return o;
}

std::shared_ptr<const Executable> compiled(const Tuning& tuning) {
  return must(Executable::compile(tuned_model(), nullptr, tuned_options(tuning)));
}

// The steps with a choice of implementations, the reference apart.
std::vector<StepInfo> steps_with_a_choice(const std::shared_ptr<const Executable>& executable) {
  const auto session = session_of(executable);
  (void)run(*session, inputs_of(*executable));
  std::vector<StepInfo> steps;
  for (const StepInfo& s : session->plan_info().steps)
    if (s.entries.size() > 2) steps.push_back(s);
  return steps;
}

class File {
 public:
  explicit File(const std::string& name)
      : path_(::testing::TempDir() + name + std::to_string(::getpid())) {}
  ~File() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  const std::string& path() const { return path_; }
  std::string text() const {
    std::ostringstream all;
    all << std::ifstream(path_).rdbuf();
    return all.str();
  }
  void write(const std::string& text) const { std::ofstream(path_) << text; }

 private:
  std::string path_;
};

TEST(Tuning, ItsFileSaysTheSameWhenItIsReadAgain) {
  Tuning tuning;
  tuning.set({"Conv a", "rows", {{"onednn", 2.5}, {"rows", 1.25}}});
  tuning.set({"Conv b", "onednn", {}});
  tuning.set({"Conv a", "onednn", {{"onednn", 1}, {"rows", 1.5}}});  // replaces
  const File file("tuning-again-");
  ASSERT_TRUE(tuning.save(file.path()).ok());
  const Tuning read = must(Tuning::load(file.path()));
  ASSERT_EQ(read.size(), 2U);
  const Tuning::Row* row = read.find("Conv a");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->entry, "onednn");
  ASSERT_EQ(row->candidates.size(), 2U);
  EXPECT_EQ(row->candidates[1].entry, "rows");
  EXPECT_DOUBLE_EQ(row->candidates[1].us, 1.5);
  EXPECT_EQ(read.find("Conv c"), nullptr);
}

TEST(Tuning, WhatHoldsForOtherMachinesIsNotTaken) {
  Tuning tuning;
  tuning.set({"Conv a", "rows", {}});
  const File file("tuning-other-");
  ASSERT_TRUE(tuning.save(file.path()).ok());
  std::string text = file.text();
  const std::size_t cpu = text.find("\ncpu ");
  ASSERT_NE(cpu, text.npos);
  text.insert(cpu + 5, "another ");
  file.write(text);
  EXPECT_EQ(must(Tuning::load(file.path())).size(), 0U);
  EXPECT_EQ(must(Tuning::load(file.path() + ".not-there")).size(), 0U);
}

TEST(Tuning, FilesThatAreNoneAreErrorsThatNameTheLine) {
  Tuning tuning;
  tuning.set({"Conv a", "rows", {{"rows", 1}}});
  const File file("tuning-broken-");
  ASSERT_TRUE(tuning.save(file.path()).ok());
  const std::string whole = file.text();
  for (const char* line : {"no fields\n", "work\t\n", "\tentry\n", "work\tentry\tx\n",
                           "work\tentry\tx=\n", "work\tentry\tx=-1\n", "work\tentry\tx=nan\n",
                           "work\tentry\t=1\n", "work\tentry\tx=1e999\n", "work\tentry\tx=1z\n"}) {
    file.write(whole + line);
    const auto read = Tuning::load(file.path());
    ASSERT_FALSE(read) << line;
    EXPECT_EQ(read.error().code(), Code::invalid_argument);
    EXPECT_CONTAINS(read.error().message(), "line 7 ");
  }
  file.write("\x89PNG");
  EXPECT_CONTAINS(Tuning::load(file.path()).error().message(), "is no tuning");
  EXPECT_EQ(Tuning::load(::testing::TempDir()).error().code(), Code::invalid_argument);
}

// Any bytes after the lines that name this machine: an answer, and no more rows than lines.
TEST(Tuning, ReadsAnyFile) {
  const File file("tuning-any-");
  ASSERT_TRUE(Tuning().save(file.path()).ok());
  const std::string title = file.text();
  std::mt19937 random(3);
  for (int n = 0; n < 500; ++n) {
    std::string text = title;
    for (unsigned i = random() % 200; i > 0; --i) text += "\t\n=1.e-aw\0"[random() % 10];
    file.write(text);
    const auto read = Tuning::load(file.path());
    if (read)
      EXPECT_LE(read->size(), static_cast<std::size_t>(std::ranges::count(text, '\n')));
    else
      EXPECT_EQ(read.error().code(), Code::invalid_argument);
  }
}

TEST(Tuning, TakesWhatIsNamedAndItsResultsAgree) {
  const auto usual = compiled(Tuning());
  const auto inputs = inputs_of(*usual);
  const auto wanted = run(*session_of(usual), inputs);
  for (const StepInfo& step : steps_with_a_choice(usual)) {
    ASSERT_FALSE(step.work.empty()) << step.node;
    for (const std::string& entry : step.entries) {
      SCOPED_TRACE(step.work + " by " + entry);
      Tuning tuning;
      tuning.set({step.work, entry, {}});
      const auto executable = compiled(tuning);
      const auto found = run(*session_of(executable), inputs);
      for (std::size_t i = 0; i < wanted.size(); ++i)
        quern::testing::expect_close(found[i], wanted[i], DType::f32);
    }
  }
}

TEST(Tuning, NamesThatAreNoneLeaveTheChoiceAsItIs) {
  const auto usual = compiled(Tuning());
  for (const StepInfo& step : steps_with_a_choice(usual)) {
    Tuning tuning;
    tuning.set({step.work, "nothing of this name", {}});
    const auto steps = steps_with_a_choice(compiled(tuning));
    const auto same = std::ranges::find(steps, step.work, &StepInfo::work);
    ASSERT_NE(same, steps.end());
    EXPECT_EQ(same->entry, step.entry);
  }
}

// An implementation that is named is in the file of the compiled model, too.
TEST(Tuning, ArtefactsKeepTheChoices) {
  for (const StepInfo& step : steps_with_a_choice(compiled(Tuning()))) {
    Tuning tuning;
    tuning.set({step.work, "rows", {}});
    const auto made = compiled(tuning);
    const auto inputs = inputs_of(*made);
    const auto artefact = must(Artefact::make(made));
    const std::shared_ptr<std::byte> bytes = must(artefact.in_memory());
    const auto loaded =
        must(parse_artefact({bytes.get(), artefact.contents().bytes}, bytes, nullptr, {}));
    const auto session = session_of(loaded);
    const auto found = run(*session, inputs);
    EXPECT_TRUE(found == run(*session_of(made), inputs));
    const auto steps = session->plan_info().steps;
    const auto same = std::ranges::find(steps, step.work, &StepInfo::work);
    ASSERT_NE(same, steps.end());
    EXPECT_EQ(same->entry, "rows");
  }
}

// ---- plans

PlanInfo plan_of(const std::shared_ptr<const Executable>& executable) {
  const auto session = session_of(executable);
  (void)run(*session, inputs_of(*executable));
  return session->plan_info();
}

std::shared_ptr<const Executable> in_stripes(const std::string& work, const std::string& entry) {
  Tuning tuning;
  tuning.set({work, entry, {}});
  return must(Executable::compile(model_of_large_maps(), nullptr, tuned_options(tuning)));
}

TEST(TunedPlans, AreInStripesOfTheShareThatIsNamed) {
  const auto whole = in_stripes("other", "stripes=50");
  const PlanInfo plan = plan_of(whole);
  ASSERT_FALSE(plan.work.empty());
  const auto inputs = inputs_of(*whole);
  const auto wanted = run(*session_of(whole), inputs);
  for (const unsigned percent : {80U, 50U}) {
    const auto striped = in_stripes(plan.work, "stripes=" + std::to_string(percent));
    EXPECT_LE(plan_of(striped).arena_bytes, plan.arena_bytes * percent / 100);
    EXPECT_EQ(plan_of(striped).work, plan.work);
    quern::testing::expect_close(run(*session_of(striped), inputs)[0], wanted[0], DType::f32);
  }
  for (const char* entry : {"stripes=0", "stripes=100", "stripes=50x", "stripes=", "whole",
                            "stripes=1", "stripes=99999999999999999999"})
    EXPECT_EQ(plan_of(in_stripes(plan.work, entry)).arena_bytes, plan.arena_bytes) << entry;
}

TEST(TunedPlans, AreThoseOfTheirThreadsAndOfNoOtherGraph) {
  const auto work_of = [](Model model, int threads) {
    CompileOptions o = tuned_options({});
    o.threads = threads;
    return plan_of(must(Executable::compile(std::move(model), nullptr, o))).work;
  };
  EXPECT_EQ(work_of(model_of_large_maps(), 1), work_of(model_of_large_maps(), 1));
  EXPECT_NE(work_of(model_of_large_maps(), 1), work_of(model_of_large_maps(), 2));
  EXPECT_NE(work_of(model_of_large_maps(), 1), work_of(tuned_model(), 1));
  const auto untuned = must(Executable::compile(model_of_large_maps(), nullptr, {.threads = 1}));
  EXPECT_EQ(plan_of(untuned).work, "");
}

TEST(TunedPlans, AreKeptByArtefacts) {
  const std::string work = plan_of(in_stripes("other", "whole")).work;
  const auto made = in_stripes(work, "stripes=50");
  const auto artefact = must(Artefact::make(made));
  const std::shared_ptr<std::byte> bytes = must(artefact.in_memory());
  const auto loaded =
      must(parse_artefact({bytes.get(), artefact.contents().bytes}, bytes, nullptr, {}));
  EXPECT_EQ(plan_of(loaded).arena_bytes, plan_of(made).arena_bytes);
  const auto inputs = inputs_of(*made);
  EXPECT_TRUE(run(*session_of(loaded), inputs) == run(*session_of(made), inputs));
}

// ---- measuring

std::function<Status(Session&)> with_inputs(const std::vector<Tensor>& inputs) {
  return [&inputs](Session& session) -> Status {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      QUERN_TRY(session.set_input(i, inputs[i].view()));
    return {};
  };
}

TEST(Tune, MeasuresEachChoiceOnceAndKeepsTheFastest) {
  const Model model = tuned_model();
  const auto usual = compiled(Tuning());
  const auto inputs = inputs_of(*usual);
  const CompileOptions options{.threads = 1};
  Tuning tuning;
  std::size_t told = 0;
  const TuneOptions how{.rounds = 3, .progress = [&](std::string_view) { ++told; }};
  const TuneReport report = must(tune(model, options, with_inputs(inputs), tuning, how));
  EXPECT_TRUE(report.is_complete);
  EXPECT_GT(told, 0U);
  const auto steps = steps_with_a_choice(usual);
  std::set<std::string> works;
  for (const StepInfo& s : steps) works.insert(s.work);
  // Without oneDNN some of the layers have one implementation that takes them.
  if (has_onednn()) EXPECT_EQ(report.measured, works.size());
  EXPECT_EQ(tuning.size(), report.measured);
  EXPECT_LE(report.after_us, report.before_us);
  for (const StepInfo& s : steps) {
    const Tuning::Row* row = tuning.find(s.work);
    if (!row && !has_onednn()) continue;
    ASSERT_NE(row, nullptr) << s.work;
    if (row->entry == s.entry) continue;
    const auto us = [&](const std::string& entry) {
      const auto at = std::ranges::find(row->candidates, entry, &Tuning::Candidate::entry);
      return at == row->candidates.end() ? -1 : at->us;
    };
    EXPECT_LT(us(row->entry), us(s.entry)) << s.work;
  }
  const TuneReport again = must(tune(model, options, with_inputs(inputs), tuning, how));
  EXPECT_EQ(again.measured, 0U);
  EXPECT_EQ(again.changed, 0U);
}

TEST(Tune, TriesStripesOfALargeArenaOnce) {
  const Model model = model_of_large_maps();
  const CompileOptions options{.threads = 1};
  const auto usual = must(Executable::compile(model.clone(), nullptr, options));
  const auto inputs = inputs_of(*usual);
  Tuning tuning;
  const TuneOptions how{.rounds = 3};
  const TuneReport report = must(tune(model, options, with_inputs(inputs), tuning, how));
  CompileOptions tuned = options;
  tuned.tuning = std::make_shared<const Tuning>(tuning);
  const PlanInfo plan = plan_of(must(Executable::compile(model.clone(), nullptr, tuned)));
  const Tuning::Row* row = tuning.find(plan.work);
  ASSERT_NE(row, nullptr);
  EXPECT_GT(row->candidates.size(), 2U);
  EXPECT_EQ(row->candidates[0].entry, "whole");
  EXPECT_EQ(row->entry != "whole", report.stripes > 0);
  EXPECT_EQ(plan.arena_bytes<plan_of(usual).arena_bytes, report.stripes> 0);
  if (report.stripes > 0) {
    EXPECT_LT(report.striped_us, report.whole_us);
  }
}

TEST(Tune, WhatIsNotMeasuredInTimeStaysAsItIs) {
  const auto inputs = inputs_of(*compiled(Tuning()));
  Tuning tuning;
  const auto begin = std::chrono::steady_clock::now();
  const auto late = tune(tuned_model(), {.threads = 1}, with_inputs(inputs), tuning,
                         {.deadline = begin, .rounds = 1000});
  EXPECT_EQ(late.error().code(), Code::timed_out);  // not even one run
  EXPECT_EQ(tuning.size(), 0U);
  const auto deadline = begin + std::chrono::seconds(2);
  const auto wait = [&](std::string_view) { std::this_thread::sleep_until(deadline); };
  const TuneReport report = must(tune(tuned_model(), {.threads = 1}, with_inputs(inputs), tuning,
                                      {.deadline = deadline, .rounds = 3, .progress = wait}));
  EXPECT_FALSE(report.is_complete);
  EXPECT_EQ(report.changed, 0U);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(Tune, ErrorsOfInputsAreItsOwn) {
  Tuning tuning;
  const auto refuse = [](Session&) -> Status { return {Code::invalid_argument, "no inputs"}; };
  const auto report = tune(tuned_model(), {.threads = 1}, refuse, tuning);
  EXPECT_EQ(report.error().code(), Code::invalid_argument);
  EXPECT_EQ(report.error().message(), "no inputs");
}

}  // namespace
}  // namespace quern::testing
