#include "export/memory_timeline_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "export/bytes_text.h"
#include "export/json_text.h"
#include "export/memory_curve.h"
#include "export/memory_timeline_page.h"
#include "export/output_file.h"
#include "export/utf8_text.h"
#include "trace/memory_timeline.h"

namespace stepscope {
namespace {

using namespace memory_page;

constexpr uint32_t kSpanPx = kWidth - kLeft - kRight;  // of the curve; also its columns
constexpr double kCurvePx = kHeight - kTop - kBottom;
constexpr size_t kMaxDevices = 16;

// From the bottom of the picture to its top: what stays lies below what comes and goes.
constexpr std::array<size_t, kMemoryCategoryCount> kStack = {0, 1, 5, 2, 4, 6, 3, 7};

std::string text_of_ns(int64_t ns) {
  const double value = static_cast<double>(ns);
  if (ns < 1'000) return fmt::format("{} ns", ns);
  if (ns < 1'000'000) return fmt::format("{:.4g} us", value / 1e3);
  if (ns < 1'000'000'000) return fmt::format("{:.4g} ms", value / 1e6);
  return fmt::format("{:.4g} s", value / 1e9);
}

class PageWriter {
 public:
  PageWriter(const Trace& trace, const MemoryTimeline& timeline)
      : trace_(trace), is_judged_(timeline.is_judged()) {
    peaks_ = timeline.find_peaks();
    for (uint32_t device = 0; device < peaks_.size(); ++device) drawn_.push_back(device);
    std::stable_sort(drawn_.begin(), drawn_.end(), [&](uint32_t a, uint32_t b) {
      return peaks_[a].total_bytes() > peaks_[b].total_bytes();
    });
    if (drawn_.size() > kMaxDevices) drawn_.resize(kMaxDevices);
    std::vector<int> place(peaks_.size(), -1);
    std::vector<MemoryCurve> curves(drawn_.size(),
                                    MemoryCurve(trace.begin_ns(), trace.end_ns(), kSpanPx));
    for (size_t i = 0; i < drawn_.size(); ++i) place[drawn_[i]] = static_cast<int>(i);
    timeline.walk({}, [&](const MemoryAtMoment& now) {
      if (place[now.device] >= 0) curves[static_cast<size_t>(place[now.device])].add(now);
    });
    for (MemoryCurve& curve : curves) curves_.push_back(std::move(curve).finish());
    for (const AllocationDevice device : timeline.devices()) names_.push_back(device_name(device));
  }

  std::string write() {
    begin_page();
    for (size_t i = 0; i < drawn_.size(); ++i) write_device(drawn_[i], curves_[i]);
    text_ += "<script>//<![CDATA[";
    text_ += kScript;
    text_ += "//]]></script>\n</body>\n</html>\n";
    return std::move(text_);
  }

  size_t left_out() const { return peaks_.size() - drawn_.size(); }

 private:
  int64_t span_ns() const { return subtract_saturating(trace_.end_ns(), trace_.begin_ns()); }
  double x_of(int64_t time_ns) const {
    if (span_ns() <= 0) return kLeft;
    const double part = static_cast<double>(subtract_saturating(time_ns, trace_.begin_ns())) /
                        static_cast<double>(span_ns());
    return kLeft + kSpanPx * std::clamp(part, 0.0, 1.0);
  }
  static double y_of(int64_t bytes, int64_t peak_bytes) {
    const double part =
        static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(peak_bytes, 1));
    return kTop + kCurvePx * (1 - std::clamp(part, 0.0, 1.0));
  }

  void begin_page() {
    text_ =
        "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
        "<meta charset=\"utf-8\"/>\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
        "style-src 'unsafe-inline'; script-src 'unsafe-inline'\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width\"/>\n<title>Memory of ";
    std::string name;
    append_xml(name, std::string_view(trace_.source()).substr(trace_.source().rfind('/') + 1));
    text_ += name + "</title>\n<style>";
    text_ += kStyle;
    text_ += "</style>\n</head>\n<body>\n<h1>Memory of " + name + "</h1>\n";
    if (is_judged_) {
      text_ +=
          "<p class=\"quiet\">What memory is held for is judged from the phases of training in "
          "which it was taken and given back.</p>\n";
    }
    if (left_out() > 0) {
      text_ += fmt::format("<p class=\"quiet\">{} devices with lower peaks are left out.</p>\n",
                           left_out());
    }
  }

  void write_device(uint32_t device, const std::vector<MemoryAtMoment>& curve) {
    const MemoryAtMoment& peak = peaks_[device];
    const int64_t peak_bytes = peak.total_bytes();
    text_ += fmt::format("<section>\n<h2>{}</h2>\n", names_[device]);
    text_ += fmt::format(
        "<svg viewBox=\"0 0 {} {}\" data-left=\"{}\" data-width=\"{}\" role=\"img\" "
        "aria-label=\"memory of {} by category over time\" "
        "xmlns=\"http://www.w3.org/2000/svg\">\n",
        kWidth, kHeight, kLeft, kSpanPx, names_[device]);
    write_grid(peak_bytes);
    // Each area reaches to the bottom, and those below it in the stack are painted over it.
    for (size_t above = kStack.size(); above-- > 0;) write_area(curve, above, peak_bytes);
    const double x = x_of(peak.time_ns);
    text_ += fmt::format(
        "<path class=\"peak\" d=\"M{0:.1f} {1}V{2}\"/>\n"
        "<text x=\"{3:.1f}\" y=\"{4}\" text-anchor=\"{5}\">peak {6}</text>\n"
        "<line class=\"at\" x1=\"{7}\" x2=\"{7}\" y1=\"{1}\" y2=\"{2}\"/>\n</svg>\n",
        x, kTop, kHeight - kBottom, x, kTop - 6, x < kWidth / 2 ? "start" : "end",
        bytes_text(peak_bytes), kLeft);
    write_legend(peak);
    write_data(curve);
    text_ += "</section>\n";
  }

  // Lines at round figures.
  void write_grid(int64_t peak_bytes) {
    int64_t step_bytes = 1;
    while (peak_bytes / step_bytes >= 6) step_bytes *= 2;
    for (int64_t i = 0; i <= peak_bytes / step_bytes; ++i) {
      const int64_t bytes = i * step_bytes;
      const double y = y_of(bytes, peak_bytes);
      text_ += fmt::format(
          "<path class=\"grid\" d=\"M{} {:.1f}h{}\"/><text x=\"{}\" y=\"{:.1f}\" "
          "text-anchor=\"end\">{}</text>\n",
          kLeft, y, kSpanPx, kLeft - 6, y + 4, bytes_text(bytes));
    }
    int64_t step_ns = 1;
    for (int i = 0; span_ns() / step_ns >= 8; ++i)
      step_ns = i % 3 == 1 ? step_ns / 2 * 5 : step_ns * 2;
    for (int64_t i = 0; i <= span_ns() / step_ns; ++i) {
      const int64_t ns = i * step_ns;
      text_ += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                           x_of(trace_.begin_ns() + ns), kHeight - 8, text_of_ns(ns));
    }
  }

  // The categories of kStack up to and with `top`, as one area.
  void write_area(const std::vector<MemoryAtMoment>& curve, size_t top, int64_t peak_bytes) {
    std::string path;
    std::string last_y = fmt::format("{:.1f}", y_of(0, peak_bytes));
    const std::string bottom_y = last_y;
    for (const MemoryAtMoment& now : curve) {
      int64_t bytes = 0;
      for (size_t i = 0; i <= top; ++i) bytes = add_saturating(bytes, now.bytes[kStack[i]]);
      const std::string y = fmt::format("{:.1f}", y_of(bytes, peak_bytes));
      if (y == last_y) continue;
      path += fmt::format("H{:.1f}V{}", x_of(now.time_ns), y);
      last_y = y;
    }
    if (path.empty()) return;
    text_ += fmt::format("<path class=\"c{}\" d=\"M{} {}{}H{}V{}Z\"/>\n", kStack[top], kLeft,
                         bottom_y, path, kLeft + kSpanPx, bottom_y);
  }

  void write_legend(const MemoryAtMoment& peak) {
    const int64_t peak_bytes = peak.total_bytes();
    text_ += fmt::format(
        "<table>\n<tr><th class=\"when\">peak, at {}</th><th class=\"sum\">{}</th><th></th></tr>\n",
        text_of_ns(subtract_saturating(peak.time_ns, trace_.begin_ns())), bytes_text(peak_bytes));
    for (size_t i = kStack.size(); i-- > 0;) {
      const size_t category = kStack[i];
      const double share = peak_bytes <= 0 ? 0
                                           : static_cast<double>(peak.bytes[category]) /
                                                 static_cast<double>(peak_bytes);
      text_ += fmt::format(
          "<tr data-category=\"{0}\"><td><span class=\"swatch c{0}\"></span>{1}</td><td>{2}</td>"
          "<td>{3:.1f}%</td></tr>\n",
          category, kMemoryCategoryNames[category].many, bytes_text(peak.bytes[category]),
          100 * share);
    }
    text_ += "</table>\n";
  }

  void write_data(const std::vector<MemoryAtMoment>& curve) {
    text_ += fmt::format(
        "<script type=\"application/json\" class=\"data\">{{\"begin\": 0, \"end\": {}, \"time\": [",
        span_ns());
    for (size_t i = 0; i < curve.size(); ++i) {
      if (i > 0) text_ += ',';
      json::append_int(text_, subtract_saturating(curve[i].time_ns, trace_.begin_ns()));
    }
    text_ += "], \"bytes\": [";
    for (size_t i = 0; i < curve.size(); ++i) {
      text_ += i > 0 ? ",[" : "[";
      for (size_t category = 0; category < kMemoryCategoryCount; ++category) {
        if (category > 0) text_ += ',';
        json::append_int(text_, curve[i].bytes[category]);
      }
      text_ += ']';
    }
    text_ += "]}</script>\n";
  }

  const Trace& trace_;
  const bool is_judged_;
  std::vector<MemoryAtMoment> peaks_;                // by device
  std::vector<uint32_t> drawn_;                      // devices, the highest peak first
  std::vector<std::vector<MemoryAtMoment>> curves_;  // of these
  std::vector<std::string> names_;
  std::string text_;
};

}  // namespace

Result<std::vector<std::string>> write_memory_timeline_html(const Trace& trace,
                                                            const std::string& path) {
  const std::shared_ptr<const MemoryTimeline> timeline = MemoryTimeline::of(trace);
  if (timeline->devices().empty()) {
    return Status::error(path + ": not written: no allocations in the trace");
  }
  auto out = OutputFile::create(path);
  if (!out) return out.status();
  PageWriter page(trace, *timeline);
  (*out)->append(page.write());
  if (Status status = (*out)->finish(); !status) return status;
  std::vector<std::string> left_out = {"all but memory: a memory timeline holds nothing else"};
  if (page.left_out() > 0) {
    left_out.push_back(fmt::format("the memory of {} devices with lower peaks", page.left_out()));
  }
  return left_out;
}

}  // namespace stepscope
