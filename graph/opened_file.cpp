// SPDX-License-Identifier: Apache-2.0
#include "graph/opened_file.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include "engine/vocabulary/host_memory.h"
#include "engine/vocabulary/platform/pages.h"
#include "engine/vocabulary/text_util.h"
#include "graph/file_pages.h"

namespace quern {

Status system_error(std::string_view subject, int error) {
  const bool missing = error == ENOENT || error == ENOTDIR;
  return {missing ? Code::not_found : Code::invalid_argument,
          cat(printable(subject), ": ", std::generic_category().message(error))};
}

namespace {

Result<OpenedFile> read_bytes(const platform::File& file, std::size_t size,
                              std::string_view subject) {
  HostBlock block = HostBlock::take(size);  // aligned to what weights in it may want
  std::byte* const data = block.data;
  const std::shared_ptr<std::byte> bytes(
      data, [block = std::move(block)](std::byte*) mutable { block.release(); });
  if (!bytes)
    return Status(Code::out_of_memory, cat(printable(subject), ": no memory for ", size, " bytes"));
  for (std::size_t at = 0; at < size;) {
    const std::ptrdiff_t n = platform::read_at(file, at, bytes.get() + at, size - at);
    if (n < 0) return system_error(subject, errno);
    if (n == 0)
      return Status(Code::invalid_argument,
                    cat(printable(subject), ": it shrank while it was read"));
    at += static_cast<std::size_t>(n);
  }
  return OpenedFile{bytes, {bytes.get(), size}};
}

}  // namespace

Result<OpenedFile> open_descriptor(const platform::File& file, FileBytes how,
                                   std::string_view subject) {
  const auto info = platform::info_of(file);
  if (!info) return system_error(subject, errno);
  if (info->kind != platform::FileInfo::Kind::regular)
    return Status(Code::invalid_argument, cat(printable(subject), ": not a regular file"));
  if (info->size > SIZE_MAX)
    return Status(Code::invalid_argument,
                  cat(printable(subject), ": ", info->size, " bytes are more than addresses"));
  const auto size = static_cast<std::size_t>(info->size);
  if (size == 0) {
    static const std::byte nothing{};
    return OpenedFile{nullptr, {&nothing, 0}};
  }
  if (how == FileBytes::read) return read_bytes(file, size, subject);
  void* p = platform::map_file(file, size);
  if (!p) return system_error(subject, errno);
  return OpenedFile{own_file_pages(p, size), {static_cast<const std::byte*>(p), size}};
}

Result<OpenedFile> open_file(const std::string& path, FileBytes how) {
  const platform::File file = platform::open_file(path);
  if (!file.is_open()) return system_error(path, errno);
  return open_descriptor(file, how, path);
}

}  // namespace quern
