/* SPDX-License-Identifier: Apache-2.0 */
/* Goes on with a sequence of tokens: the likeliest token each time.
 *
 *   decode MODEL.onnx COUNT TOKEN...
 */
#include <stdio.h>
#include <stdlib.h>

#include <quern/c/quern.h>

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, quern_last_error());
  return 1;
}

static int64_t likeliest(const float* logits, size_t count) {
  size_t best = 0;
  for (size_t i = 1; i < count; ++i)
    if (logits[i] > logits[best]) best = i;
  return (int64_t)best;
}

/* Appends the tokens, then `more` of the decoder's own, and prints these. */
static int decode(quern_decoder* decoder, const int64_t* tokens, size_t count, long more) {
  if (quern_decoder_append(decoder, tokens, count, 0)) return fail("prompt");
  for (long i = 0; i < more; ++i) {
    const float* logits;
    size_t vocabulary;
    if (quern_decoder_logits(decoder, &logits, &vocabulary)) return fail("logits");
    const int64_t next = likeliest(logits, vocabulary);
    printf("%lld%c", (long long)next, i + 1 < more ? ' ' : '\n');
    if (i + 1 < more && quern_decoder_append(decoder, &next, 1, 0)) return fail("token");
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: decode MODEL.onnx COUNT TOKEN...\n");
    return 2;
  }
  const long more = strtol(argv[2], NULL, 10);
  const size_t count = (size_t)(argc - 3);
  int64_t* tokens = malloc(count * sizeof *tokens);
  if (!tokens) return 1;
  for (size_t i = 0; i < count; ++i) tokens[i] = strtoll(argv[3 + i], NULL, 10);

  quern_model* model = NULL;
  quern_decoder* decoder = NULL;
  quern_decoder_options options = QUERN_DECODER_OPTIONS_INIT;
  options.capacity = (int64_t)count + more;
  int code = 0;
  if (quern_model_load(argv[1], NULL, &model))
    code = fail(argv[1]);
  else if (quern_decoder_open(model, NULL, &options, &decoder))
    code = fail("decoder");
  else
    code = decode(decoder, tokens, count, more);
  quern_decoder_destroy(decoder);
  quern_model_destroy(model);
  free(tokens);
  return code;
}
