// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect_page.h"

#include "engine/vocabulary/text_util.h"
#include "graph/passes/few_bits.h"
#include "graph/passes/pipeline.h"
#include "graph/passes/precision.h"
#include "tools/operators.h"
#include "tools/picture/graph_page.h"
#include "tools/whole_file.h"

namespace quern::tools {
namespace {

// What compiling does, and then planning, in the bodies of control flow too. Planning also computes
// what depends on data; that stays here as the model has it.
Status rewrite(Graph& graph, const Opened* opened) {
  if (opened && opened->executable->device().info().kind != DeviceInfo::Kind::cpu)
    QUERN_TRY(widen_block_quantized(graph));
  QUERN_TRY(widen_f16(graph));
  QUERN_TRY(run_passes(graph, {.fuse = false}));
  for (std::size_t i = 0; opened && i < opened->inputs.size(); ++i) {
    const InputValue& input = opened->inputs[i];
    if (i >= graph.inputs().size() || input.kind != InputValue::Kind::tensor) continue;
    graph.set_type(graph.inputs()[i], ValueType(input.tensors[0].type()));
  }
  return run_passes(graph, {.fuse = true});
}

std::string inputs_text(const Model& model, const Opened& opened) {
  const auto specs = model.inputs();
  constexpr std::size_t most = 4;
  std::string s;
  for (std::size_t i = 0; i < specs.size() && i < most; ++i)
    s += cat(i ? ", " : "", visible_text(specs[i].name, 40), " ",
             visible_text(opened.inputs[i].text(), 60));
  return specs.size() > most ? cat(s, " and ", specs.size() - most, " more") : s;
}

GraphView view_before(const Model& model, const NodeCosts* costs) {
  return {.name = "before",
          .about = "As the model has it.",
          .drawing = draw_graph(model.graph(), costs, ConstantNodes::drawn)};
}

GraphView view_after(const Model& model, const Opened* opened, const NodeCosts* costs,
                     const Console& console) {
  Graph graph = model.graph().clone();
  const std::size_t before = count_graph(graph).nodes;
  if (const Status status = rewrite(graph, opened); !status.ok())
    console.warn(cat("the passes end early: ", printable(status.message(), 400)));
  GraphView view{
      .name = "after", .about = "", .drawing = draw_graph(graph, costs, ConstantNodes::hidden)};
  const std::size_t hidden = view.drawing.constants;
  view.about = cat(count_graph(graph).nodes - hidden, " nodes of ", before, " are left",
                   opened ? cat(" for ", inputs_text(model, *opened)) : "",
                   hidden ? cat(", and ", hidden, " that need constants only") : "", ".");
  return view;
}

// Nothing without a plan and without a profile.
Result<std::optional<NodeCosts>> costs_of(const InspectArgs& args, const Opened* opened) {
  std::optional<NodeCosts> costs;
  if (opened) costs.emplace(opened->session->plan_info());
  if (args.profile.empty()) return costs;
  if (!costs) costs.emplace();
  QUERN_ASSIGN(const Json profile, read_json(args.profile));
  if (const Status status = costs->add_profile(profile); !status.ok())
    return Status(status.code(), cat(shown(args.profile, 200), ": ", status.message()));
  return costs;
}

}  // namespace

Status write_graph_page(const InspectArgs& args, const Model& model, const Opened* opened,
                        const Console& console) {
  QUERN_ASSIGN(const std::optional<NodeCosts> costs, costs_of(args, opened));
  const NodeCosts* const known = costs ? &*costs : nullptr;
  GraphPage page{.title = model_name(args.model), .notes = {}, .views = {}, .first_view = 1};
  page.views.push_back(view_before(model, known));
  page.views.push_back(view_after(model, opened, known, console));
  if (known && known->run_ms() > 0) {
    page.run_ms = known->run_ms();
    page.steps_ms = known->steps_ms();
    page.notes.push_back(cat("A run took ", time_text(page.run_ms), ", ", time_text(page.steps_ms),
                             " of it in kernels."));
  }
  if (!opened) page.notes.emplace_back("No plan could be made here, so that no kernels are shown.");
  QUERN_TRY(write_whole_file(args.html, graph_page(page)));
  if (!args.json) print(cat("wrote ", args.html, "\n"));
  return {};
}

}  // namespace quern::tools
