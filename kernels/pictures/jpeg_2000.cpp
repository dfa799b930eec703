// SPDX-License-Identifier: Apache-2.0
// JPEG 2000 by OpenJPEG 2: grey, RGB and YCC of 1 to 16 bits whose components have one size.
// Transparency is dropped.
#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/pictures/format.h"

namespace quern::pictures {
namespace {

// openjpeg.h of 2.5, whose soname has been 7 since 2.1.
struct Jp2Component {
  std::uint32_t dx, dy, width, height, x0, y0, bits, bits_before, is_signed, levels, factor;
  std::int32_t* data;
  std::uint16_t alpha;
};
struct Jp2Image {
  std::uint32_t x0, y0, x1, y1, components;
  int colours;
  Jp2Component* component;
  std::uint8_t* profile;
  std::uint32_t profile_bytes;
};
using Jp2Read = std::size_t (*)(void*, std::size_t, void*);
using Jp2Skip = std::int64_t (*)(std::int64_t, void*);
using Jp2Seek = int (*)(std::int64_t, void*);
constexpr int codestream = 0;  // OPJ_CODEC_J2K
constexpr int jp2 = 2;         // OPJ_CODEC_JP2
constexpr int ycc = 3;         // OPJ_CLRSPC_SYCC
constexpr int for_reading = 1;
// Room for opj_dparameters_t (8,252 bytes in 2.5), and more; the library fills in defaults.
struct Jp2Parameters {
  alignas(16) std::array<std::byte, 16384> bytes{};
};

struct OpenJpeg {
  Library library{"JPEG 2000", "libopenjp2-7", {"libopenjp2.so.7"}};
  void* (*make_stream)(int) = nullptr;
  void (*free_stream)(void*) = nullptr;
  void (*set_read)(void*, Jp2Read) = nullptr;
  void (*set_skip)(void*, Jp2Skip) = nullptr;
  void (*set_seek)(void*, Jp2Seek) = nullptr;
  void (*set_data)(void*, void*, void (*)(void*)) = nullptr;
  void (*set_length)(void*, std::uint64_t) = nullptr;
  void* (*make_codec)(int) = nullptr;
  void (*free_codec)(void*) = nullptr;
  void (*defaults)(void*) = nullptr;
  int (*set_up)(void*, void*) = nullptr;
  int (*header)(void*, void*, Jp2Image**) = nullptr;
  int (*decode)(void*, void*, Jp2Image*) = nullptr;
  void (*free_image)(Jp2Image*) = nullptr;

  OpenJpeg() {
    library.find("opj_stream_default_create", make_stream);
    library.find("opj_stream_destroy", free_stream);
    library.find("opj_stream_set_read_function", set_read);
    library.find("opj_stream_set_skip_function", set_skip);
    library.find("opj_stream_set_seek_function", set_seek);
    library.find("opj_stream_set_user_data", set_data);
    library.find("opj_stream_set_user_data_length", set_length);
    library.find("opj_create_decompress", make_codec);
    library.find("opj_destroy_codec", free_codec);
    library.find("opj_set_default_decoder_parameters", defaults);
    library.find("opj_setup_decoder", set_up);
    library.find("opj_read_header", header);
    library.find("opj_decode", decode);
    library.find("opj_image_destroy", free_image);
  }
};

const OpenJpeg& openjpeg() {
  static const OpenJpeg opened;
  return opened;
}

std::size_t read_jp2(void* to, std::size_t wanted, void* source) {
  auto& s = *static_cast<FileSource*>(source);
  const auto bytes =
      static_cast<std::size_t>(std::min<std::uint64_t>(wanted, s.file.size() - s.at));
  if (bytes == 0) return static_cast<std::size_t>(-1);  // the end
  std::memcpy(to, s.file.data() + s.at, bytes);
  s.at += bytes;
  return bytes;
}
int seek_jp2(std::int64_t to, void* source) {
  auto& s = *static_cast<FileSource*>(source);
  if (to < 0 || static_cast<std::uint64_t>(to) > s.file.size()) return 0;
  s.at = static_cast<std::size_t>(to);
  return 1;
}
std::int64_t skip_jp2(std::int64_t by, void* source) {
  auto& s = *static_cast<FileSource*>(source);
  const auto left = static_cast<std::int64_t>(s.file.size() - s.at);
  if (by < 0 || left == 0) return -1;
  s.at += static_cast<std::size_t>(std::min(by, left));
  return std::min(by, left);
}

bool is_codestream(Bytes file) {
  return begins_with(file, "\xff\x4f\xff\x51");
}

class Jp2Decoder {
 public:
  explicit Jp2Decoder(Bytes file) : source_{file} {
    const OpenJpeg& o = openjpeg();
    codec_ = o.make_codec(is_codestream(file) ? codestream : jp2);
    stream_ = o.make_stream(for_reading);
    if (!codec_ || !stream_) return;
    o.set_data(stream_, &source_, nullptr);
    o.set_length(stream_, file.size());
    o.set_read(stream_, read_jp2);
    o.set_skip(stream_, skip_jp2);
    o.set_seek(stream_, seek_jp2);
    Jp2Parameters parameters;
    o.defaults(parameters.bytes.data());
    is_read_ = o.set_up(codec_, parameters.bytes.data()) && o.header(stream_, codec_, &image_) &&
               image_ && is_understood();
  }
  ~Jp2Decoder() {
    const OpenJpeg& o = openjpeg();
    if (image_) o.free_image(image_);
    if (stream_) o.free_stream(stream_);
    if (codec_) o.free_codec(codec_);
  }
  Jp2Decoder(const Jp2Decoder&) = delete;
  Jp2Decoder& operator=(const Jp2Decoder&) = delete;

  std::optional<Extent> extent() const {
    if (!is_read_) return std::nullopt;
    return extent_from(std::int64_t{image_->x1} - image_->x0,
                       std::int64_t{image_->y1} - image_->y0);
  }
  const Jp2Image* run() {
    const bool is_done = openjpeg().decode(codec_, stream_, image_) && is_understood();
    return is_done ? image_ : nullptr;
  }

 private:
  // Each sample is one of a pixel.
  bool is_understood() const {
    if (image_->components < 1 || image_->components > 4) return false;
    return std::all_of(
        image_->component, image_->component + image_->components, [&](const Jp2Component& c) {
          return c.dx == 1 && c.dy == 1 && c.bits >= 1 && c.bits <= 16 &&
                 c.width == image_->x1 - image_->x0 && c.height == image_->y1 - image_->y0;
        });
  }

  FileSource source_;
  void* codec_ = nullptr;
  void* stream_ = nullptr;
  Jp2Image* image_ = nullptr;
  bool is_read_ = false;
};

std::uint8_t sample_of(const Jp2Component& c, std::int64_t i) {
  const std::int64_t most = (std::int64_t{1} << c.bits) - 1;
  const std::int64_t zero = c.is_signed ? std::int64_t{1} << (c.bits - 1) : 0;
  const std::int64_t value = std::clamp<std::int64_t>(c.data[i] + zero, 0, most);
  return static_cast<std::uint8_t>(c.bits >= 8 ? value >> (c.bits - 8)
                                               : (value * 255 + most / 2) / most);
}

// ITU-R BT.601 over the whole range, as JPEG.
void rgb_of_ycc(std::uint8_t* pixel) {
  const double y = pixel[0];
  const double b = pixel[1] - 128.0;
  const double r = pixel[2] - 128.0;
  const auto rounded = [](double v) {
    return static_cast<std::uint8_t>(std::clamp(v + 0.5, 0.0, 255.0));
  };
  pixel[0] = rounded(y + 1.402 * r);
  pixel[1] = rounded(y - 0.344136 * b - 0.714136 * r);
  pixel[2] = rounded(y + 1.772 * b);
}

bool is_jpeg_2000(Bytes file) {
  using namespace std::string_view_literals;
  return is_codestream(file) || begins_with(file, "\0\0\0\x0cjP  \r\n\x87\n"sv);
}

Result<std::optional<Extent>> extent_of_jpeg_2000(Bytes file) {
  QUERN_TRY(openjpeg().library.check());
  return Jp2Decoder(file).extent();
}

Result<bool> decode_jpeg_2000(Bytes file, Extent extent, std::uint8_t* pixels) {
  QUERN_TRY(openjpeg().library.check());
  Jp2Decoder decoder(file);
  if (!(decoder.extent() == extent)) return false;
  const Jp2Image* image = decoder.run();
  if (!image || !(decoder.extent() == extent)) return false;
  const bool has_colours = image->components >= 3;
  for (std::size_t k = 0; k < (has_colours ? 3 : 1); ++k)
    if (!image->component[k].data) return false;
  for (std::int64_t i = 0; i < extent.pixels(); ++i) {
    for (std::size_t k = 0; k < 3; ++k)
      pixels[3 * i + static_cast<std::int64_t>(k)] =
          sample_of(image->component[has_colours ? k : 0], i);
    if (has_colours && image->colours == ycc) rgb_of_ycc(pixels + 3 * i);
  }
  return true;
}

}  // namespace

constexpr Format jpeg_2000 = {is_jpeg_2000, extent_of_jpeg_2000, decode_jpeg_2000};

}  // namespace quern::pictures
