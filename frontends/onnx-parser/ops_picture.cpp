// SPDX-License-Identifier: Apache-2.0
// Pictures.
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/pictures.h"

namespace quern::onnx {
namespace {

// The extent is a node of its own, since memory for the pixels is planned by it.
void import_image_decoder(NodeImport& n) {
  if (!n.decodes_pictures())
    return n.unsupported("decodes pictures by libraries of the system, which the host forbids");
  const DecodePicture op{.format = n.choice<PixelFormat>("pixel_format", "RGB",
                                                         {{"RGB", PixelFormat::rgb},
                                                          {"BGR", PixelFormat::bgr},
                                                          {"Grayscale", PixelFormat::grey}})};
  n.emit(op, {n.in(0), n.add(PictureExtent{}, {n.in(0)})});
}

constexpr OpRow picture_rows[] = {
    {"ImageDecoder", 20, import_image_decoder},
};

}  // namespace

OpRows picture_ops() {
  return picture_rows;
}

}  // namespace quern::onnx
