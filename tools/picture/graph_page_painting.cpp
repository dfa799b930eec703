// SPDX-License-Identifier: Apache-2.0
// The canvas: only what is in sight is painted, and letters only where they can be read.
#include "tools/picture/graph_page_parts.h"

namespace quern::tools {

const std::string_view graph_page_painting = R"js(
const $ = id => document.getElementById(id), canvas = $('canvas'), pen = canvas.getContext('2d');
const dark = matchMedia('(prefers-color-scheme: dark)');
const digits = (v, n) => v.toLocaleString('en', {maximumFractionDigits: n, minimumFractionDigits: n});
const si = (v, unit) => { let i = 0; while (v >= 1000 && i < 4) { v /= 1000; ++i; } return digits(v, i && v < 100 ? 1 : 0) + ' ' + ['', 'k', 'M', 'G', 'T'][i] + unit; };
const time = ms => ms >= 1 ? digits(ms, 2) + ' ms' : digits(ms * 1000, 1) + ' us';
const hues = [214, 268, 152, 42, 322, 4, 188, 0];

const measures = {
  ms: {name: 'time', text: time}, flops: {name: 'FLOP', text: v => si(v, 'FLOP')},
  bytes: {name: 'bytes read and written', text: v => si(v, 'B')}, live: {name: 'memory in use', text: v => si(v, 'B')}};

let viewNumber = data.first || 0, placed = null, colours = null, colourBy = 'family', most = 0;
let scale = 1, left = 0, top_ = 0;  // of the picture: screen = picture * scale + (left, top)
let chosen = null, marked = new Set(), pending = false;

function readColours() {
  const style = getComputedStyle(document.documentElement), of = name => style.getPropertyValue(name).trim();
  colours = {page: of('--page'), card: of('--card'), ink: of('--ink'), soft: of('--soft'), line: of('--line'), accent: of('--accent'), mark: of('--mark'),
    wire: dark.matches ? '#565d66' : '#b3b8bf', edge: dark.matches ? '#444a52' : '#c9cdd2'};
}
const fill = family => dark.matches ? `hsl(${hues[family]} ${family === 7 ? 0 : 26}% 21%)` : `hsl(${hues[family]} ${family === 7 ? 0 : 58}% 94%)`;
const strong = family => dark.matches ? `hsl(${hues[family]} ${family === 7 ? 0 : 48}% 58%)` : `hsl(${hues[family]} ${family === 7 ? 0 : 48}% 50%)`;
// From little to much: the lightness changes most, so that it is read without its hue, too.
const heat = share => dark.matches ? `hsl(${28 - 14 * share} ${30 + 55 * share}% ${18 + 38 * share}%)` : `hsl(${36 - 22 * share} ${60 + 30 * share}% ${96 - 46 * share}%)`;
const shareOf = thing => { const v = thing[colourBy] || 0; return most ? Math.sqrt(v / most) : 0; };

const shortened = new Map();
function fit(text, width, font) {
  const key = font + width + text;
  let short = shortened.get(key);
  if (short !== undefined) return short;
  pen.font = font;
  short = text;
  if (pen.measureText(text).width > width) {
    let low = 0, high = text.length;
    while (low < high) { const mid = (low + high + 1) >> 1; if (pen.measureText(text.slice(0, mid) + '…').width <= width) low = mid; else high = mid - 1; }
    short = text.slice(0, low) + '…';
  }
  if (shortened.size > 50000) shortened.clear();
  shortened.set(key, short);
  return short;
}
const FACE = ' system-ui, sans-serif';
const lastPart = name => { const cut = name.replace(/\/+$/, ''); return cut.slice(cut.lastIndexOf('/') + 1); };

function round(x, y, w, h, r) { pen.beginPath(); pen.roundRect(x, y, w, h, r); }

function paintLine(line, in_) {
  if (line.low > in_.right || line.high < in_.left || line.top > in_.bottom || line.end < in_.top) return;
  const p = line.points, touched = chosen && (line.from === chosen || line.to.includes(chosen));
  if (touched) { pen.strokeStyle = colours.accent; pen.lineWidth = 1.8; }
  pen.beginPath();
  for (let i = 0; i < p.length; i += 4) {
    const x0 = p[i], y0 = p[i + 1], x1 = p[i + 2], y1 = p[i + 3];
    if (Math.max(y0, y1) < in_.top || Math.min(y0, y1) > in_.bottom) continue;
    pen.moveTo(x0, y0);
    if (Math.abs(x0 - x1) < .5) pen.lineTo(x1, y1);
    else { const bend = y1 > y0 ? (y1 - y0) / 2 : 40; pen.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1); }
  }
  pen.stroke();
  if (touched) { pen.strokeStyle = colours.wire; pen.lineWidth = 1.1; }
  if (scale < .45) return;
  pen.fillStyle = touched ? colours.accent : colours.wire;
  for (const box of line.to) {  // arrowheads
    if (box.y < in_.top || box.y > in_.bottom + 20) continue;
    pen.beginPath();
    pen.moveTo(box.cx, box.y);
    pen.lineTo(box.cx - 3.5, box.y - 6);
    pen.lineTo(box.cx + 3.5, box.y - 6);
    pen.fill();
  }
  for (const i of line.tags) { pen.beginPath(); pen.arc(p[i], p[i + 1], 3, 0, 7); pen.fill(); }
}

// Types stand beside the beginning of their wires, at most two below a box.
function paintTypes(in_) {
  pen.font = '10px' + FACE;
  pen.fillStyle = colours.soft;
  pen.textAlign = 'left';
  pen.strokeStyle = colours.page;
  pen.lineWidth = 3;
  const told = new Map();
  for (const line of placed.lines) {
    const box = line.from, y = box.y + box.h + 12;
    if (!line.text || y < in_.top || y > in_.bottom + 20 || box.cx > in_.right || box.cx + WIDE < in_.left) continue;
    const count = told.get(box) || 0;
    told.set(box, count + 1);
    if (count > 1) continue;
    const text = fit(line.text, WIDE, '10px' + FACE);
    pen.strokeText(text, box.cx + 6, y + 11 * count);  // wires do not run through it
    pen.fillText(text, box.cx + 6, y + 11 * count);
  }
}

function paintBox(box, in_) {
  if (box.x > in_.right || box.x + box.w < in_.left || box.y > in_.bottom || box.y + box.h < in_.top) return;
  const n = box.node, thing = n || box.group, isEnd = n && n.kind;
  const byHeat = colourBy !== 'family', share = byHeat ? shareOf(thing) : 0;
  const family = n ? n.family ?? 7 : 7, radius = isEnd ? HIGH / 2 : 5;
  if (!n) { pen.fillStyle = colours.edge; round(box.x + 3, box.y + 3, box.w, box.h, radius); pen.fill(); }
  pen.fillStyle = isEnd || box.inner.length ? colours.card : byHeat ? heat(share) : n ? fill(family) : colours.card;
  const plain = scale < .3;
  if (plain && !byHeat && n && !isEnd && !box.inner.length) pen.fillStyle = strong(family);
  if (plain) pen.fillRect(box.x, box.y, box.w, box.h); else { round(box.x, box.y, box.w, box.h, radius); pen.fill(); }
  const isMarked = marked.has(thing);
  if (box === chosen || isMarked || !plain) {
    pen.strokeStyle = box === chosen ? colours.accent : isMarked ? colours.mark : byHeat || isEnd || !n ? colours.edge : strong(family);
    pen.lineWidth = box === chosen || isMarked ? Math.max(2.5, 1.5 / scale) : .8;
    pen.stroke();
  }
  if (plain || scale < .4) return;
  if (n && !isEnd && byHeat) { pen.fillStyle = strong(family); pen.fillRect(box.x, box.y + 6, 3, HIGH - 12); }
  paintTexts(box, byHeat && share > .62 && !dark.matches ? '#fff' : null);
}

function paintTexts(box, ink) {
  const n = box.node, isOpen = box.inner.length > 0, cx = isOpen ? box.x + INNER : box.cx, room = WIDE - 16;
  pen.textAlign = isOpen ? 'left' : 'center';
  pen.fillStyle = ink || colours.ink;
  const title = n ? n.kind ? n.name || n.op : n.op : '▸ ' + box.group.name, bold = '600 12px' + FACE;
  const under = n ? n.kind ? n.op : lastPart(n.name || '') : box.group.size + ' nodes';
  pen.font = bold;
  pen.fillText(fit(title, room, bold), cx, box.y + (under ? 16 : 23));
  pen.fillStyle = ink || colours.soft;
  pen.font = '10.5px' + FACE;
  if (under) pen.fillText(fit(colourBy !== 'family' && (n || box.group)[colourBy] ? measures[colourBy].text((n || box.group)[colourBy]) : under, room, '10.5px' + FACE), cx, box.y + 30);
  if (!n) return;
  const state = folding[viewNumber];
  if (n.posts && state.posts) {
    pen.fillStyle = colours.edge;
    pen.fillRect(box.x + 8, box.y + HIGH - .5, WIDE - 16, .8);
    pen.fillStyle = ink || colours.soft;
    n.posts.forEach((post, i) => pen.fillText(fit(post, room, '10.5px' + FACE), cx, box.y + HIGH + POST * i + 12));
  } else if (n.posts) {
    pen.textAlign = 'right';
    pen.fillText('+' + n.posts.length, box.x + WIDE - 6, box.y + 12);
  }
  if (n.bodies && !box.inner.length) { pen.textAlign = 'right'; pen.fillText('▸', box.x + WIDE - 6, box.y + HIGH - 6); }
  pen.textAlign = 'left';
  for (const {title, x} of box.inner) pen.fillText(title, box.x + x, box.y + box.top + 14);
}

function paint() {
  pending = false;
  const dots = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  if (canvas.width !== Math.round(w * dots) || canvas.height !== Math.round(h * dots)) { canvas.width = Math.round(w * dots); canvas.height = Math.round(h * dots); }
  pen.setTransform(dots, 0, 0, dots, 0, 0);
  pen.fillStyle = colours.page;
  pen.fillRect(0, 0, w, h);
  pen.translate(left, top_);
  pen.scale(scale, scale);
  const in_ = {left: -left / scale, top: -top_ / scale, right: (w - left) / scale, bottom: (h - top_) / scale};
  const wide = placed.boxes.filter(b => b.inner.length);
  for (const box of wide) paintBox(box, in_);
  pen.strokeStyle = colours.wire;
  pen.lineWidth = scale < .3 ? .6 / scale : 1.1;
  for (const line of placed.lines) paintLine(line, in_);
  if (scale > .6) paintTypes(in_);
  for (const box of placed.boxes) if (!box.inner.length) paintBox(box, in_);
  paintMap(w, h);
}
function repaint() { if (!pending) { pending = true; requestAnimationFrame(paint); } }

// The whole picture at the right edge, where it does not fit into the window.
let map = null;
function paintMap(w, h) {
  map = null;
  if (placed.h * scale < h * 1.5 && placed.w * scale < w * 1.5) return;
  const room = Math.min(w * .1, 110), small = Math.min(room / placed.w, (h - 70) / placed.h);
  const mw = Math.max(placed.w * small, 6), mh = placed.h * small, x = w - mw - 10, y = 10;
  const dots = window.devicePixelRatio || 1;
  pen.setTransform(dots, 0, 0, dots, 0, 0);
  pen.fillStyle = colours.card;
  pen.strokeStyle = colours.line;
  pen.lineWidth = 1;
  round(x - 4, y - 4, mw + 8, mh + 8, 4);
  pen.fill();
  pen.stroke();
  for (const box of placed.boxes) {
    if (box.inner.length) continue;  // what is in it is drawn
    pen.fillStyle = colourBy === 'family' ? strong(box.node ? box.node.family ?? 7 : 7) : heat(shareOf(box.node || box.group));
    pen.fillRect(x + box.x * small, y + box.y * small, Math.max(box.w * small, 1), Math.max(box.h * small, .6));
  }
  pen.strokeStyle = colours.accent;
  pen.lineWidth = 1.5;
  const vx = Math.max(x - left / scale * small, x - 4), vy = Math.max(y - top_ / scale * small, y - 4);
  pen.strokeRect(vx, vy, Math.min(w / scale * small, x + mw + 4 - vx), Math.min(h / scale * small, y + mh + 4 - vy));
  map = {x, y, w: mw, h: mh, small};
}
)js";

}  // namespace quern::tools
