// SPDX-License-Identifier: Apache-2.0
// Blocks of a session's memory, over real pages.
#include "engine/run/run_memory.h"

#include <cstring>
#include <fstream>
#include <sys/resource.h>
#include <vector>

#include "tests/engine/engine_test.h"
#include "tests/expect.h"

namespace quern {
namespace {

constexpr std::size_t mib = 1 << 20;

void fill(const RunBlock& block, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i) block.data()[i] = static_cast<std::byte>(i * 7 % 251);
}

bool holds(const RunBlock& block, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    if (block.data()[i] != static_cast<std::byte>(i * 7 % 251)) return false;
  return true;
}

// Two that grow in turn are in each other's way: some growth is in place, some moves.
TEST(RunMemory, KeepsWhatIsUsedWhenABlockGrows) {
  for (const MemoryPoolKind& kind : pools()) {
    RunMemory memory(kind);
    RunBlock a(memory);
    RunBlock b(memory);
    std::size_t used = 0;
    for (std::size_t bytes = 100; bytes < mib; bytes += bytes / 2) {
      for (RunBlock* block : {&a, &b}) {
        const Status status = block->grow(used, bytes);
        ASSERT_TRUE(status.ok()) << kind.name << ": " << status.message();
        fill(*block, used, bytes);
        ASSERT_GE(block->size(), bytes);
        ASSERT_TRUE(holds(*block, bytes)) << kind.name << " at " << bytes;
      }
      used = bytes;
    }
  }
}

// Pages that this process has addresses for.
std::size_t address_space() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

TEST(RunMemory, GivesPagesBack) {
  for (const MemoryPoolKind& kind : pools()) {
    const std::size_t before = address_space();
    RunMemory memory(kind);
    EXPECT_EQ(memory.reserved_bytes(), 0U) << "nothing before the first block";
    RunBlock small(memory);
    ASSERT_TRUE(small.reserve(1000).ok());
    fill(small, 0, 1000);
    {
      RunBlock large(memory);
      ASSERT_TRUE(large.reserve(16 * mib).ok());
      std::memset(large.data(), 1, large.size());
    }
    EXPECT_GE(memory.reserved_bytes(), 16 * mib);
    memory.trim();
    // The region that the small one lives in stays where regions are not cut.
    if (kind.name == default_pool().name) {
      EXPECT_EQ(memory.reserved_bytes(), 4096U);
    }
    EXPECT_TRUE(holds(small, 1000)) << kind.name;
    small.release();
    memory.trim();
    EXPECT_EQ(memory.reserved_bytes(), 0U) << kind.name;
    EXPECT_LT(address_space(), before + 16 * mib) << kind.name << " keeps its addresses";
  }
}

TEST(RunMemory, KeepsItsLimit) {
  RunMemory memory(default_pool());
  memory.set_limit(2 * mib);
  RunBlock block(memory);
  ASSERT_TRUE(block.reserve(mib).ok());
  const Status status = block.reserve(3 * mib);
  EXPECT_EQ(status.code(), Code::out_of_memory);
  EXPECT_CONTAINS(std::string(status.message()), "the limit is 2097152");
  EXPECT_TRUE(block.reserve(2 * mib).ok());
  memory.set_limit(mib);
  RunBlock another(memory);
  EXPECT_FALSE(another.reserve(1).ok()) << "more is held than the new limit allows";
}

// Where there is no room for more than is wanted, a block still grows in its place.
TEST(RunMemory, GrowsToItsLimit) {
  RunMemory memory(default_pool());
  memory.set_limit(mib + mib / 16);
  RunBlock block(memory);
  ASSERT_TRUE(block.reserve(mib).ok());
  fill(block, 0, mib);
  const Status status = block.grow(mib, mib + mib / 32);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(holds(block, mib));
}

TEST(RunMemory, MovesItsBlocks) {
  RunMemory memory(default_pool());
  std::vector<RunBlock> blocks;
  for (int i = 0; i < 100; ++i) {
    blocks.emplace_back(memory);
    ASSERT_TRUE(blocks.back().reserve(1000).ok());
    fill(blocks.back(), 0, 1000);
  }
  for (const RunBlock& b : blocks) EXPECT_TRUE(holds(b, 1000));
  blocks.erase(blocks.begin(), blocks.begin() + 50);
  for (const RunBlock& b : blocks) EXPECT_TRUE(holds(b, 1000));
  blocks.clear();
  memory.trim();
  EXPECT_EQ(memory.reserved_bytes(), 0U);
}

// A process that may have few addresses: a smaller stretch will do, and then an error.
TEST(RunMemoryDeathTest, LivesWithFewAddresses) {
  const auto few_addresses = [] {
    const rlimit few{std::size_t{1} << 30, std::size_t{1} << 30};
    setrlimit(RLIMIT_AS, &few);
    RunMemory memory(default_pool());
    RunBlock block(memory);
    const bool fits = block.reserve(32 * mib).ok();
    if (fits) fill(block, 0, 32 * mib);
    const Status status = block.reserve(std::size_t{2} << 30);
    std::_Exit(fits && status.code() == Code::out_of_memory ? 0 : 1);
  };
  if (testing::sanitized) GTEST_SKIP() << "a sanitizer wants the addresses for itself";
  EXPECT_EXIT(few_addresses(), ::testing::ExitedWithCode(0), "");
}

Model words_that_double() {
  GraphBuilder g("words");
  const Operand x = g.input("x", DType::string, {1});
  const auto y = g.loop(g.scalar(4, DType::i64), {}, {x},
                        [](GraphBuilder& b, std::span<const Operand> in) -> Operands {
                          const Operand longer = b.op("StringConcat", {in[2], in[2]});
                          return {in[1], longer, longer};
                        });
  g.output("last", y.at(0));
  g.output("all", y.at(1));
  return testing::must(g.build());
}

// The values that a loop carries and collects point at strings of earlier iterations.
TEST(RunMemory, KeepsTheStringsThatALoopMakes) {
  const std::string word = "a word that no string keeps within itself";
  const StringRef ref{word.data(), word.size()};
  for (const char* device : {"cpu", "reference"}) {
    const auto session = testing::session_of(testing::compile(words_that_double(), device));
    const auto* data = reinterpret_cast<const std::byte*>(&ref);
    testing::must(session->set_input(0, {{DType::string, {1}}, data}));
    testing::must(session->run());
    const auto last = testing::values<StringRef>(testing::must(session->output(0)));
    const auto all = testing::values<StringRef>(testing::must(session->output(1)));
    ASSERT_EQ(all.size(), 4U);
    std::string wanted = word;
    for (const StringRef& s : all) {
      wanted += wanted;
      EXPECT_EQ(s.view(), wanted) << device;
    }
    EXPECT_EQ(last[0].view(), wanted) << device;
  }
}

}  // namespace
}  // namespace quern
