// SPDX-License-Identifier: Apache-2.0
// wasi-nn for Node: guests run ONNX models on quern.
//
//   const tenant = new Tenant({contexts: 8, deadlineMs: 50});
//   tenant.add('digits', 'digits.onnx');
//   const nn = new Instance(tenant);                     // one a wasm instance
//   const {instance} = await WebAssembly.instantiate(bytes, nn.imports(() => memory));
//
// nn.component() gives what a component that jco transpiled imports of wasi:nn@0.2.0-rc-2024-10-28.
import {createRequire} from 'node:module';
import process from 'node:process';

const addon = createRequire(import.meta.url)(process.env.QUERN_NN_ADDON ?? './quern_wasi_nn.node');
const version = '@0.2.0-rc-2024-10-28';
const targets = ['cpu', 'gpu', 'tpu'];
const encodings =
    ['openvino', 'onnx', 'tensorflow', 'pytorch', 'tensorflowlite', 'ggml', 'autodetect'];
// Of WIT, and the numbers that quern's C API has for them.
const tensorTypes = {FP16: 2, FP32: 0, FP64: 1, BF16: 3, U8: 8, I32: 6, I64: 7};
const typeNames = Object.fromEntries(Object.entries(tensorTypes).map(([name, n]) => [n, name]));
// Types that WIT has no name for go as the bytes that they are: i8, u32, u64, bool.
Object.assign(typeNames, {4: 'U8', 10: 'I32', 11: 'I64', 12: 'U8'});

export class Tenant {
  #tenant;

  // Limits (graphs, contexts, modelBytes, tensorBytes, residentBytes, parallelComputes, deadlineMs,
  // namesOnly, targets as an array), threads, anyEncoding, gpuOrNothing, shareGraphs, guestPictures, and
  // everywhere: the target on which models run whatever guests ask for.
  constructor(options = {}) {
    this.#tenant = addon.tenantCreate(plain(options));
  }
  // A model by the path of its file or by its bytes.
  add(name, model, target = 'cpu') {
    addon.tenantAdd(this.#tenant, name, model, targets.indexOf(target));
  }
  remove(name) {
    addon.tenantRemove(this.#tenant, name);
  }
  get usage() {
    return addon.tenantUsage(this.#tenant);
  }
  static handleOf(tenant) {
    return tenant.#tenant;
  }
}

export class Instance {
  #instance;

  constructor(tenant, limits = {}) {
    this.#instance = addon.instanceCreate(Tenant.handleOf(tenant), plain(limits));
  }
  get usage() {
    return addon.instanceUsage(this.#instance);
  }
  get lastError() {
    return addon.instanceLastError(this.#instance);
  }

  // Of a core module. `memory` gives the WebAssembly.Memory that the guest exports.
  imports(memory) {
    const instance = this.#instance;
    let view;
    const bytes = () => {  // made anew when the memory has grown
      const buffer = memory()?.buffer;
      if (view?.buffer !== buffer) view = buffer && new Uint8Array(buffer);
      return view;
    };
    const row = (name, index) => [name, (...a) => addon.call(instance, index, bytes(), ...a)];
    return {wasi_ephemeral_nn: Object.fromEntries(addon.imports().map(row))};
  }

  // Of a component.
  component() {
    return componentOf(this.#instance);
  }
}

function plain(options) {
  const numbers = {};
  for (const [name, value] of Object.entries(options)) {
    if (name === 'targets')
      numbers[name] = value.reduce((mask, target) => mask | 1 << targets.indexOf(target), 0);
    else
      numbers[name] = name === 'everywhere' ? targets.indexOf(value) : Number(value);
  }
  return numbers;
}

// ---- the interfaces of wasi:nn -----------------------------------------------------------------

const codes = {
  invalid_argument: 'invalid-argument',
  invalid_encoding: 'invalid-encoding',
  timed_out: 'timeout',
  unsupported_operation: 'unsupported-operation',
  too_large: 'too-large',
  not_found: 'not-found',
};

class NnError {
  #code;
  #text;
  constructor(code, text) {
    this.#code = code;
    this.#text = text;
  }
  code() {
    return this.#code;
  }
  data() {
    return this.#text;
  }
}

// What goes wrong is a resource of errors, thrown as jco wants the error of a result.
function attempt(action) {
  try {
    return action();
  } catch (error) {
    if (error.errno === undefined) throw error;
    throw Object.assign(new Error(error.message),
                        {payload: new NnError(codes[error.code] ?? 'runtime-error', error.message)});
  }
}

class Tensor {
  #dims;
  #type;
  #data;
  constructor(dims, type, data) {
    this.#dims = Uint32Array.from(dims);
    this.#type = type;
    this.#data = data;
  }
  dimensions() {
    return this.#dims;
  }
  ty() {
    return this.#type;
  }
  data() {
    return this.#data;
  }
}

function componentOf(instance) {
  class GraphExecutionContext {
    #context;
    constructor(context) {
      this.#context = context;
    }
    compute(inputs) {
      const given = inputs.map(
          ([name, t]) => [name, tensorTypes[t.ty()], Array.from(t.dimensions()), t.data()]);
      return attempt(() => addon.computeNamed(instance, this.#context, given))
          .map(([name, type, dims, data]) => [name, new Tensor(dims, carried(type), data)]);
    }
    [Symbol.for('dispose')]() {
      addon.finalizeExecutionContext(instance, this.#context);
    }
  }
  class Graph {
    #graph;
    constructor(graph) {
      this.#graph = graph;
    }
    initExecutionContext() {
      return new GraphExecutionContext(
          attempt(() => addon.initExecutionContext(instance, this.#graph)));
    }
    [Symbol.for('dispose')]() {
      addon.dropGraph(instance, this.#graph);
    }
  }
  for (const c of [Graph, GraphExecutionContext]) {
    if (Symbol.dispose) c.prototype[Symbol.dispose] = c.prototype[Symbol.for('dispose')];
  }
  const load = (parts, encoding, target) => new Graph(attempt(
      () => addon.load(instance, parts, encodings.indexOf(encoding), targets.indexOf(target))));
  const loadByName = (name) => new Graph(attempt(() => addon.loadByName(instance, name)));
  const interfaces = {
    'wasi:nn/graph': {Graph, load, loadByName},
    'wasi:nn/tensor': {Tensor},
    'wasi:nn/inference': {GraphExecutionContext},
    'wasi:nn/errors': {Error: NnError},
  };
  const versioned = Object.entries(interfaces).map(([name, i]) => [name + version, i]);
  return {...interfaces, ...Object.fromEntries(versioned)};  // jco asks without a version
}

function carried(type) {
  if (typeNames[type]) return typeNames[type];
  const text = `WIT has no tensor of type ${type}`;
  throw Object.assign(new Error(text), {payload: new NnError('unsupported-operation', text)});
}
