// SPDX-License-Identifier: Apache-2.0
// The figures of tenants in the text format that Prometheus reads (version 0.0.4).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "frontends/wasi-nn/account.h"

namespace quern::wasi_nn {

struct LabelledFigures {
  std::string label;  // the value of the label `tenant`; any bytes
  Figures figures;
};

// "models"
std::string_view kind_name(Kind kind);

// One family after the other, each with the samples of all tenants; labels should differ. Bytes of
// a label that are no UTF-8 become U+FFFD.
std::string metrics_text(std::span<const LabelledFigures> tenants);

}  // namespace quern::wasi_nn
