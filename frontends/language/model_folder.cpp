// SPDX-License-Identifier: Apache-2.0
#include "frontends/language/model_folder.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "engine/vocabulary/guarded.h"
#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"
#include "frontends/language/json.h"

namespace quern::language {
namespace {

namespace fs = std::filesystem;
constexpr std::uintmax_t max_file_bytes = std::uintmax_t{512} << 20;
constexpr std::int64_t max_context = 1 << 24;

// Where exporters put a decoder, the first that is there.
constexpr std::string_view decoder_files[] = {
    "onnx/decoder_model_merged.onnx",      "onnx/model.onnx",      "model.onnx",
    "onnx/decoder_model_merged_q4.onnx",   "onnx/model_q4.onnx",   "decoder_model_merged.onnx",
    "onnx/decoder_model_merged_fp16.onnx", "onnx/model_fp16.onnx", "onnx/model_q4f16.onnx",
};

std::string path_of(const std::string& folder, std::string_view name) {
  return (fs::path(folder) / name).string();
}

Result<std::string> contents(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) return Status(Code::not_found, cat("no such file '", shown(path, 200), "'"));
  if (size > max_file_bytes)
    return Status(Code::invalid_argument, cat("'", shown(path, 200), "' has ", size,
                                              " bytes, at most ", max_file_bytes, " are read"));
  std::string text(static_cast<std::size_t>(size), '\0');
  file.read(text.data(), static_cast<std::streamsize>(size));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

bool has(const std::string& folder, std::string_view name) {
  std::error_code error;
  return fs::is_regular_file(path_of(folder, name), error);
}

// A file of settings; none where it is not there.
Result<std::optional<JsonDocument>> settings(const std::string& folder, std::string_view name) {
  if (!has(folder, name)) return std::optional<JsonDocument>();
  QUERN_ASSIGN(const std::string text, contents(path_of(folder, name)));
  auto document = JsonDocument::parse(text, 1'000'000);
  if (!document) return std::move(document).error().in(path_of(folder, name));
  return std::optional(std::move(document).value());
}

// A file that settings name must lie in the folder.
Status check_name(std::string_view name) {
  const fs::path path{std::string(name)};
  bool leaves = path.is_absolute() || name.empty();
  for (const fs::path& part : path) leaves = leaves || part == "..";
  if (!leaves) return {};
  return {Code::invalid_argument,
          cat("the model file '", shown(name, 200), "' is not a name below the folder")};
}

void read_name(std::string& name, Json json) {
  if (json.is_text()) name = json.text();
}

void read_number(double& number, Json json) {
  if (json.is_number()) number = json.number();
}

// One id or a list of them.
void read_ids(std::vector<TokenId>& ids, Json json) {
  std::vector<Json> all = json.elements();
  if (json.integer()) all = {json};
  if (all.empty()) return;
  ids.clear();
  for (const Json id : all)
    if (id.integer() && *id.integer() >= 0 && *id.integer() <= Vocabulary::max_id)
      ids.push_back(static_cast<TokenId>(*id.integer()));
}

void read_context(std::int64_t& length, Json json) {
  if (const auto number = json.integer(); number && *number > 0)
    length = std::min(*number, max_context);
}

// The members that genai_config.json's "search" and generation_config.json share.
void read_sampling(ModelFolder& folder, Json json) {
  folder.samples = json["do_sample"].boolean().value_or(folder.samples);
  read_number(folder.sampling.temperature, json["temperature"]);
  read_number(folder.sampling.top_p, json["top_p"]);
  read_number(folder.sampling.min_p, json["min_p"]);
  read_number(folder.sampling.repetition_penalty, json["repetition_penalty"]);
  if (const auto k = json["top_k"].integer()) folder.sampling.top_k = *k;
  if (const auto n = json["max_new_tokens"].integer(); n && *n > 0) folder.max_new_tokens = *n;
}

Status read_genai(ModelFolder& folder, Json json, std::string& file) {
  const Json model = json["model"];
  const Json decoder = model["decoder"];
  if (!decoder.is_object())
    return {Code::unsupported, "genai_config.json has no model.decoder: only decoders are known"};
  if (file.empty()) read_name(file, decoder["filename"]);
  read_context(folder.context_length, model["context_length"]);
  read_ids(folder.end_ids, model["eos_token_id"]);
  const Json in = decoder["inputs"];
  const Json out = decoder["outputs"];
  read_name(folder.names.tokens, in["input_ids"]);
  read_name(folder.names.mask, in["attention_mask"]);
  read_name(folder.names.positions, in["position_ids"]);
  read_name(folder.names.past_key, in["past_key_names"]);
  read_name(folder.names.past_value, in["past_value_names"]);
  read_name(folder.names.logits, out["logits"]);
  read_name(folder.names.present_key, out["present_key_names"]);
  read_name(folder.names.present_value, out["present_value_names"]);
  read_sampling(folder, json["search"]);
  return {};
}

void read_config(ModelFolder& folder, Json config) {
  const Json text = config["text_config"];  // of models that see or hear, too
  const Json json = text.is_object() ? text : config;
  for (const char* name : {"n_positions", "max_position_embeddings"})
    read_context(folder.context_length, json[name]);
  read_ids(folder.end_ids, json["eos_token_id"]);
  read_ids(folder.end_ids, config["eos_token_id"]);
}

Status find_decoder(ModelFolder& folder, const std::string& path, std::string file) {
  for (const std::string_view name : decoder_files)
    if (file.empty() && has(path, name)) file = name;
  if (file.empty())
    return {Code::not_found, cat("'", shown(path, 200),
                                 "' has none of the models that are looked "
                                 "for (onnx/model.onnx, model.onnx, ...); --file names another")};
  QUERN_TRY(check_name(file));
  if (!has(path, file))
    return {Code::not_found, cat("'", shown(path, 200), "' has no model '", shown(file, 200), "'")};
  folder.decoder_file = path_of(path, file);
  return {};
}

// A special token, which is a text or an object with a "content".
std::string_view content_of(Json token) {
  return token.is_object() ? token["content"].text() : token.text();
}

Status read_template(ModelFolder& folder, const std::string& path, Json config) {
  std::string source;
  const Json known = config["chat_template"];
  if (has(path, "chat_template.jinja")) {
    QUERN_ASSIGN(source, contents(path_of(path, "chat_template.jinja")));
  } else if (known.is_text()) {
    source = known.text();
  }
  // A list has templates for several uses by name.
  for (const Json one : known.elements())
    if (source.empty() || one["name"].text() == "default") source = one["template"].text();
  for (const char* name : {"bos_token", "eos_token", "unk_token", "pad_token"})
    if (const Json token = config[name])
      folder.template_variables.emplace_back(name, content_of(token));
  if (source.empty()) return {};
  auto parsed = ChatTemplate::parse(source);
  if (!parsed) return std::move(parsed).error();
  folder.chat_template = std::move(parsed).value();
  return {};
}

Status read_tokenizer(ModelFolder& folder, const std::string& path) {
  QUERN_ASSIGN(const std::string text, contents(path_of(path, "tokenizer.json")));
  QUERN_ASSIGN(folder.tokenizer, Tokenizer::parse(text));
  folder.tokenizer_bytes = text.size();
  QUERN_ASSIGN(const auto config, settings(path, "tokenizer_config.json"));
  const Json json = config ? config->root() : Json();
  QUERN_TRY(read_template(folder, path, json));
  if (folder.end_ids.empty())
    if (const auto id = folder.tokenizer->id_of(content_of(json["eos_token"])))
      folder.end_ids.push_back(*id);
  return {};
}

Result<ModelFolder> read_folder(const std::string& path, std::string file) {
  std::error_code error;
  if (!fs::is_directory(path, error))
    return Status(Code::not_found, cat("'", shown(path, 200), "' is no folder"));
  ModelFolder folder;
  QUERN_ASSIGN(const auto genai, settings(path, "genai_config.json"));
  if (genai) {
    QUERN_TRY(read_genai(folder, genai->root(), file));
  } else {
    QUERN_ASSIGN(const auto config, settings(path, "config.json"));
    if (!config)
      return Status(Code::not_found,
                    cat("'", shown(path, 200), "' has neither genai_config.json nor config.json"));
    read_config(folder, config->root());
    QUERN_ASSIGN(const auto generation, settings(path, "generation_config.json"));
    if (generation) {
      read_ids(folder.end_ids, generation->root()["eos_token_id"]);
      read_sampling(folder, generation->root());
    }
  }
  QUERN_TRY(find_decoder(folder, path, std::move(file)));
  QUERN_TRY(read_tokenizer(folder, path));
  return folder;
}

}  // namespace

Result<ModelFolder> ModelFolder::read(const std::string& folder, const std::string& decoder_file) {
  return guarded([&] { return read_folder(folder, decoder_file); });
}

Result<std::string> ModelFolder::prompt(
    const std::vector<std::pair<std::string, std::string>>& messages) const {
  return guarded([&]() -> Result<std::string> {
    if (!chat_template)
      return Status(Code::not_found,
                    "the folder has no chat template (tokenizer_config.json, "
                    "chat_template.jinja)");
    TemplateValue::List list;
    for (const auto& [role, content] : messages) {
      QUERN_ASSIGN(list.emplace_back(),
                   TemplateValue::of_map({{"role", role}, {"content", content}}));
    }
    TemplateValue::Map variables = template_variables;
    QUERN_ASSIGN(TemplateValue all, TemplateValue::of_list(std::move(list)));
    variables.emplace_back("messages", std::move(all));
    variables.emplace_back("add_generation_prompt", TemplateValue::of_boolean(true));
    return chat_template->render(variables);
  });
}

}  // namespace quern::language
