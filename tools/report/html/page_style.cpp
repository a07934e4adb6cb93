#include "bale/tools/report/html/page.hpp"

namespace bale::tools {

const std::string_view k_page_style = R"css(
:root {
  --page: #f6f7f9; --card: #ffffff; --line: #dfe3e8; --text: #1b1f24; --dim: #5b6570;
  --bar: #2f6fde; --bar-2: #c9d8f5; --link: #1b55b5; --good: #1a7f4b; --warn: #96600a; --bad: #c0322b;
  --good-soft: #e4f4ea; --warn-soft: #fdf1dc; --bad-soft: #fce8e6; --hole: #eceff3;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    color-scheme: dark; --page: #101316; --card: #191d22; --line: #2c333b; --text: #e8ebef; --dim: #a0aab5;
    --bar: #6ea2f5; --bar-2: #2b3f63; --link: #6ea2f5; --good: #5fce92; --warn: #edb65c; --bad: #ff8a80;
    --good-soft: #16301f; --warn-soft: #35290f; --bad-soft: #3a1b19; --hole: #242a31;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto,
  "Noto Sans", Arial, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 28px 20px 64px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 19px; margin: 40px 0 12px; }
h3, .card > h2 { font-size: 15px; margin: 0 0 8px; }
p { margin: 0 0 10px; } a { color: var(--link); }
.dim, .note { color: var(--dim); } .note { font-size: 13px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 16px; min-width: 0; }
.grid { display: grid; gap: 14px; grid-template-columns: repeat(auto-fill, minmax(min(100%, 380px), 1fr)); }
.card + .card { margin-top: 14px; } .grid > .card + .card { margin-top: 0; }
.tiles { display: grid; gap: 12px; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); margin: 20px 0; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 12px 14px; }
.tile b { display: block; font-size: 23px; line-height: 1.25; font-variant-numeric: tabular-nums; }
.tile span { color: var(--dim); font-size: 13px; }
.tile.good b { color: var(--good); } .tile.warn b { color: var(--warn); } .tile.bad b { color: var(--bad); }
ul.findings { list-style: none; margin: 0; padding: 0; display: grid; gap: 8px; }
ul.findings li { border-radius: 8px; padding: 9px 12px; border-left: 4px solid var(--line); background: var(--card); }
ul.findings li.bad { border-color: var(--bad); background: var(--bad-soft); }
ul.findings li.warn { border-color: var(--warn); background: var(--warn-soft); }
ul.findings li.good { border-color: var(--good); background: var(--good-soft); }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { text-align: left; font-weight: 600; color: var(--dim); font-size: 13px; }
th, td { padding: 4px 10px 4px 0; vertical-align: top; border-bottom: 1px solid var(--line); }
tr:last-child td { border-bottom: 0; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
th.n { white-space: normal; }
.name { overflow-wrap: anywhere; min-width: 11em; } .scroll { overflow-x: auto; }
th[scope] { color: var(--text); font-size: 14px; font-weight: 400; }
td.bar { width: 34%; padding-right: 0; vertical-align: middle; }
svg { display: block; width: 100%; height: auto; } svg text { fill: var(--dim); font-size: 11px; font-family: inherit; }
svg .bar { fill: var(--bar); } svg .bar:hover { fill: var(--text); } svg .axis { stroke: var(--line); }
svg .line { stroke: var(--bar); stroke-width: 2; fill: none; } svg .area { fill: var(--bar-2); }
svg .rest { fill: var(--hole); } td.bar svg { height: 10px; }
details { margin-top: 10px; } summary { cursor: pointer; color: var(--text); font-weight: 600; overflow-wrap: anywhere; }
.sheet { display: grid; gap: 10px; grid-template-columns: repeat(auto-fill, minmax(132px, 1fr)); margin-top: 10px; }
figure { margin: 0; min-width: 0; } figcaption { font-size: 12px; line-height: 1.35; color: var(--dim); overflow-wrap: anywhere; }
figcaption b { color: var(--text); font-weight: 600; }
figure img, figure .hole { display: block; width: 100%; height: 104px; object-fit: contain; background: var(--hole); border-radius: 6px;
  margin-bottom: 4px; }
figure .hole { display: flex; align-items: center; justify-content: center; color: var(--dim); font-size: 12px; text-align: center; }
.groups { display: grid; gap: 4px 20px; grid-template-columns: repeat(auto-fill, minmax(min(100%, 300px), 1fr)); }
.group { border-top: 1px solid var(--line); padding: 12px 0; min-width: 0; } .wide { grid-column: 1 / -1; }
.tag { display: inline-block; font-size: 12px; border-radius: 99px; padding: 1px 9px; background: var(--hole); color: var(--text); margin: 0 6px 4px 0; }
.tag.bad { background: var(--bad-soft); color: var(--bad); } .tag.warn { background: var(--warn-soft); color: var(--warn); }
code { font: 13px/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.stages { display: grid; grid-template-columns: fit-content(45%) 1fr max-content; gap: 14px 12px; align-items: center; margin-bottom: 12px; }
.stage { display: contents; } .stages > .note { grid-column: 1 / -1; margin: 0; } .stage b { overflow-wrap: anywhere; min-width: 4em; }
.stage svg { height: 20px; } .stage .n { text-align: right; font-variant-numeric: tabular-nums; }
.stage.slow b { color: var(--bad); } .stage.slow svg .bar { fill: var(--bad); }
footer { margin-top: 44px; color: var(--dim); font-size: 13px; }
@media (max-width: 560px) {
  main { padding: 18px 12px 48px; } h1 { font-size: 21px; } .tiles { grid-template-columns: repeat(2, 1fr); gap: 8px; }
  .card { padding: 12px; } .sheet { grid-template-columns: repeat(3, 1fr); gap: 8px; } figure img, figure .hole { height: 88px; }
  td.bar { width: 24%; } .name { min-width: 6em; } td.what, th.what { display: none; } th, td { padding-right: 8px; }
}
@media print {
  details > * { display: block; } details::details-content { content-visibility: visible; display: block; }
  .scroll { overflow-x: visible; } .card, figure, tr { break-inside: avoid; }
}
)css";

}  // namespace bale::tools
