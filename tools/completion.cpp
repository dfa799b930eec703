// SPDX-License-Identifier: Apache-2.0
// What a shell offers on Tab, from the table of options. Values without choices are files.
#include "engine/vocabulary/text_util.h"
#include "tools/options.h"

namespace quern::tools {
namespace {

// "-t,--threads" -> {"-t", "--threads"}
std::vector<std::string> names_of(const OptionRow& row) {
  const std::size_t comma = row.names.find(',');
  if (comma == std::string::npos) return {row.names};
  return {row.names.substr(0, comma), row.names.substr(comma + 1)};
}

bool is_offered(const OptionRow& row) {
  return !row.hidden && !row.positional();
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string s;
  for (const std::string& w : words) s += cat(s.empty() ? "" : between, w);
  return s;
}

std::string verb_names(std::span<const Verb> verbs) {
  std::vector<std::string> names;
  for (const Verb& v : verbs) names.push_back(v.name);
  return joined(names, " ");
}

// In single quotes, for any shell; `more` is escaped by a backslash.
std::string quoted_for_shell(std::string_view text, std::string_view more) {
  std::string s = "'";
  for (const char c : text) {
    if (c == '\'') {
      s += "'\\''";
      continue;
    }
    if (more.find(c) != std::string_view::npos) s += '\\';
    s += c == '\n' ? ' ' : c;
  }
  return s + "'";
}

// ---- bash

std::string bash_verb(const Verb& verb) {
  std::vector<std::string> all = {"--help"};
  std::string s;
  for (const OptionRow& row : verb.options) {
    if (!is_offered(row)) continue;
    const std::vector<std::string> names = names_of(row);
    all.insert(all.end(), names.begin(), names.end());
    if (!row.choices.empty())
      s += cat("    ", verb.name, ":", joined(names, cat("|", verb.name, ":")), ") words='",
               joined(row.choices, " "), "' ;;\n");
    else if (!row.value.empty())
      s += cat("    ", verb.name, ":", joined(names, cat("|", verb.name, ":")), ") files=1 ;;\n");
  }
  return cat(s, "    ", verb.name, ":*) options='", joined(all, " "), "' files=1 ;;\n");
}

std::string for_bash(std::span<const Verb> verbs) {
  std::string s =
      "_quern() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local words= options= files=\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n";
  s += cat("    words='", verb_names(verbs), " --help --version --man'\n");
  s += "  else case ${COMP_WORDS[1]}:$prev in\n";
  for (const Verb& v : verbs) s += bash_verb(v);
  s += "  esac; fi\n"
       "  case $cur in -*) words=\"$words $options\" ;; esac\n"
       "  [ -z \"$words\" ] || mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
       "  [ -z \"$files\" ] || mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -f -- "
       "\"$cur\")\n"
       "}\n"
       "complete -o filenames -F _quern quern\n";
  return s;
}

// ---- zsh

std::string zsh_option(const OptionRow& row) {
  const std::vector<std::string> names = names_of(row);
  constexpr std::string_view special = "[]:\\";
  const bool many = std::holds_alternative<std::vector<std::string>*>(row.target);
  std::string s;
  for (const std::string& name : names) {
    std::string spec = cat(many ? "*" : cat("(", joined(names, " "), ")"), name);
    std::string help;
    for (const char c : row.help) {
      if (special.find(c) != std::string_view::npos) help += '\\';
      help += c;
    }
    spec += cat("[", help, "]");
    if (!row.value.empty())
      spec += cat(":", row.value, ":",
                  row.choices.empty() ? "_files" : cat("(", joined(row.choices, " "), ")"));
    s += cat(" \\\n        ", quoted_for_shell(spec, ""));
  }
  return s;
}

std::string for_zsh(std::span<const Verb> verbs) {
  std::string s = "#compdef quern\n_quern() {\n  local -a verbs\n  verbs=(\n";
  for (const Verb& v : verbs)
    s += cat("    ", quoted_for_shell(cat(v.name, ":", v.summary), ""), "\n");
  s += "  )\n  if (( CURRENT == 2 )); then _describe verb verbs; return; fi\n"
       "  local verb=$words[2]\n  shift words; (( CURRENT-- ))\n  case $verb in\n";
  for (const Verb& v : verbs) {
    s += cat("    ", v.name, ") _arguments -s '(- *)'{-h,--help}'[explains the verb]'");
    for (const OptionRow& row : v.options)
      if (is_offered(row)) s += zsh_option(row);
    s += " \\\n        '*:file:_files' ;;\n";
  }
  // Read by compinit as the function itself, or sourced.
  s += "  esac\n}\nif [ \"$funcstack[1]\" = _quern ]; then _quern \"$@\"; else compdef _quern "
       "quern; fi\n";
  return s;
}

// ---- fish

std::string fish_option(const Verb& verb, const OptionRow& row) {
  std::string s = cat("complete -c quern -n '__fish_seen_subcommand_from ", verb.name, "'");
  for (const std::string& name : names_of(row))
    s += name.starts_with("--") ? cat(" -l ", name.substr(2)) : cat(" -s ", name.substr(1));
  if (!row.value.empty()) s += row.choices.empty() ? " -r" : " -x";
  if (!row.choices.empty()) s += cat(" -a '", joined(row.choices, " "), "'");
  std::string help;
  for (const char c : row.help) help += c == '\'' || c == '\\' ? cat("\\", c) : std::string(1, c);
  return cat(s, " -d '", help, "'\n");
}

std::string for_fish(std::span<const Verb> verbs) {
  std::string s;
  for (const Verb& v : verbs)
    s += cat("complete -c quern -f -n __fish_use_subcommand -a ", v.name, " -d ",
             quoted_for_shell(v.summary, "\\"), "\n");
  for (const Verb& v : verbs)
    for (const OptionRow& row : v.options)
      if (is_offered(row)) s += fish_option(v, row);
  return s;
}

}  // namespace

Result<std::string> completion(std::span<const Verb> verbs, std::string_view shell) {
  if (shell == "bash") return for_bash(verbs);
  if (shell == "zsh") return for_zsh(verbs);
  if (shell == "fish") return for_fish(verbs);
  return Status{Code::invalid_argument,
                cat("'", printable(shell, 40), "' is no shell that is known: bash, zsh, fish")};
}

}  // namespace quern::tools
