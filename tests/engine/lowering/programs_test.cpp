// SPDX-License-Identifier: Apache-2.0
// The programs that graphs are lowered to for devices that are none: each kernel, its constants,
// grid and push words, and each operand's place, as they were when last looked at; for the CPU the
// graph after the passes too. A change of a pass, of the lowering or of a kernel's choice shows
// here as a difference of text, on any machine.
//
// Where a difference is wanted, write the texts anew, and commit them:
//   QUERN_WRITE_TEXTS=1 ctest --test-dir build/release -R Programs
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "engine/compile/backend.h"
#include "engine/compile/dispatch_check.h"
#include "engine/devices/cpu/weights.h"
#include "engine/planning/lower.h"
#include "engine/vocabulary/text_util.h"
#include "graph/passes/pipeline.h"
#include "tests/engine/lowering/large_operands.h"
#include "tests/engine/paper_device.h"

namespace quern {
namespace {

using testing::Family;
using testing::NamedTarget;
using testing::PaperBackend;
using testing::text;

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
  const Status fits =
      check_dispatches(*program, {*target, backend.alignment(), testing::paper_bytes});
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
    for (const auto& [device, target] : testing::paper_targets()) {
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
    if (testing::writes_texts()) Texts::write();
  }
};

TEST_P(Programs, AreAsTheyWere) {
#ifdef __clang__
  GTEST_SKIP() << "the models have inputs in the order in which GCC evaluates arguments of a call";
#endif
  const NamedTarget& device = GetParam();
  auto wanted = Texts::read(device.name);
  for (const Family& f : families()) {
    SCOPED_TRACE(f.name);
    const std::string found = program_of(f, device.target);
    const std::string& known = wanted[std::string(f.name)];
    EXPECT_TRUE(known == found) << first_difference(known, found);
  }
}

INSTANTIATE_TEST_SUITE_P(On, Programs, ::testing::ValuesIn(testing::paper_targets()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace quern
