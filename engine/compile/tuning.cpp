// SPDX-License-Identifier: Apache-2.0
// What is known of the speed of implementations, and the file that keeps it: lines of text, the
// first of which say for which machine it holds; then one work a line, in fields that tabs
// separate: the work, the entry that is taken, and "entry=microseconds" for each one that was
// measured.
#include "engine/compile/tuning.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include <quern/device.h>

#include "engine/vocabulary/guarded.h"
#include "engine/vocabulary/platform/files.h"
#include "engine/vocabulary/text_util.h"
#include "engine/vocabulary/whole_file.h"
#include "kernels/contract/machine.h"

namespace quern {
namespace {

constexpr std::size_t most_rows = 100'000;
constexpr std::uintmax_t most_bytes = 256 << 20;
constexpr std::string_view magic = "quern cpu tuning 1";

// The lines that must be the same for a file to hold here.
std::string title() {
  const KernelMachine machine = kernel_machine();
  std::string cpu;
  if (const auto device = open_device("cpu")) cpu = (*device)->info().title;
  return cat(magic, "\nquern ", QUERN_VERSION, "\ncpu ", printable(cpu), "\ninstructions ",
             machine.instructions, "\nonednn ", machine.onednn, "\n");
}

bool is_one_line(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

// The text up to the next `end`, which is taken away with it.
std::string_view take(std::string_view& rest, char end) {
  const std::size_t at = std::min(rest.find(end), rest.size());
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return part;
}

std::optional<Tuning::Candidate> parse_candidate(std::string_view text) {
  const std::size_t at = text.rfind('=');
  if (at == text.npos || at == 0) return std::nullopt;
  Tuning::Candidate c{std::string(text.substr(0, at)), 0};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + at + 1, end, c.us);
  if (error != std::errc() || stop != end || !std::isfinite(c.us) || c.us < 0) return std::nullopt;
  return c;
}

std::optional<Tuning::Row> parse_row(std::string_view line) {
  Tuning::Row row{.work = std::string(take(line, '\t')), .entry = std::string(take(line, '\t'))};
  while (!line.empty()) {
    auto candidate = parse_candidate(take(line, '\t'));
    if (!candidate) return std::nullopt;
    row.candidates.push_back(*std::move(candidate));
  }
  if (row.work.empty() || row.entry.empty()) return std::nullopt;
  return row;
}

std::string line_of(const Tuning::Row& row) {
  std::string line = cat(row.work, "\t", row.entry);
  for (const Tuning::Candidate& c : row.candidates)
    line += cat("\t", c.entry, "=", shortest(std::round(c.us * 100) / 100));
  return line + "\n";
}

}  // namespace

struct Tuning::Impl final : MeasuredEntries {
  std::map<std::string, Row, std::less<>> rows;

  std::string_view entry_for(std::string_view work) const override {
    const auto at = rows.find(work);
    return at == rows.end() ? std::string_view() : at->second.entry;
  }
};

const Tuning::Impl& impl_of(const Tuning& tuning) {
  return *tuning.impl_;
}

const MeasuredEntries& entries_of(const Tuning& tuning) {
  return impl_of(tuning);
}

Tuning::Tuning() : impl_(std::make_unique<Impl>()) {}
Tuning::Tuning(const Tuning& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
Tuning::Tuning(Tuning&&) noexcept = default;
Tuning& Tuning::operator=(Tuning&&) noexcept = default;
Tuning::~Tuning() = default;

std::size_t Tuning::size() const {
  return impl_->rows.size();
}

const Tuning::Row* Tuning::find(std::string_view work) const {
  const auto at = impl_->rows.find(work);
  return at == impl_->rows.end() ? nullptr : &at->second;
}

void Tuning::set(Row row) {
  const bool is_known = impl_->rows.contains(row.work);
  if (!is_known && impl_->rows.size() >= most_rows) return;
  std::string work = row.work;
  impl_->rows.insert_or_assign(std::move(work), std::move(row));
}

Result<Tuning> Tuning::load(const std::string& path) {
  return guarded([&]() -> Result<Tuning> {
    Tuning tuning;
    const std::optional<platform::FileInfo> info = platform::info_of(path);
    const int error = info ? 0 : errno;
    if (error == ENOENT) return tuning;
    const bool is_file = info && info->kind == platform::FileInfo::Kind::regular;
    if (!is_file || info->size > most_bytes)
      return Status(Code::invalid_argument, cat("'", printable(path), "' is no tuning: ",
                                                error     ? std::strerror(error)
                                                : is_file ? "it is larger than 256 MiB"
                                                          : "it is no file"));
    std::string text(static_cast<std::size_t>(info->size), '\0');
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                               std::fclose);
    if (!file || std::fread(text.data(), 1, text.size(), file.get()) != text.size())
      return Status(Code::invalid_argument, cat("cannot read '", printable(path), "'"));
    if (!text.starts_with(magic))
      return Status(Code::invalid_argument, cat("'", printable(path), "' is no tuning: it begins '",
                                                printable(text.substr(0, 40)), "'"));
    const std::string here = title();
    if (!text.starts_with(here)) return tuning;  // of another machine
    std::string_view rest = std::string_view(text).substr(here.size());
    for (std::size_t line = 6; !rest.empty(); ++line) {
      auto row = parse_row(take(rest, '\n'));
      if (!row)
        return Status(Code::invalid_argument,
                      cat("line ", line, " of '", printable(path), "' is no measured work"));
      tuning.set(*std::move(row));
    }
    return tuning;
  });
}

Status Tuning::save(const std::string& path) const {
  return guarded([&]() -> Status {
    if (const auto folder = std::filesystem::path(path).parent_path(); !folder.empty())
      platform::make_folders(folder.string());
    std::string text = title();
    for (const auto& [work, row] : impl_->rows)
      if (is_one_line(work) && is_one_line(row.entry)) text += line_of(row);
    const std::string_view whole = text;
    return write_whole_file(path, {&whole, 1}, OnSignal::leaves);
  });
}

std::string Tuning::usual_path() {
  const std::string folder = platform::cache_folder();
  return folder.empty() ? folder : folder + "/quern/cpu-tuning.txt";
}

}  // namespace quern
