// SPDX-License-Identifier: Apache-2.0
// Reading is nlohmann-json's, which no other file includes: it is slow to compile.
#include "tools/json.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

#include <nlohmann/json.hpp>

#include "engine/vocabulary/platform/files.h"
#include "engine/vocabulary/text_util.h"
#include "tools/console.h"

namespace quern::tools {
namespace {

using Library = nlohmann::json;
constexpr int max_depth = 64;

void append_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : valid_utf8(text)) {
    char escaped[8];
    if (c == '"' || c == '\\') {
      (out += '\\') += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      out += escaped;
    } else {
      out += c;
    }
  }
  out += '"';
}

// Objects and arrays that hold them go over several lines, arrays of plain values stay on one.
struct Writer {
  enum class Lines : std::uint8_t { several, one };
  std::string& out;
  int depth = 0;
  Lines lines = Lines::several;

  void new_line() const {
    if (lines == Lines::several) (out += '\n').append(static_cast<std::size_t>(depth), ' ');
  }
  void operator()(std::monostate) const { out += "null"; }
  void operator()(std::same_as<bool> auto v) const { out += v ? "true" : "false"; }
  void operator()(std::int64_t v) const { out += std::to_string(v); }
  void operator()(double v) const { out += std::isfinite(v) ? shortest(v) : "null"; }
  void operator()(const std::string& v) const { append_string(out, v); }
  void operator()(const Json::Array& v) const {
    const bool flat = std::ranges::none_of(v, [](const Json& j) { return j.value().index() >= 5; });
    const Writer inner{out, depth + 1, lines};
    out += '[';
    for (std::size_t i = 0; i < v.size(); ++i) {
      if (i) out += flat ? ", " : ",";
      if (!flat) inner.new_line();
      std::visit(inner, v[i].value());
    }
    if (!flat) new_line();
    out += ']';
  }
  void operator()(const Json::Object& v) const {
    const Writer inner{out, depth + 1, lines};
    out += '{';
    for (std::size_t i = 0; i < v.size(); ++i) {
      if (i) out += ',';
      inner.new_line();
      append_string(out, v[i].first);
      out += ": ";
      std::visit(inner, v[i].second.value());
    }
    if (!v.empty()) new_line();
    out += '}';
  }
};

Json from_library(const Library& v) {
  if (v.is_boolean()) return v.get<bool>();
  if (v.is_number_unsigned() && v.get<std::uint64_t>() > std::uint64_t{INT64_MAX})
    return v.get<double>();
  if (v.is_number_integer()) return v.get<std::int64_t>();
  if (v.is_number()) return v.get<double>();
  if (v.is_string()) return v.get<std::string>();
  Json j;
  if (v.is_array()) {
    j = Json::array();
    for (const Library& e : v) j.push(from_library(e));
  } else if (v.is_object()) {
    Json::Object members;
    for (const auto& [key, e] : v.items()) members.emplace_back(key, from_library(e));
    return Json::object_of(std::move(members));
  }
  return j;
}

}  // namespace

Json& Json::operator[](std::string_view key) {
  if (is_null()) v_ = Object();
  auto& members = std::get<Object>(v_);
  for (auto& [name, value] : members)
    if (name == key) return value;
  return members.emplace_back(std::string(key), Json()).second;
}

void Json::push(Json v) {
  if (is_null()) v_ = Array();
  std::get<Array>(v_).push_back(std::move(v));
}

const Json* Json::find(std::string_view key) const {
  for (const auto& [name, value] : members())
    if (name == key) return &value;
  return nullptr;
}

const Json::Array& Json::items() const {
  static const Array none;
  const auto* a = std::get_if<Array>(&v_);
  return a ? *a : none;
}

const Json::Object& Json::members() const {
  static const Object none;
  const auto* o = std::get_if<Object>(&v_);
  return o ? *o : none;
}

double Json::number(double otherwise) const {
  if (const auto* d = std::get_if<double>(&v_)) return *d;
  if (const auto* i = std::get_if<std::int64_t>(&v_)) return static_cast<double>(*i);
  return otherwise;
}

std::string_view Json::text() const {
  const auto* s = std::get_if<std::string>(&v_);
  return s ? std::string_view(*s) : std::string_view();
}

std::string Json::document() const {
  constexpr std::int64_t schema = 1;
  Object all = {{"schema", schema}};
  all.insert(all.end(), members().begin(), members().end());
  return object_of(std::move(all)).dump();
}

std::string Json::dump() const {
  std::string out;
  std::visit(Writer{out}, v_);
  return out + "\n";
}

std::string Json::line() const {
  std::string out;
  std::visit(Writer{out, 0, Writer::Lines::one}, v_);
  return out + "\n";
}

Result<Json> parse_json(std::string_view text) {
  bool too_deep = false;
  const auto keep = [&](int depth, Library::parse_event_t, Library&) {
    too_deep = too_deep || depth > max_depth;
    return !too_deep;
  };
  try {
    const Library parsed = Library::parse(text.begin(), text.end(), keep);
    if (too_deep)
      return Status(Code::invalid_argument, cat("JSON nested more than ", max_depth, " deep"));
    return from_library(parsed);
  } catch (const std::exception& e) {
    return Status(Code::invalid_argument, printable(e.what()));
  }
}

Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
  const auto info = platform::info_of(path);
  if (!info) return Status(Code::not_found, cat("no such file '", printable(path), "'"));
  if (info->kind == platform::FileInfo::Kind::folder)
    return Status(Code::invalid_argument, cat("'", printable(path), "' is a folder, not a file"));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (!file)
    return Status(Code::not_found,
                  cat("cannot read '", printable(path), "': ", std::strerror(errno)));
  std::string content;
  char buffer[1 << 16];
  while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, file.get())) {
    content.append(buffer, n);
    if (content.size() > max_bytes)
      return Status(Code::invalid_argument,
                    cat("'", printable(path), "' has more than ", max_bytes, " bytes"));
  }
  return content;
}

Result<Json> read_json(const std::string& path) {
  QUERN_ASSIGN(const std::string text, read_file(path, std::size_t{64} << 20));
  auto json = parse_json(text);
  if (!json) return std::move(json).error().in(printable(path));
  return json;
}

}  // namespace quern::tools
