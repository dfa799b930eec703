// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/spatial_test.h"

namespace quern::testing {

Result<ValueType> infer_type(const Op& op, const std::vector<ValueType>& types,
                             std::size_t output) {
  const OpDef& def = op.def();
  std::vector<InferInput> in;
  for (const ValueType& t : types) in.push_back({true, t, nullptr});
  InferContext context(op, def.name, "test", in, output + 1);
  QUERN_TRY(def.infer(context));
  return context.outputs()[output];
}
Dims dims_of(const Op& op, const std::vector<ValueType>& types, std::size_t output) {
  auto t = infer_type(op, types, output);
  EXPECT_TRUE(t) << (t ? "" : t.error().message());
  EXPECT_TRUE(t && t->dims);
  return t && t->dims ? *t->dims : Dims();
}
}  // namespace quern::testing
