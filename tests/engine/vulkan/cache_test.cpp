// SPDX-License-Identifier: Apache-2.0
// What devices keep on disk: pipelines of the driver and the candidates that were measured.
#include <array>
#include <unistd.h>

#include "engine/devices/vulkan/pipeline_cache.h"
#include "engine/devices/vulkan/tuning.h"
#include "tests/engine/vulkan/vulkan_test.h"

namespace quern::vulkan {
namespace {

namespace fs = std::filesystem;
using quern::testing::CacheFolder;
using Bytes = std::vector<std::byte>;

Bytes bytes(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}
std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write(const fs::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

Capabilities device_of(std::uint8_t device, std::uint8_t driver) {
  Capabilities c;
  c.uuid[3] = device;
  c.cache_uuid[5] = driver;
  return c;
}

// Sets a variable of the environment, or takes it away, as long as it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    value ? setenv(name, value, 1) : unsetenv(name);
  }
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(CacheFiles, LieInTheFolderOfTheUser) {
  const Capabilities c = device_of(1, 0xab);
  const std::string name = "quern/x-0000000000ab00000000000000000000.txt";
  const Variable cache("XDG_CACHE_HOME", "/cache");
  EXPECT_EQ(cache_path(c, "x", ".txt"), "/cache/" + name);
  const Variable home("HOME", "/home/me");
  for (const char* unusable : {static_cast<const char*>(nullptr), "", "relative"}) {
    const Variable other("XDG_CACHE_HOME", unusable);
    EXPECT_EQ(cache_path(c, "x", ".txt"), "/home/me/.cache/" + name);
    for (const char* nobody : {static_cast<const char*>(nullptr), "", "."}) {
      const Variable nowhere("HOME", nobody);
      EXPECT_EQ(cache_path(c, "x", ".txt"), "");
    }
  }
}

TEST(CacheFiles, AreReplacedWholeOrNotAtAll) {
  const CacheFolder folder;
  const fs::path file = folder.path() / "deep" / "file";
  write_cache_file(file, bytes("one"));
  EXPECT_EQ(text_of(file), "one");
  write_cache_file(file, bytes("another"));
  EXPECT_EQ(text_of(file), "another");
  write_cache_file({}, bytes("nowhere"));
  // A folder that is not empty cannot be replaced.
  fs::create_directories(folder.path() / "taken" / "inner");
  write_cache_file(folder.path() / "taken", bytes("x"));
  // And in a file there is no place for one.
  write_cache_file(file / "below", bytes("x"));
  EXPECT_EQ(text_of(file), "another");
  std::vector<std::string> left;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path()))
    left.push_back(entry.path().filename().string());
  EXPECT_THAT(left, ::testing::UnorderedElementsAre("deep", "file", "taken", "inner"));
}

TEST(PipelineCache, IsReadByTheDeviceAndDriverThatWroteIt) {
  const CacheFolder folder;
  const Capabilities mine = device_of(1, 1);
  EXPECT_EQ(read_pipeline_cache(mine), Bytes());
  write_pipeline_cache(mine, bytes("code of a driver"));
  EXPECT_EQ(read_pipeline_cache(mine), bytes("code of a driver"));
  EXPECT_EQ(read_pipeline_cache(device_of(1, 2)), Bytes()) << "its file has another name";
  // One driver, two cards: the file has one name.
  EXPECT_EQ(read_pipeline_cache(device_of(2, 1)), Bytes());
  write_pipeline_cache(mine, {});
  EXPECT_EQ(read_pipeline_cache(mine), Bytes());
}

TEST(PipelineCache, IsNotReadIfAnyByteIsAnother) {
  const CacheFolder folder;
  const Capabilities mine = device_of(1, 1);
  write_pipeline_cache(mine, bytes("code"));
  const fs::path path = cache_path(mine, "pipelines", ".bin");
  const std::string whole = text_of(path);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string other = whole;
    other[i] = static_cast<char>(other[i] ^ 0x41);
    write(path, other);
    EXPECT_EQ(read_pipeline_cache(mine), Bytes()) << i;
    write(path, whole.substr(0, i));
    EXPECT_EQ(read_pipeline_cache(mine), Bytes()) << i;
  }
  write(path, whole);
  EXPECT_EQ(read_pipeline_cache(mine), bytes("code"));
}

// ---- measurements ------------------------------------------------------------------------------

Dispatch with_three_candidates() {
  Dispatch d{.shader = "conv", .constants = {1}, .push = {7, 8}};
  for (const std::uint32_t constant : {2U, 3U, 4U})
    d.candidates.push_back({.shader = "conv", .constants = {constant}});
  return d;
}

TEST(VulkanTuning, AnyFormIsTakenThatExistsAndNoOther) {
  Dispatch d = with_three_candidates();
  Tuning tuning;
  EXPECT_FALSE(tuning.knows(d));
  EXPECT_EQ(tuning.best(d), d);
  tuning.learn(d, 3);
  EXPECT_TRUE(tuning.knows(d));
  EXPECT_EQ(tuning.best(d), d.candidates[2]);
  tuning.learn(d, 0);
  EXPECT_EQ(tuning.best(d), d);
  for (const std::uint32_t none : {4U, 77U}) {
    tuning.learn(d, none);  // a file may say so
    EXPECT_EQ(tuning.best(d), d);
  }
  d.candidates.pop_back();
  EXPECT_FALSE(tuning.knows(d)) << "with other candidates it is another question";
}

TEST(VulkanTuning, EveryPartOfADispatchIsAnotherQuestion) {
  const Dispatch d = with_three_candidates();
  Tuning tuning;
  tuning.learn(d, 2);
  std::vector<Dispatch> others(8, d);
  others[0].shader = "conv_";
  others[1].constants = {2};
  others[2].constants = {1, 7};
  others[2].push = {8};
  others[3].push = {7, 9};
  others[4].groups = {1, 1, 2};
  others[5].subgroup = 16;
  others[6].candidates[1].constants = {5};
  others[7].push = {7, 8, 1};
  for (const Dispatch& other : others) EXPECT_FALSE(tuning.knows(other)) << &other - others.data();
}

TEST(VulkanTuning, IsKeptForTheDevice) {
  const CacheFolder folder;
  const Capabilities mine = device_of(1, 1);
  const fs::path path = cache_path(mine, "tuning", ".txt");
  const Dispatch d = with_three_candidates();
  Tuning made;
  made.save(mine);
  EXPECT_FALSE(fs::exists(path)) << "nothing is new";
  made.learn(d, 3);
  made.save(mine);
  Tuning read;
  read.load(mine);
  EXPECT_EQ(read.best(d), d.candidates[2]);
  fs::remove(path);
  read.save(mine);
  EXPECT_FALSE(fs::exists(path)) << "nothing is new to the one that read it";
  read.learn(d, 1);
  read.save(mine);
  Tuning of_another_card;
  of_another_card.load(device_of(2, 1));
  EXPECT_FALSE(of_another_card.knows(d));
}

TEST(VulkanTuning, AFileOfRubbishTeachesNothing) {
  const CacheFolder folder;
  const Capabilities mine = device_of(1, 1);
  const fs::path path = cache_path(mine, "tuning", ".txt");
  const Dispatch d = with_three_candidates();
  Tuning made;
  made.learn(d, 3);
  made.save(mine);
  const std::string whole = text_of(path);
  for (const std::string& text :
       {std::string(), std::string("\n\n"), "x" + whole, whole.substr(0, whole.find('\n')),
        whole.substr(0, whole.find('\n') + 1) + "not a number 1\n"}) {
    write(path, text);
    Tuning read;
    read.load(mine);
    EXPECT_FALSE(read.knows(d)) << text;
  }
}

}  // namespace
}  // namespace quern::vulkan
