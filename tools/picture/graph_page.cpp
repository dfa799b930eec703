// SPDX-License-Identifier: Apache-2.0
#include "tools/picture/graph_page.h"

#include <cmath>

#include "engine/vocabulary/text_util.h"
#include "graph/memory/picture/page.h"
#include "tools/json.h"
#include "tools/picture/graph_page_parts.h"

namespace quern::tools {
namespace {

// Members with what they would have anyway are left out, which makes pages a third smaller.
void put(Json& j, std::string_view key, const std::string& text) {
  if (!text.empty()) j[key] = text;
}
void put(Json& j, std::string_view key, double number) {
  if (number > 0) j[key] = number;
}

double tenths(double pixels) {
  return std::round(10 * pixels) / 10;
}

Json operands_json(const std::vector<DrawnOperand>& operands) {
  Json list = Json::array();
  for (const DrawnOperand& o : operands) {
    Json one = Json::array();
    one.push(o.text);
    one.push(o.maker);
    list.push(std::move(one));
  }
  return list;
}

Json node_json(const DrawnNode& n) {
  Json j;
  j["op"] = n.op;
  put(j, "name", n.name);
  if (n.kind != DrawnNode::Kind::node)
    j["kind"] = n.kind == DrawnNode::Kind::input ? "input" : "output";
  if (n.kind == DrawnNode::Kind::node) j["family"] = n.family;
  if (n.group >= 0) j["group"] = n.group;
  put(j, "attributes", n.attributes);
  if (!n.post_ops.empty()) j["posts"] = Json::array_of(n.post_ops);
  if (!n.inputs.empty()) j["inputs"] = operands_json(n.inputs);
  if (!n.outputs.empty()) j["outputs"] = operands_json(n.outputs);
  for (const DrawnBody& body : n.bodies) {
    Json one = Json::array();
    one.push(body.title);
    one.push(body.scene);
    if (!j.find("bodies")) j["bodies"] = Json::array();
    Json bodies = *j.find("bodies");
    bodies.push(std::move(one));
    j["bodies"] = std::move(bodies);
  }
  put(j, "kernel", n.cost.kernel);
  put(j, "layouts", n.cost.layouts);
  put(j, "flops", n.cost.flops);
  put(j, "bytes", n.cost.bytes);
  put(j, "live", n.cost.live);
  put(j, "ms", n.cost.ms);
  put(j, "calls", n.cost.calls);
  return j;
}

Json wire_json(const Scene& scene, std::size_t w) {
  Json j;
  j["from"] = scene.wires[w].from;
  j["to"] = Json::array_of(scene.wires[w].to);
  put(j, "text", scene.wire_texts[w]);
  if (!scene.layout.at[w].empty()) {
    j["at"] = Json::array();
    Json at = Json::array();
    for (const double x : scene.layout.at[w]) at.push(tenths(x));
    j["at"] = std::move(at);
  }
  if (scene.layout.is_stub[w]) j["stub"] = true;
  return j;
}

Json scene_json(const Scene& scene) {
  Json nodes = Json::array();
  for (std::size_t i = 0; i < scene.nodes.size(); ++i) {
    Json node = node_json(scene.nodes[i]);
    node["row"] = scene.layout.row[i];
    node["x"] = tenths(scene.layout.x[i]);
    nodes.push(std::move(node));
  }
  Json wires = Json::array();
  for (std::size_t w = 0; w < scene.wires.size(); ++w) wires.push(wire_json(scene, w));
  Json groups = Json::array();
  for (const DrawnGroup& g : scene.groups) {
    Json one = Json::array();
    one.push(g.name);
    one.push(g.outer);
    groups.push(std::move(one));
  }
  Json j;
  j["rows"] = scene.layout.rows;
  j["nodes"] = std::move(nodes);
  j["wires"] = std::move(wires);
  j["groups"] = std::move(groups);
  return j;
}

Json view_json(const GraphView& view) {
  Json j;
  j["name"] = view.name;
  std::string about = view.about;
  if (view.drawing.left_out > 0)
    about += cat(about.empty() ? "" : " ", view.drawing.left_out,
                 " nodes are left out: the page draws those that come first.");
  j["about"] = about;
  j["scenes"] = Json::array();
  Json scenes = Json::array();
  for (const Scene& scene : view.drawing.scenes) scenes.push(scene_json(scene));
  j["scenes"] = std::move(scenes);
  return j;
}

}  // namespace

std::string graph_page(const GraphPage& page) {
  Json data;
  data["title"] = visible_text(page.title);
  data["notes"] = Json::array_of(page.notes);
  data["families"] = Json::array_of(family_names());
  put(data, "run_ms", page.run_ms);
  put(data, "steps_ms", page.steps_ms);
  data["first"] = page.first_view;
  Json views = Json::array();
  for (const GraphView& view : page.views) views.push(view_json(view));
  data["views"] = std::move(views);
  return cat(page_begin(visible_text(page.title), graph_page_style), graph_page_body,
             "<script type=\"application/json\" id=\"data\">", json_in_page(data.line()),
             "</script>\n",
             page_end(cat(graph_page_placing, graph_page_painting, graph_page_acting)));
}

}  // namespace quern::tools
