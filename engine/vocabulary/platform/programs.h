// SPDX-License-Identifier: Apache-2.0
// Other processes: programs that are started, and forks of this one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quern::platform {

// How a process ended.
struct Exit {
  enum class How : std::uint8_t { exited, signalled };

  How how = How::exited;
  int code = 0;           // of one that exited
  std::string signal;     // "SIGSEGV", "?"
  std::string described;  // "Segmentation fault"

  bool is_success() const { return how == How::exited && code == 0; }
};

// A program that runs beside this process, with pipes for its standard input and output; killed
// when this goes, or this process ends. One thread at a time.
class Program {
 public:
  static constexpr int not_started = 127;  // the exit code of a program that could not be started

  Program() = default;
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Starts the program of the first word, which is looked for as a shell would; an empty word is
  // the program of this process. `variables`, as NAME=value, are set beside this process's. False:
  // there is no pipe or no process for it.
  bool start(std::vector<std::string> words, const std::vector<std::string>& variables = {});

  enum class Moved : std::uint8_t { some, nothing, closed };
  // Waits at most so long until bytes can be moved, writes the beginning of `to_write` and cuts it
  // off, and appends what has come to `read`. A program that does not read on swallows all of it.
  // closed: the program has closed its output, and all of that is read.
  Moved move(std::string_view& to_write, std::string& read, std::chrono::milliseconds longest);
  void close_input();

  // The end of the process if it has ended within that time; it is waited for once.
  std::optional<Exit> wait(std::chrono::milliseconds longest);

 private:
  std::intptr_t process_ = -1;
  std::intptr_t input_ = -1;
  std::intptr_t output_ = -1;
};

// ---- forks -------------------------------------------------------------------------------------

// True if fork_child() can be called at all.
bool can_fork() noexcept;

// A fork of this process, and the end of a pipe from it.
struct Child {
  std::int64_t process = -1;
  int pipe = -1;
};

// Forks this process, which must have one thread. The child writes what `work` gives it to write
// and ends with the exit code that `work` returns; it dies with its parent. Nothing: the system has
// no room for another process.
using WriteToParent = std::function<void(std::string_view)>;
std::optional<Child> fork_child(const std::function<int(const WriteToParent&)>& work);
// Waits until one of the pipes has news, for so long at most.
void wait_for_news(std::span<const int> pipes, std::chrono::milliseconds longest);
// Appends what has come to `read`. True when the child has closed its end.
bool read_news(int pipe, std::string& read);
// Waits for the end of a child, kills it before if that is wanted, and closes the pipe.
enum class Ending : std::uint8_t { awaited, killed };
Exit end_child(const Child& child, Ending ending);

}  // namespace quern::platform
