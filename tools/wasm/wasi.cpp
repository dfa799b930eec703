// SPDX-License-Identifier: Apache-2.0
#include "tools/wasm/wasi.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace quern::wasm {
namespace {

// Numbers of preview 1.
enum : std::uint32_t {
  ok = 0,
  badf = 8,
  fault = 21,
  inval = 28,
  io = 29,
  isdir = 31,
  loop = 32,
  mfile = 33,
  noent = 44,
  nosys = 52,
  notdir = 54,
  rofs = 69,
  spipe = 70,
  notcapable = 76,
};

constexpr std::size_t most_files = 1024;

std::uint32_t errno_of(int error) {
  switch (error) {
    case EBADF: return badf;
    case EINVAL: return inval;
    case EISDIR: return isdir;
    case ELOOP: return loop;
    case EMFILE: return mfile;
    case ENOENT: return noent;
    case ENOTDIR: return notdir;
    case ESPIPE: return spipe;
    default: return io;
  }
}

std::uint8_t file_type(const struct stat& s) {
  if (S_ISCHR(s.st_mode)) return 2;
  if (S_ISDIR(s.st_mode)) return 3;
  return S_ISREG(s.st_mode) ? 4 : 0;
}

// Opens `path` below a folder to be read, one component after the other: none of them is "..", none
// a link.
Descriptor open_below(int folder, const std::string& path) {
  Descriptor parent;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const bool is_last = end == path.size();
    const std::string part = begin == end ? "." : path.substr(begin, end - begin);
    if (part == "..") {
      errno = EPERM;
      return Descriptor();
    }
    const int mode = is_last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY;
    Descriptor next(
        ::openat(parent ? parent.get() : folder, part.c_str(), mode | O_NOFOLLOW | O_CLOEXEC));
    if (!next || is_last) return next;
    parent = std::move(next);
    begin = end + 1;
  }
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ > 2) ::close(fd_);
}

// The guest's memory during one call, with every access checked.
class Wasi::View {
 public:
  explicit View(LinearMemory memory) : memory_(memory) {}

  // Null: not in the memory.
  std::uint8_t* at(std::uint64_t offset, std::uint64_t bytes) const {
    if (!memory_.base || offset > memory_.size || bytes > memory_.size - offset) return nullptr;
    return memory_.base + offset;
  }
  template <class T>
  bool put(std::uint64_t offset, T value) const {
    std::uint8_t* place = at(offset, sizeof value);
    if (place) std::memcpy(place, &value, sizeof value);
    return place != nullptr;
  }
  bool put_bytes(std::uint64_t offset, const void* bytes, std::size_t count) const {
    std::uint8_t* place = at(offset, count);
    if (place) std::memcpy(place, bytes, count);
    return place != nullptr;
  }
  std::uint32_t word(const std::uint8_t* place) const {
    std::uint32_t value = 0;
    std::memcpy(&value, place, sizeof value);
    return value;
  }

 private:
  LinearMemory memory_;
};

// ---- descriptors -------------------------------------------------------------------------------

Wasi::Wasi(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {
  for (int fd : {0, 1, 2}) files_.push_back(std::make_unique<File>(File{Descriptor(fd)}));
}

Status Wasi::open_folder(const std::string& host, const std::string& guest) {
  Descriptor folder(::open(host.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return {Code::not_found, "no folder '" + host + "': " + std::strerror(errno)};
  files_.push_back(std::make_unique<File>(File{std::move(folder), true, guest}));
  return {};
}

Wasi::File* Wasi::file(std::uint64_t number) {
  return number < files_.size() ? files_[number].get() : nullptr;
}

std::uint32_t Wasi::insert(File file, std::uint32_t* number) {
  auto place = std::find(files_.begin() + 3, files_.end(), nullptr);
  if (place == files_.end()) {
    if (files_.size() >= most_files) return mfile;
    place = files_.insert(place, nullptr);
  }
  *place = std::make_unique<File>(std::move(file));
  *number = static_cast<std::uint32_t>(place - files_.begin());
  return ok;
}

// fd
std::uint32_t Wasi::fd_close(const View&, Arguments a) {
  if (!file(a[0])) return badf;
  files_[a[0]].reset();
  return ok;
}

// fd, out: {type u8 @0, flags u16 @2, rights u64 @8, rights inherited u64 @16}. A terminal is what
// can neither be sought in nor told where it stands.
std::uint32_t Wasi::fd_fdstat_get(const View& memory, Arguments a) {
  constexpr std::uint64_t seek_and_tell = 1 << 2 | 1 << 5;
  const File* f = file(a[0]);
  struct stat s {};
  if (!f) return badf;
  if (::fstat(f->descriptor.get(), &s) != 0) return errno_of(errno);
  const std::uint64_t rights = file_type(s) == 2 ? ~seek_and_tell : ~std::uint64_t{0};
  const std::uint64_t record[3] = {file_type(s), rights, rights};
  return memory.put_bytes(a[1], record, sizeof record) ? ok : fault;
}

// fd, flags
std::uint32_t Wasi::fd_fdstat_set_flags(const View&, Arguments a) {
  return file(a[0]) ? ok : badf;
}

// {device, inode u64, type u8 @16, links u64 @24, size u64 @32, times in ns @40, 48, 56}
std::uint32_t Wasi::put_stat(const View& memory, std::uint64_t at, int fd) {
  struct stat s {};
  if (::fstat(fd, &s) != 0) return errno_of(errno);
  const auto ns = [](const timespec& t) {
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(t.tv_nsec);
  };
  const std::uint64_t record[8] = {
      s.st_dev,      s.st_ino,      file_type(s), s.st_nlink, static_cast<std::uint64_t>(s.st_size),
      ns(s.st_atim), ns(s.st_mtim), ns(s.st_ctim)};
  return memory.put_bytes(at, record, sizeof record) ? ok : fault;
}

// fd, out
std::uint32_t Wasi::fd_filestat_get(const View& memory, Arguments a) {
  const File* f = file(a[0]);
  return f ? put_stat(memory, a[1], f->descriptor.get()) : badf;
}

// fd, out: {0 for a folder, length of its name}
std::uint32_t Wasi::fd_prestat_get(const View& memory, Arguments a) {
  const File* f = file(a[0]);
  if (!f || f->preopened_as.empty()) return badf;
  const std::uint32_t record[2] = {0, static_cast<std::uint32_t>(f->preopened_as.size())};
  return memory.put_bytes(a[1], record, sizeof record) ? ok : fault;
}

// fd, name, size
std::uint32_t Wasi::fd_prestat_dir_name(const View& memory, Arguments a) {
  const File* f = file(a[0]);
  if (!f || f->preopened_as.empty()) return badf;
  if (a[2] < f->preopened_as.size()) return inval;
  return memory.put_bytes(a[1], f->preopened_as.data(), f->preopened_as.size()) ? ok : fault;
}

// ---- reading and writing -----------------------------------------------------------------------

// fd, list of {pointer, bytes}, its length, out: bytes
std::uint32_t Wasi::transfer(const View& memory, Arguments a, const Move& move) {
  const File* f = file(a[0]);
  if (!f || f->is_folder) return badf;
  const std::uint8_t* list = memory.at(a[1], a[2] * 8);
  if (!list || !memory.at(a[3], 4)) return fault;
  std::uint32_t total = 0;
  for (std::uint64_t i = 0; i < a[2]; ++i) {
    const std::uint32_t bytes = memory.word(list + 8 * i + 4);
    std::uint8_t* place = memory.at(memory.word(list + 8 * i), bytes);
    if (!place) return fault;
    const ssize_t done = move(f->descriptor.get(), place, bytes);
    if (done < 0) return errno_of(errno);
    total += static_cast<std::uint32_t>(done);
    if (static_cast<std::uint32_t>(done) < bytes) break;
  }
  return memory.put(a[3], total) ? ok : fault;
}

std::uint32_t Wasi::fd_read(const View& memory, Arguments a) {
  return transfer(memory, a, ::read);
}
std::uint32_t Wasi::fd_write(const View& memory, Arguments a) {
  const File* f = file(a[0]);
  const bool is_written = a[0] == 1 || a[0] == 2;
  if (f && !f->is_folder && !is_written) return rofs;
  return transfer(memory, a, ::write);
}

// fd, list of {pointer, bytes}, its length, offset, out: bytes
std::uint32_t Wasi::fd_pread(const View& memory, Arguments a) {
  const std::uint64_t others[] = {a[0], a[1], a[2], a[4]};
  auto at = static_cast<off_t>(a[3]);
  return transfer(memory, others, [&at](int fd, void* to, std::size_t bytes) {
    const ssize_t done = ::pread(fd, to, bytes, at);
    if (done > 0) at += done;
    return done;
  });
}

// fd, offset, whence, out: position
std::uint32_t Wasi::fd_seek(const View& memory, Arguments a) {
  constexpr int whences[] = {SEEK_SET, SEEK_CUR, SEEK_END};
  const File* f = file(a[0]);
  if (!f) return badf;
  if (a[2] > 2) return inval;
  const off_t at = ::lseek(f->descriptor.get(), static_cast<off_t>(a[1]), whences[a[2]]);
  if (at < 0) return errno_of(errno);
  return memory.put(a[3], static_cast<std::uint64_t>(at)) ? ok : fault;
}

// fd, out: position
std::uint32_t Wasi::fd_tell(const View& memory, Arguments a) {
  const std::uint64_t seek[] = {a[0], 0, 1, a[1]};
  return fd_seek(memory, seek);
}

// ---- paths -------------------------------------------------------------------------------------

std::uint32_t Wasi::open_path(const View& memory, std::uint64_t folder, std::uint64_t at,
                              std::uint64_t size, Descriptor* opened) {
  const File* f = file(folder);
  if (!f) return badf;
  if (!f->is_folder) return notdir;
  const std::uint8_t* text = memory.at(at, size);
  if (!text) return fault;
  const std::string path(reinterpret_cast<const char*>(text), size);
  if (path.empty() || path.find('\0') != std::string::npos) return inval;
  if (path[0] == '/') return notcapable;
  *opened = open_below(f->descriptor.get(), path);
  if (*opened) return ok;
  return errno == EPERM ? notcapable : errno_of(errno);
}

// fd, lookup flags, path, size, open flags, rights, inherited rights, descriptor flags, out: fd
std::uint32_t Wasi::path_open(const View& memory, Arguments a) {
  constexpr std::uint64_t may_change = 1 << 0 | 1 << 2 | 1 << 3;  // create, exclusive, truncate
  constexpr std::uint64_t must_be_folder = 1 << 1, right_to_write = 1 << 6;
  if ((a[4] & may_change) != 0 || (a[5] & right_to_write) != 0) return rofs;
  if (!memory.at(a[8], 4)) return fault;
  Descriptor opened;
  if (const std::uint32_t error = open_path(memory, a[0], a[2], a[3], &opened)) return error;
  struct stat s {};
  if (::fstat(opened.get(), &s) != 0) return errno_of(errno);
  const bool is_folder = S_ISDIR(s.st_mode);
  if (!is_folder && !S_ISREG(s.st_mode)) return notcapable;
  if (!is_folder && (a[4] & must_be_folder) != 0) return notdir;
  std::uint32_t number = 0;
  if (const std::uint32_t error = insert({std::move(opened), is_folder, ""}, &number)) return error;
  return memory.put(a[8], number) ? ok : fault;
}

// fd, lookup flags, path, size, out
std::uint32_t Wasi::path_filestat_get(const View& memory, Arguments a) {
  Descriptor opened;
  if (const std::uint32_t error = open_path(memory, a[0], a[2], a[3], &opened)) return error;
  return put_stat(memory, a[4], opened.get());
}

// ---- arguments, clocks, random bytes -----------------------------------------------------------

// out: count, out: bytes
std::uint32_t Wasi::args_sizes_get(const View& memory, Arguments a) {
  std::size_t bytes = 0;
  for (const std::string& s : arguments_) bytes += s.size() + 1;
  return memory.put(a[0], static_cast<std::uint32_t>(arguments_.size())) &&
                 memory.put(a[1], static_cast<std::uint32_t>(bytes))
             ? ok
             : fault;
}

// out: pointers, out: texts
std::uint32_t Wasi::args_get(const View& memory, Arguments a) {
  std::uint64_t pointer = a[0], text = a[1];
  for (const std::string& s : arguments_) {
    if (!memory.put(pointer, static_cast<std::uint32_t>(text)) ||
        !memory.put_bytes(text, s.c_str(), s.size() + 1))
      return fault;
    pointer += 4;
    text += s.size() + 1;
  }
  return ok;
}

std::uint32_t Wasi::environ_sizes_get(const View& memory, Arguments a) {
  return memory.put(a[0], std::uint32_t{0}) && memory.put(a[1], std::uint32_t{0}) ? ok : fault;
}
std::uint32_t Wasi::environ_get(const View&, Arguments) {
  return ok;
}

// clock, out: ns
std::uint32_t Wasi::clock_res_get(const View& memory, Arguments a) {
  if (a[0] > 1) return inval;
  return memory.put(a[1], std::uint64_t{1}) ? ok : fault;
}

// clock, precision, out: ns
std::uint32_t Wasi::clock_time_get(const View& memory, Arguments a) {
  if (a[0] > 1) return inval;
  timespec t{};
  ::clock_gettime(a[0] == 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC, &t);
  const auto ns =
      static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
  return memory.put(a[2], ns) ? ok : fault;
}

// out: bytes, their number
std::uint32_t Wasi::random_get(const View& memory, Arguments a) {
  std::uint8_t* place = memory.at(a[0], a[1]);
  if (!place) return fault;
  for (std::uint64_t done = 0; done < a[1];) {
    const ssize_t n = ::getrandom(place + done, a[1] - done, 0);
    if (n < 0) return io;
    done += static_cast<std::uint64_t>(n);
  }
  return ok;
}

std::uint32_t Wasi::sched_yield(const View&, Arguments) {
  return ok;
}

// ---- table -------------------------------------------------------------------------------------

const Wasi::Row Wasi::rows[] = {
    {"args_get", "ii:i", &Wasi::args_get},
    {"args_sizes_get", "ii:i", &Wasi::args_sizes_get},
    {"clock_res_get", "ii:i", &Wasi::clock_res_get},
    {"clock_time_get", "iIi:i", &Wasi::clock_time_get},
    {"environ_get", "ii:i", &Wasi::environ_get},
    {"environ_sizes_get", "ii:i", &Wasi::environ_sizes_get},
    {"fd_close", "i:i", &Wasi::fd_close},
    {"fd_fdstat_get", "ii:i", &Wasi::fd_fdstat_get},
    {"fd_fdstat_set_flags", "ii:i", &Wasi::fd_fdstat_set_flags},
    {"fd_filestat_get", "ii:i", &Wasi::fd_filestat_get},
    {"fd_pread", "iiiIi:i", &Wasi::fd_pread},
    {"fd_prestat_dir_name", "iii:i", &Wasi::fd_prestat_dir_name},
    {"fd_prestat_get", "ii:i", &Wasi::fd_prestat_get},
    {"fd_read", "iiii:i", &Wasi::fd_read},
    {"fd_seek", "iIii:i", &Wasi::fd_seek},
    {"fd_tell", "ii:i", &Wasi::fd_tell},
    {"fd_write", "iiii:i", &Wasi::fd_write},
    {"path_filestat_get", "iiiii:i", &Wasi::path_filestat_get},
    {"path_open", "iiiiiIIii:i", &Wasi::path_open},
    {"random_get", "ii:i", &Wasi::random_get},
    {"sched_yield", ":i", &Wasi::sched_yield},
};

const HostFunction* Wasi::resolve(const std::string& name) {
  HostFunction function{"", [](Caller&, Arguments) { return HostAnswer{nosys, false}; }};
  if (name == "proc_exit")
    function = {"i:", [](Caller&, Arguments a) {
                  return HostAnswer{static_cast<std::uint32_t>(a[0]), true};
                }};
  for (const Row& row : rows)
    if (name == row.name)
      function = {row.signature, [this, call = row.function](Caller& caller, Arguments a) {
                    return HostAnswer{(this->*call)(View(caller.memory()), a), false};
                  }};
  return &resolved_.insert_or_assign(name, std::move(function)).first->second;
}

}  // namespace quern::wasm
