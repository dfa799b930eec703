// SPDX-License-Identifier: Apache-2.0
// The part of WASI preview 1 that C and Rust guests need, read-only: arguments, the standard
// streams, files below the folders that the host opened, clocks, random bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <quern/status.h>

#include "tools/wasm/guest.h"

namespace quern::wasm {

inline constexpr char wasi_module[] = "wasi_snapshot_preview1";

// A descriptor of the host, closed at the end; the standard streams stay open.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

class Wasi {
 public:
  explicit Wasi(std::vector<std::string> arguments);

  // A folder of the host under a name of the guest. Errors: not_found.
  Status open_folder(const std::string& host, const std::string& guest);
  // A function of preview 1; those that are not there answer nosys.
  const HostFunction* resolve(const std::string& name);

 private:
  class View;
  using Arguments = const std::uint64_t*;
  using Function = std::uint32_t (Wasi::*)(const View&, Arguments);
  struct Row {
    const char* name;
    const char* signature;
    Function function;
  };
  struct File {
    Descriptor descriptor;
    bool is_folder = false;
    std::string preopened_as;  // "": opened by the guest
  };
  static const Row rows[];

  // Null: the guest has no such descriptor.
  File* file(std::uint64_t number);
  std::uint32_t insert(File file, std::uint32_t* number);
  // Moves bytes between a descriptor and memory, as read() and write() do.
  using Move = std::function<std::ptrdiff_t(int, void*, std::size_t)>;
  std::uint32_t transfer(const View& memory, Arguments a, const Move& move);
  std::uint32_t put_stat(const View& memory, std::uint64_t at, int fd);

  std::uint32_t args_sizes_get(const View& memory, Arguments a);
  std::uint32_t args_get(const View& memory, Arguments a);
  std::uint32_t environ_sizes_get(const View& memory, Arguments a);
  std::uint32_t environ_get(const View& memory, Arguments a);
  std::uint32_t clock_res_get(const View& memory, Arguments a);
  std::uint32_t clock_time_get(const View& memory, Arguments a);
  std::uint32_t random_get(const View& memory, Arguments a);
  std::uint32_t sched_yield(const View& memory, Arguments a);
  std::uint32_t fd_close(const View& memory, Arguments a);
  std::uint32_t fd_fdstat_get(const View& memory, Arguments a);
  std::uint32_t fd_fdstat_set_flags(const View& memory, Arguments a);
  std::uint32_t fd_filestat_get(const View& memory, Arguments a);
  std::uint32_t fd_pread(const View& memory, Arguments a);
  std::uint32_t fd_prestat_get(const View& memory, Arguments a);
  std::uint32_t fd_prestat_dir_name(const View& memory, Arguments a);
  std::uint32_t fd_read(const View& memory, Arguments a);
  std::uint32_t fd_write(const View& memory, Arguments a);
  std::uint32_t fd_seek(const View& memory, Arguments a);
  std::uint32_t fd_tell(const View& memory, Arguments a);
  std::uint32_t path_open(const View& memory, Arguments a);
  std::uint32_t path_filestat_get(const View& memory, Arguments a);
  std::uint32_t open_path(const View& memory, std::uint64_t folder, std::uint64_t at,
                          std::uint64_t size, Descriptor* opened);

  const std::vector<std::string> arguments_;
  std::vector<std::unique_ptr<File>> files_;  // by the guest's number; null: closed
  std::map<std::string, HostFunction> resolved_;
};

}  // namespace quern::wasm
