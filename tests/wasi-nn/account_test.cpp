// SPDX-License-Identifier: Apache-2.0
// Accounts under accounts, charged at random and held to sums in a list; the resources of WIT; the
// records that guests write.
#include "frontends/wasi-nn/account.h"

#include <array>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "frontends/wasi-nn/records.h"
#include "frontends/wasi-nn/resources.h"

namespace quern::wasi_nn_test {
namespace {

using namespace quern::wasi_nn;  // NOLINT

constexpr std::array<Resource, 6> resources = {&Counts::graphs,         &Counts::contexts,
                                               &Counts::model_bytes,    &Counts::tensor_bytes,
                                               &Counts::resident_bytes, &Counts::parallel_computes};

Limits random_limits(std::mt19937& random) {
  Limits limits;
  for (const Resource r : resources) limits.most.*r = random() % 4 == 0 ? no_limit : random() % 60;
  return limits;
}

// What an account should hold: the charges that it took, and the most of them at one time.
struct Sum {
  Limits limits;
  Counts used, peak;

  bool has_room(Resource r, std::uint64_t from, std::uint64_t to) const {
    return to <= from || used.*r - from + to <= limits.most.*r;
  }
  void take(Resource r, std::uint64_t from, std::uint64_t to) {
    used.*r += to - from;
    peak.*r = std::max(peak.*r, used.*r);
  }
};

TEST(Account, TakesAChargeInEveryAccountAboveOrInNone) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::array<Sum, 2> sums = {Sum{random_limits(random), {}, {}},
                               Sum{random_limits(random), {}, {}}};
    const auto above = std::make_shared<Account>(sums[0].limits, nullptr);
    Account account(sums[1].limits, above);
    std::array<Counts, 2> charged{};  // by Reach
    for (int step = 0; step < 60; ++step) {
      const Resource r = resources[random() % resources.size()];
      const Reach reach = random() % 4 == 0 ? Reach::own : Reach::all;
      std::uint64_t& from = charged[static_cast<std::size_t>(reach)].*r;
      const std::uint64_t to = random() % 40;
      const bool has_room =
          sums[1].has_room(r, from, to) && (reach == Reach::own || sums[0].has_room(r, from, to));
      EXPECT_EQ(account.change(r, from, to, reach).code,
                has_room ? Errno::success : Errno::too_large);
      if (!has_room) continue;
      sums[1].take(r, from, to);
      if (reach == Reach::all) sums[0].take(r, from, to);
      from = to;
    }
    EXPECT_EQ(account.usage(), sums[1].used);
    EXPECT_EQ(above->usage(), sums[0].used);
    EXPECT_EQ(account.figures().peak, sums[1].peak);
    EXPECT_EQ(above->figures().peak, sums[0].peak);
    for (const Resource r : resources) {
      EXPECT_EQ(account.most(r), std::min(sums[0].limits.most.*r, sums[1].limits.most.*r));
      std::uint64_t room = no_limit;
      for (const Sum& s : sums)
        if (s.limits.most.*r != no_limit) room = std::min(room, s.limits.most.*r - s.used.*r);
      EXPECT_EQ(account.headroom(r), room);
    }
  }
}

TEST(Account, ResidentBytesAreOneSumAndManyKinds) {
  Limits tight;
  tight.most.resident_bytes = 10;
  const auto above = std::make_shared<Account>(tight, nullptr);
  const auto account = std::make_shared<Account>(Limits{}, above);
  {
    ResidentCharge weights(account);
    KindBytes bytes(Kind::weights, 6);
    bytes[Kind::tables] = 3;
    ASSERT_TRUE(weights.set(bytes).ok());
    ResidentCharge own(account, Reach::own);
    ASSERT_TRUE(own.set({Kind::arenas, 100}).ok());
    EXPECT_EQ(above->figures().resident, bytes);
    EXPECT_EQ(account->figures().resident[Kind::arenas], 100U);
    EXPECT_EQ(account->usage().resident_bytes, 109U);
    bytes[Kind::tables] = 5;
    EXPECT_EQ(weights.set(bytes).code, Errno::too_large);
    EXPECT_EQ(weights.amount()[Kind::tables], 3U);
    EXPECT_EQ(account->figures().resident[Kind::tables], 3U);
    ResidentCharge moved(std::move(weights));
    EXPECT_EQ(moved.amount().total(), 9U);
  }
  for (const auto& a : {above, account}) {
    EXPECT_EQ(a->usage(), Counts());
    EXPECT_EQ(a->figures().resident, KindBytes());
  }
  EXPECT_EQ(account->figures().peak.resident_bytes, 109U);
}

TEST(Account, AChargeIsReturnedOnce) {
  const auto account = std::make_shared<Account>(Limits{}, nullptr);
  {
    Charge first(account, &Counts::graphs);
    ASSERT_TRUE(first.set(3).ok());
    Charge moved(std::move(first));
    EXPECT_EQ(moved.amount(), 3U);
    EXPECT_EQ(account->usage().graphs, 3U);
  }
  EXPECT_EQ(account->usage().graphs, 0U);
}

TEST(Account, ATargetAndNamesAreAllowedByAll) {
  for (const bool upper : {false, true})
    for (const bool lower : {false, true}) {
      Limits up, down;
      up.targets = upper ? 0b10 : 0b01;
      down.targets = lower ? 0b11 : 0b01;
      up.names_only = upper;
      down.names_only = lower;
      const auto above = std::make_shared<Account>(up, nullptr);
      const Account account(down, above);
      EXPECT_EQ(account.allows(Target::gpu), upper && lower);
      EXPECT_EQ(account.allows(Target::cpu), !upper);
      EXPECT_EQ(account.names_only(), upper || lower);
      EXPECT_FALSE(account.allows(Target::tpu));
    }
}

TEST(Account, ActivityIsThatOfTheTopmost) {
  const auto above = std::make_shared<Account>(Limits{}, nullptr);
  Account account(Limits{}, above);
  for (const Errno outcome : {Errno::success, Errno::timed_out, Errno::too_large, Errno::too_large,
                              Errno::invalid_argument}) {
    Activity more{.loads = Activity::one(outcome), .computes = Activity::one(Errno::success)};
    more.load_time = std::chrono::nanoseconds(2);
    more.compile_time = std::chrono::nanoseconds(3);
    more.compute_time = std::chrono::nanoseconds(5);
    account.note(more);
  }
  const Activity a = above->figures().activity;
  EXPECT_EQ(a.loads.ok, 1U);
  EXPECT_EQ(a.loads.timed_out, 1U);
  EXPECT_EQ(a.loads.refused, 2U);
  EXPECT_EQ(a.loads.failed, 1U);
  EXPECT_EQ(a.computes.ok, 5U);
  EXPECT_EQ(a.computes.failed, 0U);
  EXPECT_EQ(a.load_time.count(), 10);
  EXPECT_EQ(a.compile_time.count(), 15);
  EXPECT_EQ(a.compute_time.count(), 25);
  EXPECT_EQ(account.figures().activity.computes.ok, 0U);
}

// ---- resources of WIT --------------------------------------------------------------------------

TEST(Resources, AreTakenOnceAndErrorsAreNotForever) {
  Resources all;
  EXPECT_FALSE(all.find(0));
  EXPECT_FALSE(all.take(1));
  std::vector<std::uint32_t> handles;
  for (int i = 0; i < 1024; ++i) {
    const std::uint32_t handle = all.insert(Error{Errno::busy, "x"});
    ASSERT_NE(handle, 0U) << i;
    handles.push_back(handle);
  }
  EXPECT_EQ(all.insert(Error{Errno::busy, "one more"}), 0U) << "they are not charged";
  ASSERT_TRUE(all.find(handles[7]));
  EXPECT_TRUE(all.take(handles[7]));
  EXPECT_FALSE(all.find(handles[7]));
  EXPECT_FALSE(all.take(handles[7]));
  const std::uint32_t next = all.insert(Error{Errno::busy, "y"});
  EXPECT_NE(next, 0U);
  EXPECT_EQ(std::get<Error>(*all.find(next)).text, "y");
  EXPECT_EQ(all.insert(Error{Errno::busy, "one more"}), 0U);
}

// ---- records of guests -------------------------------------------------------------------------

TEST(Records, NumbersThatMeanNothingAreNamed) {
  Encoding encoding{};
  EXPECT_TRUE(read_encoding(1, 5, &encoding).ok());
  EXPECT_EQ(encoding, Encoding::onnx);
  for (const std::uint32_t other : {0U, 2U, 3U, 4U}) {
    EXPECT_TRUE(read_encoding(other, 5, &encoding).ok());
    EXPECT_EQ(encoding, Encoding::other) << other;
  }
  for (const std::uint32_t any : {5U, 6U}) {
    EXPECT_TRUE(read_encoding(any, 5, &encoding).ok());
    EXPECT_EQ(encoding, Encoding::autodetect) << any;
  }
  EXPECT_EQ(read_encoding(7, 5, &encoding).text, "encoding 7; onnx is 1, autodetect 5");
  Target target{};
  EXPECT_TRUE(read_target(1, &target).ok());
  EXPECT_EQ(target, Target::gpu);
  EXPECT_EQ(read_target(2, &target).code, Errno::unsupported_operation);
  EXPECT_EQ(read_target(3, &target).text, "target 3; cpu is 0, gpu 1, tpu 2");
}

// A memory of 64 bytes, whose words are the parameters.
class GuestRecords : public ::testing::Test {
 protected:
  void put(std::uint32_t at, std::uint32_t word) { std::memcpy(bytes_.data() + at, &word, 4); }
  GuestMemory memory() { return GuestMemory(Memory{bytes_.data(), bytes_.size()}); }
  std::array<std::byte, 64> bytes_{};
};

TEST_F(GuestRecords, ShapesLieInTheMemory) {
  put(52, 3);
  put(56, 4);
  put(60, 5);
  Shape shape = {9};
  EXPECT_TRUE(read_shape(memory(), 52, 3, &shape).ok());
  EXPECT_EQ(shape, (Shape{3, 4, 5}));
  EXPECT_FALSE(read_shape(memory(), 56, 3, &shape).ok());
  EXPECT_TRUE(read_shape(memory(), 64, 0, &shape).ok());
  EXPECT_EQ(shape, Shape{});
  EXPECT_EQ(read_shape(memory(), 0, Shape::max_rank, &shape).ok(), true);
  EXPECT_EQ(read_shape(memory(), 0, Shape::max_rank + 1, &shape).text,
            "a tensor of rank 17, at most 16 is possible");
}

TEST_F(GuestRecords, PartsOfAModelAreNoMoreThanTheMemory) {
  std::vector<Bytes> parts;
  put(0, 8);
  put(4, 30);
  put(8, 30);
  put(12, 34);
  ASSERT_TRUE(read_parts(memory(), 0, 2, &parts).ok());
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].size(), 30U);
  EXPECT_EQ(parts[1].data(), bytes_.data() + 30);
  put(12, 35);
  EXPECT_EQ(read_parts(memory(), 0, 2, &parts).text,
            "a graph builder does not lie in the guest's memory");
  put(8, 29);
  put(12, 35);
  EXPECT_EQ(read_parts(memory(), 0, 2, &parts).text,
            "a model of 65 bytes in parts that overlap: the guest's memory has 64");
  EXPECT_EQ(read_parts(memory(), 0, 0, &parts).text, "a model in 0 parts; 1 to 64 are possible");
  EXPECT_EQ(read_parts(memory(), 0, 65, &parts).text, "a model in 65 parts; 1 to 64 are possible");
  EXPECT_FALSE(read_parts(memory(), 56, 2, &parts).ok());
}

TEST_F(GuestRecords, NamesHaveALongest) {
  std::string name = "before";
  EXPECT_TRUE(read_name(memory(), 3, 0, &name).ok());
  EXPECT_EQ(name, "");
  std::memcpy(bytes_.data() + 62, "ab", 2);
  EXPECT_TRUE(read_name(memory(), 62, 2, &name).ok());
  EXPECT_EQ(name, "ab");
  EXPECT_EQ(read_name(memory(), 63, 2, &name).code, Errno::invalid_argument);
  std::array<std::byte, 300> large{};
  const GuestMemory all(Memory{large.data(), large.size()});
  EXPECT_TRUE(read_name(all, 0, 256, &name).ok());
  EXPECT_EQ(read_name(all, 0, 257, &name).code, Errno::not_found);
}

}  // namespace
}  // namespace quern::wasi_nn_test
