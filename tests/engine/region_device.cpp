// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/region_device.h"

#include <cstring>
#include <unordered_map>
#include <vector>

#include "engine/compile/backend.h"
#include "engine/devices/cpu/host_context.h"
#include "engine/devices/cpu/weights.h"
#include "engine/planning/lower.h"
#include "engine/run/memory_block.h"

namespace quern::testing {
namespace {

constexpr std::uint64_t alignment = 64;

struct RegionCode final : DeviceCode {
  std::shared_ptr<cpu::SharedWeights> weights;
  std::shared_ptr<const Program> program;
  std::vector<std::size_t> inputs;  // the operands of the region that the program's inputs are
};

// A region as a graph of its own.
class Extraction {
 public:
  Extraction(const Region& region, const RegionCompiler& compiler)
      : region_(region), from_(compiler.graph()), compiler_(compiler), graph_(from_.ops()) {}

  Status run() {
    const RegionOperands operands = operands_of(from_, region_);
    for (std::size_t i = 0; i < operands.inputs.size(); ++i)
      QUERN_TRY(add_input(i, operands.inputs[i]));
    for (NodeId id : region_.nodes) QUERN_TRY(add_node(from_.node(id)));
    for (ValueId v : operands.outputs) graph_.add_output(known_[index(v)], from_.value(v).name);
    return {};
  }

  Graph graph() { return std::move(graph_); }
  std::vector<std::size_t> inputs;
  std::vector<bool> packed;

 private:
  Status add_input(std::size_t i, ValueId v) {
    const ConstantSource* constant = compiler_.constant(v);
    packed.push_back(constant != nullptr);
    if (!constant) {
      inputs.push_back(i);
      known_[index(v)] = graph_.add_input(from_.value(v).name, from_.type(v));
      return {};
    }
    QUERN_ASSIGN(Tensor tensor, constant->get());
    known_[index(v)] = graph_.add_constant(std::move(tensor));
    return {};
  }

  Status add_node(const Node& n) {
    QUERN_ASSIGN(const NodeId made,
                 graph_.add_node(n.op, translated(n.inputs), n.name, n.outputs.size()));
    if (!n.post_ops.empty())
      QUERN_TRY(
          graph_.replace(made, n.op, translated(n.inputs), n.post_ops, translated(n.operands)));
    for (std::size_t i = 0; i < n.outputs.size(); ++i)
      if (n.outputs[i] != no_value) known_[index(n.outputs[i])] = graph_.node(made).outputs[i];
    return {};
  }

  std::vector<ValueId> translated(const std::vector<ValueId>& values) const {
    std::vector<ValueId> found;
    for (ValueId v : values) found.push_back(v == no_value ? v : known_.at(index(v)));
    return found;
  }

  const Region& region_;
  const Graph& from_;
  const RegionCompiler& compiler_;
  Graph graph_;
  std::unordered_map<std::uint32_t, ValueId> known_;
};

class RegionContext final : public ExecutionContext {
 public:
  static Result<std::unique_ptr<ExecutionContext>> create(std::shared_ptr<const Program> program,
                                                          std::shared_ptr<DeviceArena> arena) {
    auto c = std::make_unique<RegionContext>();
    QUERN_ASSIGN(c->host_, cpu::HostContext::create(program));
    c->memory_ = std::static_pointer_cast<HostDeviceArena>(std::move(arena));
    if (!c->memory_->reserve(program->device_plan.size)) return Status(Code::out_of_memory, "");
    c->parts_.resize(program->steps.size());
    for (std::size_t i = 0; i < program->steps.size(); ++i) {
      const Step& s = program->steps[i];
      if (s.kind != Step::Kind::device) continue;
      Part& part = c->parts_[i];
      part.code = dynamic_cast<const RegionCode*>(s.code.get());
      if (!part.code) return Status(Code::internal, "a step of the device without its code");
      QUERN_ASSIGN(part.context, cpu::HostContext::create(part.code->program));
      if (!part.arena.reserve(part.code->program->arena_bytes))
        return Status(Code::out_of_memory, "");
    }
    c->program_ = std::move(program);
    return std::unique_ptr<ExecutionContext>(std::move(c));
  }

  Status run(const Call& call) override {
    if (!memory_->reserve(program_->device_plan.size)) return {Code::out_of_memory, ""};
    host_->begin(call);
    for (std::size_t i = 0; i < program_->steps.size(); ++i) {
      const Step& s = program_->steps[i];
      switch (s.kind) {
        case Step::Kind::host: QUERN_TRY(host_->run_steps(call, i, i + 1)); break;
        case Step::Kind::upload:
          if (s.input_bytes[0])
            std::memcpy(place(s.outputs[0]), host_->input(i, 0), s.input_bytes[0]);
          break;
        case Step::Kind::download:
          if (s.output_bytes[0])
            std::memcpy(host_->output(i, 0), place(s.inputs[0]), s.output_bytes[0]);
          break;
        case Step::Kind::device: QUERN_TRY(run_region(parts_[i], s)); break;
      }
    }
    return {};
  }
  std::size_t table_bytes() const override { return host_->table_bytes(); }
  MutableTensorView output(std::size_t i) const override { return host_->output(i); }

 private:
  struct Part {
    const RegionCode* code = nullptr;
    std::unique_ptr<cpu::HostContext> context;
    MemoryBlock arena;
  };

  std::byte* place(const Step::Operand& o) const { return memory_->data() + o.offset; }

  Status run_region(Part& part, const Step& s) {
    const Program& inner = *part.code->program;
    std::vector<const std::byte*> inputs;
    for (std::size_t k = 0; k < inner.inputs.size(); ++k) {
      const std::size_t i = part.code->inputs[k];
      const std::uint64_t skipped = s.input_bytes[i] - inner.inputs[k].bytes();
      inputs.push_back(place(s.inputs[i]) + skipped);
    }
    std::vector<std::byte*> outputs;
    for (const Step::Operand& o : s.outputs) outputs.push_back(place(o));
    Call call{};
    call.arena = part.arena.data();
    call.inputs = inputs;
    call.outputs = outputs;
    return part.context->run(call);
  }

  std::shared_ptr<const Program> program_;
  std::unique_ptr<cpu::HostContext> host_;
  std::shared_ptr<HostDeviceArena> memory_;
  std::vector<Part> parts_;  // by step
};

class RegionBackend final : public Backend {
 public:
  explicit RegionBackend(RegionDeviceOptions options) : options_(std::move(options)) {}

  std::vector<Region> partition(const Graph& graph) const override {
    return convex_regions(
        graph, [&](NodeId id) { return fits_in_region(graph, id) && options_.takes(id); });
  }
  Status compile(const Region& region, RegionCompiler& compiler) override {
    if (region.nodes.empty()) return {Code::internal, "a region of nothing"};
    Extraction extraction(region, compiler);
    QUERN_TRY(extraction.run());
    auto code = std::make_shared<RegionCode>();
    code->weights = std::make_shared<cpu::SharedWeights>();
    code->inputs = std::move(extraction.inputs);
    const Graph graph = extraction.graph();
    QUERN_ASSIGN(code->program, lower(graph, {.weights = code->weights.get()}));
    return compiler.add(region, {.implementation = "region",
                                 .work = std::shared_ptr<const DeviceCode>(std::move(code)),
                                 .packed_inputs = std::move(extraction.packed)});
  }
  bool is_strict() const override { return options_.is_strict; }
  std::uint64_t alignment() const override { return testing::alignment; }
  Result<std::shared_ptr<const void>> constant(const GpuConstant&) override {
    return Status(Code::internal, "regions hold their constants");
  }
  std::size_t constant_bytes() const override { return 0; }
  std::shared_ptr<DeviceArena> make_arena(DeviceArena::Growth growth) override {
    return std::make_shared<HostDeviceArena>(growth);
  }
  Result<std::unique_ptr<ExecutionContext>> make_context(std::shared_ptr<const Program> program,
                                                         std::shared_ptr<DeviceArena> arena,
                                                         const Stop* /*stop*/) override {
    return RegionContext::create(std::move(program), std::move(arena));
  }

 private:
  RegionDeviceOptions options_;
};

class RegionDevice final : public BackendDevice {
 public:
  RegionDevice(DeviceInfo info, RegionDeviceOptions options)
      : BackendDevice(std::move(info)), options_(std::move(options)) {}
  Result<std::shared_ptr<Backend>> make_backend() override {
    return std::shared_ptr<Backend>(std::make_shared<RegionBackend>(options_));
  }
  Result<std::unique_ptr<TensorMemory>> make_tensor_memory(std::size_t bytes) override {
    return make_host_tensor_memory(bytes);
  }

 private:
  RegionDeviceOptions options_;
};

}  // namespace

std::shared_ptr<Device> open_region_device(RegionDeviceOptions options) {
  DeviceInfo info;
  info.kind = DeviceInfo::Kind::gpu;
  info.name = "regions";
  return std::make_shared<RegionDevice>(std::move(info), std::move(options));
}

}  // namespace quern::testing
