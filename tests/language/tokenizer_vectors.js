// SPDX-License-Identifier: Apache-2.0
// Writes what the public tokenizers library makes of tokenizers/texts.json with each tokenizer of
// that folder, as NAME.vectors.json: a row a text, of the ids with special tokens and their text
// without and with these.
//
//   npm install @anush008/tokenizers      # Hugging Face's tokenizers, built for Node
//   node tests/language/tokenizer_vectors.js [TOKENIZER.json TEXTS.json OUT.json]
const fs = require('fs');
const path = require('path');
const { Tokenizer } = require('@anush008/tokenizers');

async function write(file, texts, out) {
  const tokenizer = Tokenizer.fromFile(file);
  const rows = [];
  for (const text of JSON.parse(fs.readFileSync(texts, 'utf8'))) {
    const ids = Array.from((await tokenizer.encode(text, null, { addSpecialTokens: true })).getIds());
    rows.push([ids, await tokenizer.decode(ids, true), await tokenizer.decode(ids, false)]);
  }
  fs.writeFileSync(out, '[\n' + rows.map((row) => JSON.stringify(row)).join(',\n') + '\n]\n');
  console.log(file, rows.length);
}

async function main(given) {
  if (given.length === 3) return write(...given);
  const folder = path.join(__dirname, 'tokenizers');
  for (const name of fs.readdirSync(folder))
    if (name.endsWith('.json') && name !== 'texts.json' && !name.includes('.vectors.'))
      await write(path.join(folder, name), path.join(folder, 'texts.json'), path.join(folder, name.replace('.json', '.vectors.json')));
}

main(process.argv.slice(2));
