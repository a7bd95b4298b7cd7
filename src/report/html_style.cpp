#include "report/html_style.h"

namespace shardplan {

// Neither "<" nor "&": the style stands in XML as it is.
const std::string_view kHtmlStyle = R"css(
:root {
  --page: #f6f6f8; --ground: #ffffff; --ink: #1b1b1f; --quiet: #56565f; --line: #d8d8df; --track: #ececf0;
  --accent: #1f5fa8; --good: #1d7044; --fair: #8a5a00; --bad: #b3261e;
  --blue: #2f6fb3; --green: #2e8b57; --violet: #8b6fb8; --orange: #d0801d; --red: #c0392b; --grey: #8a8a94;
  --teal: #1b8a99; --dark: #50505a;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --page: #131316; --ground: #1c1c20; --ink: #e8e8ec; --quiet: #aaaab4; --line: #3a3a42; --track: #2c2c33;
    --accent: #86b8f0; --good: #6fcf97; --fair: #e6b450; --bad: #ff8f85;
    --blue: #5a9be0; --green: #4fb07d; --violet: #ab92d6; --orange: #e59a3f; --red: #e06557; --grey: #9a9aa4;
    --teal: #3fb0bf; --dark: #b4b4be;
  }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; -webkit-text-size-adjust: 100%; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
header, main, footer { max-width: 68rem; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 1.5rem; }
footer { padding-bottom: 2rem; color: var(--quiet); font-size: 0.875rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0.2rem 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 0 0 0.75rem; }
h3 { font-size: 1rem; margin: 1rem 0 0.25rem; }
p { margin: 0.4rem 0; max-width: 46rem; }
a { color: var(--accent); }
small { color: var(--quiet); font-weight: 400; font-size: 0.875rem; }
code { font: 0.92em ui-monospace, monospace; }
.kind { color: var(--quiet); margin: 0; letter-spacing: 0.02em; }
section { background: var(--ground); border: 1px solid var(--line); border-radius: 10px; padding: 1rem 1.25rem;
  margin: 1rem 0; min-width: 0; }

/* the answer */
.verdict { display: inline-block; margin: 0 0 0.5rem; padding: 0.1rem 0.7rem; border-radius: 99px; font-weight: 600;
  border: 1.5px solid currentColor; }
.fits { color: var(--good); } .tight, .unknown { color: var(--fair); } .no { color: var(--bad); }
.plan { font-size: 1.25rem; font-weight: 600; margin: 0 0 0.2rem; overflow-wrap: anywhere; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(10.5rem, 1fr)); gap: 0.75rem;
  margin: 1rem 0; }
.figures div { border-left: 3px solid var(--line); padding-left: 0.75rem; }
.figures dt { color: var(--quiet); font-size: 0.875rem; }
.figures dd { margin: 0; }
.figures .figure { font-size: 1.5rem; font-weight: 600; line-height: 1.25; font-variant-numeric: tabular-nums; }
.figures .more { color: var(--quiet); font-size: 0.875rem; line-height: 1.35; }
.binding { border-left: 3px solid var(--accent); padding-left: 0.75rem; font-size: 1.05rem; max-width: 54rem; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: 0.2rem 1rem; margin: 0.75rem 0; }
.facts dt { color: var(--quiet); } .facts dd { margin: 0; overflow-wrap: anywhere; min-width: 0; }
.degrees { display: flex; flex-wrap: wrap; gap: 0.4rem; padding: 0; margin: 0.5rem 0; list-style: none; }
.degrees li { border: 1px solid var(--line); border-radius: 6px; padding: 0.1rem 0.55rem; }
.degrees b { font-variant-numeric: tabular-nums; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; padding: 0; margin: 0; list-style: none; }
nav { margin: 1rem 0; }

/* tables */
.scroll { overflow-x: auto; margin: 0.75rem 0; }
table { border-collapse: collapse; width: 100%; font-size: 0.9375rem; }
caption { text-align: left; color: var(--quiet); font-size: 0.875rem; padding-bottom: 0.25rem; }
th, td { text-align: left; padding: 0.3rem 0.75rem 0.3rem 0; vertical-align: top; border-top: 1px solid var(--line);
  font-weight: 400; }
thead .number { white-space: normal; }
thead th, thead td { border-top: 0; color: var(--quiet); font-size: 0.875rem; vertical-align: bottom; }
tfoot th, tfoot td { font-weight: 600; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.words { overflow-wrap: anywhere; min-width: 7rem; }
td .bar { min-width: 5rem; height: 14px; margin-top: 0.25rem; }

/* bars */
figure { margin: 0.75rem 0; }
svg.bar { display: block; width: 100%; height: 20px; }
svg text { fill: var(--quiet); font-size: 12px; }
.mark { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 3 2; }
.bar-row { display: grid; grid-template-columns: 6.5rem 1fr 5.2rem; gap: 0.6rem; align-items: center;
  margin: 3px 0; font-size: 0.875rem; }
.bar-row svg { overflow: visible; background: none; }
.bar-row .bar { background: var(--track); }
.total { font-variant-numeric: tabular-nums; white-space: nowrap; }
.legend { display: flex; flex-wrap: wrap; gap: 0.2rem 1rem; list-style: none; padding: 0; margin: 0.5rem 0;
  font-size: 0.875rem; }
.swatch { width: 12px; height: 12px; margin-right: 0.4rem; }
.memory-weights, .compute, .needed { fill: var(--blue); } .memory-gradients { fill: var(--green); }
.memory-optimizer, .again { fill: var(--violet); } .memory-activations, .communication { fill: var(--orange); }
.memory-logits, .lacking { fill: var(--red); } .memory-transient, .waiting, .excluded { fill: var(--grey); }
.memory-buffers { fill: var(--teal); } .between, .rejected { fill: var(--dark); } .feasible { fill: var(--green); }
.none { fill: none; } .faster { fill: var(--green); } .slower { fill: var(--orange); }
.spare { fill: var(--track); } .beside { fill-opacity: 0.35; }

/* drawings made for a page of their own */
.timeline { min-width: 46rem; height: auto; width: 100%; }
.drawing svg { display: block; width: 100%; min-width: 36rem; height: auto; max-height: 30rem; }

/* the machine */
.tier { border: 1.5px solid var(--line); border-radius: 8px; padding: 0.6rem 0.8rem; margin: 0.5rem 0;
  background: var(--page); }
.tier .tier { background: var(--ground); } .tier .tier .tier { background: var(--page); }
.tier-head { margin: 0; color: var(--quiet); } .tier-head b { color: var(--ink); }
.axes { list-style: none; padding: 0; margin: 0.5rem 0; display: grid; gap: 0.25rem 1.5rem;
  grid-template-columns: repeat(auto-fit, minmax(min(18rem, 100%), 1fr)); }
.axis h3 { margin: 0.25rem 0; } .axis p { font-size: 0.875rem; margin: 0.2rem 0; overflow-wrap: anywhere; }
.gauge svg.bar { height: 12px; } .gauge p { color: var(--quiet); }

/* formulas: a number that opens its card */
button { font: inherit; color: inherit; background: none; border: 0; padding: 0; margin: 0; cursor: pointer;
  user-select: text; text-align: inherit; }
.value { text-decoration: underline dotted var(--accent) 1.5px; text-underline-offset: 3px; }
.reference { color: var(--accent); text-decoration: underline; padding: 0 0.1em; }
.value:hover, .reference:hover { background: var(--track); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.card { color: var(--ink); background: var(--ground); border: 1px solid var(--line); border-radius: 10px;
  padding: 1rem 1.25rem; overflow-wrap: anywhere; }
.card:popover-open { width: min(46rem, calc(100vw - 1.5rem)); max-height: 85vh; overflow: auto; margin: auto;
  box-shadow: 0 8px 40px rgb(0 0 0 / 0.35); }
.card::backdrop { background: rgb(0 0 0 / 0.25); }
#formulas:target .card:not(:popover-open) { display: block; position: static; width: auto; margin: 0.75rem 0;
  max-height: none; }
.card h3 { margin-top: 0; } .card p { font-size: 0.9375rem; } .identifier { color: var(--quiet); }
.equation { font: 0.9375rem/1.6 ui-monospace, monospace; background: var(--page); border-radius: 6px;
  padding: 0.5rem 0.75rem; margin: 0.5rem 0; }
.equation div { padding-left: 1.2em; text-indent: -1.2em; }
.symbols { display: grid; grid-template-columns: minmax(2rem, max-content) 1fr; gap: 0.15rem 0.9rem;
  font-size: 0.9375rem; margin: 0.5rem 0; }
.symbols dt { font-family: ui-monospace, monospace; max-width: 12rem; } .symbols dd { margin: 0; min-width: 0; }
.source { color: var(--quiet); } cite { font-style: normal; }
.source-list { font-size: 0.875rem; overflow-wrap: anywhere; }
.close { border: 1px solid var(--line); border-radius: 6px; padding: 0.2rem 0.9rem; margin-top: 0.5rem; }
details { margin: 0.5rem 0; } summary { cursor: pointer; color: var(--accent); }

@media (max-width: 40rem) {
  header, main, footer { padding-left: 0.6rem; padding-right: 0.6rem; }
  section { padding: 0.8rem 0.8rem; }
  h1 { font-size: 1.35rem; }
  .figures { grid-template-columns: 1fr 1fr; }
  .bar-row { grid-template-columns: 4.6rem 1fr 4.4rem; gap: 0.4rem; font-size: 0.8125rem; }
  th, td { padding-right: 0.5rem; } td .bar { min-width: 3rem; } .words { min-width: 5.5rem; }
  .tier { padding: 0.5rem; }
  .stacked, .stacked caption, .stacked tbody, .stacked tr, .stacked th, .stacked td { display: block; }
  .stacked thead, .stacked td:empty { display: none; }
  .stacked tr { border-top: 1px solid var(--line); padding: 0.4rem 0; }
  .stacked th, .stacked td { border: 0; padding: 0.15rem 0; }
  .stacked tbody th { font-weight: 600; }
  .stacked td::before { content: attr(data-head); display: block; color: var(--quiet); font-size: 0.8125rem; }
  .card:popover-open { margin: auto 0 0; width: 100%; max-width: 100%; border-radius: 14px 14px 0 0; }
}
@media print {
  :root { --page: #ffffff; }
  body { font-size: 10pt; } header, main, footer { max-width: none; padding: 0; }
  section { border: 0; padding: 0; border-radius: 0; }
  h2, caption, .tier-head { break-after: avoid; } figure, tr, .axis { break-inside: avoid; }
  nav, .close, .hint, summary { display: none; } details::details-content { content-visibility: visible; }
  .scroll { overflow: visible; } .timeline, .drawing svg { min-width: 0; }
  .value { text-decoration: none; } .value::after { content: " [" attr(data-card) "]"; color: var(--quiet); }
  .reference { color: inherit; text-decoration: none; }
  .card { display: block; position: static; width: auto; max-width: none; margin: 0 0 0.5rem; border-width: 1px 0 0;
    border-radius: 0; padding: 0.4rem 0; font-size: 8pt; }
  .card h3 { font-size: 9pt; } .symbols dt { max-width: 6rem; } .axes { grid-template-columns: 1fr 1fr; }
  .card h3::before { content: "[" attr(data-card) "] "; }
  .card p, .equation, .symbols { font-size: 8pt; margin: 0.1rem 0; }
  .equation { padding: 0.1rem 0.3rem; } #formulas { columns: 2; column-gap: 1.5rem; }
  #formulas h2 { column-span: all; } .card { break-inside: avoid; }
  table, caption, .facts, .axis p { font-size: 8pt; } thead th { font-size: 7.5pt; } th, td { padding: 0.15rem 0.35rem 0.15rem 0; }
  ol, ul { font-size: 9pt; }
}
)css";

}  // namespace shardplan
