// SPDX-License-Identifier: Apache-2.0
// The addon for Node without a guest: node addon_test.mjs ADDON_FOLDER DIGITS.onnx
import assert from 'node:assert/strict';
import {readFile} from 'node:fs/promises';
import {createRequire} from 'node:module';
import {join, resolve} from 'node:path';
import process from 'node:process';
import {pathToFileURL} from 'node:url';

const [folder, digits] = process.argv.slice(2).map((path) => resolve(path));
const {Instance, Tenant} = await import(pathToFileURL(join(folder, 'index.mjs')));

// ---- tenants and limits ----

const tenant = new Tenant({contexts: 1, namesOnly: true, targets: ['cpu']});
tenant.add('file', digits);
tenant.add('bytes', await readFile(digits));
assert.throws(() => tenant.add('file', digits), {code: 'invalid_argument', errno: 1});
assert.throws(() => tenant.add('none', '/nowhere.onnx'), {code: 'not_found', errno: 8});
assert.throws(() => tenant.add('bad', new Uint8Array(9)), {code: 'invalid_encoding'});
assert.throws(() => tenant.add('number', 7), {code: 'invalid_argument'});
assert.equal(tenant.usage.graphs, 2);
tenant.remove('bytes');
assert.throws(() => tenant.remove('bytes'), /'bytes'/);

// ---- the table ----

let memory = new WebAssembly.Memory({initial: 1});
const nn = new Instance(tenant);
const {wasi_ephemeral_nn: witx} = nn.imports(() => memory);
const bytes = () => new Uint8Array(memory.buffer);
const word = (at) => new Uint32Array(memory.buffer)[at / 4];
bytes().set(new TextEncoder().encode('file'), 16);
assert.equal(witx.load_by_name(16, 4, 64), 0);
memory.grow(1);  // the view of before is detached
assert.equal(witx.init_execution_context(word(64), 68), 0);
assert.equal(witx.init_execution_context(word(64), 72), 7);
assert.match(nn.lastError, /contexts/);
assert.equal(witx.load(0, 1, 1, 0, 72), 6);
assert.equal(witx.load_by_name(-16, 4, 64), 1);  // an i32 comes signed
assert.equal(witx.compute(2 ** 31), 1);
assert.equal(witx.compute(), 1);
memory = undefined;
assert.equal(witx.compute(1), 3);

// ---- what nobody should do ----

const addon = createRequire(import.meta.url)(join(folder, 'quern_wasi_nn.node'));
const rubbish = [undefined, null, 0, -1, 2 ** 40, NaN, '', 'x'.repeat(300), {}, [], [[]], [1, 2],
                 new Uint8Array(3), () => 1, Symbol('s')];
for (const [name, call] of Object.entries(addon)) {
  for (let round = 0; round < 200; round++) {
    const words = Array.from({length: round % 12}, (_, i) => rubbish[(round * 7 + i * 5) % 15]);
    try {
      call(...words);
    } catch (error) {
      assert.ok(error instanceof Error, name);
    }
  }
}
console.log('ok');
