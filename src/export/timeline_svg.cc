#include "export/timeline_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/saturating.h"
#include "export/duration_text.h"
#include "export/name_colour.h"
#include "export/output_file.h"
#include "export/stack_export.h"
#include "export/svg_axis.h"
#include "export/timeline_layout.h"
#include "export/utf8_text.h"
#include "trace/function_name.h"
#include "trace/sampled_calls.h"
#include "trace/track_title.h"

namespace stepscope {
namespace {

// Of the picture, in px.
constexpr int kWidth = 1440;
constexpr int kMargin = 12;
constexpr int kNames = 218;  // where tracks begin
constexpr int kPlot = kWidth - kNames - kMargin;
constexpr int kAxis = 70;  // top of the axis
constexpr int kTop = 94;   // of the first track
constexpr int kLevel = 15;
constexpr int kCurve = 44;
constexpr int kGap = 7;
constexpr int kProcess = 24;
constexpr double kLetter = 6.65;
constexpr int kColours = 12;
constexpr size_t kMaxStepMarks = 200;

constexpr std::string_view kStyle = R"css(
svg { background: var(--paper); --paper: #fff; --ink: #222; --quiet: #666; --line: #e4e4e8;
  --band: #f3f5fa; --curve: #3b7dd8; }
@media (prefers-color-scheme: dark) {
  svg { --paper: #1c1c1f; --ink: #ddd; --quiet: #999; --line: #34343a; --band: #24262d;
    --curve: #6ea8f5; }
}
text { font: 11px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: var(--ink); }
.heading { font-size: 15px; }
.process { font-weight: bold; }
.quiet { fill: var(--quiet); }
.end { text-anchor: end; }
.line { stroke: var(--line); }
.step { stroke: var(--quiet); stroke-dasharray: 2 3; }
.band { fill: var(--band); }
.in { fill: #1a1a1a; pointer-events: none; }
.b { stroke: var(--paper); stroke-width: 0.4; }
.b:hover { stroke: var(--ink); stroke-width: 1.2; }
.n { stroke: none; }
.m { opacity: 0.7; }
.c0 { fill: #f2a25c; } .c1 { fill: #8fb8de; } .c2 { fill: #a5cf8f; } .c3 { fill: #e8a0b4; }
.c4 { fill: #c3b1e6; } .c5 { fill: #f0cd6b; } .c6 { fill: #7fcac3; } .c7 { fill: #deb08c; }
.c8 { fill: #9fb4f0; } .c9 { fill: #d0d07a; } .c10 { fill: #f09f8a; } .c11 { fill: #9fd8b5; }
.curve { fill: var(--curve); fill-opacity: 0.25; stroke: var(--curve); stroke-width: 1; }
)css";

std::string process_title(const Trace& trace, const Process& process) {
  std::string title(trace.string(process.name));
  const std::string pid = trace.id_text(process.pid);
  if (title != pid) title += (title.empty() ? "process " : " ") + pid;
  if (process.labels != kEmptyString) {
    title.append(", ").append(trace.string(process.labels));
  }
  return title;
}

std::string value_text(double value) {
  const double size = std::fabs(value);
  if (size >= 1e12) return fmt::format("{:.3g}T", value / 1e12);
  if (size >= 1e9) return fmt::format("{:.3g}G", value / 1e9);
  if (size >= 1e6) return fmt::format("{:.3g}M", value / 1e6);
  if (size >= 1e4) return fmt::format("{:.3g}k", value / 1e3);
  return fmt::format("{:.4g}", value);
}

class TimelineWriter {
 public:
  TimelineWriter(const Trace& trace, const TimelineLayout& layout, WeightUnit unit, OutputFile& out)
      : trace_(trace), layout_(layout), unit_(unit), out_(out) {}

  void write() {
    const int bottom = height_of_tracks();
    const std::vector<std::string> left_out = this->left_out();
    const int height = bottom + 22 + 15 * static_cast<int>(left_out.size());
    text_ += fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\">\n<style>{2}</style>\n",
        kWidth, height, kStyle);
    write_heading();
    write_steps(bottom);
    write_axis(bottom);
    write_tracks();
    int y = bottom + 20;
    for (const std::string& what : left_out) {
      write_text("quiet", kMargin, y, "left out: " + what, SIZE_MAX);
      y += 15;
    }
    text_ += "</svg>\n";
    flush();
  }

  // What the picture does not show as it is; it says so too.
  std::vector<std::string> left_out() const {
    std::vector<std::string> left_out;
    if (layout_.merged_slices > 0) {
      left_out.push_back(
          fmt::format("the times of {} slices shorter than {}: they are {} paler boxes",
                      layout_.merged_slices, text_of(layout_.bucket_ns), layout_.merged_boxes));
    }
    if (layout_.too_deep > 0) {
      left_out.push_back(
          fmt::format("{} slices deeper than {} levels", layout_.too_deep, layout_.max_levels));
    }
    if (layout_.left_out_tracks > 0) {
      left_out.push_back(fmt::format("{} tracks with fewer events", layout_.left_out_tracks));
    }
    return left_out;
  }

 private:
  static constexpr size_t kFlushBytes = 256 << 10;

  // Samples may have been counted in anything.
  std::string text_of(int64_t amount) const {
    if (unit_ == WeightUnit::kNs) return duration_text(amount);
    return fmt::format("{}{}", amount, unit_ == WeightUnit::kBytes ? " bytes" : "");
  }

  // In px from the picture's left.
  double x_of(int64_t time_ns) const {
    const double from_begin_ns =
        static_cast<double>(time_ns) - static_cast<double>(layout_.begin_ns);
    return kNames +
           kPlot * std::clamp(from_begin_ns / static_cast<double>(layout_.span_ns), 0., 1.);
  }

  bool begins_process(size_t at) const {
    const auto process_at = [&](size_t i) {
      return trace_.tracks()[index(layout_.tracks[i].track)].process;
    };
    return at == 0 || process_at(at) != process_at(at - 1);
  }

  static int height_of(const TimelineTrack& track) {
    if (track.levels == 0) return track.is_flat ? kLevel : kCurve;
    return track.levels * kLevel;
  }

  int height_of_tracks() const {
    int y = kTop;
    for (size_t i = 0; i < layout_.tracks.size(); ++i) {
      y += (begins_process(i) ? kProcess : 0) + height_of(layout_.tracks[i]) + kGap;
    }
    return y;
  }

  void write_text(std::string_view kind, double x, double y, std::string_view text,
                  size_t characters) {
    text_ += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">", kind, x, y);
    const bool fits = beginning(text, characters).size() == text.size();
    append_xml(text_, fits ? text : beginning(text, characters - 1));
    text_ += fits ? "</text>\n" : "…</text>\n";
  }

  void write_line(std::string_view kind, double x, int top, int bottom) {
    text_ += fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{}\" x2=\"{:.1f}\" y2=\"{}\"/>\n",
                         kind, x, top, x, bottom);
  }

  void write_heading() {
    const std::string_view source = trace_.source();
    write_text("heading", kMargin, 26, source.substr(source.rfind('/') + 1), 100);
    write_text("quiet", kMargin, 44,
               fmt::format("{}, {} slices, {} tracks", text_of(layout_.span_ns),
                           trace_.slices().size(), layout_.tracks.size()),
               SIZE_MAX);
  }

  // Every second step has a band behind it, as far as they can be told apart.
  void write_steps(int bottom) {
    const std::vector<SliceId>& steps = layout_.steps;
    if (steps.empty() || steps.size() > kMaxStepMarks) return;
    const SliceColumns& slices = trace_.slices();
    double free_x = 0;  // where the next name may begin
    for (size_t i = 0; i < steps.size(); ++i) {
      const uint32_t row = index(steps[i]);
      const double x = x_of(slices.start_ns[row]), end_x = x_of(slices.end_ns(row));
      if (i % 2 == 0) {
        text_ += fmt::format(
            "<rect class=\"band\" x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\"/>\n", x,
            kAxis + 4, std::max(0.5, end_x - x), bottom - kAxis - 4);
      }
      write_line("step", x, kAxis + 4, bottom);
      const std::string_view name = trace_.slice_name(steps[i]);
      const size_t room = static_cast<size_t>(std::max(0.0, (end_x - x - 4) / kLetter));
      if (x < free_x || room < 3) continue;
      // The number tells more than the word before it.
      const size_t number = name.find_last_not_of("0123456789") + 1;
      const bool is_cut = beginning(name, room).size() < name.size();
      const std::string shown = is_cut && number < name.size()
                                    ? "#" + std::string(name.substr(number))
                                    : std::string(name);
      write_text("quiet", x + 3, kAxis + 16, shown, room);
      free_x = x + 3 + kLetter * static_cast<double>(std::min(shown.size(), room));
    }
  }

  void write_axis(int bottom) {
    constexpr int64_t kMarks = 10;
    const int64_t distance_ns = round_distance(std::max<int64_t>(1, layout_.span_ns / kMarks));
    for (int64_t at_ns = 0; at_ns <= layout_.span_ns; at_ns += distance_ns) {
      const double x = x_of(add_saturating(layout_.begin_ns, at_ns));
      write_line("line", x, kAxis, bottom);
      const bool is_near_end = x > kWidth - 60;
      write_text(is_near_end ? "quiet end" : "quiet", is_near_end ? kWidth - kMargin : x, kAxis - 4,
                 unit_ == WeightUnit::kNs ? axis_text(at_ns, distance_ns) : text_of(at_ns),
                 SIZE_MAX);
      if (at_ns > INT64_MAX - distance_ns) break;
    }
  }

  void write_tracks() {
    int y = kTop;
    for (size_t i = 0; i < layout_.tracks.size() && out_.ok(); ++i) {
      const TimelineTrack& shown = layout_.tracks[i];
      const Track& track = trace_.tracks()[index(shown.track)];
      if (begins_process(i)) {
        write_text("process", kMargin, y + 15,
                   process_title(trace_, trace_.processes()[track.process]), 180);
        y += kProcess;
      }
      const std::string title = track_name(trace_, shown.track);
      text_ += "<g><title>";
      append_xml(text_, title);
      text_ += "</title>\n";
      write_text("quiet", kMargin + 8, y + 11, title,
                 static_cast<size_t>((kNames - kMargin - 16) / kLetter));
      text_ += "</g>\n";
      if (shown.levels == 0) {
        write_curve(track, title, y, height_of(shown));
      } else {
        for (const TimelineBox& box : shown.boxes) {
          write_box(box, y);
          if (text_.size() > kFlushBytes) flush();
        }
      }
      y += height_of(shown) + kGap;
    }
  }

  void write_box(const TimelineBox& box, int top) {
    const double x = x_of(box.begin_ns);
    const double width = std::max(0.8, x_of(box.end_ns) - x);
    const int y = top + box.depth * kLevel;
    const std::string_view name = trace_.slice_name(box.slice);
    const int64_t dur_ns = trace_.slices().dur_ns[index(box.slice)];
    text_ += fmt::format(
        "<rect class=\"b c{}{}{}\" x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\"><title>",
        colour_of_name(name, kColours), box.count > 1 ? " m" : "", width < 2.5 ? " n" : "", x, y,
        width, kLevel - 1);
    if (box.count > 1) text_ += fmt::format("{} slices, the longest:&#10;", box.count);
    append_xml(text_, beginning(name, 300));
    text_ += fmt::format(
        "&#10;{} at {}</title></rect>\n", text_of(dur_ns),
        text_of(subtract_saturating(trace_.slices().start_ns[index(box.slice)], layout_.begin_ns)));
    const double letters = (width - 4) / kLetter;
    if (letters < 3 || box.count > 1) return;
    write_text("in", x + 2, y + 11, parse_function_name(name).name, static_cast<size_t>(letters));
  }

  struct Range {
    double least = 0;
    double most = 0;
  };

  // From 0 on, unless there are values below it.
  Range range_of(const Track& track) const {
    Range range;
    for (uint64_t i = track.first_value; i < track.first_value + track.value_count; ++i) {
      const double value = trace_.counters().value[i];
      if (!std::isfinite(value)) continue;
      range.least = std::min(range.least, value);
      range.most = std::max(range.most, value);
    }
    return range;
  }

  // A value holds until the next one; within a pixel all from the least to the most is one line.
  void write_curve(const Track& track, std::string_view title, int top, int height) {
    const CounterColumns& counters = trace_.counters();
    const Range range = range_of(track);
    const double scale = range.most / 2 - range.least / 2;  // halves: the range may overflow
    const auto y_of = [&](double value) {
      const double part = scale > 0 ? (value / 2 - range.least / 2) / scale : 0;
      return top + height - 1 - (height - 2) * std::clamp(part, 0.0, 1.0);
    };
    std::string path;
    double last_x = 0, last_y = 0;
    uint64_t i = track.first_value;
    const uint64_t end = track.first_value + track.value_count;
    while (i < end) {
      const double x = std::floor(x_of(counters.time_ns[i]));
      double low_y = -1, high_y = -1, y = -1;
      for (; i < end && std::floor(x_of(counters.time_ns[i])) <= x; ++i) {
        if (!std::isfinite(counters.value[i])) continue;
        y = y_of(counters.value[i]);
        low_y = low_y < 0 ? y : std::max(low_y, y);
        high_y = high_y < 0 ? y : std::min(high_y, y);
      }
      if (y < 0) continue;
      if (path.empty()) {
        path = fmt::format("M{:.0f} {:.1f}V{:.1f}", x, y_of(0), y);
      } else {
        path += fmt::format("H{:.0f}", x);
      }
      if (high_y != low_y) path += fmt::format("V{:.1f}V{:.1f}", low_y, high_y);
      if (y != last_y || high_y != low_y) path += fmt::format("V{:.1f}", y);
      last_x = x;
      last_y = y;
    }
    if (path.empty()) return;
    path += fmt::format("H{:.0f}V{:.1f}Z", std::max(last_x, double{kNames} + kPlot), y_of(0));
    text_ += fmt::format("<path class=\"curve\" d=\"{}\"><title>", path);
    append_xml(text_, title);
    text_ += fmt::format("&#10;{} to {}</title></path>\n", value_text(range.least),
                         value_text(range.most));
    write_text("quiet end", kNames - 4, top + (height > kLevel ? 24 : 11), value_text(range.most),
               SIZE_MAX);
    if (text_.size() > kFlushBytes) flush();
  }

  void flush() {
    out_.append(text_);
    text_.clear();
  }

  const Trace& trace_;
  const TimelineLayout& layout_;
  const WeightUnit unit_;  // of what is called ns
  OutputFile& out_;
  std::string text_;
};

}  // namespace

Result<std::vector<std::string>> write_timeline_svg(const Trace& trace, const std::string& path) {
  const bool has_only_samples = trace.slices().size() == 0 && !trace.samples().time_ns.empty();
  std::optional<Trace> calls;
  if (has_only_samples) calls = build_sampled_calls(trace);
  const Trace& shown = calls ? *calls : trace;
  TimelineLimits limits;
  limits.buckets = kPlot;
  const TimelineLayout layout = TimelineLayout::build(shown, limits);
  if (layout.tracks.empty()) {
    return Status::error(trace.source() +
                         ": no slices, samples or counters: there is no timeline to draw");
  }
  auto out = OutputFile::create(path);
  if (!out) return out.status();
  const auto source = has_only_samples ? CallTree::Source::kSamples : CallTree::Source::kSlices;
  TimelineWriter writer(shown, layout, weight_unit(trace, source), **out);
  writer.write();
  if (Status status = (*out)->finish(); !status) return status;
  return writer.left_out();
}

}  // namespace stepscope
