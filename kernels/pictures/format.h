// SPDX-License-Identifier: Apache-2.0
// One format of pictures: what picture.h does for all of them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include <quern/status.h>

#include "kernels/contract/shared_library.h"
#include "kernels/pictures/picture.h"

namespace quern::pictures {

struct Format {
  // True if the file begins as one of this format does.
  bool (*is_it)(Bytes file);
  // Extents are from 1 to 2^31 - 1; none: the header is broken, or says what is not supported.
  Result<std::optional<Extent>> (*extent)(Bytes file);
  Result<bool> (*decode)(Bytes file, Extent extent, std::uint8_t* pixels);
};

extern const Format bmp, pnm, png, jpeg, jpeg_2000, tiff, webp;

// A file in memory, for a library that reads by functions.
struct FileSource {
  Bytes file;
  std::uint64_t at = 0;
};

inline bool begins_with(Bytes file, std::string_view magic, std::size_t at = 0) {
  if (file.size() < at + magic.size()) return false;
  for (std::size_t i = 0; i < magic.size(); ++i)
    if (file[at + i] != static_cast<std::uint8_t>(magic[i])) return false;
  return true;
}

inline std::optional<Extent> extent_from(std::int64_t width, std::int64_t height) {
  constexpr std::int64_t end = std::int64_t{1} << 31;
  if (width < 1 || height < 1 || width >= end || height >= end) return std::nullopt;
  return Extent{height, width};
}

// A library with all the functions that are wanted of it, or the reason why there is none.
class Library {
 public:
  // `package`: Debian's name of what has it.
  Library(std::string_view format, std::string_view package,
          std::initializer_list<const char*> names);

  template <class F>
  void find(const char* symbol, F*& function) {
    function = std::bit_cast<F*>(find(symbol));
  }
  // Errors: unsupported, the library or one of the functions is not there.
  Status check() const;

 private:
  void* find(const char* symbol);

  std::string_view format_, package_;
  SharedLibrary library_;
};

// Closes up the first three bytes of pixels of 4.
void drop_fourth(std::uint8_t* pixels, std::int64_t count);

}  // namespace quern::pictures
