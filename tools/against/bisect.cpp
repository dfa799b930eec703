// SPDX-License-Identifier: Apache-2.0
#include "tools/against/bisect.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "engine/vocabulary/text_util.h"
#include "tools/console.h"

namespace quern::tools {
namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

const PartingValue* Trial::first() const {
  const auto it =
      std::ranges::find_if(values, [](const PartingValue& v) { return v.difference.parts; });
  return it == values.end() ? nullptr : &*it;
}

std::size_t Trial::parted() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(values, [](const PartingValue& v) { return v.difference.parts; }));
}

Bisection::Bisection(const SourceModel& model, Evaluator tested, const KnownValues& known,
                     const Criterion& criterion, const Limits& limits)
    : model_(model),
      tested_(std::move(tested)),
      known_(known),
      criterion_(criterion),
      limits_(limits),
      begin_s_(now_s()) {}

bool Bisection::out_of_time() const {
  return runs_ >= limits_.runs_max || now_s() - begin_s_ > limits_.seconds_max;
}

Result<Trial> Bisection::run(const Cut& cut) {
  ++runs_;
  QUERN_ASSIGN(const std::string bytes, model_.bytes(cut, known_));
  std::vector<InputValue> inputs;
  for (const std::string& name : model_.inputs_of(cut, known_)) {
    const auto it = known_.find(name);
    if (it == known_.end())
      return Status(Code::not_found, cat("value '", shown(name), "' is not known"));
    inputs.push_back(it->second);
  }
  QUERN_ASSIGN(RunResult evaluated, tested_(bytes, model_.folder(), inputs));
  Trial trial{{}, std::move(evaluated.steps)};
  for (std::size_t i = 0; i < cut.outputs.size(); ++i) {
    const auto it = known_.find(cut.outputs[i]);
    if (it == known_.end())
      return Status(Code::not_found, cat("value '", shown(cut.outputs[i]), "' is not known"));
    trial.values.push_back(
        {cut.outputs[i], difference_of(evaluated.outputs[i], it->second, criterion_)});
  }
  return trial;
}

// A part that is refused tells nothing.
bool Bisection::parts(const Cut& cut) {
  if (cut.nodes.empty() || cut.outputs.empty() || out_of_time()) return false;
  const auto trial = run(cut);
  return trial && trial->first() != nullptr;
}

// The other way to give what is cut off, too.
bool Bisection::parts_somehow(Cut& cut) {
  if (parts(cut)) return true;
  cut.given =
      cut.given == Cut::Given::as_inputs ? Cut::Given::shapes_as_constants : Cut::Given::as_inputs;
  return parts(cut);
}

Cut Bisection::alone(std::uint32_t node) const {
  return {{node}, model_.makes(node), Cut::Given::shapes_as_constants};
}

// The first `count` nodes: what later ones read of them is handed out.
Cut Bisection::front_of(const Cut& cut, std::size_t count) const {
  const auto split = cut.nodes.begin() + static_cast<std::ptrdiff_t>(count);
  std::set<std::string> wanted(cut.outputs.begin(), cut.outputs.end());
  for (auto it = split; it != cut.nodes.end(); ++it)
    for (std::string& name : model_.reads(*it)) wanted.insert(std::move(name));
  Cut front{{cut.nodes.begin(), split}, {}, cut.given};
  for (std::uint32_t at : front.nodes)
    for (const std::string& name : model_.makes(at))
      if (wanted.contains(name)) front.outputs.push_back(name);
  return front;
}

// Without the first `first` nodes: what they make is given.
Cut Bisection::back_of(const Cut& cut, std::size_t first) const {
  return without(cut, 0, first);
}

Cut Bisection::without(const Cut& cut, std::size_t first, std::size_t count) const {
  Cut rest{{}, {}, cut.given};
  std::set<std::string> made;
  for (std::size_t i = 0; i < cut.nodes.size(); ++i) {
    if (i >= first && i < first + count) continue;
    rest.nodes.push_back(cut.nodes[i]);
    for (std::string& name : model_.makes(cut.nodes[i])) made.insert(std::move(name));
  }
  for (const std::string& name : cut.outputs)
    if (made.contains(name)) rest.outputs.push_back(name);
  return model_.pruned(rest);
}

Cut Bisection::shorter_behind(const Cut& cut) {
  std::size_t least = 1;
  std::size_t most = cut.nodes.size();  // so many nodes part
  while (least < most) {
    const std::size_t middle = least + (most - least) / 2;
    if (parts(front_of(cut, middle)))
      most = middle;
    else
      least = middle + 1;
  }
  return most < cut.nodes.size() ? front_of(cut, most) : cut;
}

Cut Bisection::shorter_before(const Cut& cut) {
  std::size_t least = 0;  // without so many nodes it parts
  std::size_t most = cut.nodes.size() - 1;
  while (least < most) {
    const std::size_t middle = least + (most - least + 1) / 2;
    if (parts(back_of(cut, middle)))
      least = middle;
    else
      most = middle - 1;
  }
  return least > 0 ? back_of(cut, least) : cut;
}

Cut Bisection::fewer_outputs(Cut cut) {
  for (std::size_t i = 0; i < cut.outputs.size() && cut.outputs.size() > 1; ++i) {
    Cut one = model_.pruned({cut.nodes, {cut.outputs[i]}, cut.given});
    if (parts(one)) return one;
  }
  for (std::size_t i = cut.outputs.size(); i-- > 0 && cut.outputs.size() > 1;) {
    Cut fewer = cut;
    fewer.outputs.erase(fewer.outputs.begin() + static_cast<std::ptrdiff_t>(i));
    fewer = model_.pruned(fewer);
    if (parts(fewer)) cut = std::move(fewer);
  }
  return cut;
}

Cut Bisection::fewer_nodes(Cut cut) {
  for (std::size_t chunk = std::max<std::size_t>(cut.nodes.size() / 2, 1);;) {
    bool any = false;
    for (std::size_t first = 0; first < cut.nodes.size() && cut.nodes.size() > 1;) {
      Cut fewer = without(cut, first, chunk);
      if (fewer.nodes.size() < cut.nodes.size() && parts_somehow(fewer)) {
        cut = std::move(fewer);
        any = true;
      } else {
        first += chunk;
      }
    }
    if (chunk == 1 && !any) return cut;
    chunk = std::max<std::size_t>(chunk / 2, 1);
  }
}

std::optional<Cut> Bisection::smallest(const Cut& start) {
  Cut cut = model_.pruned(start);
  if (!parts_somehow(cut)) return std::nullopt;
  for (std::size_t before = 0; before != cut.nodes.size() + cut.outputs.size();) {
    before = cut.nodes.size() + cut.outputs.size();
    cut = shorter_behind(cut);
    cut = shorter_before(cut);
    cut = fewer_outputs(std::move(cut));
    cut = fewer_nodes(std::move(cut));
  }
  return cut;
}

}  // namespace quern::tools
