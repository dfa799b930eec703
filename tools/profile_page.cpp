// SPDX-License-Identifier: Apache-2.0
// The HTML page of a profile: data as JSON, drawn by a script in the page.
#include "engine/vocabulary/text_util.h"
#include "graph/memory/picture/page.h"
#include "tools/console.h"
#include "tools/profile_data.h"

namespace quern::tools {
namespace {

constexpr std::string_view profile_style = R"css(
th, td { text-align: right; padding: .15rem .5rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { position: sticky; top: 0; background: var(--card); padding: 0; }
th button { border: 0; background: none; font-weight: 600; width: 100%; text-align: inherit; padding: .15rem .5rem; }
.scroll { max-height: 80vh; }
td.text, th.text { text-align: left; max-width: 22rem; overflow: hidden; text-overflow: ellipsis; }
td:first-child, th:first-child { position: sticky; left: 0; background: var(--card); z-index: 1; max-width: 40vw; }
tr.reference td { color: var(--mark); }
svg text { font-size: 11px; fill: var(--ink); }
.grid { stroke: var(--line); } .roof { stroke: var(--ink); stroke-width: 1.5; }
circle { fill: var(--mark); fill-opacity: .45; stroke: var(--mark); }
#timeline { width: 100%; height: 112px; display: block; border: 1px solid var(--line); border-radius: 6px; background: var(--card);
  touch-action: pan-y; margin-top: 6px; }
#hint { min-height: 1.5em; margin: .2rem 0; color: var(--soft); }
)css";

constexpr std::string_view body = R"html(
<p id="total"></p>
<h2>Timeline of one run</h2>
<p class="quiet">Dragging moves, pinching, + and - zoom, and so does the wheel once the picture has the focus.</p>
<div id="zoom"></div>
<canvas id="timeline" tabindex="0" role="application" aria-label="kernels over time; arrow keys move, plus and minus zoom, 0 shows all"></canvas>
<p id="hint" aria-live="polite"></p>
<h2>Roofline</h2>
<p class="quiet">A dot is a kernel, its area the share of the time. "of roof" below: how near a kernel comes to what the
arithmetic or a copy of its bytes would take at least; in a cache it may pass 100 %.</p>
<div class="zoomed" role="region" aria-label="roofline">
)html";

constexpr std::string_view tables = R"html(</div>
<h2>Operators</h2><div class="scroll" tabindex="0" role="region" aria-label="operators"><table id="operators"></table></div>
<h2>Kernels</h2><p class="quiet">A heading sorts. Coloured rows run the plainest loop of the operator.</p>
<div class="scroll" tabindex="0" role="region" aria-label="kernels"><table id="kernels"></table></div>
)html";

constexpr std::string_view script = R"js(
const data = JSON.parse(document.getElementById('data').textContent);
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
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = name + (i === sorted ? (descending ? ' ▾' : ' ▴') : '');
      if (!format) cell.className = 'text';
      if (i === sorted) cell.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
      button.onclick = () => {
        descending = i === sorted ? !descending : !!format;
        sorted = i;
        draw();
        head.cells[i].firstChild.focus();
      };
      cell.append(button);
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
const timeAt = x => from + Math.max(x - gutter, 0) / (canvas.clientWidth - gutter) * span;
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
function tell(x, y) {
  const at = timeAt(x), row = Math.floor((y - 16) / (canvas.clientHeight - 32) * Math.max(lanes.length, 1));
  const hit = data.timeline.find(([begin, stop, , , lane]) => begin <= at && at < stop && lane === lanes[row]);
  hint.textContent = hit ? `${hit[2]} ${hit[3]}: ${time((hit[1] - hit[0]) / 1000)}` : '';
}
const moves = {
  move(dx) { from -= dx / (canvas.clientWidth - gutter) * span; keep(); },
  zoom(factor, x) {
    const at = timeAt(x), share = (at - from) / span;
    span = Math.max(span / factor, 1);
    from = at - share * span;
    keep();
  },
  reset() { from = 0; span = end; keep(); }, hover: tell, tap: tell};
gestures(canvas, moves);
zoomButtons(canvas, moves, document.getElementById('zoom'));
new ResizeObserver(paint).observe(canvas);
)js";

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
  return cat(page_begin(profile.model, profile_style), "<main>\n<h1>", html_text(profile.model),
             "</h1>", body, roofline_svg(profile), tables,
             "<script type=\"application/json\" id=\"data\">", json_in_page(data.line()),
             "</script></main>\n", page_end(script));
}

}  // namespace quern::tools
