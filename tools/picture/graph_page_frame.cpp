// SPDX-License-Identifier: Apache-2.0
#include "tools/picture/graph_page_parts.h"

namespace quern::tools {

const std::string_view graph_page_style = R"css(
html, body { height: 100%; } body { display: flex; flex-direction: column; font-size: 13px; overflow: hidden; }
header { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 10px; padding: 8px 12px;
  border-bottom: 1px solid var(--line); background: var(--card); }
h1 { font-size: 1.05rem; margin: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; max-width: 18rem; }
#views { display: inline-flex; } #views button { border-radius: 0; margin-left: -1px; }
#views button:first-child { border-radius: 6px 0 0 6px; } #views button:last-child { border-radius: 0 6px 6px 0; }
button[aria-pressed="true"] { background: var(--accent); border-color: var(--accent); color: var(--card); }
label { display: inline-flex; align-items: center; gap: 5px; color: var(--soft); } label select { max-width: 11rem; color: var(--ink); }
#find { position: relative; flex: 1 1 11rem; max-width: 22rem; } #search { width: 100%; }
#found { position: absolute; z-index: 3; left: 0; right: 0; top: 100%; margin: 2px 0 0; padding: 4px; list-style: none; max-height: 50vh;
  overflow: auto; background: var(--card); border: 1px solid var(--line); border-radius: 6px; box-shadow: 0 6px 20px #0003; }
#found:empty { display: none; }
#found li { padding: 4px 6px; border-radius: 4px; cursor: pointer; } #found li[aria-selected="true"] { background: var(--accent); color: var(--card); }
#found small { opacity: .75; } #found .none { cursor: default; color: var(--soft); }
#stage { position: relative; flex: 1; min-height: 0; display: flex; }
#room { position: relative; flex: 1; min-width: 0; min-height: 0; }
#canvas { position: absolute; inset: 0; display: block; width: 100%; height: 100%; touch-action: none; cursor: grab; } #canvas:active { cursor: grabbing; }
#canvas:focus-visible { outline-offset: -2px; }
#over { position: absolute; left: 10px; bottom: 10px; right: 10px; display: flex; flex-wrap: wrap; align-items: end; justify-content: space-between; gap: 8px; pointer-events: none; }
#over > * { pointer-events: auto; }
#legend { background: color-mix(in srgb, var(--card) 88%, transparent); border: 1px solid var(--line); border-radius: 6px; padding: 4px 8px;
  display: flex; flex-wrap: wrap; gap: 1px 10px; max-width: 34rem; color: var(--soft); font-size: 12px; }
#legend i { display: inline-block; width: 9px; height: 9px; border-radius: 2px; margin-right: 4px; }
#legend .ramp { width: 90px; height: 9px; border-radius: 2px; margin: 4px 6px 0; }
aside { width: 21rem; border-left: 1px solid var(--line); background: var(--card); overflow: auto; padding: 10px 14px 20px; }
aside[hidden] { display: none; }
aside h2 { margin: 0 2rem 2px 0; font-size: 1rem; } aside h3 { font-size: .75rem; text-transform: uppercase; letter-spacing: .05em; color: var(--soft); margin: 14px 0 3px; font-weight: 600; }
aside p { margin: 2px 0; } aside code { font: 12px ui-monospace, monospace; white-space: pre-wrap; }
aside #close { float: right; width: 2rem; padding: 0; }
aside dl { display: grid; grid-template-columns: auto 1fr; gap: 1px 10px; margin: 2px 0; } aside dt { color: var(--soft); } aside dd { margin: 0; font-variant-numeric: tabular-nums; }
aside ul { list-style: none; margin: 0; padding: 0; } aside li { padding: 1px 0; }
aside li button { display: block; width: 100%; text-align: left; border-color: transparent; padding: 2px 4px; min-height: 0; color: var(--accent); background: none; }
aside li button:hover { border-color: var(--line); }
.actions { display: flex; flex-wrap: wrap; gap: 6px; margin: 6px 0; }
#about { margin: 0; padding: 3px 12px; color: var(--soft); border-bottom: 1px solid var(--line); font-size: 12px; } #about:empty { display: none; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
@media (max-width: 700px) {
  header { padding: 6px 8px; gap: 5px 6px; } h1 { max-width: none; flex: 1 1 8rem; } #find { flex: 1 1 60%; }
  #stage { flex-direction: column; } aside { width: auto; max-height: 46%; border-left: 0; border-top: 1px solid var(--line); }
  #legend { font-size: 11px; max-width: calc(100% - 132px); gap: 0 7px; } #find { max-width: none; } label span { display: none; }
  label select { max-width: 8.2rem; }
}
)css";

const std::string_view graph_page_body = R"html(<header>
<h1 id="title"></h1>
<span id="views" role="group" aria-label="the graph before or after the passes"></span>
<div id="find" role="search"><input id="search" type="search" placeholder="Search ( / )" autocomplete="off" spellcheck="false"
  role="combobox" aria-label="search for nodes, operators and values" aria-expanded="false" aria-controls="found">
<ul id="found" role="listbox" aria-label="nodes found"></ul></div>
<label><span>Colour</span><select id="colour" aria-label="what colours mean"></select></label>
<label><span>Fold</span><select id="fold" aria-label="fold groups of nodes"></select></label>
<button id="posts" type="button" aria-pressed="true" title="what nodes apply to their result">Post-ops</button>
<button id="bodies" type="button" aria-pressed="false" title="bodies of If, Loop and Scan">Bodies</button>
</header>
<p id="about"></p>
<div id="stage"><div id="room">
<canvas id="canvas" tabindex="0" role="application" aria-describedby="help"></canvas>
<p id="help" class="unseen">Arrow keys move, plus and minus zoom, 0 shows all, n and p go to the next node and the one before it,
Enter folds and unfolds, slash searches, Escape closes.</p>
<div id="over"><div id="legend"></div></div></div>
<aside id="panel" aria-label="the node chosen" hidden></aside></div>
<p id="said" class="unseen" aria-live="polite"></p>
<noscript>The picture is drawn by a script in this file.</noscript>
)html";

}  // namespace quern::tools
