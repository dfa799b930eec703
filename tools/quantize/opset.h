// SPDX-License-Identifier: Apache-2.0
// Raises the opset of a model to one with QuantizeLinear for each channel.
#pragma once

#include "tools/quantize/edited_model.h"

namespace quern::tools {

// The first opset of ai.onnx with scales for each channel.
inline constexpr std::int64_t per_channel_opset = 13;

// Raises a model of opset 7 to 12 to 13 where every operator means the same there, after attributes
// that became inputs since are inputs. False: one does not, or has no such form (Upsample, Softmax
// over several dimensions), and the model is as it was. `model` was read from `edited`.
bool raise_opset(EditedModel& edited, const Model& model);

}  // namespace quern::tools
