// SPDX-License-Identifier: Apache-2.0
// What a page with graphs is made of beside its data.
#pragma once

#include <string_view>

namespace quern::tools {

extern const std::string_view graph_page_style;
extern const std::string_view graph_page_body;
// The script, in this order: where everything stands with what is folded; drawing it; what people
// do.
extern const std::string_view graph_page_placing;
extern const std::string_view graph_page_painting;
extern const std::string_view graph_page_acting;

}  // namespace quern::tools
