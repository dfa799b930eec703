// SPDX-License-Identifier: Apache-2.0
// The lengths of turns, on a queue that exists in numbers alone.
#include "engine/devices/vulkan/turns.h"

#include <atomic>
#include <chrono>
#include <cstddef>

#include <gtest/gtest.h>

namespace quern::vulkan {
namespace {

using namespace std::chrono_literals;
using Duration = Turns::Clock::duration;

// A run in pieces of some length. Before each turn others take the queue for `others`.
struct LongRun {
  Duration piece;
  Turns turns{};
  Turns::Clock::time_point now{};

  Duration turn(Duration others) {
    const std::size_t pieces =
        turns.next(others > 0ms ? Turns::Others::something : Turns::Others::nothing, now);
    const Duration ran = piece * static_cast<Duration::rep>(pieces);
    now += others + ran;
    turns.end(others, ran);
    return ran;
  }
  Duration after(int count, Duration others) {
    Duration last{};
    for (int i = 0; i < count; ++i) last = turn(others);
    return last;
  }
};

TEST(Turns, BeginWithOnePieceAndBecomeLongAlone) {
  LongRun run{200us};
  EXPECT_EQ(run.turn(0ms), 200us);
  const Duration last = run.after(20, 0ms);
  EXPECT_GE(last, 8ms);
  EXPECT_LE(last, 20ms);
}

TEST(Turns, ALongPieceGoesAlone) {
  LongRun run{70ms};
  EXPECT_EQ(run.after(10, 0ms), 70ms);
}

TEST(Turns, BecomeShortAtOnceWhereShortRunsCome) {
  LongRun run{200us};
  run.after(20, 0ms);
  EXPECT_LE(run.turn(1ms), 2ms);
  EXPECT_LE(run.after(10, 1ms), 2ms);
}

TEST(Turns, GetAThirdOfTheTimeBesideLongerRuns) {
  LongRun run{200us};
  const Duration last = run.after(20, 30ms);
  EXPECT_GE(last, 6ms);
  EXPECT_LE(last, 15ms);
  EXPECT_LE(run.after(20, 1s), 20ms) << "and no more than when it is alone";
}

TEST(Turns, BecomeLongAgainOnceOthersStay) {
  LongRun run{200us};
  run.after(20, 1ms);
  const Duration last = run.after(300, 0ms);
  EXPECT_GE(last, 8ms);
}

TEST(Turns, OfTwoLongRunsBecomeShort) {
  LongRun a{100us}, b{100us};
  Duration of_a = a.after(20, 0ms), of_b = b.after(20, 0ms);
  for (int i = 0; i < 20; ++i) {
    of_a = a.turn(of_b);
    of_b = b.turn(of_a);
  }
  EXPECT_LE(of_a, 3ms);
  EXPECT_LE(of_b, 3ms);
}

TEST(YoungRuns, GoFirstForAWhile) {
  YoungRuns runs;
  const Stop stop({});
  YoungRuns::Member old(runs);
  EXPECT_EQ(old.yield(stop), 0ms) << "it is young itself";
  old.spend(YoungRuns::youth + 1ms);
  EXPECT_LT(old.yield(stop), 40ms) << "nobody is younger";
  {
    YoungRuns::Member young(runs);
    EXPECT_GE(old.yield(stop), 50ms) << "and no longer";
  }
  EXPECT_LT(old.yield(stop), 40ms);
}

TEST(YoungRuns, AreNotWaitedForByARunThatMustEnd) {
  YoungRuns runs;
  const std::atomic<bool> cancelled = true;
  const Stop stop({&cancelled});
  YoungRuns::Member old(runs), young(runs);
  old.spend(YoungRuns::youth + 1ms);
  EXPECT_LT(old.yield(stop), 40ms);
}

}  // namespace
}  // namespace quern::vulkan
