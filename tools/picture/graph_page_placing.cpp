// SPDX-License-Identifier: Apache-2.0
// Rows and places across are the layout's; heights, and what is folded, are decided in the page.
#include "tools/picture/graph_page_parts.h"

namespace quern::tools {

const std::string_view graph_page_placing = R"js(
const data = JSON.parse(document.getElementById('data').textContent);
const WIDE = 148, HIGH = 38, POST = 15, GAP = 34, INNER = 12, HEAD = 22;

// What is folded, by view: groups and bodies as "scene:number".
const folding = data.views.map(() => ({groups: new Set(), bodies: new Set(), posts: true}));
for (const view of data.views)
  for (const scene of view.scenes) {
    scene.groups = scene.groups.map(([name, outer]) => ({name, outer, size: 0, depth: 0, ms: 0, flops: 0, bytes: 0, live: 0}));
    scene.groups.forEach(g => g.depth = g.outer < 0 ? 1 : scene.groups[g.outer].depth + 1);
    scene.nodes.forEach((n, i) => {
      n.id = i;
      for (let g = n.group ?? -1; g >= 0; g = scene.groups[g].outer) {
        const group = scene.groups[g];
        ++group.size;
        for (const key of ['ms', 'flops', 'bytes']) group[key] += n[key] || 0;
        group.live = Math.max(group.live, n.live || 0);
      }
    });
  }

// A box: of a node, or of a folded group. Its scene and number are its key.
function shownBoxes(view, state, index) {
  const scene = view.scenes[index], shown = new Map(), of = [];
  const folded = scene.groups.map(() => -1);  // the outermost folded group around each
  scene.groups.forEach((g, i) => folded[i] = g.outer >= 0 && folded[g.outer] >= 0 ? folded[g.outer] : state.groups.has(index + ':' + i) ? i : -1);
  for (const n of scene.nodes) {
    const g = n.group === undefined ? -1 : folded[n.group];
    const key = g < 0 ? 'n' + n.id : 'g' + g;
    let box = shown.get(key);
    if (!box) {
      box = {key: index + ':' + key, scene: index, node: g < 0 ? n : null, group: g < 0 ? null : scene.groups[g], number: g,
        row: n.row, middle: n.x, w: WIDE, h: HIGH, inner: []};
      if (box.node && state.posts && n.posts) box.h += POST * n.posts.length + 3;
      shown.set(key, box);
    }
    if (n.row < box.row) { box.row = n.row; box.middle = n.x; }
    of.push(box);
  }
  return {boxes: [...shown.values()], of};
}

// Where groups are folded, columns that have become empty are made narrow: a function from x to x.
function squeezed(boxes) {
  const columns = [];
  for (const x of boxes.map(b => b.middle).sort((a, b) => a - b)) {
    const last = columns[columns.length - 1], from = x - WIDE / 2, to = x + WIDE / 2;
    if (last && from <= last.to) last.to = to; else columns.push({from, to, at: last ? last.at + last.to - last.from + Math.min(from - last.to, 40) : 0});
  }
  return x => {
    let low = 0, high = columns.length - 1;  // the last column that begins left of x
    while (low < high) { const mid = (low + high + 1) >> 1; if (columns[mid].from <= x) low = mid; else high = mid - 1; }
    const here = columns[low], next = columns[low + 1], end = here.at + here.to - here.from;
    if (x <= here.to || !next) return here.at + Math.max(Math.min(x - here.from, here.to - here.from + 20), -20);
    return end + (x - here.to) / (next.from - here.to) * (next.at - end);
  };
}

// Lays out a scene by what is folded: boxes, lines from (x, y) to (x, y) with the wire they are of, and their extent.
function place(view, state, index, depth = 0) {
  const scene = view.scenes[index], {boxes, of} = shownBoxes(view, state, index);
  const squeeze = boxes.some(b => b.group) ? squeezed(boxes) : x => x;
  for (const box of boxes) box.middle = squeeze(box.middle);
  const rows = Array.from({length: scene.rows}, () => ({boxes: [], h: 0, y: 0, wide: []}));
  for (const box of boxes) {
    if (box.node && box.node.bodies && state.bodies.has(index + ':' + box.node.id) && depth < 8) {
      let at = INNER, tall = 0;
      for (const [title, number] of box.node.bodies) {
        const inner = place(view, state, number, depth + 1);
        box.inner.push({title, inner, x: at});
        at += Math.max(inner.w, WIDE) + INNER;
        tall = Math.max(tall, inner.h);
      }
      box.top = box.h;  // where the bodies begin
      box.w = Math.max(WIDE, at);
      box.h += tall + HEAD + INNER;
    }
    rows[box.row].boxes.push(box);
  }
  let y = 0;
  for (const row of rows) {
    row.y = y;
    if (!row.boxes.length) continue;
    row.h = Math.max(...row.boxes.map(b => b.h));
    row.boxes.sort((a, b) => a.middle - b.middle);
    row.wide = row.boxes.filter(b => b.w > WIDE).map(b => [b.middle, (b.w - WIDE) / 2]);
    y += row.h + GAP;
  }
  // What stands beside a wide box makes room for it, in its row only.
  const across = (row, x) => row.wide.reduce((sum, [middle, half]) => sum + (x > middle ? half : x < middle ? -half : 0), x);
  for (const row of rows)
    for (const box of row.boxes) { box.cx = across(row, box.middle); box.x = box.cx - box.w / 2; box.y = row.y; }
  const lines = placeWires(scene, index, rows, of, (row, x) => across(row, squeeze(x)));
  let low = 0, high = WIDE;
  for (const box of boxes) { low = Math.min(low, box.x); high = Math.max(high, box.x + box.w); }
  for (const line of lines) { low = Math.min(low, line.low); high = Math.max(high, line.high); }
  return flattened(boxes, lines, low, {w: high - low, h: Math.max(y - GAP, HIGH)});
}

// With bodies set into their boxes.
function flattened(boxes, lines, low, size) {
  const all = {boxes: [], lines, ...size};
  for (const line of lines) moveLine(line, -low, 0);
  for (const box of boxes) {
    box.x -= low;
    box.cx -= low;
    all.boxes.push(box);
    for (const {inner, x} of box.inner) {
      const dx = box.x + x, dy = box.y + box.top + HEAD;
      for (const b of inner.boxes) { b.x += dx; b.cx += dx; b.y += dy; b.within = b.within || box; all.boxes.push(b); }
      for (const line of inner.lines) { moveLine(line, dx, dy); all.lines.push(line); }
    }
  }
  return all;
}

function moveLine(line, dx, dy) {
  for (let i = 0; i < line.points.length; i += 2) { line.points[i] += dx; line.points[i + 1] += dy; }
  line.low += dx; line.high += dx; line.top += dy; line.end += dy;
}

// Points come in pairs: a gap between rows is crossed by a curve, a row straight down.
function placeWires(scene, index, rows, of, across) {
  const lines = [];
  scene.wires.forEach((wire, w) => {
    const from = of[wire.from], first = scene.nodes[wire.from].row + 1, at = wire.at || [];
    const targets = [...new Set(wire.to.map(t => of[t]))].filter(t => t !== from).sort((a, b) => a.row - b.row);
    const trunk = [from.cx, from.y + from.h];
    if (from.row < rows.length && from.h < rows[from.row].h) trunk.push(from.cx, from.y + rows[from.row].h);
    let passed = from.row;
    const line = {wire, from, to: targets, points: [], tags: [], scene: index};
    const step = (x0, y0, x1, y1) => { line.points.push(x0, y0, x1, y1); };
    if (trunk.length > 2) step(...trunk);
    for (const target of targets) {
      if (wire.stub && target.row > from.row + 1) { line.points.push(target.cx, target.y - 12, target.cx, target.y); line.tags.push(line.points.length - 4); continue; }
      for (let row = passed + 1; row < target.row; ++row) {
        const x = at[row - first];
        if (x === undefined || !rows[row].boxes.length) continue;
        const here = across(rows[row], x), before = trunk.slice(-2);
        step(before[0], before[1], here, rows[row].y);
        step(here, rows[row].y, here, rows[row].y + rows[row].h);
        trunk.push(here, rows[row].y + rows[row].h);
      }
      passed = Math.max(passed, target.row - 1);
      const last = trunk.slice(-2);
      step(last[0], last[1], target.cx, target.y);
    }
    if (wire.stub) { step(from.cx, from.y + from.h, from.cx, from.y + from.h + 12); }
    if (!line.points.length) return;
    const xs = line.points.filter((_, i) => i % 2 === 0), ys = line.points.filter((_, i) => i % 2);
    line.low = xs.reduce((a, b) => Math.min(a, b)); line.high = xs.reduce((a, b) => Math.max(a, b));
    line.top = ys.reduce((a, b) => Math.min(a, b)); line.end = ys.reduce((a, b) => Math.max(a, b));
    line.text = wire.text;
    lines.push(line);
  });
  return lines;
}
)js";

}  // namespace quern::tools
