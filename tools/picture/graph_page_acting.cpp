// SPDX-License-Identifier: Apache-2.0
// What people do: moving, choosing, folding, searching, switching between graphs.
#include "tools/picture/graph_page_parts.h"

namespace quern::tools {

const std::string_view graph_page_acting = R"js(
const view = () => data.views[viewNumber], say = text => { $('said').textContent = text; };
const label = box => box.node ? `${box.node.op} ${box.node.name || ''}` : `group ${box.group.name}`;

function element(tag, text, parent) {
  const made = document.createElement(tag);
  if (text !== null) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

// ---- the window

const LEAST = .02, MOST = 3;
function keepInSight() {
  const w = canvas.clientWidth, h = canvas.clientHeight, edge = 60;
  left = Math.min(w - edge, Math.max(edge - placed.w * scale, left));
  top_ = Math.min(h - edge, Math.max(edge - placed.h * scale, top_));
}
const moves = {
  fillsPage: true,
  move(dx, dy) { left += dx; top_ += dy; keepInSight(); repaint(); },
  zoom(factor, x, y) {
    const next = Math.max(Math.min(LEAST, whole()), Math.min(MOST, scale * factor)), grown = next / scale;
    left = x - (x - left) * grown;
    top_ = y - (y - top_) * grown;
    scale = next;
    keepInSight();
    repaint();
  },
  reset() { scale = Math.min(1, whole()); centre(); },
  tap(x, y) {
    if (map && x >= map.x - 6 && x <= map.x + map.w + 6 && y >= map.y - 6 && y <= map.y + map.h + 6) {
      left = canvas.clientWidth / 2 - (x - map.x) / map.small * scale;
      top_ = canvas.clientHeight / 2 - (y - map.y) / map.small * scale;
      keepInSight();
      repaint();
      return;
    }
    choose(boxAt(x, y), false);
  },
  hover(x, y) { const box = boxAt(x, y); canvas.title = box ? label(box) : ''; canvas.style.cursor = box ? 'pointer' : ''; }};
const whole = () => Math.min((canvas.clientWidth - 24) / placed.w, (canvas.clientHeight - 60) / placed.h);
function centre() {
  left = (canvas.clientWidth - placed.w * scale) / 2;
  top_ = Math.max(14, (canvas.clientHeight - placed.h * scale) / 2);
  repaint();
}
// The beginning, as large as it can be read.
function begin() {
  scale = Math.min(1, Math.max(.75, whole()));
  const first = placed.boxes[0];
  left = placed.w * scale < canvas.clientWidth ? (canvas.clientWidth - placed.w * scale) / 2 : first ? canvas.clientWidth / 2 - first.cx * scale : 0;
  top_ = 14;
  repaint();
}
function boxAt(x, y) {
  const px = (x - left) / scale, py = (y - top_) / scale;
  for (let i = placed.boxes.length; i-- > 0;) {
    const b = placed.boxes[i];
    if (px >= b.x && px <= b.x + b.w && py >= b.y && py <= b.y + b.h) return b;
  }
  return null;
}
function bringIntoSight(box) {
  if (scale < .6) scale = .9;
  left = canvas.clientWidth / 2 - box.cx * scale;
  top_ = canvas.clientHeight / 2 - (box.y + Math.min(box.h, HIGH) / 2) * scale;
  repaint();
}

// ---- folding

function replace(key) {
  const state = folding[viewNumber];
  placed = place(view(), state, 0);
  most = 0;
  for (const box of placed.boxes) most = Math.max(most, (box.node || box.group)[colourBy] || 0);
  chosen = key ? placed.boxes.find(b => b.key === key) || null : null;
  $('posts').setAttribute('aria-pressed', state.posts);
  $('bodies').setAttribute('aria-pressed', state.bodies.size > 0);
  showLegend();
  repaint();
}
// Keeps a box where it is on the screen.
function refold(key) {
  const before = placed.boxes.find(b => b.key === key), x = before && before.cx * scale + left, y = before && before.y * scale + top_;
  replace(key);
  if (!chosen || !before) return chosen;
  left = x - chosen.cx * scale;
  top_ = y - chosen.y * scale;
  keepInSight();
  return chosen;
}
function foldGroup(scene, group) {
  folding[viewNumber].groups.add(scene + ':' + group);
  replace(null);
  const box = placed.boxes.find(b => b.key === scene + ':g' + group);
  if (box) { choose(box, true); say('folded ' + label(box)); }
}
function unfold(box) {
  const state = folding[viewNumber];
  if (box.group) {
    state.groups.delete(box.scene + ':' + box.number);
    const first = view().scenes[box.scene].nodes.find(n => isWithin(box.scene, n, box.number));
    say('unfolded ' + label(box));
    replace(null);
    const shown = boxOf(box.scene, first.id);
    if (shown) choose(shown, true);
  } else if (box.node.bodies) {
    const key = box.scene + ':' + box.node.id;
    if (!state.bodies.delete(key)) state.bodies.add(key);
    showPanel(refold(box.key));
  }
}
function isWithin(scene, node, group) {
  for (let g = node.group ?? -1; g >= 0; g = view().scenes[scene].groups[g].outer) if (g === group) return true;
  return false;
}
// The box that stands for a node, after opening what hides it.
function boxOf(scene, id) {
  const state = folding[viewNumber], node = view().scenes[scene].nodes[id];
  for (let g = node.group ?? -1; g >= 0; g = view().scenes[scene].groups[g].outer) state.groups.delete(scene + ':' + g);
  for (let inner = scene; inner !== 0;) {
    let outer = -1;
    view().scenes.forEach((s, i) => { const n = s.nodes.find(n => (n.bodies || []).some(b => b[1] === inner));
      if (n && outer < 0) { outer = i; state.bodies.add(i + ':' + n.id); for (let g = n.group ?? -1; g >= 0; g = s.groups[g].outer) state.groups.delete(i + ':' + g); } });
    if (outer < 0) break;
    inner = outer;
  }
  replace(null);
  return placed.boxes.find(b => b.key === scene + ':n' + id) || null;
}
function foldTo(depth) {
  const state = folding[viewNumber];
  state.groups.clear();
  if (depth) view().scenes.forEach((scene, s) => scene.groups.forEach((g, i) => { if (g.depth >= depth) state.groups.add(s + ':' + i); }));
  choose(null);
  replace(null);
  begin();
  say(placed.boxes.length + ' boxes are shown');
}

// ---- the node chosen

function choose(box, moves_) {
  chosen = box;
  showPanel(box);
  if (box && moves_) bringIntoSight(box);
  if (box) say(label(box) + (box.node && box.node.kernel ? ', kernel ' + box.node.kernel : ''));
  repaint();
}
function jump(scene, id) {
  let box = placed.boxes.find(b => b.key === scene + ':n' + id);
  if (!box) box = boxOf(scene, id);
  if (box) choose(box, true);
}
function rows(panel, list) {
  const dl = element('dl', null, panel);
  for (const [name, value] of list) if (value) { element('dt', name, dl); element('dd', value, dl); }
}
function links(panel, title, list, scene) {
  if (!list.length) return;
  element('h3', title, panel);
  const ul = element('ul', null, panel);
  for (const [text, target] of list) {
    const li = element('li', null, ul);
    if (target < 0) { li.textContent = text; continue; }
    const button = element('button', text, li);
    button.type = 'button';
    button.onclick = () => jump(scene, target);
  }
}
function showPanel(box) {
  const panel = $('panel'), was = panel.hidden;
  panel.replaceChildren();
  panel.hidden = !box;
  if (was !== panel.hidden) repaint();
  if (!box) return;
  const close = element('button', '×', panel);
  close.id = 'close';
  close.type = 'button';
  close.setAttribute('aria-label', 'close');
  close.onclick = () => { choose(null); canvas.focus(); };
  const n = box.node, thing = n || box.group, scene = view().scenes[box.scene];
  element('h2', n ? n.op : 'Group ' + box.group.name, panel);
  if (n && n.name) element('p', n.name, panel);
  if (n && n.family !== undefined) element('p', data.families[n.family], panel).className = 'quiet';
  const actions = element('div', null, panel);
  actions.className = 'actions';
  const act = (text, go) => { const b = element('button', text, actions); b.type = 'button'; b.onclick = go; };
  if (!n) act('Unfold', () => unfold(box));
  if (n && n.bodies) act(box.inner.length ? 'Close the body' : 'Open the body', () => unfold(box));
  if (n && n.group !== undefined) act('Fold ' + scene.groups[n.group].name, () => foldGroup(box.scene, n.group));
  if (!n && box.group.outer >= 0) act('Fold ' + scene.groups[box.group.outer].name, () => foldGroup(box.scene, box.group.outer));
  const rate = (v, unit) => thing.ms && v ? digits(v / thing.ms * 1e-6, 1) + ' ' + unit : '';
  rows(panel, [['kernel', thing.kernel], ['layouts', thing.layouts],
    ['time', thing.ms ? time(thing.ms) + (data.steps_ms ? `, ${digits(100 * thing.ms / data.steps_ms, 1)} % of all kernels` : '') : ''],
    ['calls', thing.calls > 1 ? String(thing.calls) : ''],
    ['FLOP', thing.flops ? si(thing.flops, '') + (thing.ms ? ', ' + rate(thing.flops, 'GFLOP/s') : '') : ''],
    ['bytes', thing.bytes ? si(thing.bytes, 'B') + (thing.ms ? ', ' + rate(thing.bytes, 'GB/s') : '') : ''],
    ['memory in use', thing.live ? si(thing.live, 'B') : ''], ['nodes', n ? '' : String(thing.size)]]);
  if (!n) return;
  if (n.attributes) { element('h3', 'Attributes', panel); element('code', n.attributes, panel); }
  if (n.posts) { element('h3', 'Applied to the result', panel); for (const post of n.posts) element('p', post, panel); }
  links(panel, 'Inputs', n.inputs || [], box.scene);
  const readers = scene.wires.filter(w => w.from === n.id).flatMap(w => w.to);
  if (n.outputs) links(panel, 'Outputs', n.outputs.map(([text]) => [text, -1]), box.scene);
  links(panel, 'Read by', readers.slice(0, 40).map(r => [scene.nodes[r].op + ' ' + lastPart(scene.nodes[r].name || ''), r]), box.scene);
  if (readers.length > 40) element('p', `and ${readers.length - 40} more`, panel);
}
function step(by) {
  const list = placed.boxes, at = chosen ? list.indexOf(chosen) + by : by > 0 ? 0 : list.length - 1;
  if (list.length) choose(list[(at + list.length) % list.length], true);
}

// ---- searching

let hits = [], hit = -1;
const textOf = n => n.text ??= [n.op, n.name, n.kernel, n.attributes, ...(n.posts || []), ...(n.inputs || []).map(i => i[0]), ...(n.outputs || []).map(o => o[0])].filter(Boolean).join(' ').toLowerCase();
function search() {
  const words = $('search').value.toLowerCase().split(/\s+/).filter(Boolean);
  hits = [];
  marked = new Set();
  if (words.length)
    view().scenes.forEach((scene, s) => { for (const n of scene.nodes) if (words.every(w => textOf(n).includes(w))) { hits.push([s, n]); marked.add(n); } });
  hit = hits.length ? 0 : -1;
  const list = $('found');
  list.replaceChildren();
  hits.slice(0, 50).forEach(([s, n], i) => {
    const li = element('li', n.op + ' ', list);
    element('small', n.name || '', li);
    li.id = 'hit' + i;
    li.setAttribute('role', 'option');
    li.onpointerdown = e => { e.preventDefault(); hit = i; take(); };
  });
  if (words.length && hits.length !== list.children.length || words.length && !hits.length)
    element('li', hits.length ? `${hits.length} in all` : 'Nothing is found.', list).className = 'none';
  showHit();
  if (words.length) say(hits.length + ' found');
  repaint();
}
function showHit() {
  const input = $('search');
  input.setAttribute('aria-expanded', $('found').children.length > 0);
  [...$('found').children].forEach((li, i) => { if (li.id) li.setAttribute('aria-selected', i === hit); });
  const at = $('hit' + hit);
  if (at) { input.setAttribute('aria-activedescendant', at.id); at.scrollIntoView({block: 'nearest'}); }
  else input.removeAttribute('aria-activedescendant');
}
function take() {
  if (hit < 0) return;
  const [s, n] = hits[hit];
  $('found').replaceChildren();
  $('search').setAttribute('aria-expanded', false);
  jump(s, n.id);
}
$('search').oninput = search;
$('search').onblur = () => { $('found').replaceChildren(); $('search').setAttribute('aria-expanded', false); };
$('search').onkeydown = e => {
  const count = Math.min(hits.length, 50);
  if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
    if (!count) return;
    hit = (hit + (e.key === 'ArrowDown' ? 1 : -1) + count) % count;
    showHit();
  } else if (e.key === 'Enter') { if ($('found').children.length === 0 && hits.length > 1) hit = (hit + 1) % hits.length; take(); }
  else if (e.key === 'Escape') { $('search').value = ''; search(); canvas.focus(); }
  else return;
  e.preventDefault();
};

// ---- the whole

function showLegend() {
  const box = $('legend');
  box.replaceChildren();
  if (colourBy === 'family') {
    const used = new Set(view().scenes.flatMap(s => s.nodes.map(n => n.family)));
    data.families.forEach((name, i) => {
      if (!used.has(i)) return;
      const one = element('span', null, box);
      element('i', null, one).style.background = strong(i);
      one.append(name);
    });
    return;
  }
  const share = element('span', null, box);
  share.textContent = '0';
  const ramp = element('span', null, box);
  ramp.className = 'ramp';
  ramp.style.background = `linear-gradient(90deg, ${[0, .25, .5, .75, 1].map(s => heat(Math.sqrt(s))).join(', ')})`;
  element('span', most ? measures[colourBy].text(most) : 'nothing is known', box);
}
function show(number) {
  const before = chosen && chosen.node && chosen.node.name ? chosen.node : null;
  viewNumber = number;
  [...$('views').children].forEach((b, i) => b.setAttribute('aria-pressed', i === number));
  const about = [view().about, ...data.notes].filter(Boolean);
  $('about').textContent = about.join(' ');
  canvas.setAttribute('aria-label', `${data.title}, ${view().name}: ${view().scenes[0].nodes.length} nodes`);
  const fold = $('fold'), depths = Math.min(5, Math.max(0, ...view().scenes.flatMap(s => s.groups.map(g => g.depth))));
  fold.replaceChildren(new Option('nothing', 0));
  for (let d = 1; d <= depths; ++d) fold.add(new Option(d === 1 ? 'all groups' : `groups of level ${d}`, d));
  fold.parentNode.hidden = !depths;
  $('posts').hidden = !view().scenes.some(s => s.nodes.some(n => n.posts));
  $('bodies').hidden = !view().scenes.some(s => s.nodes.some(n => n.bodies));
  choose(null);
  search();
  replace(null);
  // Who compares two graphs goes on at the same node.
  const twin = before && view().scenes[0].nodes.find(n => n.name === before.name && n.kind === before.kind);
  if (twin) jump(0, twin.id); else begin();
}

$('title').textContent = $('title').title = data.title;
data.views.forEach((v, i) => {
  const button = element('button', v.name, $('views'));
  button.type = 'button';
  button.onclick = () => show(i);
});
$('colour').add(new Option('family', 'family'));
for (const [key, m] of Object.entries(measures))
  if (data.views.some(v => v.scenes.some(s => s.nodes.some(n => n[key])))) $('colour').add(new Option(m.name, key));
$('colour').onchange = e => { colourBy = e.target.value; replace(chosen && chosen.key); };
if ([...$('colour').options].some(o => o.value === 'ms')) $('colour').value = colourBy = 'ms';
$('fold').onchange = e => foldTo(Number(e.target.value));
$('posts').onclick = () => { const state = folding[viewNumber]; state.posts = !state.posts; refold(chosen && chosen.key); };
$('bodies').onclick = () => {
  const state = folding[viewNumber], wasOpen = state.bodies.size > 0;
  state.bodies.clear();
  if (!wasOpen) view().scenes.forEach((s, i) => s.nodes.forEach(n => { if (n.bodies) state.bodies.add(i + ':' + n.id); }));
  refold(chosen && chosen.key);
};
gestures(canvas, moves);
zoomButtons(canvas, moves, $('over'));
canvas.addEventListener('dblclick', e => { const box = boxAt(e.offsetX, e.offsetY); if (box && (box.group || box.node.bodies)) unfold(box); });
document.addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches('input, select')) return;
  if (e.key === '/') { e.preventDefault(); $('search').focus(); $('search').select(); }
  else if (e.key === 'Escape') { choose(null); canvas.focus(); }
  else if (e.target !== canvas && e.target !== document.body) return;
  else if (e.key === 'n') step(1);
  else if (e.key === 'p') step(-1);
  else if (e.key === 'Enter' && chosen && (chosen.group || chosen.node.bodies)) { e.preventDefault(); unfold(chosen); }
});
const fresh = () => { readColours(); showLegend(); repaint(); };
dark.addEventListener('change', fresh);
new ResizeObserver(repaint).observe(canvas);
readColours();
show(viewNumber);
)js";

}  // namespace quern::tools
