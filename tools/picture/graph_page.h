// SPDX-License-Identifier: Apache-2.0
// The page of `quern inspect --html`: graphs, drawn.
#pragma once

#include <string>
#include <vector>

#include "tools/picture/drawing.h"

namespace quern::tools {

// One of the graphs between which the page switches.
struct GraphView {
  std::string name;   // "before the passes"
  std::string about;  // a sentence, or nothing
  Drawing drawing;
};

struct GraphPage {
  std::string title;
  std::vector<std::string> notes;  // sentences on the whole
  double run_ms = 0;               // of a profile; 0: there is none
  double steps_ms = 0;
  std::vector<GraphView> views;
  std::size_t first_view = 0;
};

// One file that loads nothing from elsewhere. No text of a model is more than text in it.
std::string graph_page(const GraphPage& page);

}  // namespace quern::tools
