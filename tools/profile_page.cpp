// SPDX-License-Identifier: Apache-2.0
// The HTML page of a profile: data as JSON, drawn by a script in the page.
#include "engine/vocabulary/text_util.h"
#include "tools/console.h"
#include "tools/profile_data.h"

namespace quern::tools {
namespace {

constexpr std::string_view head = R"html(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<style>
:root { color-scheme: light dark; --line: #8884; --accent: #b5541c; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 1.5rem auto; max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.05rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .15rem .5rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { cursor: pointer; user-select: none; position: sticky; top: 0; background: Canvas; }
td.text, th.text { text-align: left; max-width: 22rem; overflow: hidden; text-overflow: ellipsis; }
tr.reference td { color: var(--accent); }
svg { width: 100%; height: auto; } svg text { font-size: 11px; fill: CanvasText; }
.grid { stroke: var(--line); } .roof { stroke: CanvasText; stroke-width: 1.5; }
circle { fill: var(--accent); fill-opacity: .45; stroke: var(--accent); }
#timeline { width: 100%; height: 112px; display: block; border: 1px solid var(--line); }
#hint { min-height: 1.5em; color: GrayText; }
</style>
)html";

constexpr std::string_view body = R"html(
<p id="total"></p>
<h2>Timeline of one run</h2>
<p>The wheel zooms, dragging moves.</p>
<canvas id="timeline"></canvas><p id="hint"></p>
<h2>Roofline</h2>
<p>A dot is a kernel, its area the share of the time. "of roof" below: how near a kernel comes to what the
arithmetic or a copy of its bytes would take at least; in a cache it may pass 100 %.</p>
)html";

constexpr std::string_view tables = R"html(
<h2>Operators</h2><table id="operators"></table>
<h2>Kernels</h2><p>A heading sorts. Coloured rows run the plainest loop of the operator.</p><table id="kernels"></table>
)html";

constexpr std::string_view script = R"html(
const text = (v, digits = 1) => v.toLocaleString('en', {maximumFractionDigits: digits, minimumFractionDigits: digits});
const time = ms => ms >= 1 ? text(ms, 2) + ' ms' : text(ms * 1000) + ' us';
const si = v => { let i = 0; while (v >= 1000 && i < 4) { v /= 1000; ++i; } return text(v, i ? 2 : 0) + ['', ' k', ' M', ' G', ' T'][i]; };
const total = data.steps.reduce((n, s) => n + s.ms, 0);
document.getElementById('total').textContent = `${data.device}, ${data.threads} thread(s): ${time(data.run_ms)} a run ` +
  `(median of ${data.runs}), ${time(total)} of it in kernels.`;

const roof = data.roof;
const roofShare = s => s.ms && roof.gflops_per_second && roof.copy_gbytes_per_second ?
  100 * Math.max(s.flops / roof.gflops_per_second, s.bytes / roof.copy_gbytes_per_second) / s.ms * 1e-6 : 0;
const numbers = [
  ['calls', s => s.calls, si], ['time', s => s.ms, time], ['share', s => 100 * s.ms / total, v => text(v) + ' %'],
  ['bytes', s => s.bytes, si], ['FLOP', s => s.flops, si],
  ['GFLOP/s', s => s.ms ? s.flops / s.ms * 1e-6 : 0, text], ['GB/s', s => s.ms ? s.bytes / s.ms * 1e-6 : 0, text],
  ['of roof', roofShare, v => v ? text(v) + ' %' : '']];
const label = (name, key) => [name, s => s[key], null];

function table(id, rows, columns) {
  const element = document.getElementById(id);
  let sorted = columns.findIndex(c => c[0] === 'time'), descending = true;
  function draw() {
    const of = columns[sorted][1];
    rows.sort((a, b) => (of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : 0) * (descending ? -1 : 1));
    element.replaceChildren();
    const head = element.insertRow();
    columns.forEach(([name, , format], i) => {
      const cell = document.createElement('th');
      cell.textContent = name + (i === sorted ? (descending ? ' ▾' : ' ▴') : '');
      if (!format) cell.className = 'text';
      cell.onclick = () => { descending = i === sorted ? !descending : !!format; sorted = i; draw(); };
      head.append(cell);
    });
    for (const row of rows) {
      const line = element.insertRow();
      if (row.implementation === 'reference') line.className = 'reference';
      for (const [, of, format] of columns) {
        const cell = line.insertCell();
        cell.textContent = format ? format(of(row)) : of(row);
        if (!format) { cell.className = 'text'; cell.title = of(row); }
      }
    }
  }
  draw();
}
table('operators', data.operators, [label('operator', 'op'), ...numbers]);
table('kernels', data.steps, [label('node', 'node'), label('operator', 'op'), ...numbers,
  label('inputs', 'shapes'), label('layouts', 'layouts'), label('kernel', 'implementation')]);

const canvas = document.getElementById('timeline'), hint = document.getElementById('hint');
const end = data.timeline.length ? data.timeline[data.timeline.length - 1][1] : 1;
let from = 0, span = end;
const lanes = [...new Set(data.timeline.map(t => t[4]))], names = ['host', 'device', 'up', 'down'];
const gutter = lanes.length > 1 ? 48 : 0;  // for their names
const timeAt = e => from + Math.max(e.offsetX - gutter, 0) / (canvas.clientWidth - gutter) * span;
const hue = op => { let h = 7; for (const c of op) h = (h * 31 + c.charCodeAt(0)) % 360; return h; };
function paint() {
  const scale = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  canvas.width = w * scale; canvas.height = h * scale;
  const g = canvas.getContext('2d');
  g.scale(scale, scale);
  g.font = '11px system-ui';
  const tall = (h - 32) / Math.max(lanes.length, 1);
  for (const [begin, stop, op, , lane] of data.timeline) {
    const y = 16 + tall * lanes.indexOf(lane);
    const scaled = (w - gutter) / span, left = gutter + (begin - from) * scaled;
    const x = Math.max(left, gutter), width = left + (stop - begin) * scaled - x;
    if (width < 0 || x > w) continue;
    g.fillStyle = `hsl(${hue(op.split('.')[0])} 55% 55%)`;
    g.fillRect(x, y, Math.max(width, .5), tall - 1);
    if (width > 40) { g.fillStyle = '#fff'; g.fillText(op, x + 4, y + tall / 2 + 4, width - 8); }
  }
  g.fillStyle = getComputedStyle(document.body).color;
  g.fillText(time(from / 1000), gutter + 2, 12);
  if (lanes.length > 1) lanes.forEach((lane, i) => g.fillText(names[lane], 2, 16 + tall * (i + .5) + 4));
  g.textAlign = 'right';
  g.fillText(time((from + span) / 1000), w - 2, 12);
}
function keep() { span = Math.min(span, end); from = Math.min(Math.max(from, 0), end - span); paint(); }
canvas.onwheel = e => {
  e.preventDefault();
  const at = timeAt(e), factor = e.deltaY > 0 ? 1.25 : 0.8;
  const share = (at - from) / span;
  span = Math.max(span * factor, 1); from = at - share * span; keep();
};
canvas.onmousemove = e => {
  if (e.buttons) { from -= e.movementX / (canvas.clientWidth - gutter) * span; keep(); }
  const at = timeAt(e);
  const row = Math.floor((e.offsetY - 16) / (canvas.clientHeight - 32) * Math.max(lanes.length, 1));
  const hit = data.timeline.find(([begin, stop, , , lane]) => begin <= at && at < stop && lane === lanes[row]);
  hint.textContent = hit ? `${hit[2]} ${hit[3]}: ${time((hit[1] - hit[0]) / 1000)}` : '';
};
window.onresize = paint;
paint();
)html";

// JSON inside of <script>: no text may close the element.
std::string for_script(const std::string& json) {
  std::string s;
  for (char c : json) s += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return s;
}

}  // namespace

std::string html_page(const Profile& profile) {
  Json data = profile_json(profile);
  Json timeline = Json::array();
  for (const Session::Timing& t : profile.timeline) {
    Json row = Json::array();
    row.push(t.begin_us);
    row.push(t.end_us);
    row.push(t.step.op);
    row.push(t.step.node);
    row.push(static_cast<int>(t.step.lane));
    timeline.push(std::move(row));
  }
  data["timeline"] = std::move(timeline);
  std::string title;
  for (char c : shown(profile.model)) title += c == '<' || c == '&' ? '?' : c;
  return cat(head, "<title>", title, "</title></head><body>\n<h1>", title, "</h1>", body,
             roofline_svg(profile), tables, "<script>\nconst data = ", for_script(data.dump()),
             ";\n", script, "</script></body></html>\n");
}

}  // namespace quern::tools
