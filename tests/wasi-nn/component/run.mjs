// SPDX-License-Identifier: Apache-2.0
// Makes a component of a core module with jco's libraries,
// transpiles it, and runs it on the addon:
//   node run.mjs MODULE.wasm WORLD.wit ADDON_FOLDER JCO_FOLDER DIGITS.onnx WORK_FOLDER
import assert from 'node:assert/strict';
import {mkdir, readFile, writeFile} from 'node:fs/promises';
import {createRequire} from 'node:module';
import {dirname, join, resolve} from 'node:path';
import process from 'node:process';
import {pathToFileURL} from 'node:url';

const [module, wit, addonFolder, jcoFolder, digits, work] =
    process.argv.slice(2).map((path) => resolve(path));
const {Instance, Tenant} = await import(pathToFileURL(join(addonFolder, 'index.mjs')));
const jco = createRequire(join(jcoFolder, 'package.json'));
const load = (name) => import(pathToFileURL(jco.resolve(name)));

async function component() {
  const {componentEmbed, componentNew} =
      await load('@bytecodealliance/jco-transpile/wasm-tools');
  const embedded = await componentEmbed({
    binary: await readFile(module),
    witSource: await readFile(wit, 'utf8'),
    world: 'guest',
  });
  return componentNew(embedded, []);
}

async function transpiled(bytes) {
  const {transpileBytes} = await load('@bytecodealliance/jco-transpile');
  const options = {name: 'guest', instantiation: {tag: 'async'}, noTypescript: true};
  const {files} = await transpileBytes(bytes, options);
  for (const [name, content] of Object.entries(files)) {
    const path = join(work, name);
    await mkdir(dirname(path), {recursive: true});
    await writeFile(path, content);
  }
  await writeFile(join(work, 'package.json'), '{"type": "module"}');
  return import(pathToFileURL(join(work, 'guest.js')));
}

const core = (path) =>
    readFile(join(work, path)).then((bytes) => WebAssembly.compile(bytes));

const tenant = new Tenant({contexts: 4});
tenant.add('digits', digits);
const nn = new Instance(tenant);
const {instantiate} = await transpiled(await component());
const guest = await instantiate(core, nn.component());

const pixels = Float32Array.from({length: 784}, (_, i) => (i % 7) / 7);
const probabilities = guest.classify('digits', 'image', pixels);
assert.equal(probabilities.length, 10);
assert.ok(Math.abs(probabilities.reduce((a, b) => a + b) - 1) < 1e-5);
assert.deepEqual(guest.classify('digits', 'image', pixels), probabilities);

const refused = (...words) => {
  try {
    guest.classify(...words);
  } catch (error) {
    return error.payload ?? error;
  }
  return assert.fail('no error');
};
assert.match(refused('nobody', 'image', pixels), /no model 'nobody'/);
assert.match(refused('digits', 'nothing', pixels), /no input 'nothing'/);
assert.match(refused('digits', 'image', pixels.subarray(1)), /bytes/);
assert.equal(guest.describe(Uint32Array.of(2, 3), 3, new Uint8Array(12)), 'same');
assert.equal(guest.load(await readFile(digits), 1), 'ok');
assert.equal(guest.load(Uint8Array.of(1, 2, 3), 1), 'invalid-encoding');
assert.equal(guest.load(await readFile(digits), 4), 'invalid-encoding');
for (let i = 0; i < 200; i++) guest.classify('digits', 'image', pixels);
const left = nn.usage;
assert.equal(left.contexts, 0);
assert.equal(left.graphs, 0);
assert.equal(left.residentBytes, 0);
console.log('ok');
