// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include <quern/artefact.h>
#include <quern/graph_builder.h>
#include <quern/run_group.h>
#include <quern/session.h>

#include "engine/artefact/load.h"
#include "engine/compile/executable_impl.h"
#include "engine/vocabulary/content_hash.h"
#include "tests/expect.h"

namespace quern {
namespace {

// Two convolutions, a pool and a product, with weights of 147 kB and 10 kB.
Model batch_net(std::int64_t batch) {
  GraphBuilder g("small");
  std::mt19937 random(5);
  const auto weights = [&](const Shape& shape) {
    std::vector<float> values(static_cast<std::size_t>(shape.elements()));
    for (float& v : values) v = std::uniform_real_distribution<float>(-0.1F, 0.1F)(random);
    return g.constant(Tensor::from_values<float>(DType::f32, shape, values));
  };
  const Operand x =
      g.input("x", DType::f32, {batch < 0 ? Dimension("batch") : Dimension(batch), 16, 16, 16});
  Operand y = g.relu(g.conv(x, weights({64, 16, 3, 3}), {}, {.pads = {1, 1, 1, 1}}));
  y = g.relu(g.conv(y, weights({64, 64, 3, 3}), {}, {.pads = {1, 1, 1, 1}}));
  y = g.reshape(g.global_average_pool(y), {0, -1});
  g.output("y", g.matmul(y, weights({64, 40})));
  return g.build().value();
}

std::shared_ptr<const Executable> executable_of(Model model) {
  return Executable::compile(std::move(model), nullptr, {.threads = 1}).value();
}

struct Bytes {
  std::shared_ptr<std::byte> owner;
  std::size_t size = 0;
  std::span<std::byte> bytes() const { return {owner.get(), size}; }
};

Bytes bytes_of(const Artefact& artefact) {
  return {artefact.in_memory().value(), artefact.contents().bytes};
}

Result<std::shared_ptr<const Executable>> load(const Bytes& file, const LoadOptions& options = {}) {
  return parse_artefact(file.bytes(), file.owner, nullptr, options);
}

std::vector<float> answer_of(const std::shared_ptr<const Executable>& executable,
                             std::int64_t batch) {
  auto session = Session::create(executable).value();
  const Shape shape{batch, 16, 16, 16};
  std::vector<float> x(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 37) * 0.05F - 0.9F;
  const Tensor input = Tensor::from_values<float>(DType::f32, shape, x);
  const Status bound = session->set_input(0, input.view());
  const Status ran = bound.ok() ? session->run() : Status();
  if (!bound.ok() || !ran.ok()) {
    ADD_FAILURE() << bound.message() << ran.message();
    return {};
  }
  const auto y = session->output(0).value().span<float>();
  return {y.begin(), y.end()};
}

TEST(Artefact, GivesTheSameBitsAndMakesNothing) {
  const auto executable = executable_of(batch_net(2));
  const Bytes file = bytes_of(Artefact::make(executable).value());
  const auto again = load(file);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(answer_of(*again, 2), answer_of(executable, 2));
  const CompileWork work = work_of(**again);
  EXPECT_EQ(work.graphs, 0U);
  EXPECT_EQ(work.searches, 0U);
  EXPECT_EQ(work.packings, 0U);
  EXPECT_GT(work_of(*executable).packings, 0U);
  EXPECT_EQ((*again)->inputs()[0].name, "x");
  EXPECT_EQ((*again)->outputs()[0].dims, executable->outputs()[0].dims);
}

// Weights that only packed kernels read are left out, unless other shapes and machines want them.
TEST(Artefact, HoldsAllWeightsWhereItIsPortable) {
  const auto executable = executable_of(batch_net(-1));
  const ArtefactOptions one_shape{.shapes = {{Shape{2, 16, 16, 16}}}};
  const Artefact sealed = Artefact::make(executable, one_shape).value();
  EXPECT_FALSE(sealed.contents().is_portable);
  EXPECT_LT(sealed.contents().constant_bytes, std::size_t{64 * 64 * 9 * 4});
  ArtefactOptions all = one_shape;
  all.is_portable = true;
  const Artefact portable = Artefact::make(executable, all).value();
  EXPECT_TRUE(portable.contents().is_portable);
  EXPECT_GE(portable.contents().constant_bytes, std::size_t{64 * 64 * 9 * 4});

  const auto other = load(bytes_of(portable));
  ASSERT_TRUE(other) << other.error().message();
  EXPECT_EQ(answer_of(*other, 3), answer_of(executable, 3));
  EXPECT_EQ(work_of(**other).graphs, 1U);

  const auto only = load(bytes_of(sealed));
  ASSERT_TRUE(only) << only.error().message();
  EXPECT_EQ(answer_of(*only, 2), answer_of(executable, 2));
  EXPECT_EQ(work_of(**only).packings, 0U);
  const auto session = Session::create(*only).value();
  const Tensor three = Tensor::zeros({DType::f32, {3, 16, 16, 16}}).value();
  ASSERT_TRUE(session->set_input(0, three.view()).ok());
  const Status refused = session->run();
  EXPECT_EQ(refused.code(), Code::unsupported);
  EXPECT_CONTAINS(refused.message(), "x f32[2,16,16,16]");
  EXPECT_CONTAINS(refused.message(), "--portable");
}

TEST(Artefact, HoldsAPlanForEachShape) {
  const auto executable = executable_of(batch_net(-1));
  const Artefact artefact =
      Artefact::make(executable, {.shapes = {{Shape{1, 16, 16, 16}}, {Shape{4, 16, 16, 16}}}})
          .value();
  EXPECT_EQ(artefact.contents().plans, 2U);
  const auto again = load(bytes_of(artefact)).value();
  for (const std::int64_t batch : {1, 4})
    EXPECT_EQ(answer_of(again, batch), answer_of(executable, batch));
  EXPECT_EQ(work_of(*again).graphs, 0U);
}

TEST(Artefact, SaysWhyThereIsNoPlan) {
  const Artefact artefact = Artefact::make(executable_of(batch_net(-1))).value();
  ASSERT_EQ(artefact.notes().size(), 1U);
  EXPECT_CONTAINS(artefact.notes()[0], "shapes of inputs");
  EXPECT_TRUE(artefact.contents().is_portable);
  const auto wrong =
      Artefact::make(executable_of(batch_net(1)), {.shapes = {{Shape{1}, Shape{1}}}});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code(), Code::invalid_argument);
}

TEST(Artefact, IsRefusedWhereItWasTruncated) {
  const Bytes file = bytes_of(Artefact::make(executable_of(batch_net(1))).value());
  std::vector<std::size_t> sizes = {file.size - 1, file.size / 2, 5000, 4096};
  for (std::size_t n = 0; n < 200; ++n) sizes.push_back(n);
  for (const std::size_t size : sizes) {
    const auto cut = parse_artefact(file.bytes().first(size), file.owner);
    ASSERT_FALSE(cut) << size;
    EXPECT_EQ(cut.error().code(), Code::invalid_model) << size;
    EXPECT_CONTAINS(cut.error().message(), "artefact") << size;
  }
}

TEST(Artefact, IsRefusedWhereAByteWasChanged) {
  const Bytes file = bytes_of(Artefact::make(executable_of(batch_net(1))).value());
  std::mt19937_64 random(11);
  for (std::size_t k = 0; k < 600; ++k) {
    // All of the header, then anywhere.
    const std::size_t at = k < 72 ? k : random() % file.size;
    const auto bit = static_cast<std::byte>(1U << random() % 8);
    file.bytes()[at] ^= bit;
    const auto changed = load(file);
    file.bytes()[at] ^= bit;
    // Between tables and data there are zeros that nothing reads.
    if (changed) {
      EXPECT_EQ(file.bytes()[at], std::byte{0}) << at;
    } else {
      EXPECT_EQ(changed.error().code(), Code::invalid_model) << at;
    }
  }
}

// The hash of tables tells accidents. Whoever writes it anew may write anything, and gets an error
// or an executable whose runs stay within memory.
TEST(Artefact, EndsWellWhateverItsTablesSay) {
  const Bytes file = bytes_of(Artefact::make(executable_of(batch_net(1))).value());
  std::uint64_t table_bytes = 0;
  std::memcpy(&table_bytes, file.bytes().data() + 16, sizeof table_bytes);
  const auto tables = file.bytes().subspan(72, table_bytes);
  const std::vector<std::byte> before(tables.begin(), tables.end());
  std::mt19937_64 random(17);
  std::size_t accepted = 0;
  for (std::size_t k = 0; k < 3000; ++k) {
    std::ranges::copy(before, tables.begin());
    for (std::size_t change = 0; change <= random() % 3; ++change) {
      const std::size_t at = random() % tables.size();
      tables[at] = random() % 2 ? static_cast<std::byte>(random() % 256)
                                : tables[at] ^ static_cast<std::byte>(1U << random() % 8);
    }
    const ContentHash hash = content_hash(tables);
    std::memcpy(file.bytes().data() + 40, hash.data(), sizeof hash);
    const auto changed = load(file);
    if (changed) {
      ++accepted;
      const auto session = Session::create(*changed);
      const ValueSpec& x = (*changed)->inputs()[0];
      const auto zeros = Tensor::zeros({x.dtype, Shape(x.dims)});  // none of open dimensions
      if (!session || !zeros) continue;
      if (!(*session)->set_input(0, zeros->view()).ok() || !(*session)->run().ok()) continue;
      const PlanInfo plan = (*session)->plan_info();
      EXPECT_LE(plan.arena_bytes, plan.unshared_bytes + 64 * plan.buffers.size());
    }
  }
  EXPECT_GT(accepted, 100U);  // names, keys and figures for display among them
}

TEST(Artefact, OfAnotherMachineIsCompiledAgainIfItIsPortable) {
  const auto executable = executable_of(batch_net(2));
  for (const bool is_portable : {false, true}) {
    const Bytes file = bytes_of(Artefact::make(executable, {.is_portable = is_portable}).value());
    const auto on_reference =
        parse_artefact(file.bytes(), file.owner, open_device("reference").value());
    if (is_portable) {
      ASSERT_TRUE(on_reference) << on_reference.error().message();
      const std::vector<float> wanted = answer_of(executable, 2);
      const std::vector<float> found = answer_of(*on_reference, 2);
      ASSERT_EQ(found.size(), wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-4F);
      EXPECT_GT(work_of(**on_reference).graphs, 0U);
    } else {
      ASSERT_FALSE(on_reference);
      EXPECT_EQ(on_reference.error().code(), Code::unsupported);
      EXPECT_CONTAINS(on_reference.error().message(), "device cpu, here reference");
    }
  }
}

// As libquern_run loads: nothing makes plans.
Result<std::shared_ptr<const Executable>> load_to_run(const Bytes& file,
                                                      std::shared_ptr<Device> device = nullptr) {
  const auto saved_only = [](const CompileOptions& o, const DeviceInfo& d) -> Result<PlanOptions> {
    return plan_options(o, d);
  };
  return artefact::load(file.bytes(), file.owner, std::move(device), {}, saved_only);
}

TEST(Runner, HasThePlansOfTheFile) {
  const auto executable = executable_of(batch_net(-1));
  const Bytes file =
      bytes_of(Artefact::make(executable, {.shapes = {{Shape{2, 16, 16, 16}}}}).value());
  const auto again = load_to_run(file);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(answer_of(*again, 2), answer_of(executable, 2));
  EXPECT_EQ(work_of(**again).graphs + work_of(**again).searches + work_of(**again).packings, 0U);
}

// With a plain placement where the saved one does not fit the kernels that there are.
TEST(Runner, TakesPlansOfAPortableFileElsewhere) {
  const auto executable = executable_of(batch_net(2));
  const Bytes file = bytes_of(Artefact::make(executable, {.is_portable = true}).value());
  const auto on_reference = load_to_run(file, open_device("reference").value());
  ASSERT_TRUE(on_reference) << on_reference.error().message();
  const std::vector<float> wanted = answer_of(executable, 2);
  const std::vector<float> found = answer_of(*on_reference, 2);
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-4F);
  EXPECT_EQ(work_of(**on_reference).graphs, 0U);
}

TEST(Runner, SaysWhatItDoesNotDo) {
  const auto executable = executable_of(batch_net(-1));
  const Bytes file =
      bytes_of(Artefact::make(executable, {.shapes = {{Shape{2, 16, 16, 16}}}, .is_portable = true})
                   .value());
  const auto again = load_to_run(file).value();
  auto session = Session::create(again).value();
  const Tensor other =
      Tensor::from_values<float>(DType::f32, {1, 16, 16, 16}, std::vector<float>(16 * 16 * 16));
  ASSERT_TRUE(session->set_input(0, other.view()).ok());
  const Status refused = session->run();
  EXPECT_EQ(refused.code(), Code::unsupported);
  EXPECT_CONTAINS(refused.message(), "a plan is wanted that the artefact does not hold");
  EXPECT_CONTAINS(refused.message(), "compiles nothing");
  const auto group =
      RunGroup::create(again, 2, {.inputs = {TensorType{DType::f32, Shape{2, 16, 16, 16}}}});
  ASSERT_FALSE(group);
  EXPECT_CONTAINS(group.error().message(), "runs in flight want a search");
}

TEST(ArtefactNeeds, AreTheOperatorsAndTypesOfItsGraphs) {
  const auto executable = executable_of(batch_net(2));
  const Bytes file = bytes_of(Artefact::make(executable).value());
  const ArtefactNeeds needs = needs_of(file.bytes()).value();
  const auto has = [](const auto& list, const auto& item) {
    return std::ranges::find(list, item) != list.end();
  };
  for (const std::string name : {"Conv", "MatMul", "Unary"}) {
    EXPECT_TRUE(has(needs.operators, name)) << name;
    EXPECT_TRUE(has(needs.kernels, name)) << name;
  }
  EXPECT_FALSE(has(needs.operators, std::string("Softmax")));
  EXPECT_TRUE(has(needs.types, DType::f32));
  EXPECT_FALSE(has(needs.types, DType::f64));
  EXPECT_EQ(needs_of(file.bytes().first(100)).error().code(), Code::invalid_model);
}

// Kilobytes of a mapped file of which this process has copies of its own. (Dirty pages are also
// those that the system has not written to its disk yet.)
std::size_t copied_kilobytes(const std::string& path) {
  std::ifstream maps("/proc/self/smaps");
  std::size_t sum = 0;
  bool is_of_file = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find('-') < line.find(' ')) is_of_file = line.ends_with(path);
    const std::string_view copied = "Anonymous:";
    if (is_of_file && line.starts_with(copied)) sum += std::stoul(line.substr(copied.size()));
  }
  return sum;
}

TEST(Artefact, IsWrittenAndMapped) {
  const auto executable = executable_of(batch_net(2));
  const std::string path =
      (std::filesystem::temp_directory_path() / ("artefact-" + std::to_string(getpid()) + ".quern"))
          .string();
  ASSERT_TRUE(Artefact::make(executable).value().write(path).ok());
  EXPECT_TRUE(is_artefact_file(path));
  for (const auto files : {OnnxOptions::Files::mapped, OnnxOptions::Files::read}) {
    const auto again = load_artefact(path, nullptr, {.files = files});
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(answer_of(*again, 2), answer_of(executable, 2));
    EXPECT_EQ(copied_kilobytes(path), 0U);
  }
  std::filesystem::remove(path);
  EXPECT_FALSE(is_artefact_file(path));
  EXPECT_EQ(load_artefact(path).error().code(), Code::not_found);
  std::ofstream(path) << "something else, which is no artefact";
  EXPECT_CONTAINS(load_artefact(path).error().message(), "does not begin as one");
  std::filesystem::remove(path);
}

TEST(ContentHash, IsThatOfTheWholeInWhateverPieces) {
  std::vector<std::byte> bytes(1000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
  const ContentHash whole = content_hash(bytes);
  for (const std::size_t piece : {1, 7, 31, 32, 33, 999}) {
    ContentHasher hasher;
    for (std::size_t at = 0; at < bytes.size(); at += piece)
      hasher.add(std::span(bytes).subspan(at, std::min(piece, bytes.size() - at)));
    EXPECT_EQ(hasher.value(), whole) << piece;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= std::byte{1};
    EXPECT_NE(content_hash(bytes), whole) << i;
    bytes[i] ^= std::byte{1};
  }
  bytes.push_back(std::byte{0});
  EXPECT_NE(content_hash(bytes), whole);
}

}  // namespace
}  // namespace quern
