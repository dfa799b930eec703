// SPDX-License-Identifier: Apache-2.0
// TIFF, the first picture of a file, by libtiff from 4.5 on. Transparency is dropped.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "kernels/pictures/format.h"

namespace quern::pictures {
namespace {

// tiffio.h: a file is what these functions read.
using TiffSize = std::ptrdiff_t;
using TiffRead = TiffSize (*)(void*, void*, TiffSize);
using TiffSeek = std::uint64_t (*)(void*, std::uint64_t, int);
using TiffClose = int (*)(void*);
using TiffLength = std::uint64_t (*)(void*);
using TiffMap = int (*)(void*, void**, std::uint64_t*);
using TiffUnmap = void (*)(void*, void*, std::uint64_t);
using TiffHandler = int (*)(void* file, void* user, const char* module, const char* format,
                            va_list);
constexpr std::uint32_t width_tag = 256;
constexpr std::uint32_t length_tag = 257;
constexpr int from_top_left = 1;  // ORIENTATION_TOPLEFT
constexpr int stop_at_errors = 1;

struct Tiff {
  Library library{"TIFF", "libtiff6", {"libtiff.so.6"}};
  void* (*open)(const char*, const char*, void*, TiffRead, TiffRead, TiffSeek, TiffClose,
                TiffLength, TiffMap, TiffUnmap, void*) = nullptr;
  void (*close)(void*) = nullptr;
  int (*field)(void*, std::uint32_t, ...) = nullptr;
  int (*read)(void*, std::uint32_t, std::uint32_t, std::uint32_t*, int, int) = nullptr;
  void* (*make_options)() = nullptr;
  void (*free_options)(void*) = nullptr;
  void (*limit_memory)(void*, TiffSize) = nullptr;
  void (*on_error)(void*, TiffHandler, void*) = nullptr;
  void (*on_warning)(void*, TiffHandler, void*) = nullptr;

  Tiff() {
    library.find("TIFFClientOpenExt", open);
    library.find("TIFFClose", close);
    library.find("TIFFGetField", field);
    library.find("TIFFReadRGBAImageOriented", read);
    library.find("TIFFOpenOptionsAlloc", make_options);
    library.find("TIFFOpenOptionsFree", free_options);
    library.find("TIFFOpenOptionsSetMaxSingleMemAlloc", limit_memory);
    library.find("TIFFOpenOptionsSetErrorHandlerExtR", on_error);
    library.find("TIFFOpenOptionsSetWarningHandlerExtR", on_warning);
  }
};

const Tiff& tiff_functions() {
  static const Tiff opened;
  return opened;
}

TiffSize read_tiff(void* source, void* to, TiffSize wanted) {
  auto& s = *static_cast<FileSource*>(source);
  const std::uint64_t left = s.at < s.file.size() ? s.file.size() - s.at : 0;
  const auto bytes = static_cast<std::size_t>(
      std::min<std::uint64_t>(left, static_cast<std::uint64_t>(std::max<TiffSize>(wanted, 0))));
  if (bytes > 0) std::memcpy(to, s.file.data() + s.at, bytes);
  s.at += bytes;
  return static_cast<TiffSize>(bytes);
}
TiffSize write_no_tiff(void*, void*, TiffSize) {
  return 0;
}
std::uint64_t seek_tiff(void* source, std::uint64_t by, int from) {
  auto& s = *static_cast<FileSource*>(source);
  s.at = by + (from == SEEK_CUR ? s.at : from == SEEK_END ? s.file.size() : 0);
  return s.at;
}
int close_tiff(void*) {
  return 0;
}
std::uint64_t length_of_tiff(void* source) {
  return static_cast<FileSource*>(source)->file.size();
}
int map_no_tiff(void*, void**, std::uint64_t*) {
  return 0;
}
void unmap_no_tiff(void*, void*, std::uint64_t) {}
// The library would print what is wrong.
int say_nothing(void*, void*, const char*, const char*, va_list) {
  return 1;
}

class TiffFile {
 public:
  explicit TiffFile(Bytes file) : source_{file} {
    const Tiff& t = tiff_functions();
    void* const options = t.make_options();
    if (!options) return;
    t.limit_memory(options, TiffSize{4} * most_pixels);
    t.on_error(options, say_nothing, nullptr);
    t.on_warning(options, say_nothing, nullptr);
    handle_ = t.open("picture", "r", &source_, read_tiff, write_no_tiff, seek_tiff, close_tiff,
                     length_of_tiff, map_no_tiff, unmap_no_tiff, options);
    t.free_options(options);
  }
  ~TiffFile() {
    if (handle_) tiff_functions().close(handle_);
  }
  TiffFile(const TiffFile&) = delete;
  TiffFile& operator=(const TiffFile&) = delete;

  std::optional<Extent> extent() const {
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    if (!handle_ || !tiff_functions().field(handle_, width_tag, &width) ||
        !tiff_functions().field(handle_, length_tag, &height))
      return std::nullopt;
    return extent_from(width, height);
  }
  // Pixels of 32 bits with red in the lowest 8.
  bool read(Extent extent, std::uint32_t* pixels) const {
    return tiff_functions().read(handle_, static_cast<std::uint32_t>(extent.width),
                                 static_cast<std::uint32_t>(extent.height), pixels, from_top_left,
                                 stop_at_errors) != 0;
  }

 private:
  FileSource source_;
  void* handle_ = nullptr;
};

bool is_tiff(Bytes file) {
  using namespace std::string_view_literals;
  return begins_with(file, "II*\0"sv) || begins_with(file, "MM\0*"sv) ||
         begins_with(file, "II+\0"sv) || begins_with(file, "MM\0+"sv);
}

Result<std::optional<Extent>> extent_of_tiff(Bytes file) {
  QUERN_TRY(tiff_functions().library.check());
  return TiffFile(file).extent();
}

Result<bool> decode_tiff(Bytes file, Extent extent, std::uint8_t* pixels) {
  QUERN_TRY(tiff_functions().library.check());
  const TiffFile tiff(file);
  if (!(tiff.extent() == extent) || !tiff.read(extent, reinterpret_cast<std::uint32_t*>(pixels)))
    return false;
  drop_fourth(pixels, extent.pixels());
  return true;
}

}  // namespace

constexpr Format tiff = {is_tiff, extent_of_tiff, decode_tiff};

}  // namespace quern::pictures
