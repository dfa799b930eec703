// SPDX-License-Identifier: Apache-2.0
// Guests that mean harm: calls that mostly make sense, with an argument that does not now and then,
// on a memory of rubbish that moves before every call. --gtest_shuffle changes the seeds.
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/wasi-nn/guest.h"
#include "tests/wasi-nn/scripted_prompts.h"

namespace quern::wasi_nn_test {
namespace {

using namespace quern::wasi_nn;  // NOLINT
using ::testing::Each;
using ::testing::Gt;

using Answers = std::array<std::uint32_t, 104>;  // how often each errno was given

class HostileGuest {
 public:
  HostileGuest(std::shared_ptr<Instance> instance, unsigned seed, std::uint32_t bytes = 8192)
      : random_(seed + static_cast<unsigned>(::testing::UnitTest::GetInstance()->random_seed())),
        guest_(std::move(instance), bytes) {
    for (std::uint32_t i = 0; i < bytes; ++i)
      guest_.memory()[i] = std::byte(below(3) ? below(8) : below(256));
    if (bytes >= 8192) prepare();
  }
  // This calls a function of one ABI or the other, and counts an errno of witx in `answers`.
  void call(Answers& answers) {
    if (below(2)) return call_wit();
    const auto table = witx_imports();
    const Import& row = table[below(static_cast<std::uint32_t>(table.size()))];
    Arguments arguments = sensible(row.name);
    if (below(4) == 0) arguments[below(row.parameters)] = odd();
    const std::uint32_t answer = guest_.call(row, arguments.data());
    ASSERT_LT(answer, answers.size()) << row.name;
    ++answers[answer];
    const bool gives_handle = row.name[0] == 'l' || row.name[0] == 'i';
    if (answer == 0 && gives_handle) newest_ = guest_.word(arguments[row.parameters - 1]);
  }

  std::uint32_t computed = 0;  // by WIT

 private:
  using Arguments = std::array<std::uint32_t, 5>;

  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  // This puts valid arguments into the guest's memory; outputs may overwrite them at any time.
  void prepare() {
    const std::vector<float> values(4);
    builder_ = guest_.put_words({guest_.put(as_bytes(model_)), std::uint32_t(model_.size())});
    name_ = guest_.put(as_bytes("m"));
    chat_ = guest_.put(as_bytes("c"));
    config_ = guest_.put(as_bytes("{\"ctx-size\": 9}"));
    texts_ = {guest_.put_tensor({6}, 3, as_bytes("prompt")),
              guest_.put_tensor({16}, 3, as_bytes("{\"ctx-size\": 10}"))};
    tensors_ = {guest_.put_tensor({1, 4}, 1, as_bytes(values)),
                guest_.put_tensor({4}, 1, as_bytes(values))};
    names_ = guest_.put(as_bytes("ab"));
    inputs_ = guest_.put_words({0, 0, 0, 0, 0, 0});
  }
  Arguments sensible(std::string_view row) {
    const std::uint32_t out = guest_.size() - 4 - below(64), index = below(2);
    const std::uint32_t near = newest_ > 20 ? newest_ + 2 - below(20) : below(20);
    const std::uint32_t handle = below(3) ? near : newest_;
    if (row == "load") return {builder_, 1, 1, 0, out};
    if (row == "load_by_name") return {name_, 1, out};
    if (row == "load_by_name_with_config") return {below(2) ? name_ : chat_, 1, config_, 15, out};
    if (row == "init_execution_context") return {handle, out};
    if (row == "set_input") return {handle, index, below(2) ? tensors_[index] : texts_[index]};
    if (row.starts_with("get_output")) return {handle, index, out - 64, 16, out};
    return {handle};
  }
  void call_wit() {
    const auto table = wit_imports();
    const Import& row = table[below(static_cast<std::uint32_t>(table.size()))];
    const std::string_view name = row.name;
    if (name.ends_with("compute") && guest_.size() >= 8192) prepare_inputs();
    const std::uint32_t ret = guest_.size() - 12 - below(64);
    Arguments arguments = sensible_wit(name, ret);
    if (below(4) == 0) arguments[below(row.parameters)] = odd();
    guest_.reallocate = nullptr;
    if (below(8) == 0 || guest_.size() > 1 << 16)
      guest_.reallocate = [this](std::uint32_t, std::uint32_t) {
        return below(2) ? std::optional(odd()) : std::nullopt;
      };
    guest_.call(row, arguments.data());
    const bool is_answered = arguments[row.parameters - 1] == ret && guest_.word(ret) % 256 == 0;
    if (is_answered && name.ends_with("compute")) ++computed;
    if (is_answered && name.ends_with("init-execution-context")) newest_ = guest_.word(ret + 4);
  }
  // Tensors under their names, most of the time.
  void prepare_inputs() {
    const auto& constructor = wit_imports()[4];
    std::array<std::uint32_t, 2> handles{};
    for (std::uint32_t i : {0, 1}) {
      const std::uint32_t record = tensors_[i];
      const Arguments a = {guest_.word(record), guest_.word(record + 4), 1,
                           guest_.word(record + 12), guest_.word(record + 16)};
      handles[i] = guest_.call(constructor, a.data());
    }
    newest_tensor_ = handles[1];
    const std::uint32_t words[] = {names_, 1, handles[0], names_ + 1, 1, handles[1]};
    std::memcpy(guest_.memory() + inputs_, words, sizeof words);
  }
  Arguments sensible_wit(std::string_view row, std::uint32_t ret) {
    const std::uint32_t handle = newest_ > 20 ? newest_ + 2 - below(20) : below(20);
    const std::uint32_t resource = newest_tensor_ + 2 - below(6);
    if (row == "load") return {builder_, 1, 1, 0, ret};
    if (row == "load-by-name") return {name_, 1, ret};
    if (row.ends_with("compute")) return {handle, inputs_, 2, ret};
    if (row.starts_with("[constructor]"))
      return {guest_.word(tensors_[0]), 2, 1, guest_.word(tensors_[0] + 12), 16};
    if (row.ends_with("graph") || row.ends_with("context")) return {handle, ret};
    return {resource, ret};
  }
  std::uint32_t odd() {
    const std::array<std::uint32_t, 10> edges = {
        0,          1,          7,          guest_.size() - 4, guest_.size() - 3, guest_.size(),
        0x20000000, 0x40000000, 0x80000000, 0xffffffff};
    return below(2)   ? edges[below(edges.size())]
           : below(2) ? below(guest_.size())
                      : below(0xffffffff);
  }
  std::mt19937 random_;
  FakeGuest guest_;
  const std::string model_ = add_model();
  std::uint32_t builder_ = 0, name_ = 0, names_ = 0, inputs_ = 0, newest_ = 1, newest_tensor_ = 1;
  std::uint32_t chat_ = 0, config_ = 0;
  std::array<std::uint32_t, 2> tensors_{}, texts_{};
};

// A tenant with little to give, a model named m and a language model named c.
std::shared_ptr<Tenant> poor_tenant() {
  Limits limits;
  limits.most.graphs = limits.most.contexts = 12;
  auto tenant = Tenant::create({.limits = limits, .threads = 1});
  const std::string model = add_model();
  EXPECT_TRUE(tenant->add_bytes("m", as_bytes(model)).ok());
  EXPECT_TRUE(add_script(*tenant, "c", as_bytes(model), {.answer = "abc"}).ok());
  return tenant;
}

void expect_nothing_left(Tenant& tenant) {
  EXPECT_EQ(tenant.usage().graphs, 2u);  // the named ones
  EXPECT_TRUE(tenant.remove("c").ok());
  EXPECT_TRUE(tenant.remove("m").ok());
  EXPECT_EQ(tenant.usage(), Counts());
}

TEST(HostileGuest, GetsAnErrnoAndLeavesNothingBehind) {
  const auto tenant = poor_tenant();
  Answers answers{};
  std::uint32_t computed = 0;
  for (unsigned image = 0; image < 30; ++image) {
    HostileGuest guest(Instance::create(tenant), image, image % 6 == 5 ? 200 : 8192);
    for (int i = 0; i < 2000; ++i) guest.call(answers);
    computed += guest.computed;
  }
  EXPECT_GT(computed, 100u);
  EXPECT_THAT((std::vector{answers[0], answers[1], answers[2], answers[5], answers[7], answers[8]}),
              Each(Gt(10u)));
  expect_nothing_left(*tenant);
}

TEST(HostileGuest, DoesNoMoreHarmWithThreads) {
  const auto tenant = poor_tenant();
  auto instance = Instance::create(tenant);
  std::array<Answers, 4> answers{};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < answers.size(); ++t)
    threads.emplace_back([&, t] {
      HostileGuest guest(instance, 1000 + t);
      for (int i = 0; i < 3000; ++i) guest.call(answers[t]);
    });
  for (std::thread& t : threads) t.join();
  std::uint32_t successes = 0;
  for (const Answers& a : answers) successes += a[0];
  EXPECT_GT(successes, 100u);
  EXPECT_EQ(instance->usage().parallel_computes, 0u);
  instance.reset();
  expect_nothing_left(*tenant);
}

}  // namespace
}  // namespace quern::wasi_nn_test
