// SPDX-License-Identifier: Apache-2.0
// Reads the text in a photograph with two models: PP-OCRv4 finds lines, then reads each of them.
//   read_text models photo.png marked.png
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <quern/session.h>
#include <quern/status.h>
#include <quern/tensor.h>

#include "examples/common/image.h"
#include "examples/common/model.h"
#include "examples/ocr/ctc.h"
#include "examples/ocr/text_regions.h"

namespace examples {
namespace {

constexpr int largest_side = 960;  // larger pictures are shrunk before text is looked for
constexpr int line_height = 48;    // what the recogniser wants
constexpr float least_confidence = 0.5F;
constexpr Color mark = {230, 30, 60};

constexpr PixelFormat detector_format = {.order = PixelFormat::Order::bgr,
                                         .mean = {123.675F, 116.28F, 103.53F},
                                         .deviation = {58.395F, 57.12F, 57.375F}};
constexpr PixelFormat recogniser_format = {.order = PixelFormat::Order::bgr,
                                           .mean = {127.5F, 127.5F, 127.5F},
                                           .deviation = {127.5F, 127.5F, 127.5F}};

int round_up(float value, int step) {
  return std::max(step, step * static_cast<int>(std::ceil(value / static_cast<float>(step))));
}

// Regions in pixels of `picture`.
quern::Result<std::vector<TextRegion>> detect(quern::Session& detector, const Image& picture) {
  const auto longer = static_cast<float>(std::max(picture.width, picture.height));
  const float scale = std::min(1.0F, largest_side / longer);
  const int width = round_up(static_cast<float>(picture.width) * scale, 32);
  const int height = round_up(static_cast<float>(picture.height) * scale, 32);
  QUERN_ASSIGN(const quern::Tensor input,
               to_tensor(resize(picture, width, height), detector_format));
  QUERN_TRY(run(detector, input));
  QUERN_ASSIGN(const quern::TensorView map, detector.output(0));  // [1,1,height,width]
  std::vector<TextRegion> regions = find_text(map.span<float>(), width, height);
  for (TextRegion& region : regions) {
    for (Point& p : region.corners) {
      p.x *= static_cast<float>(picture.width) / static_cast<float>(width);
      p.y *= static_cast<float>(picture.height) / static_cast<float>(height);
    }
  }
  return regions;
}

// Each width of input has a plan of its own, which is made when it first comes and then kept.
// So widths are rounded up, and a page of text needs few plans.
quern::Result<Reading> read_line(quern::Session& recogniser, const Image& line,
                                 const std::vector<std::string>& characters) {
  const float shape = static_cast<float>(line.width) / static_cast<float>(line.height);
  const int width = std::max(8, static_cast<int>(std::lround(line_height * shape)));
  const Image scaled =
      pad(resize(line, width, line_height), std::max(320, round_up(static_cast<float>(width), 64)),
          line_height, Color{127, 127, 127});
  QUERN_ASSIGN(const quern::Tensor input, to_tensor(scaled, recogniser_format));
  QUERN_TRY(run(recogniser, input));
  QUERN_ASSIGN(const quern::TensorView classes, recogniser.output(0));  // [1,slices,classes]
  if (classes.type.shape.back() != static_cast<std::int64_t>(characters.size())) {
    return quern::Status(quern::Code::invalid_argument,
                         "the recogniser tells " + std::to_string(classes.type.shape.back()) +
                             " classes apart, but there are names for " +
                             std::to_string(characters.size()));
  }
  return decode_ctc(classes.span<float>(), characters);
}

quern::Status read_text(const std::string& models, const std::string& in, const std::string& out) {
  QUERN_ASSIGN(auto detector, open_model(models + "/ppocr-det/model.onnx"));
  QUERN_ASSIGN(auto recogniser, open_model(models + "/ppocr-rec/model.onnx"));
  QUERN_ASSIGN(const auto characters, load_characters(models + "/ppocr-rec/characters.txt"));
  QUERN_ASSIGN(const Image picture, load_image(in));

  QUERN_ASSIGN(const std::vector<TextRegion> regions, detect(*detector, picture));
  Image marked = picture;
  for (const TextRegion& region : regions) {
    QUERN_ASSIGN(const Reading reading,
                 read_line(*recogniser, cut(picture, region.corners), characters));
    if (reading.confidence < least_confidence) continue;
    const Point at = region.corners[0];
    std::printf("%5.1f %%  (%4.0f, %4.0f)  %s\n", 100 * reading.confidence, at.x, at.y,
                reading.text.c_str());
    draw_loop(marked, region.corners, mark);
  }
  return out.empty() ? quern::Status() : save_png(out, marked);
}

}  // namespace
}  // namespace examples

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "usage: read_text MODELS PICTURE [MARKED.png]\n");
    return 2;
  }
  return examples::finish(examples::read_text(argv[1], argv[2], argc > 3 ? argv[3] : ""));
}
