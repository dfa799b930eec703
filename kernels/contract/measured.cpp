// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/measured.h"

#include <cstdint>

#include "engine/vocabulary/text_util.h"
#include "graph/text.h"
#include "kernels/contract/kernel.h"

namespace quern {
namespace {

// "f32[1,64,56,56]", with a * where the elements are the same in every run.
std::string operand_text(const KernelInput& in) {
  if (!in.present) return "-";
  return cat(TensorType{in.desc.dtype, in.desc.shape}.text(), in.constant ? "*" : "");
}

std::string target_text(const CpuTarget& target) {
  return cat("threads=", target.team.threads, target.team.kind == Team::Kind::pool ? " pool" : "",
             target.use_onednn ? "" : " own", target.scratch ? "" : " least-scratch",
             target.channels_last ? " channels-last" : "",
             target.flush_denormals ? "" : " denormals");
}

}  // namespace

std::string work_text(const KernelRequest& r) {
  std::string text(r.def().name);
  if (const std::string attributes = attributes_text(r.op); !attributes.empty())
    text += cat(" ", attributes);
  for (std::size_t i = 0; i < r.read_count(); ++i) text += cat(" ", operand_text(r.read(i)));
  text += " ->";
  for (const TensorType& t : r.outputs) text += cat(" ", t.text());
  if (!r.post_ops.empty())
    text += cat(" ", post_ops_text(r.post_ops, [](std::uint32_t i) { return cat(i); }));
  return cat(text, " ", target_text(r.target));
}

}  // namespace quern
