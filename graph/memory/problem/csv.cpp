// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/problem/csv.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "engine/vocabulary/text_util.h"
#include "graph/memory/problem/bank_rules.h"
#include "graph/memory/problem/banks_csv.h"
#include "graph/memory/problem/csv_rows.h"

namespace quern {
namespace {

enum class Field : std::uint8_t {
  id,
  lower,
  upper,
  size,
  alignment,
  hint,
  gaps,
  offset,
  zero,
  banks,
  bank,
  separation,
  colocation
};
constexpr std::array field_names = {
    std::string_view("id"),        std::string_view("lower"),     std::string_view("upper"),
    std::string_view("size"),      std::string_view("alignment"), std::string_view("hint"),
    std::string_view("gaps"),      std::string_view("offset"),    std::string_view("zero"),
    std::string_view("banks"),     std::string_view("bank"),      std::string_view("separation"),
    std::string_view("colocation")};
constexpr std::size_t field_count = field_names.size();

struct Synonym {
  std::string_view name;
  Field field;
};
constexpr std::array synonyms = {Synonym{"buffer", Field::id}, Synonym{"buffer_id", Field::id},
                                 Synonym{"start", Field::lower}, Synonym{"begin", Field::lower},
                                 Synonym{"end", Field::upper}};

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  Result<MemoryProblem> read() {
    QUERN_ASSIGN(problem_.banks, take_bank_table(rest_, line_));
    QUERN_TRY(read_header(next_line()));
    while (!rest_.empty()) {
      const std::string_view line = next_line();
      if (trimmed(line).empty()) break;
      QUERN_TRY(read_row(line));
    }
    if (std::ranges::all_of(problem_.choices, [](const auto& c) { return c == BankChoice{}; }))
      problem_.choices.clear();
    if (Status s = check(problem_); !s.ok()) return Status(s.code(), cat("csv: ", s.message()));
    return std::move(problem_);
  }

 private:
  std::string_view next_line() {
    ++line_;
    return take(rest_, '\n');
  }

  Status wrong(std::string_view what) const {
    return {Code::invalid_argument, cat("csv line ", line_, ": ", what)};
  }

  std::optional<Field> field_named(std::string_view name) {
    for (std::size_t f = 0; f < field_count; ++f)
      if (field_names[f] == name) return static_cast<Field>(f);
    for (const Synonym& s : synonyms)
      if (s.name == name) return s.field;
    return std::nullopt;
  }

  Status read_header(std::string_view line) {
    if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);  // byte order mark
    const std::vector<std::string_view> names = split_cells(line);
    if (names.size() > max_csv_columns) return wrong("more than 64 columns");
    columns_ = names.size();
    for (std::size_t c = 0; c < names.size(); ++c) {
      const std::optional<Field> field = field_named(names[c]);
      if (!field) return wrong(cat("unknown column ", in_quotes(printable(names[c]))));
      std::size_t& column = column_of(*field);
      if (column != none) return wrong(cat("two columns for ", name_of(*field)));
      column = c;
      if (names[c] == "end") inclusive_ = 1;
    }
    for (Field f : {Field::id, Field::lower, Field::upper, Field::size})
      if (column_of(f) == none) return wrong(cat("no column for ", name_of(f)));
    return {};
  }

  Status read_row(std::string_view line) {
    const std::vector<std::string_view> cells = split_cells(line);
    if (cells.size() != columns_)
      return wrong(cat(cells.size(), " cells, the header has ", columns_));
    Interval i{.alignment = 1};
    QUERN_ASSIGN(i.first, integer(cells, Field::lower, lowest_time, 0));
    QUERN_ASSIGN(i.end, integer(cells, Field::upper, lowest_time, 0));
    i.end += inclusive_;
    QUERN_ASSIGN(const std::int64_t size, integer(cells, Field::size, 0, 0));
    QUERN_ASSIGN(const std::int64_t alignment, integer(cells, Field::alignment, 1, 1));
    QUERN_ASSIGN(const std::int64_t offset, integer(cells, Field::offset, -1, -1));
    QUERN_TRY(integer(cells, Field::hint, -1, -1).status());
    QUERN_ASSIGN(const std::int64_t zero, integer(cells, Field::zero, 0, 0));
    i.size = static_cast<std::uint64_t>(size);
    i.alignment = static_cast<std::uint64_t>(alignment);
    if (offset >= 0) i.fixed_offset = static_cast<std::uint64_t>(offset);
    i.must_be_zero = zero != 0;
    if (const std::size_t c = column_of(Field::gaps); c != none) QUERN_TRY(read_gaps(cells[c], i));
    QUERN_TRY(read_choice(cells));
    const std::string_view id = cells[column_of(Field::id)];
    const auto [at, is_new] = line_of_.emplace(id, line_);
    if (!is_new)
      return wrong(cat("id ", in_quotes(printable(id)), " is also on line ", at->second));
    i.name = id;
    if (Status s = check_alone(i); !s.ok()) return wrong(s.message());
    problem_.intervals.push_back(std::move(i));
    return {};
  }

  static Status check_alone(const Interval& i) { return check(MemoryProblem{{i}}); }

  Result<std::int64_t> integer(std::span<const std::string_view> cells, Field field,
                               std::int64_t least, std::int64_t otherwise) {
    const std::size_t column = column_of(field);
    if (column == none || (cells[column].empty() && field > Field::size)) return otherwise;
    const std::optional<std::int64_t> value = integer_of(cells[column]);
    if (!value || *value < least || *value > max_csv_number)
      return wrong(cat(name_of(field), " is ", in_quotes(printable(cells[column], 40)),
                       ", wanted an integer from ", least, " to ", max_csv_number));
    return *value;
  }

  Status read_choice(std::span<const std::string_view> cells) {
    BankChoice choice;
    QUERN_ASSIGN(choice.banks, banks_of(cells, Field::banks));
    QUERN_ASSIGN(const std::vector<std::uint32_t> bank, banks_of(cells, Field::bank));
    if (bank.size() > 1) return wrong("bank has several names, wanted one");
    if (!bank.empty()) {
      if (!choice.banks.empty() && !std::ranges::binary_search(choice.banks, bank[0]))
        return wrong(cat("bank \"", problem_.banks[bank[0]].name, "\" is none of its banks"));
      choice.banks = bank;
    }
    QUERN_ASSIGN(choice.separation, group(cells, Field::separation));
    QUERN_ASSIGN(choice.colocation, group(cells, Field::colocation));
    if (!problem_.banks.empty()) problem_.choices.push_back(std::move(choice));
    return {};
  }

  Result<std::vector<std::uint32_t>> banks_of(std::span<const std::string_view> cells,
                                              Field field) {
    if (column_of(field) == none) return std::vector<std::uint32_t>{};
    auto banks = banks_in_cell(cells[column_of(field)], problem_.banks);
    if (!banks) return wrong(banks.error().message());
    return banks;
  }

  Result<std::uint32_t> group(std::span<const std::string_view> cells, Field field) {
    QUERN_ASSIGN(const std::int64_t number, integer(cells, field, 0, 0));
    if (number > std::numeric_limits<std::uint32_t>::max())
      return wrong(cat(name_of(field), " is ", number, ", wanted an integer below 2^32"));
    if (number != 0 && problem_.banks.empty())
      return wrong(cat(name_of(field), " is ", number, " and there is no table of banks"));
    return static_cast<std::uint32_t>(number);
  }

  Status read_gaps(std::string_view text, Interval& i) {
    while (!text.empty()) {
      const std::string_view word = take(text, ' ');
      if (word.empty()) continue;
      std::string_view bytes = word;
      const std::string_view times = take(bytes, '@');
      // A minus sign can begin either number.
      const std::size_t dash = times.find('-', 1);
      const auto first = integer_of(times.substr(0, dash));
      const auto end = integer_of(dash == times.npos ? times : times.substr(dash + 1));
      bool good = dash != times.npos && first && end && *first >= lowest_time &&
                  *end >= lowest_time && *end <= max_csv_number;
      Gap gap;
      if (good && word.size() > times.size()) {
        const std::size_t colon = bytes.find(':');
        const auto from = integer_of(bytes.substr(0, colon));
        const auto to = integer_of(colon == bytes.npos ? bytes : bytes.substr(colon + 1));
        good = colon != bytes.npos && from && to && *from >= 0 && *to >= 0;
        if (good) {
          gap.from = static_cast<std::uint64_t>(*from);
          gap.to = static_cast<std::uint64_t>(*to);
        }
      }
      if (!good)
        return wrong(
            cat("gap ", in_quotes(printable(word, 60)), ", wanted first-end or first-end@from:to"));
      gap.first = *first;
      gap.end = *end + inclusive_;
      i.gaps.push_back(gap);
    }
    return {};
  }

  std::size_t& column_of(Field f) { return column_of_[static_cast<std::size_t>(f)]; }
  static std::string_view name_of(Field f) { return field_names[static_cast<std::size_t>(f)]; }

  static constexpr std::size_t none = ~std::size_t{0};
  static constexpr std::int64_t lowest_time = -max_csv_number;

  std::string_view rest_;
  std::size_t line_ = 0;
  std::size_t columns_ = 0;
  std::array<std::size_t, field_count> column_of_ = [] {
    std::array<std::size_t, field_count> a{};
    a.fill(none);
    return a;
  }();
  std::int64_t inclusive_ = 0;
  std::unordered_map<std::string_view, std::size_t> line_of_;
  MemoryProblem problem_;
};

std::string gaps_text(const Interval& i) {
  std::string text;
  for (const Gap& g : i.gaps) {
    text += cat(text.empty() ? "" : " ", g.first, "-", g.end);
    if (g.from < g.to) text += cat("@", g.from, ":", g.to);
  }
  return text;
}

// Names keep out of the way of the format.
std::string id_text(std::string_view name) {
  std::string id = printable(trimmed(name));
  std::ranges::replace(id, ',', ';');
  return id;
}

}  // namespace

Result<MemoryProblem> read_memory_csv(std::string_view text) {
  return Reader(text).read();
}

std::string write_memory_csv(const MemoryProblem& problem, const MemoryPlan* plan) {
  const auto any = [&](auto has) { return std::ranges::any_of(problem.intervals, has); };
  const auto chosen = [&](auto has) { return std::ranges::any_of(problem.choices, has); };
  const bool alignment = any([](const Interval& i) { return i.alignment != 1; });
  const bool gaps = any([](const Interval& i) { return !i.gaps.empty(); });
  const bool zero = any([](const Interval& i) { return i.must_be_zero; });
  const bool offset = plan || any([](const Interval& i) { return i.fixed_offset.has_value(); });
  const bool banks = chosen([](const BankChoice& c) { return !c.banks.empty(); });
  const bool separation = chosen([](const BankChoice& c) { return c.separation != 0; });
  const bool colocation = chosen([](const BankChoice& c) { return c.colocation != 0; });
  const bool bank = plan && !problem.banks.empty();
  std::string text =
      cat(bank_table(problem.banks), "id,lower,upper,size", alignment ? ",alignment" : "",
          gaps ? ",gaps" : "", zero ? ",zero" : "", banks ? ",banks" : "",
          separation ? ",separation" : "", colocation ? ",colocation" : "", bank ? ",bank" : "",
          offset ? ",offset" : "", "\n");
  std::unordered_map<std::string, std::size_t> uses;
  for (std::size_t n = 0; n < problem.intervals.size(); ++n) {
    const Interval& i = problem.intervals[n];
    std::string id = id_text(i.name);
    // Values of a graph may share a name, buffers of a file may not.
    for (std::size_t copy = uses[id]++; copy != 0; copy = uses[id]++) id = cat(id, ".", copy);
    text += cat(id, ",", i.first, ",", i.end, ",", i.size);
    if (alignment) text += cat(",", i.alignment);
    if (gaps) text += cat(",", gaps_text(i));
    if (zero) text += i.must_be_zero ? ",1" : ",0";
    const BankChoice& choice = choice_of(problem, n);
    if (banks) text += cat(",", bank_names(choice.banks, problem.banks));
    if (separation) text += cat(",", choice.separation);
    if (colocation) text += cat(",", choice.colocation);
    if (bank) text += cat(",", problem.banks[plan->banks[n]].name);
    if (plan) text += cat(",", plan->offsets[n]);
    if (!plan && offset) text += i.fixed_offset ? cat(",", *i.fixed_offset) : ",-1";
    text += "\n";
  }
  return text;
}

}  // namespace quern
