// SPDX-License-Identifier: Apache-2.0
// quern devices, quern version.
#include <quern/device.h>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/op_table.h"
#include "tools/json.h"
#include "tools/opened.h"
#include "tools/verbs.h"

namespace quern::tools {
namespace {

// The devices found, the oracle, and the device that computes nothing.
std::vector<DeviceInfo> all_devices() {
  std::vector<DeviceInfo> devices = list_devices();
  if (auto reference = open_device("reference")) {
    devices.push_back((*reference)->info());
    devices.back().title =
        "every operator by its plainest loop on the CPU: the oracle of the tests";
    devices.back().properties.clear();
  }
  if (auto null = open_device("null")) devices.push_back((*null)->info());
  return devices;
}

}  // namespace

Result<ExitCode> devices_verb(const DevicesArgs& args, const Console& console) {
  Table t({{"name"}, {"device", Table::Align::left, 100}});
  Json list = Json::array();
  const std::vector<DeviceInfo> devices = all_devices();
  for (const DeviceInfo& d : devices) {
    t.add({d.name, d.title});
    Json j;
    j["name"] = d.name;
    j["title"] = d.title;
    j["kind"] = d.kind == DeviceInfo::Kind::cpu ? "cpu" : "gpu";
    j["properties"] = Json::object();
    for (const auto& [key, value] : d.properties) {
      t.add({"", cat(key, ": ", value)}, Colour::dim);
      j["properties"][key] = value;
    }
    list.push(std::move(j));
  }
  Json chosen = Json::object();
  for (const std::string_view preference : device_preferences()) {
    const DeviceChoice choice = *choose_device(devices, preference);
    t.add({std::string(preference), cat(choice.name, ": ", choice.reason)});
    chosen[std::string(preference)] = choice.name;
  }
  Json j;
  j["devices"] = std::move(list);
  j["preferences"] = std::move(chosen);
  print(args.json ? j.document() : t.text(console));
  return ExitCode::ok;
}

Result<ExitCode> version_verb(const VersionArgs& args, const Console&) {
  const std::int64_t opset = *onnx::newest_opset("");
  const auto cpu = open_device("cpu");
  const std::string onednn = cpu ? property_of(described(**cpu), "onednn") : "";
  Json j;
  j["version"] = QUERN_VERSION;
  j["compiler"] = __VERSION__;
  j["build"] = QUERN_BUILD_TYPE;
  j["onnx_opset"] = opset;
  j["onednn"] = onednn;
  print(args.json ? j.document()
                  : cat("quern ", QUERN_VERSION, " (", QUERN_BUILD_TYPE, ", compiler ", __VERSION__,
                        "), ONNX up to opset ", opset, "\noneDNN ", onednn, "\n"));
  return ExitCode::ok;
}

}  // namespace quern::tools
