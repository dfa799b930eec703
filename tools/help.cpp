// SPDX-License-Identifier: Apache-2.0
// --help and the man page, from the table of options.
#include <algorithm>

#include "engine/vocabulary/text_util.h"
#include "tools/console.h"
#include "tools/options.h"

namespace quern::tools {
namespace {

constexpr std::size_t line_width = 96;

// Words of `text` in lines of `line_width`, all but the first indented.
std::string wrapped(std::string_view text, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (column > indent && column + 1 + width_of(word) > line_width) {
      (out += '\n').append(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += width_of(word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::vector<std::string_view> paragraphs(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("\n\n"), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return parts;
}

// "-t, --threads N"
std::string synopsis(const OptionRow& row) {
  std::string names = row.names;
  if (const std::size_t comma = names.find(','); comma != std::string::npos)
    names.insert(comma + 1, " ");
  return row.value.empty() ? names : names + " " + row.value;
}

std::string usage(const Verb& verb) {
  std::string s = verb.program.empty() ? "quern " + verb.name : verb.program;
  for (const OptionRow& row : verb.options) {
    if (!row.positional()) continue;
    const bool many = std::holds_alternative<std::vector<std::string>*>(row.target);
    const std::string name = row.names + (many ? "..." : "");
    s += row.required ? " " + name : " [" + name + "]";
  }
  return s + " [options]";
}

std::string entry(std::string_view left, std::string_view right, std::size_t indent) {
  std::string s = "  " + std::string(left);
  if (s.size() + 2 > indent) {
    s += '\n';
    s.append(indent, ' ');
  } else {
    s.append(indent - s.size(), ' ');
  }
  return s + wrapped(right, indent) + "\n";
}

// ---- roff

std::string roff(std::string_view text) {
  std::string s;
  for (char c : text) {
    if (c == '\\')
      s += "\\e";
    else if (c == '-')
      s += "\\-";
    else if (c == '\n')
      s += "\n";
    else if ((c == '.' || c == '\'') && (s.empty() || s.back() == '\n'))
      (s += "\\&") += c;
    else
      s += c;
  }
  return s;
}

std::string roff_verb(const Verb& verb) {
  std::string s = cat(".SS ", roff(usage(verb)), "\n");
  for (std::string_view p : paragraphs(verb.about)) s += cat(".PP\n", roff(p), "\n");
  for (const OptionRow& row : verb.options)
    if (!row.hidden) s += cat(".TP\n.B ", roff(synopsis(row)), "\n", roff(row.help), "\n");
  for (const Example& e : verb.examples)
    s += cat(".PP\n", e.what.empty() ? std::string("Example") : roff(e.what), ":\n.PP\n.RS\n.nf\n",
             roff(e.command), "\n.fi\n.RE\n");
  return s;
}

}  // namespace

std::string help_text(const Verb& verb) {
  std::string s = cat("Usage: ", usage(verb), "\n\n");
  for (std::string_view p : paragraphs(verb.about)) s += wrapped(p, 0) + "\n\n";
  s += "Options:\n";
  for (const OptionRow& row : verb.options)
    if (!row.hidden) s += entry(synopsis(row), row.help, 24);
  s += entry("-h, --help", "this text", 24);
  s += "\nExamples:\n";
  for (const Example& e : verb.examples)
    s += cat(e.what.empty() ? "" : cat("  # ", e.what, "\n"), "  ", e.command, "\n");
  s += "\nExit codes:\n";
  for (const ExitCodeRow& row : exit_codes()) s += entry(cat(row.code), row.meaning, 6);
  return s;
}

std::string overview_text(std::span<const Verb> verbs) {
  std::string s =
      "quern runs ONNX models with nothing but kernels.\n\nUsage: quern VERB "
      "[arguments]\n\nVerbs:\n";
  for (const Verb& v : verbs) s += entry(v.name, v.summary, 14);
  s += "\n`quern VERB --help` explains a verb, with examples; `quern --man` prints the manual "
       "page,\n`quern --completion bash`, `zsh` or `fish` what the shell needs to complete "
       "words.\n\nExit codes:\n";
  for (const ExitCodeRow& row : exit_codes()) s += entry(cat(row.code), row.meaning, 6);
  return s;
}

std::string man_page(std::span<const Verb> verbs, std::string_view version) {
  std::string s = cat(".TH QUERN 1 \"\" \"quern ", version, "\" \"User Commands\"\n");
  s += ".SH NAME\nquern \\- runs ONNX models with nothing but kernels\n";
  s += ".SH SYNOPSIS\n.B quern\n.I VERB\n[arguments]\n.SH VERBS\n";
  for (const Verb& v : verbs) s += roff_verb(v);
  s += ".SH EXIT STATUS\n";
  for (const ExitCodeRow& row : exit_codes())
    s += cat(".TP\n.B ", row.code, "\n", roff(row.meaning), "\n");
  s += ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nWhen set, no colours even on a terminal.\n";
  return s;
}

}  // namespace quern::tools
