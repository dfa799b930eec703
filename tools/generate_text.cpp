// SPDX-License-Identifier: Apache-2.0
// quern generate: a text that a language model continues, or a conversation with one.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <optional>

#include "engine/vocabulary/platform/process.h"
#include "engine/vocabulary/text_util.h"
#include "frontends/language/generator.h"
#include "frontends/language/model_folder.h"
#include "tools/json.h"
#include "tools/opened.h"
#include "tools/roof.h"
#include "tools/verbs.h"

namespace quern::tools {
namespace {

using language::Generator;
using language::ModelFolder;
using language::NextLogits;
using language::TokenId;

constexpr std::size_t max_prompt_bytes = std::size_t{16} << 20;
constexpr std::int64_t conversation_tokens = 4096;

// While it lives, the first SIGINT ends the run of a decoder, and a second one the process.
class Interrupt {
 public:
  explicit Interrupt(NextLogits& decoder) : decoder_(decoder) {
    is_raised = false;
    active = &decoder;
    scope_.emplace([](int) {
      is_raised = true;
      if (NextLogits* now = active) now->cancel();
    });
  }
  ~Interrupt() {
    scope_.reset();
    active = nullptr;
    decoder_.clear_cancel();
  }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  static bool raised() { return is_raised; }

 private:
  static std::atomic<NextLogits*> active;
  static std::atomic<bool> is_raised;
  NextLogits& decoder_;
  std::optional<platform::OnInterrupt> scope_;
};

std::atomic<NextLogits*> Interrupt::active = nullptr;
std::atomic<bool> Interrupt::is_raised = false;

// What an answer took.
struct Figures {
  std::size_t prompt_tokens = 0;
  std::size_t tokens = 0;
  double prompt_ms = 0;
  double answer_ms = 0;  // of the tokens after the first
  double bytes_read = 0;
  double copy_gbytes = 0;  // what this machine copies a second

  double tokens_a_second() const {
    return tokens > 1 && answer_ms > 0 ? static_cast<double>(tokens - 1) * 1e3 / answer_ms : 0;
  }
  double gbytes_a_second() const { return answer_ms > 0 ? bytes_read / answer_ms / 1e6 : 0; }
};

struct Answer {
  std::string text;
  std::vector<TokenId> tokens;
  std::string_view end;
  Figures figures;
};

// Text of a model on a terminal: it may hold the terminal's commands.
void stream(std::string_view text) {
  static const bool is_terminal = platform::is_terminal(platform::Stream::output);
  std::string out(text);
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_terminal && (byte < 0x20 || byte == 0x7F) && c != '\n' && c != '\t') c = '?';
  }
  print(out);
  std::fflush(stdout);
}

class Conversation {
 public:
  static Result<Conversation> open(const GenerateArgs& args) {
    Conversation c(args);
    Stopwatch watch;
    QUERN_ASSIGN(c.folder_, ModelFolder::read(args.folder, args.file));
    QUERN_ASSIGN(const CompileOptions compile, compile_options(args.device));
    QUERN_ASSIGN(auto device, device_named(args.device.device));
    QUERN_ASSIGN(const auto ops, load_ops(args.device.ops));
    QUERN_ASSIGN(Model model, load_model(c.folder_.decoder_file, {.ops = ops}));
    QUERN_ASSIGN(c.executable_, Executable::compile(std::move(model), std::move(device), compile));
    c.load_ms_ = watch.lap();
    return c;
  }

  const ModelFolder& folder() const { return folder_; }
  double load_ms() const { return load_ms_; }
  // Room for more than the first answer.
  void keep_room(std::int64_t tokens) { least_room_ = tokens; }

  // Continues a prompt. With the tokens that the decoder holds already at its beginning, only the
  // rest is computed.
  Result<Answer> answer(std::string_view prompt, language::Specials specials) {
    Answer answer;
    QUERN_ASSIGN(std::vector<TokenId> tokens, folder_.tokenizer->encode(prompt, specials));
    answer.figures.prompt_tokens = tokens.size();
    QUERN_TRY(open_decoder(tokens.size()));
    std::size_t same = 0;
    while (same < held_.size() && same + 1 < tokens.size() && held_[same] == tokens[same]) ++same;
    QUERN_TRY(decoder_->rewind(static_cast<std::int64_t>(same)));
    QUERN_ASSIGN(Generator generator, Generator::create(*decoder_, folder_.tokenizer, options()));
    const Interrupt interrupt(*decoder_);
    QUERN_TRY(run(generator, tokens, same, answer));
    answer.tokens = generator.tokens();
    answer.end = Interrupt::raised() ? "interrupted" : name_of(generator.end());
    answer.figures.tokens = answer.tokens.size();
    held_ = std::move(tokens);
    held_.insert(held_.end(), answer.tokens.begin(), answer.tokens.end());
    held_.resize(static_cast<std::size_t>(decoder_->length()));
    return answer;
  }

 private:
  explicit Conversation(const GenerateArgs& args) : args_(&args) {}

  // Once, with room for the prompt and its answer, or for what comes after: a model's context may
  // be more than there is memory for.
  Status open_decoder(std::size_t prompt_tokens) {
    if (decoder_) return {};
    const auto needed = static_cast<std::int64_t>(prompt_tokens) + options().max_new_tokens;
    std::int64_t room = std::min(folder_.context_length, std::max(needed, least_room_));
    if (args_->context > 0) room = args_->context;
    QUERN_ASSIGN(decoder_, language::open_decoder(executable_, folder_.names, room));
    return {};
  }

  Status run(Generator& generator, std::span<const TokenId> prompt, std::size_t held,
             Answer& answer) {
    Stopwatch watch;
    Status status = generator.begin(prompt, held);
    while (status.ok() && generator.end() == Generator::End::none && !Interrupt::raised()) {
      auto part = generator.step();
      if (!part) {
        status = std::move(part).error();
        break;
      }
      (generator.tokens().size() == 1 ? answer.figures.prompt_ms : answer.figures.answer_ms) +=
          watch.lap();
      answer.text += *part;
      if (!args_->json) stream(*part);
      if (generator.tokens().size() > 1)
        answer.figures.bytes_read += static_cast<double>(decoder_->bytes_read());
    }
    return Interrupt::raised() ? Status() : std::move(status);
  }

  language::GenerateOptions options() const {
    language::GenerateOptions o{
        .sampling = folder_.sampling,
        .max_new_tokens = folder_.max_new_tokens.value_or(256),
        .end_ids = folder_.end_ids,
        .stop_texts = args_->stop,
        .specials = args_->special ? language::Specials::kept : language::Specials::left_out};
    if (args_->max_tokens > 0) o.max_new_tokens = args_->max_tokens;
    bool samples = folder_.samples;
    const auto set = [&](auto& option, auto value) {
      if (value < 0) return;
      option = value;
      samples = true;
    };
    set(o.sampling.top_k, args_->top_k);
    set(o.sampling.top_p, args_->top_p);
    set(o.sampling.min_p, args_->min_p);
    set(o.sampling.temperature, args_->temperature);
    if (!samples) o.sampling.temperature = 0;
    if (args_->repetition_penalty >= 0) o.sampling.repetition_penalty = args_->repetition_penalty;
    o.sampling.seed = args_->seed;
    return o;
  }

  const GenerateArgs* args_;
  ModelFolder folder_;
  std::shared_ptr<const Executable> executable_;
  std::unique_ptr<NextLogits> decoder_;
  std::vector<TokenId> held_;  // by the decoder
  std::int64_t least_room_ = 0;
  double load_ms_ = 0;
};

std::string figures_text(const Figures& f) {
  std::string text = cat("prompt ", f.prompt_tokens, " tokens in ", time_text(f.prompt_ms));
  if (f.tokens > 1)
    text += cat(", then ", number_text(f.tokens_a_second()), " tokens/s, ",
                number_text(f.gbytes_a_second()), " GB/s read, ",
                percent_text(f.gbytes_a_second() / f.copy_gbytes, 0), " of what is copied");
  return text;
}

Json answer_json(const Answer& answer, const GenerateArgs& args, double load_ms) {
  const Figures& f = answer.figures;
  Json j;
  j["folder"] = args.folder;
  j["device"] = args.device.device;
  j["text"] = answer.text;
  j["tokens"] = Json::array_of(answer.tokens);
  j["end"] = answer.end;
  j["prompt_tokens"] = f.prompt_tokens;
  j["milliseconds"]["load"] = load_ms;
  j["milliseconds"]["prompt"] = f.prompt_ms;
  j["milliseconds"]["answer"] = f.answer_ms;
  j["tokens_per_second"] = f.tokens_a_second();
  j["gbytes_per_second"] = f.gbytes_a_second();
  j["copy_gbytes_per_second"] = f.copy_gbytes;
  return j;
}

Result<std::string> read_prompt(const GenerateArgs& args) {
  if (!args.prompt_file.empty()) return read_file(args.prompt_file, max_prompt_bytes);
  if (!args.prompt.empty()) return args.prompt;
  std::string text;
  for (std::istreambuf_iterator<char> at(std::cin), end; at != end; ++at) {
    text += *at;
    if (text.size() > max_prompt_bytes)
      return Status(Code::invalid_argument,
                    cat("the prompt has more than ", max_prompt_bytes, " bytes"));
  }
  return text;
}

ExitCode finish(const Answer& answer) {
  return answer.end == "interrupted" ? ExitCode::failed : ExitCode::ok;
}

Result<ExitCode> show(Answer answer, Conversation& conversation, const GenerateArgs& args,
                      const Console& console) {
  answer.figures.copy_gbytes = measure_roof(args.device.threads).copy_gbytes;
  if (args.json)
    print(answer_json(answer, args, conversation.load_ms()).document());
  else
    print("\n");
  if (!args.json) console.note(figures_text(answer.figures));
  return finish(answer);
}

// A message a line until the input ends.
Result<ExitCode> converse(Conversation& conversation, const GenerateArgs& args,
                          std::vector<std::pair<std::string, std::string>> messages,
                          const Console& console) {
  const double copy_gbytes = measure_roof(args.device.threads).copy_gbytes;
  const bool is_terminal = platform::is_terminal(platform::Stream::input);
  conversation.keep_room(conversation_tokens);
  ExitCode code = ExitCode::ok;
  for (std::string line;;) {
    if (is_terminal) stream("> ");
    if (!std::getline(std::cin, line)) break;
    if (line.empty()) continue;
    messages.emplace_back("user", line);
    QUERN_ASSIGN(const std::string prompt, conversation.folder().prompt(messages));
    QUERN_ASSIGN(Answer answer, conversation.answer(prompt, language::Specials::left_out));
    answer.figures.copy_gbytes = copy_gbytes;
    messages.emplace_back("assistant", answer.text);
    code = finish(answer);
    if (args.json) {
      print(answer_json(answer, args, conversation.load_ms()).document());
    } else {
      print("\n");
      if (is_terminal) console.note(figures_text(answer.figures));
    }
  }
  return code;
}

}  // namespace

Result<ExitCode> generate_verb(const GenerateArgs& args, const Console& console) {
  if (!args.prompt.empty() && !args.prompt_file.empty())
    return Status(Code::invalid_argument, "--prompt and --prompt-file: one of them");
  QUERN_ASSIGN(Conversation conversation, Conversation::open(args));
  std::vector<std::pair<std::string, std::string>> messages;
  if (!args.system.empty()) messages.emplace_back("system", args.system);
  const bool is_chat = args.chat || !args.system.empty();
  if (is_chat && args.prompt.empty() && args.prompt_file.empty())
    return converse(conversation, args, std::move(messages), console);
  QUERN_ASSIGN(std::string prompt, read_prompt(args));
  if (is_chat) {
    messages.emplace_back("user", std::move(prompt));
    QUERN_ASSIGN(prompt, conversation.folder().prompt(messages));
  }
  QUERN_ASSIGN(Answer answer, conversation.answer(prompt, is_chat ? language::Specials::left_out
                                                                  : language::Specials::kept));
  return show(std::move(answer), conversation, args, console);
}

}  // namespace quern::tools
