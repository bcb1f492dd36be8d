#include "export/flamegraph_page.h"

namespace stepscope::flamegraph {

const std::string_view kStyle = R"css(
svg { background: var(--paper); --paper: #fff; --ink: #222; --quiet: #666; --mark: #d9f; }
@media (prefers-color-scheme: dark) {
  svg { --paper: #1c1c1f; --ink: #ddd; --quiet: #999; --mark: #c6f; }
}
text { font: 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: var(--ink); }
.heading { font-size: 15px; }
.quiet { fill: var(--quiet); }
.f { cursor: pointer; }
.f text { fill: #1a1a1a; pointer-events: none; }
.f rect { stroke: var(--paper); stroke-width: 0.5; }
.f:hover rect { stroke: var(--ink); stroke-width: 1; }
.above rect { opacity: 0.4; }
.f.above text { fill: var(--ink); }
.c0 rect { fill: #f2a25c; } .c1 rect { fill: #f5b971; } .c2 rect { fill: #ee8d5b; }
.c3 rect { fill: #f7c66f; } .c4 rect { fill: #e8a06b; } .c5 rect { fill: #f0b27f; }
.c6 rect { fill: #e6b45e; } .c7 rect { fill: #f3997b; } .c8 rect { fill: #edc07a; }
.c9 rect { fill: #e99a4f; } .c10 rect { fill: #f6ad87; } .c11 rect { fill: #dfae73; }
.all rect { fill: #c9c9c9; }
.f.found rect { fill: var(--mark); }
.button { cursor: pointer; text-decoration: underline; }
input { width: 100%; box-sizing: border-box; font: 12px ui-monospace, monospace; padding: 2px 6px;
  color: var(--ink); background: var(--paper); border: 1px solid var(--quiet); border-radius: 3px; }
)css";

// Frames come in the file each before those below it, so that what lies under a frame follows it.
const std::string_view kScript = R"js(
(function () {
  "use strict";
  var svg = document.documentElement;
  var full = +svg.getAttribute("data-width"), margin = +svg.getAttribute("data-margin");
  var letter = +svg.getAttribute("data-letter");
  var span = full - 2 * margin;
  var frames = Array.prototype.map.call(document.querySelectorAll(".f"), function (g) {
    var rect = g.querySelector("rect"), tip = g.querySelector("title").textContent;
    var cut = tip.lastIndexOf("\n");
    return { g: g, rect: rect, text: g.querySelector("text"), name: tip.slice(0, cut),
      figures: tip.slice(cut + 1), x: +rect.getAttribute("x") - margin,
      width: +rect.getAttribute("width"), y: +rect.getAttribute("y") };
  });
  var details = document.getElementById("details"), reset = document.getElementById("reset");
  var box = document.getElementById("search"), matched = document.getElementById("matched");

  function show_text(frame, x, width) {
    var letters = Math.floor((width - 6) / letter);
    if (letters < 3) {
      if (frame.text) frame.text.textContent = "";
      return;
    }
    if (!frame.text) {
      frame.text = document.createElementNS("http://www.w3.org/2000/svg", "text");
      frame.text.setAttribute("y", frame.y + 12.5);
      frame.g.appendChild(frame.text);
    }
    frame.text.setAttribute("x", Math.max(x, margin) + 3);
    frame.text.textContent =
      frame.name.length <= letters ? frame.name : frame.name.slice(0, letters - 1) + "\u2026";
  }

  // Stretches [from, from + width) of the whole over the picture.
  function show(from, width, level) {
    var scale = span / width, slack = 1e-6 * span;
    frames.forEach(function (frame) {
      var left = (frame.x - from) * scale, right = left + frame.width * scale;
      if (right <= slack || left >= span - slack) {
        frame.g.style.display = "none";
        return;
      }
      frame.g.style.display = "";
      frame.g.classList.toggle("above", frame.y < level);
      left = Math.max(left, 0);
      right = Math.min(right, span);
      frame.rect.setAttribute("x", margin + left);
      frame.rect.setAttribute("width", right - left);
      show_text(frame, margin + left, right - left);
    });
    reset.style.display = width < span ? "" : "none";
  }

  function show_all() { show(0, span, -1); }

  function tester(text) {
    try {
      var expression = new RegExp(text, "i");
      return function (name) { return expression.test(name); };
    } catch (bad) {
      text = text.toLowerCase();
      return function (name) { return name.toLowerCase().indexOf(text) >= 0; };
    }
  }

  function search(text) {
    var test = text && tester(text), sum = 0, count = 0, covered = -1;
    frames.forEach(function (frame) {
      var is_found = Boolean(test) && !frame.g.classList.contains("all") && test(frame.name);
      frame.g.classList.toggle("found", is_found);
      if (!is_found) return;
      ++count;
      if (frame.x < covered - 1e-9) return;  // under one that counts already
      sum += frame.width;
      covered = frame.x + frame.width;
    });
    matched.textContent =
      test ? count + " found, " + (100 * sum / span).toFixed(1) + "% of the whole" : "";
  }

  frames.forEach(function (frame) {
    frame.g.addEventListener("click", function () { show(frame.x, frame.width, frame.y); });
    frame.g.addEventListener("mouseenter", function () {
      details.textContent = frame.name + "  " + frame.figures;
    });
    frame.g.addEventListener("mouseleave", function () { details.textContent = ""; });
  });
  reset.addEventListener("click", show_all);
  box.parentNode.style.display = "";
  box.addEventListener("input", function () { search(box.value); });
  window.addEventListener("keydown", function (event) {
    if (event.key === "Escape") {
      box.value = "";
      search("");
      show_all();
    } else if (event.target !== box && (event.key === "/" ||
               (event.key === "f" && (event.ctrlKey || event.metaKey)))) {
      event.preventDefault();
      box.focus();
    }
  });
})();
)js";

}  // namespace stepscope::flamegraph
