// SPDX-License-Identifier: Apache-2.0
#include "bench/compare/message.h"

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect.h"

namespace quern::bench {
namespace {

using std::chrono::milliseconds;

class Message : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(pipe(ends_), 0); }
  void TearDown() override {
    close(ends_[0]);
    close(ends_[1]);
  }
  int ends_[2];
};

TEST_F(Message, ArrivesWholeAndInOrder) {
  tools::Json first;
  first["times"] = tools::Json::array_of(std::vector<double>{0.5, 1.25});
  ASSERT_TRUE(send_message(ends_[1], first).ok());
  ASSERT_TRUE(send_message(ends_[1], tools::Json("second")).ok());
  EXPECT_EQ(receive_message(ends_[0], milliseconds(1000))->dump(), first.dump());
  EXPECT_EQ(receive_message(ends_[0], milliseconds(1000))->text(), "second");
}

TEST_F(Message, SilenceAndDeathAreErrors) {
  EXPECT_CONTAINS(receive_message(ends_[0], milliseconds(1)).error().message(),
                  "no answer in time");
  close(std::exchange(ends_[1], -1));
  EXPECT_CONTAINS(receive_message(ends_[0], milliseconds(1000)).error().message(),
                  "the process has ended");
}

TEST_F(Message, AnAbsurdLengthIsRefused) {
  const std::uint64_t length = std::uint64_t{1} << 60;
  ASSERT_EQ(write(ends_[1], &length, sizeof length), static_cast<ssize_t>(sizeof length));
  EXPECT_FALSE(receive_message(ends_[0], milliseconds(1000)));
}

}  // namespace
}  // namespace quern::bench
