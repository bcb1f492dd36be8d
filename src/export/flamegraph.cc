#include "export/flamegraph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include "export/duration_text.h"
#include "export/flamegraph_page.h"
#include "export/name_colour.h"
#include "export/output_file.h"
#include "export/stack_export.h"
#include "export/utf8_text.h"

namespace stepscope {
namespace {

using namespace flamegraph;

constexpr double kMinWidthPx = 0.1;
constexpr size_t kMaxFrames = 50'000;
constexpr uint32_t kMaxLevels = 1'000;
constexpr double kSpanPx = kWidth - 2.0 * kMargin;

std::string text_of_weight(int64_t weight, WeightUnit unit) {
  if (unit == WeightUnit::kNone) return fmt::format("{}", weight);
  if (unit == WeightUnit::kBytes) return fmt::format("{} bytes", weight);
  return duration_text(weight);
}

class FlamegraphWriter {
 public:
  FlamegraphWriter(const Trace& trace, const CallTree& tree, OutputFile& out)
      : trace_(trace), tree_(tree), out_(out), unit_(weight_unit(trace, tree.source())) {}

  void write() {
    choose_nodes();
    begin_page();
    write_frame("all", "all", tree_.total_ns(), "", 0, kSpanPx, 0);
    std::vector<double> next_x = {0, 0};  // where the next frame of a level begins; [0] is the root
    std::vector<double> end_x = {kSpanPx};
    for (const uint32_t id : drawn_) {
      const CallTree::Node& node = tree_.nodes()[id];
      const uint32_t level = node.depth + 1;
      next_x.resize(level + 1);
      end_x.resize(level);
      const double x = std::min(next_x[level], end_x.back());
      const double width = std::min(width_of(node), end_x.back() - x);
      next_x[level] = x + width;
      next_x.push_back(x);
      end_x.push_back(x + width);
      write_node(node, x, width, level);
      if (text_.size() > kFlushBytes) flush();
      if (!out_.ok()) return;
    }
    text_ += "<script><![CDATA[";
    text_ += kScript;
    text_ += "]]></script>\n</svg>\n";
    flush();
  }

  uint64_t left_out() const { return tree_.nodes().size() - 1 - drawn_.size(); }

 private:
  static constexpr size_t kFlushBytes = 256 << 10;

  double width_of(const CallTree::Node& node) const {
    return kSpanPx * static_cast<double>(node.total_ns) / static_cast<double>(tree_.total_ns());
  }

  // Those that are wide enough, in the order of drawing, with all of their callers.
  void choose_nodes() {
    const std::vector<CallTree::Node>& nodes = tree_.nodes();
    double min_width_px = kMinWidthPx;
    std::vector<int64_t> totals_ns;
    for (size_t id = 1; id < nodes.size(); ++id) {
      if (width_of(nodes[id]) >= kMinWidthPx) totals_ns.push_back(nodes[id].total_ns);
    }
    if (totals_ns.size() > kMaxFrames) {
      const auto at = totals_ns.begin() + kMaxFrames;
      std::nth_element(totals_ns.begin(), at, totals_ns.end(), std::greater<>());
      min_width_px = kSpanPx * static_cast<double>(*at + 1) / static_cast<double>(tree_.total_ns());
    }
    std::vector<uint8_t> is_drawn(nodes.size(), 0);
    is_drawn[CallTree::kRoot] = 1;
    for (const uint32_t id : tree_.heaviest_first()) {
      if (is_drawn[nodes[id].parent] == 0 || nodes[id].depth >= kMaxLevels) continue;
      if (width_of(nodes[id]) < min_width_px) continue;
      is_drawn[id] = 1;
      levels_ = std::max(levels_, nodes[id].depth + 2);
      drawn_.push_back(id);
    }
  }

  void begin_page() {
    const uint32_t height = kTop + levels_ * kLevelHeight + 34;
    text_ += fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\" data-width=\"{0}\" data-margin=\"{2}\" data-letter=\"{3}\">\n"
        "<style>",
        kWidth, height, kMargin, kCharacterWidth);
    text_ += kStyle;
    text_ += fmt::format("</style>\n<text class=\"heading\" x=\"{}\" y=\"24\">", kMargin);
    const std::string_view source = trace_.source();
    append_xml(text_, beginning(source.substr(source.rfind('/') + 1), 80));
    text_ += fmt::format(
        "</text>\n<text class=\"quiet\" id=\"details\" x=\"{0}\" y=\"48\"></text>\n"
        "<text class=\"button\" id=\"reset\" x=\"{1}\" y=\"24\" style=\"display:none\">reset zoom"
        "</text>\n<foreignObject x=\"{2}\" y=\"8\" width=\"300\" height=\"26\" "
        "style=\"display:none\"><input xmlns=\"http://www.w3.org/1999/xhtml\" id=\"search\" "
        "type=\"search\" placeholder=\"search: a regular expression\"/></foreignObject>\n"
        "<text class=\"quiet\" id=\"matched\" x=\"{2}\" y=\"48\"></text>\n",
        kMargin, kWidth - kMargin - 400, kWidth - kMargin - 300);
    if (left_out() == 0) return;
    text_ += fmt::format(
        "<text class=\"quiet\" x=\"{}\" y=\"{}\">{} frames are left out: too narrow or too deep to "
        "be seen"
        "</text>\n",
        kMargin, height - 12, left_out());
  }

  void write_node(const CallTree::Node& node, double x, double width, uint32_t level) {
    const std::string name = frame_text(tree_.function(node));
    std::string more;
    if (node.self_ns() > 0) more += ", itself " + text_of_weight(node.self_ns(), unit_);
    const bool is_samples = tree_.source() == CallTree::Source::kSamples;
    more += fmt::format(", {} {}{}", node.calls, is_samples ? "sample" : "call",
                        node.calls == 1 ? "" : "s");
    const std::string colour = fmt::format("c{}", colour_of_name(name, kColours));
    write_frame(name, colour, node.total_ns, more, x, width, level);
  }

  void write_frame(std::string_view name, std::string_view kind, int64_t total,
                   std::string_view more, double x, double width, uint32_t level) {
    const int y = kTop + static_cast<int>(level) * kLevelHeight;
    text_ += fmt::format("<g class=\"f {}\"><title>", kind);
    append_xml(text_, name);
    text_ +=
        fmt::format("&#10;{}, {:.2f}%{}</title>", text_of_weight(total, unit_),
                    100 * static_cast<double>(total) / static_cast<double>(tree_.total_ns()), more);
    text_ += fmt::format("<rect x=\"{:.3f}\" y=\"{}\" width=\"{:.3f}\" height=\"{}\" rx=\"1\"/>",
                         kMargin + x, y, width, kLevelHeight - 1);
    // As the script does it after a zoom.
    if (const int letters = static_cast<int>((width - 6) / kCharacterWidth); letters >= 3) {
      const auto room = static_cast<size_t>(letters);
      text_ += fmt::format("<text x=\"{:.2f}\" y=\"{:.1f}\">", kMargin + x + 3, y + 12.5);
      const bool fits = beginning(name, room).size() == name.size();
      append_xml(text_, fits ? name : beginning(name, room - 1));
      text_ += fits ? "</text>" : "…</text>";
    }
    text_ += "</g>\n";
  }

  void flush() {
    out_.append(text_);
    text_.clear();
  }

  const Trace& trace_;
  const CallTree& tree_;
  OutputFile& out_;
  const WeightUnit unit_;
  std::string text_;
  std::vector<uint32_t> drawn_;
  uint32_t levels_ = 1;
};

}  // namespace

Result<std::vector<std::string>> write_flamegraph(const Trace& trace, const std::string& path,
                                                  const ExportOptions& options) {
  const Result<CallTree> tree = build_stacks(trace, options);
  if (!tree) return tree.status();
  if (tree->total_ns() <= 0) {
    return Status::error(trace.source() + ": no call in it took any time: nothing to draw");
  }
  auto out = OutputFile::create(path);
  if (!out) return out.status();
  FlamegraphWriter writer(trace, *tree, **out);
  writer.write();
  if (Status status = (*out)->finish(); !status) return status;
  std::vector<std::string> left_out = describe_left_out(trace, *tree);
  if (writer.left_out() > 0) {
    left_out.push_back(
        fmt::format("{} frames that are too narrow or too deep to be seen", writer.left_out()));
  }
  return left_out;
}

}  // namespace stepscope
