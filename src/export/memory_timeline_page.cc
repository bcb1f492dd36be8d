#include "export/memory_timeline_page.h"

namespace stepscope::memory_page {

// Colours go by the number of the category, and are told apart by readers who see few of them.
const std::string_view kStyle = R"css(
:root { color-scheme: light dark; --paper: #fff; --ink: #222; --quiet: #666; --line: #ddd; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #1c1c1f; --ink: #ddd; --quiet: #999; --line: #3a3a40; }
}
body { background: var(--paper); color: var(--ink); margin: 16px auto; max-width: 1000px;
  padding: 0 12px; font: 13px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
h1 { font-size: 16px; } h2 { font-size: 14px; margin: 24px 0 4px; }
p { margin: 4px 0; } .quiet { color: var(--quiet); }
svg { width: 100%; height: auto; display: block; }
svg text { font: 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  fill: var(--quiet); }
.grid { stroke: var(--line); stroke-width: 1; fill: none; }
.peak { stroke: var(--ink); stroke-width: 1; stroke-dasharray: 4 3; fill: none; }
.at { stroke: var(--ink); stroke-width: 1; fill: none; visibility: hidden; }
table { border-collapse: collapse; } td, th { padding: 1px 14px 1px 0; text-align: right; }
td:nth-child(1), th:nth-child(1) { text-align: left; } th { font-weight: normal; }
.swatch { display: inline-block; width: 11px; height: 11px; margin-right: 6px; }
.c0 { fill: #4477aa; background: #4477aa; } .c1 { fill: #ccbb44; background: #ccbb44; }
.c2 { fill: #228833; background: #228833; } .c3 { fill: #aa3377; background: #aa3377; }
.c4 { fill: #ee6677; background: #ee6677; } .c5 { fill: #66ccee; background: #66ccee; }
.c6 { fill: #b39ddb; background: #b39ddb; } .c7 { fill: #999999; background: #999999; }
)css";

// A section holds its data as {"begin", "end", "time": [ns…], "bytes": [[by category]…]}.
const std::string_view kScript = R"js(
(function () {
  "use strict";
  function text_of_bytes(bytes) {
    var units = ["B", "KiB", "MiB", "GiB", "TiB"], unit = 0;
    while (bytes >= 1024 && unit < 4) { bytes /= 1024; ++unit; }
    return (unit ? bytes.toPrecision(bytes < 1000 ? 3 : 4) : bytes) + " " + units[unit];
  }
  function text_of_ns(ns) {
    if (ns < 1e3) return ns + " ns";
    if (ns < 1e6) return (ns / 1e3).toPrecision(4) + " us";
    if (ns < 1e9) return (ns / 1e6).toPrecision(4) + " ms";
    return (ns / 1e9).toFixed(3) + " s";
  }
  Array.prototype.forEach.call(document.querySelectorAll("section"), function (section) {
    var svg = section.querySelector("svg"), line = section.querySelector(".at");
    var data = JSON.parse(section.querySelector(".data").textContent);
    var left = +svg.getAttribute("data-left"), width = +svg.getAttribute("data-width");
    var when = section.querySelector(".when"), sum = section.querySelector(".sum");
    var cells = section.querySelectorAll("[data-category]");
    var shown_at_first = [when.textContent, sum.textContent];
    var cells_at_first = Array.prototype.map.call(cells, function (row) {
      return [row.cells[1].textContent, row.cells[2].textContent];
    });

    function find(ns) {
      var low = 0, high = data.time.length;
      while (low < high) {
        var middle = (low + high) >> 1;
        if (data.time[middle] > ns) high = middle; else low = middle + 1;
      }
      return low - 1;
    }

    svg.addEventListener("mousemove", function (event) {
      var box = svg.getBoundingClientRect();
      var x = (event.clientX - box.left) * svg.viewBox.baseVal.width / box.width - left;
      if (x < 0 || x > width) return;
      var ns = data.begin + (data.end - data.begin) * x / width, at = find(ns);
      var bytes = at < 0 ? null : data.bytes[at], total = 0;
      if (bytes) bytes.forEach(function (part) { total += part; });
      when.textContent = "at " + text_of_ns(Math.round(ns));
      sum.textContent = text_of_bytes(total);
      Array.prototype.forEach.call(cells, function (row) {
        var part = bytes ? bytes[+row.getAttribute("data-category")] : 0;
        row.cells[1].textContent = text_of_bytes(part);
        row.cells[2].textContent = (total > 0 ? 100 * part / total : 0).toFixed(1) + "%";
      });
      line.setAttribute("x1", left + x);
      line.setAttribute("x2", left + x);
      line.style.visibility = "visible";
    });
    svg.addEventListener("mouseleave", function () {
      when.textContent = shown_at_first[0];
      sum.textContent = shown_at_first[1];
      Array.prototype.forEach.call(cells, function (row, i) {
        row.cells[1].textContent = cells_at_first[i][0];
        row.cells[2].textContent = cells_at_first[i][1];
      });
      line.style.visibility = "hidden";
    });
  });
})();
)js";

}  // namespace stepscope::memory_page
