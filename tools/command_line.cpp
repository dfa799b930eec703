// SPDX-License-Identifier: Apache-2.0
// The table of options as a CLI11 parser: the one place that knows CLI11, which is slow to compile.
#include <algorithm>

#include <CLI/CLI.hpp>

#include "engine/vocabulary/text_util.h"
#include "tools/closest.h"
#include "tools/options.h"
#include "tools/parse.h"

namespace quern::tools {
namespace {

CLI::Option* add(CLI::App& app, const OptionRow& row) {
  if (bool* const* flag = std::get_if<bool*>(&row.target)) return app.add_flag(row.names, **flag);
  return std::visit(
      [&](auto* target) -> CLI::Option* {
        CLI::Option* option = app.add_option(row.names, *target);
        if constexpr (std::is_same_v<decltype(target), std::vector<std::string>*>) {
          // One word an option; a positional takes all that are left.
          if (!row.positional()) option->allow_extra_args(false);
        }
        return option;
      },
      row.target);
}

std::string outside(const std::string& text, std::pair<double, double> range) {
  try {
    const double v = std::stod(text);
    if (v >= range.first && v <= range.second) return "";
  } catch (const std::exception&) {
    return cat("'", printable(text, 40), "' is no number");
  }
  return cat(printable(text, 40), " is not in ", shortest(range.first), "..",
             shortest(range.second));
}

// Of a word that no option is.
Status unknown_word(const Verb& verb, const std::string& word) {
  const std::string_view name = std::string_view(word).substr(0, word.find('='));
  if (!name.starts_with('-'))
    return {Code::invalid_argument, cat("'", printable(word, 80), "' is one word too many")};
  std::vector<std::string> names = {"--help"};
  for (const OptionRow& row : verb.options)
    if (!row.positional() && !row.hidden)
      for (std::string& one : split_list(row.names)) names.push_back(std::move(one));
  const std::vector<std::string_view> views(names.begin(), names.end());
  return {Code::invalid_argument,
          cat("no option '", printable(name, 80), "'", did_you_mean(name, views))};
}

}  // namespace

Status parse_arguments(const Verb& verb, std::span<const std::string> words) {
  CLI::App app;
  try {
    app.set_help_flag("");
    app.allow_windows_style_options(false);  // there, too, "/models/a.onnx" is a file
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    for (const OptionRow& row : verb.options) {
      CLI::Option* option = add(app, row);
      if (std::holds_alternative<std::vector<std::string>*>(row.target))
        option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
      if (row.required) option->required();
      if (!row.choices.empty()) option->check(CLI::IsMember(row.choices));
      if (row.range)
        option->check(
            CLI::Validator([r = *row.range](std::string& s) { return outside(s, r); }, ""));
    }
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    app.parse(reversed);
  } catch (const CLI::ExtrasError& e) {
    const std::vector<std::string> extras = app.remaining();
    if (!extras.empty()) return unknown_word(verb, extras[0]);
    return {Code::invalid_argument, printable(e.what(), 400)};
  } catch (const CLI::ParseError& e) {
    return {Code::invalid_argument, printable(e.what(), 400)};
  }
  return {};
}

}  // namespace quern::tools
