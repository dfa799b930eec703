// SPDX-License-Identifier: Apache-2.0
// Runs a guest of wasi-nn in Node:
//   node run.mjs GUEST.wasm [--model NAME=FILE]... [--dir HOST::GUEST]... [--target cpu|gpu]
//     [-- ARGUMENTS...]
import {readFile} from 'node:fs/promises';
import {basename} from 'node:path';
import process from 'node:process';
import {parseArgs} from 'node:util';
import {WASI} from 'node:wasi';

import {Instance, Tenant} from './index.mjs';

const {values, positionals: [guest, ...words]} = parseArgs({
  allowPositionals: true,
  options: {model: {type: 'string', multiple: true, default: []},
            dir: {type: 'string', multiple: true, default: []},
            target: {type: 'string'}},
});
const tenant = new Tenant(values.target ? {everywhere: values.target, gpuOrNothing: true} : {});
for (const word of values.model) {
  const [name, ...file] = word.split('=');
  tenant.add(name, file.join('='));
}
const preopens = Object.fromEntries(values.dir.map((word) => {
  const [host, inside] = word.split('::');
  return [inside ?? host, host];
}));
const wasi = new WASI({version: 'preview1', args: [basename(guest), ...words], preopens,
                       returnOnExit: true});
let instance;
const nn = new Instance(tenant).imports(() => instance.exports.memory);
const module = await WebAssembly.compile(await readFile(guest));
instance = await WebAssembly.instantiate(
    module, {wasi_snapshot_preview1: wasi.wasiImport, ...nn});
process.exitCode = wasi.start(instance);
