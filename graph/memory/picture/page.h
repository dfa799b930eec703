// SPDX-License-Identifier: Apache-2.0
// What the HTML pages of this project share: one file each, which loads nothing from elsewhere,
// readable in light and in dark, on a phone and on a desk, by mouse, touch and keyboard.
#pragma once

#include <string>
#include <string_view>

namespace quern {

// The beginning, up to <body>. `title` is text, `style` is CSS after that of all pages, which has
//   --page --card --ink --soft --line --accent   colours
//   .scroll                                      a box that scrolls what is too wide, a table
//   .zoomed                                      a box whose picture zooms: see page_end()
//   .quiet                                       explanations
std::string page_begin(std::string_view title, std::string_view style);

// The end, with a script. Before it run helpers that all pages have:
//   gestures(element, {move(dx, dy), zoom(factor, x, y), reset(), hover(x, y), tap(x, y)})
//     calls these for dragging, pinching, the wheel (in a page that scrolls only once the element
//     has the focus), arrow keys, +, - and 0; hover() and tap() may be left out
//   zoomButtons(element, actions, parent)
//     adds buttons for the same
//   and each picture in a .zoomed box is zoomed and moved by them.
std::string page_end(std::string_view script);

// JSON within <script type="application/json">: no text in it closes the element.
std::string json_in_page(std::string_view json);

}  // namespace quern
