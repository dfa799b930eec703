// SPDX-License-Identifier: Apache-2.0
// Finds faces in a photograph with BlazeFace and draws a box around each.
//   draw_boxes models/blazeface/model.onnx photo.png marked.png
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include <quern/session.h>
#include <quern/status.h>
#include <quern/tensor.h>

#include "examples/common/image.h"
#include "examples/common/model.h"
#include "examples/faces/blazeface.h"

namespace examples {
namespace {

constexpr float threshold = 0.6F;
constexpr Color box_color = {40, 220, 60}, mark_color = {250, 200, 0};
constexpr PixelFormat format = {.layout = PixelFormat::Layout::nhwc,
                                .mean = {127.5F, 127.5F, 127.5F},
                                .deviation = {127.5F, 127.5F, 127.5F}};

// The picture, shrunk into a square of `side` without changing its proportions; the rest is black.
Image fit(const Image& picture, int side) {
  const int longer = std::max(picture.width, picture.height);
  return pad(resize(picture, std::max(1, picture.width * side / longer),
                    std::max(1, picture.height * side / longer)),
             side, side);
}

quern::Result<std::vector<Face>> detect(quern::Session& session, const Image& picture) {
  const auto side = static_cast<int>(session.executable().inputs()[0].dims[1]);  // 128 or 256
  QUERN_ASSIGN(const quern::Tensor input, to_tensor(fit(picture, side), format));
  QUERN_TRY(run(session, input));
  QUERN_ASSIGN(const auto fine_scores, output(session, "Identity:0"));      // [1,512,1]
  QUERN_ASSIGN(const auto coarse_scores, output(session, "Identity_1:0"));  // [1,384,1]
  QUERN_ASSIGN(const auto fine_boxes, output(session, "Identity_2:0"));     // [1,512,16]
  QUERN_ASSIGN(const auto coarse_boxes, output(session, "Identity_3:0"));   // [1,384,16]
  const AnchorGrid fine = {16, 2, fine_scores.span<float>(), fine_boxes.span<float>()};
  const AnchorGrid coarse = {8, 6, coarse_scores.span<float>(), coarse_boxes.span<float>()};

  std::vector<Face> faces = decode_faces(fine, side, threshold);
  for (const Face& face : decode_faces(coarse, side, threshold)) faces.push_back(face);
  return merge_faces(std::move(faces));
}

void draw(Image& picture, const Face& face) {
  const auto longer = static_cast<float>(std::max(picture.width, picture.height));
  const float thickness = std::max(2.0F, longer / 250);
  const auto corner = [&](float u, float v) {
    return Point{(face.middle.x + u * face.size.x) * longer,
                 (face.middle.y + v * face.size.y) * longer};
  };
  const std::array<Point, 4> box = {corner(-.5F, -.5F), corner(.5F, -.5F), corner(.5F, .5F),
                                    corner(-.5F, .5F)};
  std::printf("%5.1f %%  from (%4.0f, %4.0f) to (%4.0f, %4.0f)\n", 100 * face.score, box[0].x,
              box[0].y, box[2].x, box[2].y);
  draw_loop(picture, box, box_color, thickness);
  for (const Point& mark : face.marks) {
    const Point at{mark.x * longer, mark.y * longer};
    draw_line(picture, at, at, mark_color, 2 * thickness);
  }
}

quern::Status draw_boxes(const std::string& model, const std::string& in, const std::string& out) {
  QUERN_ASSIGN(auto session, open_model(model));
  QUERN_ASSIGN(Image picture, load_image(in));
  QUERN_ASSIGN(const std::vector<Face> faces, detect(*session, picture));
  for (const Face& face : faces) draw(picture, face);
  if (faces.empty()) std::printf("no face\n");
  return save_png(out, picture);
}

}  // namespace
}  // namespace examples

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: draw_boxes MODEL.onnx PICTURE MARKED.png\n");
    return 2;
  }
  return examples::finish(examples::draw_boxes(argv[1], argv[2], argv[3]));
}
