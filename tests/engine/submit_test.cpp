// SPDX-License-Identifier: Apache-2.0
// submit() and wait(), and tensors that stay on a device: the same on every device.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "tests/engine/engine_models.h"
#include "tests/expect.h"

namespace quern {
namespace {

using quern::testing::must;
using quern::testing::pattern;
using quern::testing::session_of;
using quern::testing::tensor;
using quern::testing::values;
using ::testing::AnyOf;
using ::testing::Eq;
using Bytes = std::vector<std::byte>;

class EachDevice : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto opened = open_device(GetParam());
    if (!opened && std::string_view(GetParam()) != "cpu") GTEST_SKIP() << opened.error().message();
    device = must(std::move(opened), "open");
  }
  std::shared_ptr<const Executable> compile(Model model) {
    return must(Executable::compile(std::move(model), device), "compile");
  }
  std::shared_ptr<DeviceTensor> make(const TensorType& type) {
    return must(DeviceTensor::create(device, type), "tensor");
  }
  // Twenty runs since `before` moved no bytes and made nothing.
  void expect_untouched(const DeviceCounters& before) const {
    const DeviceCounters after = device->counters();
    EXPECT_EQ(after.bytes_up, before.bytes_up);
    EXPECT_EQ(after.bytes_down, before.bytes_down);
    EXPECT_EQ(after.allocations, before.allocations);
    EXPECT_EQ(after.submissions, before.submissions + (on_gpu() ? 20 : 0));
  }
  bool on_gpu() const { return device->info().kind == DeviceInfo::Kind::gpu; }

  std::shared_ptr<Device> device;
};

Bytes copied_bytes(const TensorView& t) {
  return {t.data, t.data + t.type.bytes()};
}

Bytes run(Session& session, const Tensor& input) {
  must(session.set_input(0, input.view()));
  must(session.run(), "run");
  return copied_bytes(must(session.output(0)));
}

const Shape picture = {2, 3, 12, 16};

// x [N, 4] -> scaled and shifted, [N, 4]
Model affine_model(double scale, double shift) {
  GraphBuilder g("affine");
  const Operand x = g.input("x", DType::f32, {"N", 4});
  g.output("y", g.add(g.mul(x, g.scalar(scale)), g.scalar(shift)));
  return must(g.build());
}

// x [N] -> the indices of what is not 0
Model nonzero_model() {
  GraphBuilder g("nonzero");
  g.output("indices", g.non_zero(g.input("x", DType::f32, {"N"})));
  return must(g.build());
}

// ---- submit and wait ---------------------------------------------------------------------------

TEST_P(EachDevice, ASubmittedRunGivesWhatARunGives) {
  const auto executable = compile(testing::conv_model());
  const auto plain = session_of(executable);
  const auto session = session_of(executable);
  for (int seed = 1; seed < 4; ++seed) {
    const Tensor x = pattern(picture, seed);
    must(session->set_input(0, x.view()));
    must(session->submit(), "submit");
    EXPECT_EQ(must(session->output_type(0), "type before the end").text(),
              (TensorType{DType::f32, {2, 8, 6, 8}}).text());
    must(session->wait(), "wait");
    EXPECT_EQ(copied_bytes(must(session->output(0))), run(*plain, x)) << "seed " << seed;
  }
}

TEST_P(EachDevice, ThreeRunsInFlightGiveTheBitsOfOneAtATime) {
  const auto executable = compile(testing::conv_model());
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<Tensor> inputs;
  std::vector<Bytes> wanted;
  for (int i = 0; i < 3; ++i) {
    sessions.push_back(session_of(executable));
    inputs.push_back(pattern(picture, 5 + i));
    wanted.push_back(run(*sessions.back(), inputs.back()));
  }
  for (int round = 0; round < 20; ++round) {
    for (auto& s : sessions) must(s->submit(), "submit");
    for (std::size_t i = 0; i < 3; ++i) {
      must(sessions[i]->wait(), "wait");
      EXPECT_EQ(copied_bytes(must(sessions[i]->output(0))), wanted[i]);
    }
  }
}

TEST_P(EachDevice, BetweenSubmitAndWaitASessionIsBusy) {
  const auto session = session_of(compile(testing::conv_model()));
  const Tensor x = pattern(picture);
  EXPECT_EQ(session->wait().code(), Code::invalid_argument) << "nothing was submitted";
  EXPECT_EQ(session->submit().code(), Code::invalid_argument) << "no input is set";
  must(session->set_input(0, x.view()));
  must(session->submit());
  for (const Status& s :
       {session->run(), session->submit(), session->prepare(), session->set_input(0, x.view()),
        session->bind_output(0, nullptr, 0), session->request_outputs({})}) {
    EXPECT_EQ(s.code(), Code::busy) << s.message();
  }
  EXPECT_EQ(session->output(0).error().code(), Code::busy);
  EXPECT_EQ(session->trace_memory().error().code(), Code::busy);
  must(session->wait());
  EXPECT_TRUE(session->is_done());
  EXPECT_TRUE(session->output(0));
}

TEST_P(EachDevice, WaitingGivesUpInTimeAndTheRunGoesOn) {
  GraphBuilder g("slow");
  Operand x = g.input("x", DType::f32, {400, 400});
  for (int i = 0; i < 12; ++i) x = g.matmul(x, testing::weights(g, {400, 400}, i));
  g.output("y", x);
  const auto session = session_of(compile(must(g.build())), 1);
  const Tensor input = pattern({400, 400});
  must(session->set_input(0, input.view()));
  using Clock = std::chrono::steady_clock;
  must(session->run());
  const auto before = Clock::now();
  must(session->run());
  const auto whole = Clock::now() - before;
  must(session->submit());
  const auto begin = Clock::now();
  const Status early = session->wait_until(begin);
  // A device that computes nothing has ended sooner than a clock can tell.
  EXPECT_LT(Clock::now() - begin, whole / 2 + std::chrono::milliseconds(2))
      << "it waited for the run";
  EXPECT_THAT(early.code(), AnyOf(Eq(Code::busy), Eq(Code::ok))) << early.message();
  if (early.ok()) GTEST_SKIP() << "this device was faster than the clock";
  must(session->wait_until(std::chrono::steady_clock::now() + std::chrono::minutes(2)));
  EXPECT_EQ(must(session->output(0)).type.shape, (Shape{400, 400}));
}

TEST_P(EachDevice, ShapesThatDependOnDataAreKnownAtTheEnd) {
  const auto session = session_of(compile(nonzero_model()));
  const Tensor x = tensor<float>({5}, {0, 1, 0, 2, 3});
  must(session->set_input(0, x.view()));
  must(session->submit());
  EXPECT_EQ(session->output_type(0).error().code(), Code::busy);
  must(session->wait());
  EXPECT_EQ(values<std::int64_t>(must(session->output(0))), (std::vector<std::int64_t>{1, 3, 4}));
  EXPECT_EQ(must(session->output_type(0)).shape, (Shape{1, 3}));
}

TEST_P(EachDevice, ASequenceOfTwoHasNoTypeBeforeTheEnd) {
  GraphBuilder g;
  const Operand x = g.input("x", DType::f32, {2, 3});
  g.output("two", g.sequence({g.relu(x), g.reduce("sum", x, {0})}));
  const auto session = session_of(compile(must(g.build())));
  const Tensor in = pattern({2, 3});
  must(session->set_input(0, in.view()));
  must(session->submit());
  EXPECT_EQ(session->output_type(0).error().code(), Code::busy);
  must(session->wait());
  EXPECT_EQ(must(session->output_count(0)), 2U);
}

TEST_P(EachDevice, OnlyTheOutputsThatAreWanted) {
  const auto executable = compile(testing::conv_model());
  const auto all = session_of(executable);
  const auto one = session_of(executable);
  const Tensor x = pattern(picture);
  (void)run(*all, x);
  const std::size_t second[] = {1};
  must(one->request_outputs(second));
  must(one->set_input(0, x.view()));
  must(one->submit());
  must(one->wait());
  EXPECT_EQ(copied_bytes(must(one->output(1))), copied_bytes(must(all->output(1))));
  EXPECT_EQ(one->output(0).error().code(), Code::not_found);
}

TEST_P(EachDevice, ASessionThatEndsWaitsForItsRun) {
  const auto executable = compile(testing::conv_model());
  const Tensor x = pattern(picture);
  for (int i = 0; i < 5; ++i) {
    const auto session = session_of(executable);
    must(session->set_input(0, x.view()));
    must(session->submit());
  }
}

// ---- tensors of a device -----------------------------------------------------------------------

TEST_P(EachDevice, TensorsGoFromOneExecutableToTheNextWithoutTheHost) {
  const auto first = session_of(compile(affine_model(3, 1)));
  const auto second = session_of(compile(affine_model(-0.5, 7)));
  const Tensor x = pattern({6, 4});
  const Bytes wanted = [&] {
    const Bytes between = run(*first, x);
    const TensorView view{{DType::f32, {6, 4}}, between.data()};
    must(second->set_input(0, view));
    must(second->run());
    return copied_bytes(must(second->output(0)));
  }();

  const auto source = make({DType::f32, {6, 4}});
  const auto between = make({DType::f32, {6, 4}});
  const auto result = make({DType::f32, {6, 4}});
  must(source->write(x.view()));
  must(first->set_input(0, source));
  must(first->bind_output(0, between));
  must(second->set_input(0, between));
  must(second->bind_output(0, result));
  must(first->run());
  must(second->run());
  EXPECT_EQ(copied_bytes(must(result->read())), wanted);

  const DeviceCounters before = device->counters();
  for (int i = 0; i < 10; ++i) {
    must(first->submit());
    must(second->submit());
    must(first->wait());
    must(second->wait());
  }
  if (std::string_view(GetParam()).find("cpu=") == std::string_view::npos) {
    expect_untouched(before);
  }
  must(first->submit());
  must(second->submit());
  EXPECT_EQ(copied_bytes(must(result->read())), wanted) << "reading waits";
  must(second->wait());
  must(first->wait());
}

TEST_P(EachDevice, AReaderOnTheHostWaitsForTheWriterOnTheDevice) {
  const auto first = session_of(compile(affine_model(2, -1)));
  const auto second = session_of(compile(nonzero_model()));
  GraphBuilder g("flat");
  g.output("y", g.reshape(g.input("x", DType::f32, {2, 4}), {8}));
  const auto flat = session_of(compile(must(g.build())));
  const auto x = make({DType::f32, {2, 4}});
  const auto between = make({DType::f32, {2, 4}});
  const auto row = make({DType::f32, {8}});
  must(first->set_input(0, x));
  must(first->bind_output(0, between));
  must(flat->set_input(0, between));
  must(flat->bind_output(0, row));
  must(second->set_input(0, row));
  for (int i = 0; i < 20; ++i) {
    Tensor values_in = must(Tensor::zeros({DType::f32, {2, 4}}));
    std::ranges::fill(std::span(reinterpret_cast<float*>(values_in.mutable_data()), 8), 0.5F);
    reinterpret_cast<float*>(values_in.mutable_data())[i % 8] = 1;
    must(x->write(values_in.view()));
    must(first->submit());
    must(flat->submit());
    must(second->submit());
    must(second->wait());
    EXPECT_EQ(values<std::int64_t>(must(second->output(0))), (std::vector<std::int64_t>{i % 8}));
    must(flat->wait());
    must(first->wait());
  }
}

TEST_P(EachDevice, StateThatRunsInACircle) {
  const auto session = session_of(compile(affine_model(0.5, 1)));
  std::shared_ptr<DeviceTensor> state[] = {make({DType::f32, {2, 4}}), make({DType::f32, {2, 4}})};
  const Tensor zeros = must(Tensor::zeros({DType::f32, {2, 4}}));
  must(state[0]->write(zeros.view()));
  float wanted = 0;
  for (int i = 0; i < 12; ++i) {
    must(session->set_input(0, state[i % 2]));
    must(session->bind_output(0, state[1 - i % 2]));
    must(session->run());
    wanted = 0.5F * wanted + 1;
  }
  EXPECT_EQ(values(must(state[0]->read())), std::vector<float>(8, wanted));
}

TEST_P(EachDevice, ATensorTakesTheShapeOfTheOutput) {
  const auto session = session_of(compile(affine_model(1, 1)));
  const auto in = make({DType::f32, {8, 4}});
  const auto out = make({DType::f32, {8, 4}});
  const Tensor small = pattern({3, 4});
  must(in->write(small.view()));
  must(session->set_input(0, in));
  must(session->bind_output(0, out));
  must(session->run());
  EXPECT_EQ(out->type().shape, (Shape{3, 4}));
  const Tensor large = pattern({8, 4});
  must(in->write(large.view()));
  must(session->run());
  EXPECT_EQ(out->type().shape, (Shape{8, 4}));
  EXPECT_EQ(values(must(out->read()))[31], values(large.view())[31] + 1);
}

TEST_P(EachDevice, WhatTheHostComputesReachesTheTensor) {
  const auto session = session_of(compile(nonzero_model()));
  const auto in = make({DType::f32, {5}});
  const auto out = make({DType::i64, {1, 5}});
  const Tensor x = tensor<float>({5}, {0, 1, 0, 2, 3});
  must(in->write(x.view()));
  must(session->set_input(0, in));
  must(session->bind_output(0, out));
  must(session->run());
  EXPECT_EQ(out->type().shape, (Shape{1, 3}));
  EXPECT_EQ(values<std::int64_t>(must(out->read())), (std::vector<std::int64_t>{1, 3, 4}));
}

// Inverse of nine rows is the host's on every device: it reads what the tensor holds.
TEST_P(EachDevice, TheHostReadsWhatAlsoGoesToATensor) {
  GraphBuilder g("read");
  const Operand x = g.input("x", DType::f32, {9, 9});
  const Operand y = g.relu(x);
  g.output("y", y);
  g.output("inverse", g.op("Inverse", {y}));
  const auto session = session_of(compile(must(g.build())));
  const auto out = make({DType::f32, {9, 9}});
  must(session->bind_output(0, out));
  for (const float scale : {2.0F, 4.0F}) {
    Tensor diagonal = must(Tensor::zeros({DType::f32, {9, 9}}));
    for (std::size_t i = 0; i < 9; ++i)
      reinterpret_cast<float*>(diagonal.mutable_data())[10 * i] = scale;
    must(session->set_input(0, diagonal.view()));
    must(session->run());
    EXPECT_EQ(values(must(out->read())), values(diagonal.view()));
    EXPECT_EQ(values(must(session->output(1)))[80], 1 / scale);
  }
}

TEST_P(EachDevice, AnInputHandedOutAndAnOutputTwice) {
  GraphBuilder g("same");
  const Operand x = g.input("x", DType::f32, {4});
  const Operand y = g.relu(x);
  g.output("passed", x);
  g.output("once", y);
  g.output("twice", g.named("second", g.identity(y)));
  const auto session = session_of(compile(must(g.build())));
  const auto in = make({DType::f32, {4}});
  const Tensor values_in = tensor<float>({4}, {-1, 2, -3, 4});
  must(in->write(values_in.view()));
  std::vector<std::shared_ptr<DeviceTensor>> out;
  must(session->set_input(0, in));
  for (std::size_t i = 0; i < 3; ++i) {
    out.push_back(make({DType::f32, {4}}));
    must(session->bind_output(i, out.back()));
  }
  must(session->run());
  EXPECT_EQ(values(must(out[0]->read())), (std::vector<float>{-1, 2, -3, 4}));
  EXPECT_EQ(values(must(out[1]->read())), (std::vector<float>{0, 2, 0, 4}));
  EXPECT_EQ(values(must(out[2]->read())), (std::vector<float>{0, 2, 0, 4}));
  EXPECT_EQ(values(must(session->output(1))), (std::vector<float>{0, 2, 0, 4}))
      << "asked for on the host, it is fetched";
}

TEST_P(EachDevice, WhatTheHostCopiesIsThereForTheNextRun) {
  GraphBuilder g("same");
  const Operand x = g.input("x", DType::f32, {2, 4});
  const Operand y = g.relu(x);
  g.output("passed", x);
  g.output("once", y);
  g.output("twice", g.named("second", g.identity(y)));
  const auto first = session_of(compile(must(g.build())));
  const auto executable = compile(affine_model(2, 1));
  const auto in = make({DType::f32, {2, 4}});
  must(first->set_input(0, in));
  std::vector<std::shared_ptr<DeviceTensor>> between, out;
  std::vector<std::unique_ptr<Session>> next;
  for (std::size_t i = 0; i < 3; ++i) {
    between.push_back(make({DType::f32, {2, 4}}));
    out.push_back(make({DType::f32, {2, 4}}));
    must(first->bind_output(i, between[i]));
    next.push_back(session_of(executable));
    must(next[i]->set_input(0, between[i]));
    must(next[i]->bind_output(0, out[i]));
  }
  for (const float v : {-3.F, 5.F}) {
    const Tensor values_in = tensor<float>({2, 4}, {v, v, v, v, v, v, v, v});
    must(in->write(values_in.view()));
    must(first->submit());
    for (auto& s : next) must(s->submit());
    for (auto& s : next) must(s->wait());
    must(first->wait());
    EXPECT_EQ(values(must(out[0]->read())), std::vector<float>(8, 2 * v + 1));
    for (std::size_t i : {1, 2})
      EXPECT_EQ(values(must(out[i]->read())), std::vector<float>(8, 2 * std::max(v, 0.F) + 1));
  }
}

// The newest bytes of the tensor are those on the device.
TEST_P(EachDevice, AnInputThatIsAnOutputIsReadWhereItIsNewest) {
  GraphBuilder g("same");
  const Operand x = g.input("x", DType::f32, {2, 4});
  g.output("y", g.relu(x));
  g.output("passed", x);
  const auto first = session_of(compile(affine_model(2, 1)));
  const auto second = session_of(compile(must(g.build())));
  const auto between = make({DType::f32, {2, 4}});
  must(first->bind_output(0, between));
  must(second->set_input(0, between));
  for (const float v : {-3.F, 5.F}) {
    const Tensor values_in = tensor<float>({2, 4}, {v, v, v, v, v, v, v, v});
    must(first->set_input(0, values_in.view()));
    must(first->run());
    must(second->run());
    EXPECT_EQ(values(must(second->output(1))), std::vector<float>(8, 2 * v + 1));
    EXPECT_EQ(values(must(second->output(0))), std::vector<float>(8, std::max(2 * v + 1, 0.F)));
  }
}

TEST_P(EachDevice, TensorsThatDoNotFitAreRefused) {
  const auto session = session_of(compile(affine_model(1, 1)));
  const auto right = make({DType::f32, {2, 4}});
  EXPECT_EQ(session->set_input(0, make({DType::f32, {2, 5}})).code(), Code::invalid_argument);
  EXPECT_EQ(session->set_input(0, make({DType::i32, {2, 4}})).code(), Code::invalid_argument);
  EXPECT_EQ(session->set_input(0, std::shared_ptr<DeviceTensor>()).code(), Code::invalid_argument);
  EXPECT_EQ(session->set_input(3, right).code(), Code::invalid_argument);

  must(session->set_input(0, right));
  must(session->bind_output(0, make({DType::f32, {1, 4}})));
  EXPECT_EQ(session->run().code(), Code::invalid_argument) << "the output is larger";
  const Status submitted = session->submit();
  EXPECT_EQ((submitted.ok() ? session->wait() : submitted.copy()).code(), Code::invalid_argument)
      << "the output is larger, too, where nobody waits";
  must(session->bind_output(0, right));
  EXPECT_EQ(session->run().code(), Code::invalid_argument) << "in and out at once";
  must(session->bind_output(0, nullptr));
  must(session->run(), "unbound");

  const Tensor wrong = pattern({2, 2});
  must(right->write(wrong.view()));
  EXPECT_EQ(session->run().code(), Code::invalid_argument) << "another shape was written to it";
  const Tensor large = pattern({9, 4});
  EXPECT_EQ(right->write(large.view()).code(), Code::invalid_argument);
  const TensorType beyond{DType::f32, {1 << 30, 1 << 30, 1 << 30}};
  EXPECT_EQ(right->write({beyond, large.view().data}).code(), Code::invalid_argument);
  EXPECT_EQ(right->write({{DType::string, {1}}, large.view().data}).code(), Code::invalid_argument);
  EXPECT_EQ(right->write({{DType::f32, {1, 4}}, nullptr}).code(), Code::invalid_argument);
  EXPECT_EQ(DeviceTensor::create(device, {DType::f32, {1 << 30, 1 << 30, 1 << 30}}).error().code(),
            Code::invalid_argument);
  EXPECT_EQ(DeviceTensor::create(device, {DType::string, {2}}).error().code(),
            Code::invalid_argument);
}

TEST_P(EachDevice, TensorsOfAnotherDeviceAreRefused) {
  if (!on_gpu()) GTEST_SKIP() << "there is one CPU";
  const auto on_host = must(DeviceTensor::create(nullptr, {DType::f32, {2, 4}}));
  const auto session = session_of(compile(affine_model(1, 1)));
  const Status s = session->set_input(0, on_host);
  EXPECT_EQ(s.code(), Code::invalid_argument);
  EXPECT_CONTAINS(std::string(s.message()), "cpu");
}

INSTANTIATE_TEST_SUITE_P(Devices, EachDevice,
                         ::testing::Values("cpu", "reference", "vulkan", "vulkan,validate",
                                           "vulkan,no-timeline,no-host-visible",
                                           "vulkan,validate,split=1", "vulkan,cpu=Binary"));

}  // namespace
}  // namespace quern
