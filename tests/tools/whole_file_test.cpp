// SPDX-License-Identifier: Apache-2.0
#include "tools/whole_file.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace quern::tools {
namespace {

namespace fs = std::filesystem;

class WholeFile : public ::testing::Test {
 protected:
  WholeFile() : folder_(fs::temp_directory_path() / ("whole_file_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~WholeFile() override { fs::remove_all(folder_); }

  static std::string content(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  // How a process ends that writes 64 MB over the file, with this before.
  template <class F>
  int end_of_writer(const fs::path& path, const F& first) const {
    const pid_t pid = fork();
    if (pid == 0) {
      first();
      _exit(write_whole_file(path.string(), std::string(64 << 20, 'x')).ok() ? 0 : 3);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return status;
  }

  const fs::path folder_;
};

TEST_F(WholeFile, TakesTheOldOnesPlaceWithItsPermissions) {
  const fs::path path = folder_ / "a.txt";
  ASSERT_TRUE(write_whole_file(path.string(), "one").ok());
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(write_whole_file(path.string(), "two").ok());
  EXPECT_EQ(content(path), "two");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(files(), 1U);
}

TEST_F(WholeFile, StaysWhatItWasWhereThereIsNoRoom) {
  const fs::path path = folder_ / "a.txt";
  ASSERT_TRUE(write_whole_file(path.string(), "old").ok());
  const int status = end_of_writer(path, [] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit most{1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &most);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(WholeFile, StaysWhatItWasAfterASignal) {
  const fs::path path = folder_ / "a.txt";
  ASSERT_TRUE(write_whole_file(path.string(), "old").ok());
  // The system's signal for a file that grows too large, as SIGINT in the middle of writing.
  const int status = end_of_writer(path, [] {
    std::signal(SIGINT, SIG_DFL);  // ignored where a shell began this in the background
    std::signal(SIGXFSZ, [](int) { raise(SIGINT); });
    const rlimit most{1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &most);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(WholeFile, SaysWhyItIsNotThere) {
  const Status status = write_whole_file((folder_ / "none" / "a.txt").string(), "x");
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("No such file"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace quern::tools
