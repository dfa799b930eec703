// SPDX-License-Identifier: Apache-2.0
// The programs that graphs are lowered to for devices that are none: each kernel, its constants,
// grid and push words, and each operand's place, as they were when last looked at; for the CPU the
// graph after the passes too. A change of a pass, of the lowering or of a kernel's choice shows
// here as a difference of text, on any machine.
//
// Where a difference is wanted, write the texts anew, and commit them:
//   QUERN_WRITE_TEXTS=1 ctest --test-dir build/release -R Programs
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "engine/compile/backend.h"
#include "engine/compile/dispatch_check.h"
#include "engine/devices/cpu/weights.h"
#include "engine/lowering/lower.h"
#include "engine/vocabulary/text_util.h"
#include "graph/passes/pipeline.h"
#include "kernels/gpu/copy.h"
#include "tests/engine/lowering/large_operands.h"

namespace quern {
namespace {

using testing::Family;
using Base = Step::Operand::Base;

struct NamedTarget {
  const char* name;
  std::optional<GpuTarget> target;  // none: the CPU, with the kernels that no machine has others of
};
void PrintTo(const NamedTarget& t, std::ostream* out) {
  *out << t.name;
}

// The CPU with its reference kernels; a CPU that runs shaders; a large card, without its matrix
// units and with them; a phone.
std::vector<NamedTarget> targets() {
  const GpuTarget software{
      .units = 8, .storage_8bit = true, .storage_16bit = true, .int64 = true, .integer_dot = true};
  const GpuTarget card{.software = false,
                       .subgroup_size = 32,
                       .shared_bytes = 48 << 10,
                       .units = 132,
                       .max_iterations = 0,
                       .max_range = 0xffffffff,
                       .storage_8bit = true,
                       .storage_16bit = true,
                       .int64 = true};
  GpuTarget matrices = card;
  matrices.matrices = {.m = 16, .n = 16, .k = 16};
  matrices.half_products = true;
  const GpuTarget phone{.software = false,
                        .subgroup_size = 16,
                        .max_invocations = 256,
                        .units = 6,
                        .max_iterations = 0};
  return {{"reference", std::nullopt},
          {"software", software},
          {"card", card},
          {"matrices", matrices},
          {"phone", phone}};
}

// Takes every node that has a GPU kernel, and runs nothing.
class PaperBackend final : public Backend {
 public:
  explicit PaperBackend(const GpuTarget& target) : target_(target) {}

  std::vector<Region> partition(const Graph& graph) const override {
    return convex_regions(graph, [](NodeId) { return true; });
  }
  Status compile(const Region& region, RegionCompiler& compiler) override {
    return add_node_by_node(region, target_, compiler);
  }
  Selection copy(const TensorDesc& from, std::int64_t skipped,
                 const TensorDesc& to) const override {
    return select_gpu_copy(from, skipped, to, target_);
  }
  std::uint64_t alignment() const override { return 256; }
  Result<std::shared_ptr<const void>> constant(const GpuConstant& c) override {
    std::shared_ptr<const std::size_t>& known = constants_[c.key];
    if (!known) known = std::make_shared<std::size_t>(c.bytes);
    return std::shared_ptr<const void>(known);
  }
  std::size_t constant_bytes() const override { return 0; }
  Result<std::unique_ptr<ExecutionContext>> make_context(std::shared_ptr<const Program>,
                                                         const Stop*) override {
    return Status(Code::unsupported, "a device of paper");
  }

 private:
  GpuTarget target_;
  std::map<std::string, std::shared_ptr<const std::size_t>> constants_;
};

std::uint64_t bytes_of(const void* constant) {
  return *static_cast<const std::size_t*>(constant);
}

std::string text(const Step::Operand& o) {
  switch (o.base) {
    case Base::none: return "-";
    case Base::arena: return cat("h", o.offset);
    case Base::input: return cat("in", o.index, o.offset ? cat("+", o.offset) : "");
    case Base::output: return cat("out", o.index, o.offset ? cat("+", o.offset) : "");
    case Base::constant: return "const";
    case Base::device_arena: return cat("d", o.offset);
    case Base::device_constant: return cat("dc", o.index, o.offset ? cat("+", o.offset) : "");
  }
  return "?";
}

std::string text(const BufferUse& use) {
  std::string s(1, "ioxc"[static_cast<std::size_t>(use.of)]);
  if (use.of != BufferUse::Of::scratch) s += cat(use.index);
  if (use.written) s += '!';
  if (use.offset || use.bytes) s += cat("[", use.offset, ":", use.bytes, "]");
  return s;
}

template <class List>
std::string joined(const List& list) {
  std::string s;
  for (const auto& item : list) {
    if (!s.empty()) s += ' ';
    if constexpr (std::is_integral_v<std::decay_t<decltype(item)>>)
      s += cat(static_cast<std::int32_t>(item));
    else
      s += text(item);
  }
  return s;
}

std::string text(const Dispatch& d) {
  return cat("  ", d.shader, " <", joined(d.constants), "> (", joined(d.push), ") {",
             joined(d.buffers), "} ", d.groups[0], "x", d.groups[1], "x", d.groups[2],
             d.subgroup ? cat(" subgroup ", d.subgroup) : "", "\n");
}

// FNV-1a: the same on every machine.
std::uint32_t hash(std::string_view s) {
  std::uint32_t h = 2166136261U;
  for (const char c : s) h = (h ^ static_cast<std::uint8_t>(c)) * 16777619U;
  return h;
}

// A kernel of the host is only named: which one it is depends on the machine.
std::string text(const Step& s) {
  static constexpr const char* kinds[] = {"host", "", "up", "down"};
  const bool on_device = s.kind == Step::Kind::device;
  std::string out =
      cat(on_device ? s.op : kinds[static_cast<std::size_t>(s.kind)], " ",
          s.kind == Step::Kind::host ? s.op : "", " ", joined(s.inputs), " -> ", joined(s.outputs));
  if (on_device && s.scratch_bytes)
    out += cat(" scratch d", s.scratch_offset, ":", s.scratch_bytes);
  if (on_device && !s.layouts.empty()) out += cat(" ", s.layouts);
  if (s.kind == Step::Kind::host)
    out += cat(" | ", s.shapes, " | ", std::llround(s.cost.flops), " flops ",
               std::llround(s.cost.bytes), " bytes");
  out += '\n';
  for (const Dispatch& d : s.dispatches) {
    out += text(d);
    if (d.candidates.empty()) continue;
    std::string others;
    for (const Dispatch& c : d.candidates) others += text(c);
    out += cat("  or ", d.candidates.size(), " others, ", hash(others), "\n");
  }
  return out;
}

std::string text(const Program& p) {
  std::string out;
  for (const Step& s : p.steps) out += text(s);
  return out + cat("arena ", p.arena_bytes, ", of the device ", p.device_plan.size, ", ",
                   p.device_constants.size(), " constants\n");
}

std::string program_of(const Family& family, const std::optional<GpuTarget>& target) {
  Model model = family.make();
  testing::must(run_passes(model.graph()));
  cpu::SharedWeights packed;
  LowerOptions options{.use_onednn = false, .weights = &packed};
  if (!target) {
    options.reference_only = true;
    return model.text(4) + text(*testing::must(lower(model.graph(), options)));
  }
  PaperBackend backend(*target);
  options.backend = &backend;
  const auto program = testing::must(lower(model.graph(), options));
  const Status fits = check_dispatches(*program, {*target, backend.alignment(), bytes_of});
  EXPECT_TRUE(fits.ok()) << fits.message();
  return text(*program);
}

std::vector<Family> families() {
  std::vector<Family> all = testing::all_families();
  for (Family& f : testing::families_at_limits()) all.push_back(std::move(f));
  return all;
}

// The text of a device for each of families(). A file names a family in a line "== NAME", and says
// "as on DEVICE" where the program is that of a device before it.
class Texts {
 public:
  static std::map<std::string, std::string> read(const std::string& device) {
    std::ifstream file(path_of(device));
    std::map<std::string, std::string> found;
    std::string name;
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("== "))
        name = line.substr(3);
      else if (line.starts_with("as on "))
        found[name] = read(line.substr(6))[name];
      else
        found[name] += line + '\n';
    }
    return found;
  }

  static void write() {
    std::map<std::string, std::string> known;  // by family and program, the device
    for (const auto& [device, target] : targets()) {
      std::ofstream file(path_of(device));
      for (const Family& f : families()) {
        const std::string program = program_of(f, target);
        const auto& first = known.emplace(cat(f.name, "\n", program), device).first->second;
        file << "== " << f.name << '\n' << (first == device ? program : cat("as on ", first, "\n"));
      }
    }
  }

 private:
  static std::string path_of(const std::string& device) {
    return cat(QUERN_SOURCE_DIR, "/tests/engine/lowering/programs/", device, ".txt");
  }
};

// The first line that differs, of both.
std::string first_difference(const std::string& wanted, const std::string& found) {
  std::istringstream a(wanted), b(found);
  std::string x, y;
  for (int line = 1;; ++line) {
    const bool more_wanted = !!std::getline(a, x), more_found = !!std::getline(b, y);
    if (!more_wanted && !more_found) return "none";
    if (x != y || more_wanted != more_found)
      return cat("line ", line, "\n  was ", more_wanted ? x : "nothing", "\n  is  ",
                 more_found ? y : "nothing");
  }
}

class Programs : public ::testing::TestWithParam<NamedTarget> {
 protected:
  static void SetUpTestSuite() {
    if (std::getenv("QUERN_WRITE_TEXTS")) Texts::write();
  }
};

TEST_P(Programs, AreAsTheyWere) {
  const NamedTarget& device = GetParam();
  auto wanted = Texts::read(device.name);
  for (const Family& f : families()) {
    SCOPED_TRACE(f.name);
    const std::string found = program_of(f, device.target);
    const std::string& known = wanted[std::string(f.name)];
    EXPECT_TRUE(known == found) << first_difference(known, found);
  }
}

INSTANTIATE_TEST_SUITE_P(On, Programs, ::testing::ValuesIn(targets()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace quern
