// SPDX-License-Identifier: Apache-2.0
// Finds straight lines in a photograph with M-LSD and draws them.
//   draw_lines models/mlsd/model.onnx photo.png marked.png
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include <quern/session.h>
#include <quern/status.h>
#include <quern/tensor.h>

#include "examples/common/image.h"
#include "examples/common/model.h"
#include "examples/lines/mlsd.h"

namespace examples {
namespace {

constexpr Color line_color = {250, 60, 40};

// The model wants f32 [1,side,side,4]: red, green, blue in 0..255 and a channel of ones.
quern::Result<quern::Tensor> input_of(const Image& picture, int side) {
  const Image scaled = resize(picture, side, side);
  QUERN_ASSIGN(quern::Tensor tensor, quern::Tensor::zeros({quern::DType::f32, {1, side, side, 4}}));
  auto* out = reinterpret_cast<float*>(tensor.mutable_data());
  for (const Color& color : scaled.pixels) {
    for (const std::uint8_t value : {color.r, color.g, color.b, std::uint8_t{1}}) {
      *out++ = static_cast<float>(value);
    }
  }
  return tensor;
}

quern::Result<std::vector<Segment>> detect(quern::Session& session, const Image& picture) {
  const auto side = static_cast<int>(session.executable().inputs()[0].dims[1]);  // 320 or 512
  QUERN_ASSIGN(const quern::Tensor input, input_of(picture, side));
  QUERN_TRY(run(session, input));
  QUERN_ASSIGN(const auto scores, output(session, "scores"));    // [1,side/2,side/2,1]
  QUERN_ASSIGN(const auto offsets, output(session, "offsets"));  // [1,side/2,side/2,4]
  return decode_segments(scores.span<float>(), offsets.span<float>(), side / 2);
}

quern::Status draw_lines(const std::string& model, const std::string& in, const std::string& out) {
  QUERN_ASSIGN(auto session, open_model(model));
  QUERN_ASSIGN(Image picture, load_image(in));
  QUERN_ASSIGN(const std::vector<Segment> segments, detect(*session, picture));
  const auto width = static_cast<float>(picture.width), height = static_cast<float>(picture.height);
  const float thickness = std::max(2.0F, std::max(width, height) / 300);
  for (const Segment& segment : segments) {
    const Point from{segment.from.x * width, segment.from.y * height};
    const Point to{segment.to.x * width, segment.to.y * height};
    std::printf("%5.1f %%  from (%4.0f, %4.0f) to (%4.0f, %4.0f)\n", 100 * segment.score, from.x,
                from.y, to.x, to.y);
    draw_line(picture, from, to, line_color, thickness);
  }
  std::printf("%zu lines\n", segments.size());
  return save_png(out, picture);
}

}  // namespace
}  // namespace examples

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: draw_lines MODEL.onnx PICTURE MARKED.png\n");
    return 2;
  }
  return examples::finish(examples::draw_lines(argv[1], argv[2], argv[3]));
}
