// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/picture/page.h"

#include "engine/vocabulary/readable.h"
#include "engine/vocabulary/text_util.h"

namespace quern {
namespace {

constexpr std::string_view shared_style = R"css(
:root { color-scheme: light dark; --page: #fafaf8; --card: #fff; --ink: #1d1f23; --soft: #676d76;
  --line: #dfe1e4; --accent: #2563c9; --mark: #b5541c; }
@media (prefers-color-scheme: dark) { :root { --page: #141619; --card: #1c1f24; --ink: #e5e7ea;
  --soft: #959ca6; --line: #31353c; --accent: #7fb0ff; --mark: #e8935a; } }
* { box-sizing: border-box; } [hidden] { display: none !important; }
body { font: 14px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--page); margin: 0;
  overflow-wrap: anywhere; }
h1 { font-size: 1.25rem; margin: 0 0 .4rem; } h2 { font-size: 1rem; margin: 1.8rem 0 .4rem; }
.quiet { color: var(--soft); margin: .2rem 0 .6rem; }
button, select, input { font: inherit; color: inherit; background: var(--card);
  border: 1px solid var(--line); border-radius: 6px; padding: .25rem .55rem; min-height: 2rem; }
button { cursor: pointer; } button:hover { border-color: var(--soft); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
main { max-width: 76rem; margin: 1.2rem auto; padding: 0 1rem; }
.scroll { overflow: auto; max-width: 100%; border: 1px solid var(--line); border-radius: 6px; background: var(--card); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
.zoom { display: inline-flex; gap: 4px; } .zoom button { width: 2.25rem; padding: 0; }
.zoomed { overflow: auto; max-width: 100%; max-height: 85vh; touch-action: pan-x pan-y; margin-top: 6px;
  border: 1px solid var(--line); border-radius: 6px; background: var(--card); }
.zoomed > svg { display: block; height: auto; margin: 0 auto; }
)css";

constexpr std::string_view shared_script = R"js(
function gestures(area, act) {
  const held = new Map();
  let travelled = 0;
  const at = e => { const r = area.getBoundingClientRect(); return {x: e.clientX - r.left, y: e.clientY - r.top}; };
  const grip = () => {
    const [a, b] = [...held.values()];
    return b ? {x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, wide: Math.hypot(a.x - b.x, a.y - b.y)} : {...a, wide: 0};
  };
  area.addEventListener('pointerdown', e => {
    if (e.button) return;
    if (!held.size) travelled = 0;
    held.set(e.pointerId, at(e));
  });
  area.addEventListener('pointermove', e => {
    if (!held.has(e.pointerId)) { if (act.hover) act.hover(at(e).x, at(e).y); return; }
    const before = grip();
    held.set(e.pointerId, at(e));
    const now = grip();
    travelled += Math.hypot(now.x - before.x, now.y - before.y) + Math.abs(now.wide - before.wide);
    if (travelled < 5) return;
    area.setPointerCapture(e.pointerId);  // not before, so that a tap remains one of what is below
    act.move(now.x - before.x, now.y - before.y);
    if (before.wide && now.wide) act.zoom(now.wide / before.wide, now.x, now.y);
  });
  const release = e => {
    if (!held.delete(e.pointerId) || e.type !== 'pointerup' || held.size || travelled >= 5) return;
    if (act.tap) act.tap(at(e).x, at(e).y);
  };
  area.addEventListener('pointerup', release);
  area.addEventListener('pointercancel', release);
  area.addEventListener('pointerleave', release);
  area.addEventListener('wheel', e => {
    if (!act.fillsPage && !e.ctrlKey && document.activeElement !== area) return;
    e.preventDefault();
    const step = e.deltaY * (e.deltaMode ? 16 : 1);
    act.zoom(Math.exp(-Math.max(-200, Math.min(200, step)) / 500), at(e).x, at(e).y);
  }, {passive: false});
  area.addEventListener('keydown', e => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const far = e.shiftKey ? 300 : 60, w = area.clientWidth / 2, h = area.clientHeight / 2;
    const keys = {ArrowLeft: () => act.move(far, 0), ArrowRight: () => act.move(-far, 0),
      ArrowUp: () => act.move(0, far), ArrowDown: () => act.move(0, -far),
      '+': () => act.zoom(1.25, w, h), '=': () => act.zoom(1.25, w, h), '-': () => act.zoom(.8, w, h), '0': () => act.reset()};
    if (!keys[e.key] || e.target !== area) return;
    e.preventDefault();
    keys[e.key]();
  });
}

function zoomButtons(area, act, parent) {
  const box = document.createElement('span');
  box.className = 'zoom';
  for (const [sign, name, go] of [['+', 'zoom in', () => act.zoom(1.4, area.clientWidth / 2, area.clientHeight / 2)],
      ['−', 'zoom out', () => act.zoom(1 / 1.4, area.clientWidth / 2, area.clientHeight / 2)],
      ['⤢', 'show all', () => act.reset()]]) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = sign;
    button.title = name;
    button.setAttribute('aria-label', name);
    button.onclick = go;
    box.append(button);
  }
  parent.append(box);
  return box;
}

for (const area of document.querySelectorAll('.zoomed')) {
  let scale = 1;
  // Where there is room, all pictures of the box are seen at once.
  const least = () => {
    const shown = [...area.querySelectorAll('svg')].filter(svg => getComputedStyle(svg).display !== 'none');
    const tall = shown.reduce((sum, svg) => sum + svg.viewBox.baseVal.height / svg.viewBox.baseVal.width, 0);
    return area.clientWidth < 560 || !tall ? area.clientWidth : Math.min(area.clientWidth, innerHeight * .82 / tall);
  };
  const size = () => { for (const svg of area.querySelectorAll('svg')) svg.style.width = least() * scale + 'px'; };
  const act = {
    move(dx, dy) { area.scrollLeft -= dx; area.scrollTop -= dy; },
    zoom(factor, x, y) {
      const next = Math.max(1, Math.min(24, scale * factor)), grown = next / scale;
      const left = (area.scrollLeft + x) * grown - x, top = (area.scrollTop + y) * grown - y;
      scale = next;
      size();
      area.scrollLeft = left;
      area.scrollTop = top;
    },
    reset() { scale = 1; size(); }};
  area.tabIndex = 0;
  const bar = document.createElement('div');
  area.before(bar);
  zoomButtons(area, act, bar);
  gestures(area, act);
  size();
  if (area.clientWidth < 560) act.zoom(Number(area.dataset.small || 1.8), 0, 0);
  window.addEventListener('resize', size);
}
)js";

}  // namespace

std::string page_begin(std::string_view title, std::string_view style) {
  return cat("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">",
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>",
             html_text(title), "</title>\n<style>", shared_style, style,
             "</style></head>\n<body>\n");
}

std::string page_end(std::string_view script) {
  return cat("<script>", shared_script, script, "</script></body></html>\n");
}

std::string json_in_page(std::string_view json) {
  std::string s;
  s.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      s += "\\u003c";
    else
      s += c;
  }
  return s;
}

}  // namespace quern
