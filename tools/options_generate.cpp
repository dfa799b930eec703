// SPDX-License-Identifier: Apache-2.0
// The options of `quern generate`.
#include <utility>

#include "tools/option_rows.h"

namespace quern::tools {
namespace {

OptionRows prompt_rows(GenerateArgs& a) {
  return {{.names = "MODEL-FOLDER",
           .help = "a folder as onnxruntime-genai or transformers.js write it",
           .target = &a.folder,
           .required = true},
          {.names = "-p,--prompt",
           .value = "TEXT",
           .help = "what is continued, or with --chat the message; without it and --prompt-file, "
                   "standard input is read: all of it, or with --chat a message a line",
           .target = &a.prompt},
          {.names = "--prompt-file",
           .value = "FILE",
           .help = "the same from a file",
           .target = &a.prompt_file},
          {.names = "--chat",
           .help = "puts the prompt into the folder's chat template",
           .target = &a.chat},
          {.names = "--system",
           .value = "TEXT",
           .help = "the system message before the first; implies --chat",
           .target = &a.system},
          {.names = "--file",
           .value = "NAME",
           .help = "the decoder, below the folder; by default the one that genai_config.json "
                   "names, or the first of onnx/decoder_model_merged.onnx, onnx/model.onnx, "
                   "model.onnx, onnx/model_q4.onnx, ... that is there",
           .target = &a.file}};
}

OptionRows sampling_rows(GenerateArgs& a) {
  return {{.names = "-n,--max-tokens",
           .value = "N",
           .help = "tokens to generate at most; by default what the folder says, else 256",
           .target = &a.max_tokens,
           .range = {{1, 1e7}}},
          {.names = "--context",
           .value = "N",
           .help = "tokens of prompts and answers together at most, for which memory is taken; by "
                   "default as many as prompt and answer need, 4096 for a conversation, and never "
                   "more than the folder says",
           .target = &a.context,
           .range = {{2, 1e7}}},
          {.names = "--temperature",
           .value = "T",
           .help = "what logits are divided by before the draw; 0: the greatest, without a draw",
           .target = &a.temperature,
           .range = {{0, 1000}}},
          {.names = "--top-k",
           .value = "K",
           .help = "draws from the K most probable; 0: from all",
           .target = &a.top_k,
           .range = {{0, 1e9}}},
          {.names = "--top-p",
           .value = "P",
           .help = "draws from the fewest that have this probability together",
           .target = &a.top_p,
           .range = {{0, 1}}},
          {.names = "--min-p",
           .value = "P",
           .help = "draws from those that are at least this share as probable as the best",
           .target = &a.min_p,
           .range = {{0, 1}}},
          {.names = "--repetition-penalty",
           .value = "R",
           .help = "makes tokens of the prompt and of the answer so far less probable; 1: not",
           .target = &a.repetition_penalty,
           .range = {{1e-3, 1e3}}},
          {.names = "--seed",
           .value = "S",
           .help = "seed of the draws; by default 0",
           .target = &a.seed},
          {.names = "--stop",
           .value = "TEXT",
           .help = "ends the answer before this text. May be repeated",
           .target = &a.stop},
          {.names = "--special", .help = "prints special tokens, too", .target = &a.special}};
}

}  // namespace

Verb generate_row(GenerateArgs& a) {
  Verb v{
      .name = "generate",
      .summary = "continue a text, or chat, with a language model",
      .about =
          "The text goes to stdout as it comes, what it took to stderr: tokens a second, and how "
          "much memory that reads of what this machine was measured to copy. Ctrl-C ends an "
          "answer; the exit status is then 1.\n\n"
          "Where the folder asks for no sampling, the most probable token is taken each time; an "
          "option of sampling turns it on. docs/generate.md says which tokenizers and templates "
          "are known."};
  append(v.options, prompt_rows(a));
  append(v.options, sampling_rows(a));
  append(v.options, device_rows(a.device));
  append(v.options, memory_limit_rows(a.device));
  v.options.push_back(thread_pool_row(a.device));
  v.options.push_back(math_row(a.device));
  v.options.push_back(json_row(a.json));
  v.examples = {
      {"quern generate qwen-folder -p 'The mill'", "a text that goes on"},
      {"quern generate qwen-folder --chat -p 'Who mills the grain?'", "a question"},
      {"quern generate qwen-folder --system 'You are a miller.'", "a conversation, a line each"},
      {"quern generate qwen-folder -p 'The mill' --temperature 0.8 --top-p 0.95 --seed 7",
       "another text for each seed"},
      {"quern generate qwen-folder -p 'One, two,' -n 20 --stop . --json",
       "text and figures as JSON"}};
  return v;
}

}  // namespace quern::tools
