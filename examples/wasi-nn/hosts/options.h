/* SPDX-License-Identifier: Apache-2.0 */
/* What the hosts here have in common: HOST GUEST.wasm [--threads N] [--limits FILE.json]
 * [--model NAME=FILE] [--dir HOST::GUEST] -- ARGUMENTS, a tenant with these limits and models, and
 * the bytes of the guest. A compute has at most N threads, by default as many as there are CPUs. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quern/c/wasi_nn.h>

enum { MAX_FOLDERS = 8 };

typedef struct options {
  quern_nn_tenant* tenant;
  unsigned char* module;
  size_t module_bytes;
  const char* host_folders[MAX_FOLDERS];
  const char* guest_folders[MAX_FOLDERS];
  int folder_count;
  char** arguments; /* from the guest's name on */
  int argument_count;
} options;

static void die(const char* what, const char* why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static void read_module(options* o, const char* path) {
  FILE* file = fopen(path, "rb");
  if (!file) die(path, "cannot be read");
  fseek(file, 0, SEEK_END);
  o->module_bytes = (size_t)ftell(file);
  rewind(file);
  o->module = malloc(o->module_bytes + 1);
  if (!o->module || fread(o->module, 1, o->module_bytes, file) != o->module_bytes)
    die(path, "cannot be read");
  fclose(file);
}

static void add_model(options* o, char* word) {
  char* file = strchr(word, '=');
  if (!file) die(word, "is no NAME=FILE");
  *file++ = 0;
  if (quern_nn_tenant_add_file(o->tenant, word, file, QUERN_NN_CPU) != QUERN_NN_SUCCESS)
    die(file, quern_nn_last_error());
}

static void add_folder(options* o, char* word) {
  char* inside = strstr(word, "::");
  if (!inside || o->folder_count == MAX_FOLDERS) die(word, "is no HOST::GUEST");
  *inside = 0;
  o->host_folders[o->folder_count] = word;
  o->guest_folders[o->folder_count++] = inside + 2;
}

static int32_t thread_count(const char* word) {
  char* end = NULL;
  const long count = strtol(word, &end, 10);
  if (end == word || *end || count < 1 || count > 1024) die(word, "is no number from 1 to 1024");
  return (int32_t)count;
}

/* What is known before the models: --threads and --limits, the last of each. */
static void create_tenant(options* o, int argc, char** argv) {
  quern_nn_tenant_options given = QUERN_NN_TENANT_OPTIONS_INIT;
  const char* limits = NULL;
  for (int i = 2; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2) {
    if (strcmp(argv[i], "--threads") == 0) given.threads = thread_count(argv[i + 1]);
    if (strcmp(argv[i], "--limits") == 0) limits = argv[i + 1];
  }
  const quern_nn_errno error = limits ? quern_nn_tenant_create_from_file(limits, &given, &o->tenant)
                                      : quern_nn_tenant_create(&given, &o->tenant);
  if (error != QUERN_NN_SUCCESS) die("tenant", quern_nn_last_error());
}

static options read_options(int argc, char** argv) {
  options o;
  memset(&o, 0, sizeof o);
  if (argc < 2)
    die("usage",
        "GUEST.wasm [--threads N] [--limits FILE.json] [--model NAME=FILE] [--dir HOST::GUEST] "
        "-- ARGUMENTS");
  create_tenant(&o, argc, argv);
  read_module(&o, argv[1]);
  int i = 2;
  for (; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2) {
    if (strcmp(argv[i], "--model") == 0)
      add_model(&o, argv[i + 1]);
    else if (strcmp(argv[i], "--dir") == 0)
      add_folder(&o, argv[i + 1]);
    else if (strcmp(argv[i], "--threads") != 0 && strcmp(argv[i], "--limits") != 0)
      die(argv[i], "is no option");
  }
  if (i == argc) i--; /* no arguments */
  argv[i] = argv[1];
  o.arguments = argv + i;
  o.argument_count = argc - i;
  return o;
}

static quern_nn_instance* new_instance(const options* o) {
  quern_nn_instance* instance = NULL;
  if (quern_nn_instance_create(o->tenant, NULL, &instance) != QUERN_NN_SUCCESS)
    die("instance", quern_nn_last_error());
  return instance;
}

#endif
