// SPDX-License-Identifier: Apache-2.0
// The verb `quern diff`.
#include <algorithm>
#include <utility>

#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"
#include "tools/diff/model_diff.h"
#include "tools/json.h"
#include "tools/verbs.h"

namespace quern::tools {
namespace {

std::string values_text(const DiffRow& row) {
  return cat("mean ", number_text(row.mean_difference), ", max ", number_text(row.max_difference));
}

std::string diff_text(const ModelDiff& diff, std::size_t most_rows, const Console& console) {
  const std::string equal =
      cat(diff.equal_nodes, " nodes and ", diff.equal_constants, " constants are equal");
  if (diff.is_equal()) return cat("no difference: ", equal, "\n");
  Table table({{""},
               {"name", Table::Align::left, 40},
               {"what", Table::Align::left, 28},
               {"A", Table::Align::left, 48},
               {"B", Table::Align::left, 48}});
  for (std::size_t i = 0; i < std::min(most_rows, diff.rows.size()); ++i) {
    const DiffRow& row = diff.rows[i];
    const bool has_values = row.what == "values";
    table.add({std::string(name_of(row.part)), shown(row.name), row.what, shown(row.a, 200),
               has_values ? values_text(row) : shown(row.b, 200)});
  }
  std::string text = table.text(console);
  if (diff.rows.size() > most_rows)
    text += cat("... and ", diff.rows.size() - most_rows, " more (--rows)\n");
  return cat(text, "\n", diff.rows.size(),
             diff.rows.size() == 1 ? " difference; " : " differences; ", equal, "\n");
}

Json diff_json(const ModelDiff& diff) {
  Json j;
  j["equal"] = diff.is_equal();
  j["equal_nodes"] = diff.equal_nodes;
  j["equal_constants"] = diff.equal_constants;
  j["differences"] = Json::array();
  for (const DiffRow& row : diff.rows) {
    Json one;
    one["part"] = name_of(row.part);
    one["name"] = row.name;
    one["what"] = row.what;
    one["a"] = row.a;
    one["b"] = row.b;
    if (row.what == "values") {
      one["mean_difference"] = row.mean_difference;
      one["max_difference"] = row.max_difference;
    }
    j["differences"].push(std::move(one));
  }
  return j;
}

}  // namespace

Result<ExitCode> diff_verb(const DiffArgs& args, const Console& console) {
  if (args.models.size() != 2)
    return Status(Code::invalid_argument,
                  cat("wants two models, got ", args.models.size(), ": `quern diff A B`"));
  QUERN_ASSIGN(const EditedModel a, EditedModel::open(args.models[0]));
  QUERN_ASSIGN(const EditedModel b, EditedModel::open(args.models[1]));
  QUERN_ASSIGN(const ModelDiff diff, diff_models(a, b));
  print(args.json ? diff_json(diff).document() : diff_text(diff, args.rows, console));
  return diff.is_equal() ? ExitCode::ok : ExitCode::failed;
}

}  // namespace quern::tools
