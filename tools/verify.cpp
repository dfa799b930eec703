// SPDX-License-Identifier: Apache-2.0
// quern verify: cases with expected outputs, each in a process of its own.
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "engine/vocabulary/text_util.h"
#include "tools/against/against.h"
#include "tools/cases.h"
#include "tools/children.h"
#include "tools/compare.h"
#include "tools/opened.h"
#include "tools/parse.h"
#include "tools/verbs.h"
#include "tools/verify_case.h"
#include "tools/verify_random.h"
#include "tools/whole_file.h"

namespace quern::tools {
namespace {

using Outcome = CaseResult::Outcome;

Result<std::vector<int>> parse_threads(const std::string& text) {
  std::vector<int> threads;
  for (const std::string& part : split_list(text)) {
    const auto n = parse_integer(part);
    if (!n || *n < 1 || *n > 1024)
      return Status(Code::invalid_argument,
                    cat("--threads ", shown(text), ": write a list such as 1,2"));
    threads.push_back(static_cast<int>(*n));
  }
  if (threads.empty()) threads.push_back(0);
  return threads;
}

// index.json by the folder it stands in, each read once.
class Indexes {
 public:
  explicit Indexes(std::string forced) : forced_(std::move(forced)) {}

  Result<const Json*> of(const Case& c) {
    const std::string path =
        forced_.empty() ? std::filesystem::path(c.folder).parent_path().string() + "/index.json"
                        : forced_;
    if (const auto it = read_.find(path); it != read_.end())
      return it->second ? &*it->second : nullptr;
    std::error_code ignored;
    std::optional<Json>& slot = read_[path];
    if (forced_.empty() && !std::filesystem::exists(path, ignored))
      return static_cast<const Json*>(nullptr);
    QUERN_ASSIGN(slot, read_json(path));
    return &*slot;
  }

 private:
  std::string forced_;
  std::map<std::string, std::optional<Json>> read_;
};

// A device that does not exist would fail every case: one message instead. In a child, since a
// GPU's driver does not survive a fork.
Status check_device(const std::string& name) {
  Status status;
  run_in_children(
      1, {}, [&](std::size_t) { return std::string(device_named(name).status().message()); },
      [&](std::size_t, const ChildResult& r) {
        if (r.how != ChildResult::How::finished || !r.answer.empty())
          status = Status(Code::device_lost,
                          r.answer.empty() ? cat("device '", name, "': ", r.why) : r.answer);
      });
  return status;
}

class Verification {
 public:
  Verification(const VerifyArgs& args, const Console& console, std::vector<Case> cases)
      : args_(args),
        console_(console),
        cases_(std::move(cases)),
        results_(cases_.size()),
        progress_(console) {
    for (const Case& c : cases_)
      name_width_ = std::max(name_width_, std::min<std::size_t>(width_of(c.name), 60));
  }

  Status prepare() {
    QUERN_ASSIGN(levers_, parse_levers(args_.levers.empty() ? "default" : args_.levers));
    QUERN_ASSIGN(threads_, parse_threads(args_.threads));
    QUERN_ASSIGN(ops_, load_ops(args_.ops));
    QUERN_ASSIGN(dresses_, dresses_named(args_.dress));
    if (levers_.threads != 0) threads_ = {levers_.threads};
    Indexes indexes(args_.index);
    for (const Case& c : cases_) {
      QUERN_ASSIGN(const Json* index, indexes.of(c));
      // Copied per model, so that the cases do not hold on to all indexes.
      const Json* model =
          index ? find_model(*index, std::filesystem::path(c.folder).filename().string()) : nullptr;
      Json one;
      if (model) one["models"].push(*model);
      indexes_.push_back(std::move(one));
    }
    std::error_code ignored;
    new_gaps_ = args_.update_gaps && !std::filesystem::exists(args_.gaps, ignored);
    if (!args_.gaps.empty() && !new_gaps_) {
      QUERN_ASSIGN(gaps_, Gaps::read(args_.gaps));
    }
    if (args_.update_gaps && args_.gaps.empty())
      return {Code::invalid_argument, "--update-gaps wants --gaps FILE"};
    return check_device(args_.device);
  }

  Result<ExitCode> run() {
    // Small cases share a process, since opening a GPU takes longer than most of them; after a
    // failure the next begin in a new one, so that no device in disorder is theirs.
    const std::size_t shares = 4 * static_cast<std::size_t>(args_.jobs);
    const ChildOptions children{
        .jobs = args_.jobs,
        .timeout_s = args_.timeout_s,
        .per_child = std::clamp<std::size_t>(cases_.size() / shares, 1, 256),
        .ends_child = [](const std::string& answer) {
          return CaseResult::parse(answer).outcome == Outcome::failed;
        }};
    run_in_children(
        cases_.size(), children, [&](std::size_t i) { return answer(i, dresses_); },
        [&](std::size_t i, const ChildResult& child) { finish(i, child); });
    progress_.clear();
    QUERN_TRY(write_gaps());
    report();
    return failed_ ? ExitCode::failed : ExitCode::ok;
  }

 private:
  // The work of a child.
  std::string answer(std::size_t i, std::vector<const Dress*> dresses) {
    levers_.apply_to_process();
    if (!device_) {
      auto opened = device_named(args_.device);
      if (!opened) return CaseResult::failure(opened.error()).serialise();
      device_ = std::move(*opened);
    }
    const CaseOptions options{device_, threads_, levers_, &indexes_[i], ops_, std::move(dresses)};
    return run_case(cases_[i], options).serialise();
  }

  CaseResult result_of(const ChildResult& child) const {
    if (child.how == ChildResult::How::finished) return CaseResult::parse(child.answer);
    return {.outcome = Outcome::failed,
            .ms = child.ms,
            .reason = child.how == ChildResult::How::timed_out
                          ? cat("timed out after ", number_text(args_.timeout_s), " s")
                          : "crashed: " + child.why};
  }

  // Each dress by itself, since one of them has taken the others along.
  CaseResult find_deadly_dress(std::size_t i, CaseResult together) {
    const ChildOptions alone{.timeout_s = args_.timeout_s};
    bool is_plain = false;
    run_in_children(
        1, alone, [&](std::size_t) { return answer(i, {}); },
        [&](std::size_t, const ChildResult& child) {
          is_plain = result_of(child).outcome == Outcome::failed;
        });
    if (is_plain) return together;
    run_in_children(
        dresses_.size(), alone, [&](std::size_t k) { return answer(i, {dresses_[k]}); },
        [&](std::size_t k, const ChildResult& child) {
          const CaseResult r = result_of(child);
          if (r.outcome != Outcome::failed) return;
          const bool told = child.how == ChildResult::How::finished;
          const std::string reason =
              told ? r.reason : cat("dressed '", dresses_[k]->name, "': ", r.reason);
          if (together.dresses.empty()) together.reason = reason;
          together.dresses.emplace_back(dresses_[k]->name);
          together.details.push_back(reason);
        });
    return together;
  }

  void finish(std::size_t i, const ChildResult& child) {
    CaseResult r = result_of(child);
    if (child.how != ChildResult::How::finished && !dresses_.empty())
      r = find_deadly_dress(i, std::move(r));
    apply_gaps(cases_[i], r);
    results_[i] = std::move(r);
    // Lines come in the order of the cases, however many run at once.
    for (; next_ < results_.size() && results_[next_]; ++next_) {
      progress_.clear();
      tell(cases_[next_], *results_[next_]);
    }
    ++done_;
    progress_.update(cat("[", done_, "/", cases_.size(), "] ", failed_, " failed"));
  }

  void apply_gaps(const Case& c, CaseResult& r) {
    if (new_gaps_ && r.outcome == Outcome::failed) {
      added_ += cat(c.name, "\t", r.reason, "\n");
      return;
    }
    const auto gap = gaps_.reason(c);
    if (!gap || r.outcome == Outcome::skipped) return;
    if (r.outcome == Outcome::failed) {
      r.outcome = Outcome::skipped;
      r.reason = cat("known gap: ", *gap);
    } else if (args_.update_gaps) {
      closed_.push_back(&c);
    } else {
      r.outcome = Outcome::failed;
      r.reason = cat("passes, but is listed in ", args_.gaps, ": remove it from the list");
    }
  }

  void tell(const Case& c, const CaseResult& r) {
    (r.outcome == Outcome::passed ? passed_ : r.outcome == Outcome::failed ? failed_ : skipped_)++;
    if (r.outcome == Outcome::failed)
      for (const std::string& dress : r.dresses) ++failed_in_[dress];
    if (args_.json) return;
    const std::string word = r.outcome == Outcome::passed ? console_.paint(Colour::green, "ok  ")
                             : r.outcome == Outcome::failed
                                 ? console_.paint(Colour::red, "FAIL")
                                 : console_.paint(Colour::yellow, "skip");
    const std::string name = shown(c.name, 200);
    const std::size_t width = width_of(name);
    std::string line =
        cat(word, "  ", name, std::string(name_width_ - std::min(width, name_width_), ' '));
    const std::string time = time_text(r.ms);
    line += cat(std::string(11 - std::min<std::size_t>(width_of(time), 11), ' '), time);
    if (!r.reason.empty()) line += "  " + r.reason;
    if (r.dresses.size() > 1) line += cat(" (and in ", r.dresses.size() - 1, " other dresses)");
    print(line + "\n");
    if (args_.verbose)
      for (const std::string& detail : r.details)
        print(console_.paint(Colour::dim, "        " + detail) + "\n");
    std::fflush(stdout);
  }

  Status write_gaps() const {
    if (new_gaps_)
      return write_whole_file(
          args_.gaps,
          "# Cases that do not pass yet: name, tab, reason. This list only gets shorter.\n" +
              added_);
    if (closed_.empty()) return {};
    return write_whole_file(args_.gaps, gaps_.text_without(closed_));
  }

  void report() const {
    const std::string last = cat(passed_, " passed, ", failed_, " failed, ", skipped_, " skipped");
    if (!args_.json) {
      for (const auto& [dress, count] : failed_in_)
        print(cat("dressed '", dress, "': ", count, " failed\n"));
      print(last + "\n");
      return;
    }
    Json j;
    j["summary"] = last;
    j["passed"] = passed_;
    j["failed"] = failed_;
    j["skipped"] = skipped_;
    Json list = Json::array();
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      const CaseResult& r = *results_[i];
      Json c;
      c["name"] = cases_[i].name;
      c["folder"] = cases_[i].folder;
      c["outcome"] = r.outcome == Outcome::passed   ? "passed"
                     : r.outcome == Outcome::failed ? "failed"
                                                    : "skipped";
      c["milliseconds"] = r.ms;
      if (!r.reason.empty()) c["reason"] = r.reason;
      if (!r.dresses.empty()) c["dresses"] = Json::array_of(r.dresses);
      if (args_.verbose) c["details"] = Json::array_of(r.details);
      list.push(std::move(c));
    }
    j["cases"] = std::move(list);
    print(j.document());
  }

  const VerifyArgs& args_;
  const Console& console_;
  std::vector<Case> cases_;
  std::vector<Json> indexes_;
  std::vector<std::optional<CaseResult>> results_;
  std::vector<int> threads_;
  Levers levers_;
  std::shared_ptr<const CustomOps> ops_;
  std::shared_ptr<Device> device_;  // in children; this process opens none, since it forks
  std::vector<const Dress*> dresses_;
  std::map<std::string, int> failed_in_;  // cases by dress
  Gaps gaps_;
  bool new_gaps_ = false;
  std::string added_;
  std::vector<const Case*> closed_;
  Progress progress_;
  std::size_t name_width_ = 0;
  std::size_t next_ = 0;
  std::size_t done_ = 0;
  int passed_ = 0;
  int failed_ = 0;
  int skipped_ = 0;
};

}  // namespace

Result<ExitCode> verify_verb(const VerifyArgs& args, const Console& console) {
  if (!args.against.empty()) return verify_against(args, console);
  if (args.random > 0) {
    if (!args.paths.empty())
      return Status(Code::invalid_argument, "--random makes its models up: no PATH beside it");
    return verify_random(args, console);
  }
  if (args.paths.empty()) return Status(Code::invalid_argument, "PATH is required, or --random N");
  QUERN_ASSIGN(std::vector<Case> cases, find_cases(args.paths));
  if (!args.filter.empty())
    std::erase_if(cases, [&](const Case& c) {
      const std::string last = std::filesystem::path(c.folder).filename().string();
      return !matches_glob(c.name, args.filter) && !matches_glob(last, args.filter);
    });
  if (cases.empty())
    return Status(Code::not_found, cat("--filter ", shown(args.filter), " leaves no case"));
  Verification v(args, console, std::move(cases));
  QUERN_TRY(v.prepare());
  return v.run();
}

}  // namespace quern::tools
