// SPDX-License-Identifier: Apache-2.0
// JPEG by libturbojpeg, whose upsampling ONNX describes. CMYK is read as Adobe writes it, inverted.
#include "kernels/pictures/format.h"

namespace quern::pictures {
namespace {

// turbojpeg.h of 2.1; the functions are there in 3.x, too.
constexpr int pixels_of_rgb = 0;    // TJPF_RGB
constexpr int pixels_of_cmyk = 11;  // TJPF_CMYK
constexpr int cmyk = 3;             // TJCS_CMYK, and TJCS_YCCK behind it
constexpr int limit_scans = 32768;  // TJFLAG_LIMITSCANS: a file of very many takes forever
constexpr int warning = 0;          // TJERR_WARNING

struct Turbo {
  Library library{"JPEG", "libturbojpeg0", {"libturbojpeg.so.0"}};
  void* (*open)() = nullptr;
  int (*close)(void*) = nullptr;
  int (*header)(void*, const std::uint8_t*, unsigned long, int*, int*, int*, int*) = nullptr;
  int (*decompress)(void*, const std::uint8_t*, unsigned long, std::uint8_t*, int, int, int, int,
                    int) = nullptr;
  int (*error_code)(void*) = nullptr;

  Turbo() {
    library.find("tjInitDecompress", open);
    library.find("tjDestroy", close);
    library.find("tjDecompressHeader3", header);
    library.find("tjDecompress2", decompress);
    library.find("tjGetErrorCode", error_code);
  }
};

const Turbo& turbo() {
  static const Turbo opened;
  return opened;
}

// A decompressor, and what the header of the file says.
class JpegDecompressor {
 public:
  explicit JpegDecompressor(Bytes file) : file_(file), handle_(turbo().open()) {
    int subsampling = 0;
    is_read_ = handle_ && turbo().header(handle_, file.data(), file.size(), &width_, &height_,
                                         &subsampling, &colours_) == 0;
  }
  ~JpegDecompressor() {
    if (handle_) turbo().close(handle_);
  }
  JpegDecompressor(const JpegDecompressor&) = delete;
  JpegDecompressor& operator=(const JpegDecompressor&) = delete;

  std::optional<Extent> extent() const {
    return is_read_ ? extent_from(width_, height_) : std::nullopt;
  }
  bool is_cmyk() const { return colours_ >= cmyk; }
  // A warning (of bytes that nobody needs, most of the time) is no reason to fail.
  bool run(std::uint8_t* pixels) const {
    return turbo().decompress(handle_, file_.data(), file_.size(), pixels, width_, 0, height_,
                              is_cmyk() ? pixels_of_cmyk : pixels_of_rgb, limit_scans) == 0 ||
           turbo().error_code(handle_) == warning;
  }

 private:
  Bytes file_;
  void* handle_;
  int width_ = 0;
  int height_ = 0;
  int colours_ = 0;
  bool is_read_ = false;
};

void rgb_of_cmyk(std::uint8_t* pixels, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const unsigned black = pixels[4 * i + 3];
    for (std::int64_t k = 0; k < 3; ++k)
      pixels[3 * i + k] = static_cast<std::uint8_t>((pixels[4 * i + k] * black + 127) / 255);
  }
}

bool is_jpeg(Bytes file) {
  return begins_with(file, "\xff\xd8\xff");
}

Result<std::optional<Extent>> extent_of_jpeg(Bytes file) {
  QUERN_TRY(turbo().library.check());
  return JpegDecompressor(file).extent();
}

Result<bool> decode_jpeg(Bytes file, Extent extent, std::uint8_t* pixels) {
  QUERN_TRY(turbo().library.check());
  const JpegDecompressor d(file);
  if (!(d.extent() == extent) || !d.run(pixels)) return false;
  if (d.is_cmyk()) rgb_of_cmyk(pixels, extent.pixels());
  return true;
}

}  // namespace

constexpr Format jpeg = {is_jpeg, extent_of_jpeg, decode_jpeg};

}  // namespace quern::pictures
