#include "export/memory_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "base/saturating.h"
#include "export/address_map.h"
#include "export/bytes_text.h"
#include "export/duration_text.h"
#include "export/output_file.h"
#include "export/svg_axis.h"
#include "export/utf8_text.h"
#include "trace/memory_timeline.h"

namespace stepscope {
namespace {

// In px.
constexpr int kWidth = 1440;
constexpr int kMargin = 12;
constexpr int kLeft = 146;  // where the plot begins
constexpr int kPlot = kWidth - kLeft - kMargin;
constexpr int kTop = 104;  // of the first device
constexpr int kTitle = 36;
constexpr int kCurve = 64;
constexpr int kGap = 14;
constexpr int kMostMap = 720;  // of a device's addresses
constexpr int kLeastMap = 90;
constexpr double kBreak = 4;  // where a gap was cut out
constexpr double kLeastBox = 0.7;
constexpr double kMapBytesPerPx = 2048;  // small devices are not blown up

constexpr size_t kMaxBoxes = 10'000;
constexpr size_t kMaxSpaces = 8;
constexpr size_t kNameLetters = 48;

constexpr std::string_view kStyle = R"css(
svg { background: var(--paper); --paper: #fff; --ink: #222; --quiet: #666; --line: #e4e4e8;
  --map: #f6f7fa; --curve: #3b7dd8; --peak: #c62f2f; }
@media (prefers-color-scheme: dark) {
  svg { --paper: #1c1c1f; --ink: #ddd; --quiet: #999; --line: #34343a; --map: #232429;
    --curve: #6ea8f5; --peak: #ff7a70; }
}
text { font: 11px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: var(--ink); }
.heading { font-size: 15px; }
.title { font-weight: bold; }
.quiet { fill: var(--quiet); }
.end { text-anchor: end; }
.line { stroke: var(--line); }
.map { fill: var(--map); }
.break { stroke: var(--quiet); stroke-dasharray: 1 3; }
.scale { stroke: var(--ink); stroke-width: 1.5; }
.curve { fill: var(--curve); fill-opacity: 0.25; stroke: var(--curve); }
.peak { stroke: var(--peak); stroke-dasharray: 4 3; }
.peaktext { fill: var(--peak); }
rect:hover { stroke: var(--ink); stroke-width: 1; }
.k0 { fill: #2f6fbd; } .k1 { fill: #7a52b3; } .k2 { fill: #2f9c95; } .k3 { fill: #9a9aa2; }
.k4 { fill: #e08a2e; } .k5 { fill: #3f9d4f; } .k6 { fill: #d0568b; } .k7 { fill: #8a6f4d; }
.l0 { fill-opacity: 0.3; } .l1 { fill-opacity: 0.42; } .l2 { fill-opacity: 0.55; }
.l3 { fill-opacity: 0.7; } .l4 { fill-opacity: 0.85; } .l5 { fill-opacity: 1; }
)css";

// How long memory was held: the class, and what the legend says.
struct LifetimeClass {
  int64_t below_ns;
  std::string_view name;
};
constexpr std::array<LifetimeClass, 6> kLifetimeClasses = {{
    {100'000, "under 100 us"},
    {1'000'000, "100 us to 1 ms"},
    {10'000'000, "1 to 10 ms"},
    {100'000'000, "10 to 100 ms"},
    {1'000'000'000, "100 ms to 1 s"},
    {INT64_MAX, "longer, or not given back"},
}};

size_t lifetime_class(int64_t dur_ns) {
  size_t i = 0;
  while (i + 1 < kLifetimeClasses.size() && dur_ns >= kLifetimeClasses[i].below_ns) ++i;
  return i;
}

struct Box {
  uint32_t lifetime = 0;
  uint64_t address = 0;
};

// One device as one process sees it.
struct Space {
  uint32_t number = 0;
  std::vector<uint32_t> lifetimes;
  std::vector<Box> boxes;
  int64_t peak_bytes = 0;
  int64_t peak_ns = 0;
};

class FlowWriter {
 public:
  FlowWriter(const Trace& trace, const MemoryTimeline& timeline)
      : trace_(trace),
        all_(timeline.lifetimes()),
        categories_(timeline.categories()),
        has_categories_(timeline.has_categories()),
        begin_ns_(trace.begin_ns()),
        span_ns_(std::max<int64_t>(1, subtract_saturating(trace.end_ns(), trace.begin_ns()))) {
    collect();
  }

  bool empty() const { return spaces_.empty(); }

  std::vector<std::string> left_out() const {
    std::vector<std::string> left_out;
    if (small_ > 0) {
      left_out.push_back(
          fmt::format("{} pieces of memory that were smaller or held shorter; all "
                      "of them count in the curves",
                      small_));
    }
    if (without_address_ > 0) {
      left_out.push_back(
          fmt::format("{} pieces of memory of which no address is known", without_address_));
    }
    if (left_out_spaces_ > 0) {
      left_out.push_back(fmt::format("{} devices that held less", left_out_spaces_));
    }
    return left_out;
  }

  std::string write() {
    std::string body;
    std::swap(text_, body);
    int y = kTop;
    for (const Space& space : spaces_) y = write_space(space, y);
    std::swap(text_, body);
    const std::vector<std::string> left_out = this->left_out();
    const int height = y + 10 + 15 * static_cast<int>(left_out.size());
    text_ += fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\">\n<style>{2}</style>\n",
        kWidth, height, kStyle);
    write_heading();
    write_legend();
    text_ += body;
    for (const std::string& what : left_out) {
      write_text("quiet", kMargin, y, "left out: " + what);
      y += 15;
    }
    text_ += "</svg>\n";
    return std::move(text_);
  }

 private:
  int64_t end_ns(const Lifetime& life) const {
    return life.is_open() ? add_saturating(begin_ns_, span_ns_) : life.end_ns;
  }

  // The address is that of whichever end the trace shows.
  uint64_t address_of(const Lifetime& life) const {
    const uint32_t row = life.taken_row != kNoAllocation ? life.taken_row : life.freed_row;
    return row != kNoAllocation ? trace_.allocations().address[row] : 0;
  }

  void collect() {
    std::vector<Space> spaces(all_.spaces.size());
    for (uint32_t i = 0; i < all_.lifetimes.size(); ++i) {
      const Lifetime& life = all_.lifetimes[i];
      spaces[life.space].number = life.space;
      spaces[life.space].lifetimes.push_back(i);
      const uint64_t address = address_of(life);
      if (address == 0) {
        ++without_address_;
        continue;
      }
      spaces[life.space].boxes.push_back({i, address});
    }
    for (Space& space : spaces) {
      find_peak(space);
      if (!space.boxes.empty()) spaces_.push_back(std::move(space));
    }
    std::stable_sort(spaces_.begin(), spaces_.end(),
                     [](const Space& a, const Space& b) { return a.peak_bytes > b.peak_bytes; });
    if (spaces_.size() > kMaxSpaces) {
      left_out_spaces_ = spaces_.size() - kMaxSpaces;
      spaces_.resize(kMaxSpaces);
    }
    keep_largest();
  }

  // Boxes of all devices compete by their area.
  void keep_largest() {
    size_t boxes = 0;
    for (const Space& space : spaces_) boxes += space.boxes.size();
    if (boxes <= kMaxBoxes) return;
    std::vector<double> areas;
    for (const Space& space : spaces_) {
      for (const Box& box : space.boxes) areas.push_back(area(box));
    }
    std::nth_element(areas.begin(), areas.begin() + kMaxBoxes, areas.end(), std::greater<>());
    const double least = areas[kMaxBoxes];
    const auto is_larger = [&](double one) { return one > least; };
    auto ties =
        static_cast<int64_t>(kMaxBoxes) - std::count_if(areas.begin(), areas.end(), is_larger);
    for (Space& space : spaces_) {
      small_ += std::erase_if(space.boxes, [&](const Box& box) {
        const double one = area(box);
        return one < least || (one == least && ties-- <= 0);
      });
    }
  }

  double area(const Box& box) const {
    const Lifetime& life = all_.lifetimes[box.lifetime];
    const auto held_ns = static_cast<double>(subtract_saturating(end_ns(life), life.begin_ns));
    // However short, a large piece is worth seeing.
    return static_cast<double>(life.bytes) *
           std::max(held_ns, static_cast<double>(span_ns_) / kPlot);
  }

  // (time, bytes) of all changes of a device, by time; what is given back first.
  std::vector<std::pair<int64_t, int64_t>> changes(const Space& space) const {
    std::vector<std::pair<int64_t, int64_t>> result;
    for (const uint32_t i : space.lifetimes) {
      const Lifetime& life = all_.lifetimes[i];
      result.emplace_back(life.begin_ns, life.bytes);
      if (!life.is_open()) result.emplace_back(life.end_ns, -life.bytes);
    }
    std::sort(result.begin(), result.end());
    return result;
  }

  void find_peak(Space& space) const {
    int64_t held = 0;
    for (const auto& [time_ns, bytes] : changes(space)) {
      held = add_saturating(held, bytes);
      if (held <= space.peak_bytes) continue;
      space.peak_bytes = held;
      space.peak_ns = time_ns;
    }
  }

  double x_of(int64_t time_ns) const {
    const double from_begin_ns = static_cast<double>(time_ns) - static_cast<double>(begin_ns_);
    return kLeft + kPlot * std::clamp(from_begin_ns / static_cast<double>(span_ns_), 0., 1.);
  }

  void write_text(std::string_view kind, double x, double y, std::string_view text) {
    text_ += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">", kind, x, y);
    append_xml(text_, text);
    text_ += "</text>\n";
  }

  void write_line(std::string_view kind, double x1, double y1, double x2, double y2) {
    text_ += fmt::format(
        "<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", kind, x1,
        y1, x2, y2);
  }

  void write_heading() {
    const std::string_view source = trace_.source();
    write_text("heading", kMargin, 26, source.substr(source.rfind('/') + 1));
    write_text("quiet", kMargin, 44,
               fmt::format("memory by time and address: {}, {} pieces of memory",
                           duration_text(span_ns_), all_.lifetimes.size()));
  }

  void write_legend() {
    double x = kMargin;
    const auto entry = [&](std::string_view classes, std::string_view name) {
      text_ +=
          fmt::format("<rect class=\"{}\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"14\" height=\"11\"/>\n",
                      classes, x, legend_y_ - 9);
      write_text("quiet", x + 19, legend_y_, name);
      x += 19 + 6.7 * static_cast<double>(name.size()) + 16;
    };
    legend_y_ = 68;
    write_text("", x, legend_y_, "held for");
    x += 72;
    if (has_categories_) {
      for (size_t i = 0; i < kMemoryCategoryCount; ++i) {
        if (is_used(static_cast<MemoryCategory>(i))) {
          entry(fmt::format("k{} l5", i), kMemoryCategoryNames[i].many);
        }
      }
    } else {
      write_text("quiet", x, legend_y_, "not known: the trace has no scopes of training");
    }
    x = kMargin;
    legend_y_ = 88;
    write_text("", x, legend_y_, "held how long");
    x += 100;
    for (size_t i = 0; i < kLifetimeClasses.size(); ++i) {
      entry(fmt::format("k{} l{}", has_categories_ ? 3 : 0, i), kLifetimeClasses[i].name);
    }
  }

  bool is_used(MemoryCategory category) const {
    return std::find(categories_.begin(), categories_.end(), category) != categories_.end();
  }

  // Gives where the next one begins.
  int write_space(const Space& space, int top) {
    const MemorySpace& memory = all_.spaces[space.number];
    std::string title = device_name(all_.devices[memory.device]);
    if (trace_.processes().size() > 1 && memory.process < trace_.processes().size()) {
      title += ", process " + trace_.id_text(trace_.processes()[memory.process].pid);
    }
    write_text("title", kMargin, top + 14, title);
    std::vector<AddressMap::Range> ranges;
    for (const Box& box : space.boxes) {
      ranges.emplace_back(box.address, static_cast<uint64_t>(all_.lifetimes[box.lifetime].bytes));
    }
    const AddressMap map(std::move(ranges));
    const int curve_top = top + kTitle;
    const int map_top = curve_top + kCurve + kGap;
    const auto total = static_cast<double>(std::max<uint64_t>(1, map.total_bytes()));
    const double map_px = std::clamp<double>(total / kMapBytesPerPx, kLeastMap, kMostMap);
    const double breaks = kBreak * static_cast<double>(map.regions().size() - 1);
    const int bottom = map_top + static_cast<int>(map_px + breaks) + 1;

    write_axis(curve_top, bottom);
    write_curve(space, curve_top);
    const double px_per_byte = map_px / total;
    const auto y_of = [&](AddressMap::Place place) {
      return map_top + static_cast<double>(place.offset) * px_per_byte +
             kBreak * static_cast<double>(place.region);
    };
    write_regions(map, y_of, px_per_byte);
    write_scale(map_top, map_px, total);
    for (const Box& box : space.boxes) write_box(box, map, y_of, px_per_byte);
    write_peak(space, curve_top, bottom);
    return bottom + 2 * kGap;
  }

  void write_axis(int top, int bottom) {
    constexpr int64_t kMarks = 10;
    const int64_t distance_ns = round_distance(std::max<int64_t>(1, span_ns_ / kMarks));
    for (int64_t at_ns = 0; at_ns <= span_ns_; at_ns += distance_ns) {
      const double x = x_of(add_saturating(begin_ns_, at_ns));
      write_line("line", x, top, x, bottom);
      const bool is_near_end = x > kWidth - 60;
      write_text(is_near_end ? "quiet end" : "quiet", is_near_end ? kWidth - kMargin : x, top - 4,
                 axis_text(at_ns, distance_ns));
      if (at_ns > INT64_MAX - distance_ns) break;
    }
  }

  // The most that was held within each pixel.
  void write_curve(const Space& space, int top) {
    std::vector<int64_t> most(kPlot + 1, 0);
    int64_t held = 0;
    size_t at = 0;
    for (const auto& [time_ns, bytes] : changes(space)) {
      const size_t column = std::min<size_t>(kPlot, static_cast<size_t>(x_of(time_ns) - kLeft));
      for (; at < column; ++at) most[at + 1] = held;
      held = add_saturating(held, bytes);
      most[column] = std::max(most[column], held);
    }
    for (; at < kPlot; ++at) most[at + 1] = held;
    const double px_per_byte =
        (kCurve - 2) / static_cast<double>(std::max<int64_t>(1, space.peak_bytes));
    text_ += fmt::format("<path class=\"curve\" d=\"M{} {}", kLeft, top + kCurve);
    int64_t last = -1;
    for (int i = 0; i <= kPlot; ++i) {
      if (most[static_cast<size_t>(i)] == last) continue;
      last = most[static_cast<size_t>(i)];
      text_ +=
          fmt::format("H{}V{:.1f}", kLeft + i,
                      top + kCurve - static_cast<double>(std::max<int64_t>(0, last)) * px_per_byte);
    }
    text_ += fmt::format("H{}V{}Z\"><title>memory held, at most {}</title></path>\n", kLeft + kPlot,
                         top + kCurve, bytes_text(space.peak_bytes));
    write_text("quiet end", kLeft - 6, top + 10, bytes_text(space.peak_bytes));
    write_text("quiet end", kLeft - 6, top + kCurve, "0");
  }

  void write_regions(const AddressMap& map, auto&& y_of, double px_per_byte) {
    double named_y = -100;
    for (size_t i = 0; i < map.regions().size(); ++i) {
      const AddressMap::Region& region = map.regions()[i];
      const double y = y_of({i, region.before});
      const double height = static_cast<double>(region.end - region.begin) * px_per_byte;
      text_ += fmt::format(
          "<rect class=\"map\" x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\"/>\n", kLeft, y,
          kPlot, height);
      if (i > 0) write_line("break", kLeft, y - kBreak / 2, kLeft + kPlot, y - kBreak / 2);
      if (y - named_y < 26) continue;
      write_text("quiet end", kLeft - 6, y + 9, fmt::format("{:x}", region.begin));
      named_y = y;
    }
  }

  void write_scale(int top, double map_px, double total_bytes) {
    const double px_per_byte = map_px / total_bytes;
    int64_t bytes = 1;
    while (static_cast<double>(bytes) * 2 * px_per_byte <= map_px / 3 && bytes < INT64_MAX / 4) {
      bytes *= 2;
    }
    const double height = static_cast<double>(bytes) * px_per_byte;
    write_text("", kMargin, top + 9, bytes_text(bytes));
    write_line("scale", kMargin + 2, top + 14, kMargin + 2, top + 14 + height);
  }

  void write_box(const Box& box, const AddressMap& map, auto&& y_of, double px_per_byte) {
    const Lifetime& life = all_.lifetimes[box.lifetime];
    const int64_t end_ns = this->end_ns(life);
    const double x = x_of(life.begin_ns);
    const MemoryCategory category =
        box.lifetime < categories_.size() ? categories_[box.lifetime] : MemoryCategory::kUnknown;
    const int64_t held_ns = subtract_saturating(end_ns, life.begin_ns);
    const size_t colour = has_categories_ ? static_cast<size_t>(category) : 0;
    text_ += fmt::format(
        "<rect class=\"k{} l{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\"><title>",
        colour, life.is_open() ? kLifetimeClasses.size() - 1 : lifetime_class(held_ns), x,
        y_of(map.place(box.address)), std::max(kLeastBox, x_of(end_ns) - x),
        std::max(kLeastBox, static_cast<double>(life.bytes) * px_per_byte));
    append_xml(text_, name_of(life));
    text_ += fmt::format("&#10;{} at {:x}&#10;{}", bytes_text(life.bytes), box.address,
                         duration_text(subtract_saturating(life.begin_ns, begin_ns_)));
    text_ += life.is_open() ? ", kept" : fmt::format(" + {}", duration_text(held_ns));
    if (has_categories_) text_.append(", ").append(kMemoryCategoryNames[colour].one);
    text_ += "</title></rect>\n";
  }

  std::string name_of(const Lifetime& life) const {
    if (life.was_there_before()) return "there before the recording";
    const SliceId slice = trace_.allocations().slice[life.taken_row];
    if (slice == kNoSlice) return "taken in no call";
    return std::string(beginning(trace_.slice_name(slice), kNameLetters));
  }

  void write_peak(const Space& space, int top, int bottom) {
    const double x = x_of(space.peak_ns);
    write_line("peak", x, top, x, bottom);
    const std::string text =
        fmt::format("peak {} at {}", bytes_text(space.peak_bytes),
                    duration_text(subtract_saturating(space.peak_ns, begin_ns_)));
    const bool is_right = x > kWidth - 240;
    write_text(is_right ? "peaktext end" : "peaktext", is_right ? x - 4 : x + 4, top + 10, text);
  }

  const Trace& trace_;
  const AllocationLifetimes& all_;
  const std::vector<MemoryCategory>& categories_;
  bool has_categories_;
  int64_t begin_ns_;
  int64_t span_ns_;
  std::vector<Space> spaces_;
  size_t small_ = 0;
  size_t without_address_ = 0;
  size_t left_out_spaces_ = 0;
  double legend_y_ = 0;
  std::string text_;
};

}  // namespace

Result<std::vector<std::string>> write_memory_flow(const Trace& trace, const std::string& path) {
  const std::shared_ptr<const MemoryTimeline> timeline = MemoryTimeline::of(trace);
  FlowWriter writer(trace, *timeline);
  if (writer.empty()) {
    return Status::error(trace.source() +
                         ": no allocations with addresses in this trace (profile_memory=True; "
                         "stepscope run without --no-memory)");
  }
  auto out = OutputFile::create(path);
  if (!out) return out.status();
  (*out)->append(writer.write());
  if (Status status = (*out)->finish(); !status) return status;
  return writer.left_out();
}

}  // namespace stepscope
