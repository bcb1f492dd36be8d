#include "analyze/slice_details.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyze/json_field.h"
#include "analyze/render_json.h"
#include "analyze/utf8.h"
#include "base/saturating.h"

namespace stepscope {
namespace {

std::string json_of_string(std::string_view text) {
  std::string json;
  append_json_string(json, text);
  return json;
}

// JSON has no number for what is not finite; the text says it then.
std::string json_of_double(double value) {
  if (std::isfinite(value)) return fmt::format("{}", value);
  return json_of_string(std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
}

// What a file calls JSON may be none: then it is a text.
std::string json_of_json(std::string_view text) {
  if (!is_json(text)) return json_of_string(text);
  std::string json;
  append_valid_utf8(json, text);
  return json;
}

std::string json_of_argument(const Trace& trace, const ArgColumn& column, size_t at) {
  switch (column.type) {
    case ArgType::kInt:
      return std::to_string(column.ints[at]);
    case ArgType::kDouble:
      return json_of_double(column.doubles[at]);
    case ArgType::kBool:
      return column.ints[at] != 0 ? "true" : "false";
    case ArgType::kString:
      return json_of_string(trace.string(column.string(at)));
    case ArgType::kJson:
      return json_of_json(trace.string(column.string(at)));
  }
  return "null";
}

class Describer {
 public:
  Describer(const Trace& trace, SliceId slice)
      : trace_(trace), slices_(trace.slices()), slice_(slice) {}

  SliceDetails describe() {
    const Label& label = label_of(slice_);
    details_.place = place_of_slice(trace_, slice_);
    details_.category = trace_.string(label.category);
    details_.kind = label.kind;
    add_own_time();
    add_parents();
    for (const ArgColumn& column : trace_.args()) {
      if (const auto at = column.find(slice_)) {
        details_.args.push_back({trace_.string(column.key), json_of_argument(trace_, column, *at)});
      }
    }
    add_stack();
    add_source();
    add_arrows();
    add_launches();
    finish_links();
    return std::move(details_);
  }

 private:
  const Label& label_of(SliceId slice) const {
    return trace_.labels()[slices_.label[index(slice)]];
  }
  SliceId parent_of(SliceId slice) const { return slices_.parent[index(slice)]; }

  // Of the slices that begin while it is open, those that it holds directly.
  void add_own_time() {
    const Track& track = trace_.tracks()[index(details_.place.track)];
    const uint32_t end_row = track.first_slice + track.slice_count;
    const int64_t end_ns = slices_.end_ns(index(slice_));
    details_.self_ns = details_.place.dur_ns;
    for (uint32_t row = index(slice_) + 1; row < end_row && slices_.start_ns[row] < end_ns; ++row) {
      if (slices_.parent[row] != slice_) continue;
      ++details_.children;
      details_.self_ns = subtract_saturating(details_.self_ns, slices_.dur_ns[row]);
    }
  }

  void add_parents() {
    for (SliceId at = parent_of(slice_); at != kNoSlice; at = parent_of(at)) {
      if (details_.parents.size() == SliceDetails::kMaxParents) break;
      details_.parents.push_back(place_of_slice(trace_, at));
    }
  }

  // The forward operator of the slice or of the innermost one around it that has one, and where in
  // the chain of parents that is.
  std::pair<SliceId, SliceId> find_forward() const {
    std::unordered_map<uint32_t, uint32_t> levels;  // of the slice and what holds it
    for (SliceId at = slice_; at != kNoSlice; at = parent_of(at)) {
      levels.emplace(index(at), static_cast<uint32_t>(levels.size()));
    }
    const FlowColumns& flows = trace_.flows();
    std::pair<SliceId, SliceId> found{kNoSlice, kNoSlice};
    uint32_t found_level = UINT32_MAX;
    for (size_t i = 0; i < flows.to.size(); ++i) {
      if (flows.from[i] == kNoSlice || flows.to[i] == kNoSlice) continue;
      const auto at = levels.find(index(flows.to[i]));
      if (at == levels.end() || at->second > found_level) continue;
      if (trace_.string(trace_.labels()[flows.label[i]].name) != "fwdbwd") continue;
      found_level = at->second;
      found = {flows.from[i], flows.to[i]};
    }
    return found;
  }

  // The Python calls that hold `from`, as far as `until`, whose parents are not taken.
  void add_python_calls(SliceId from, SliceId until) {
    while (from != until && details_.stack.size() < SliceDetails::kMaxStack) {
      from = parent_of(from);
      if (from == kNoSlice) return;
      if (label_of(from).kind != SliceKind::kPython) continue;
      details_.stack.push_back(parse_function_name(trace_.slice_name(from)));
    }
  }

  void add_stack() {
    const auto [forward, backward] = find_forward();
    add_python_calls(slice_, backward);
    if (forward != kNoSlice) {
      const size_t own = details_.stack.size();
      add_python_calls(forward, kNoSlice);
      details_.is_forward_stack = details_.stack.size() > own;
    }
    if (details_.stack.empty()) add_written_stack();
  }

  // Older exporters write the stack into an argument.
  void add_written_stack() {
    const ArgColumn* column = trace_.find_args("Call stack", ArgType::kString);
    if (column == nullptr) return;
    const auto at = column->find(slice_);
    if (!at) return;
    std::string_view text = trace_.string(column->string(*at));
    while (!text.empty() && details_.stack.size() < SliceDetails::kMaxStack) {
      const size_t end = std::min(text.find(';'), text.size());
      if (end > 0) details_.stack.push_back(parse_function_name(text.substr(0, end)));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  void add_source() {
    FunctionName place = parse_function_name(details_.place.name);
    for (size_t i = 0; place.file.empty() && i < details_.stack.size(); ++i) {
      place = details_.stack[i];
    }
    details_.file = place.file;
    details_.line = place.line;
  }

  void add_link(SliceId other, bool is_out, std::string_view what) {
    if (other == kNoSlice || other == slice_) return;
    if (!linked_.emplace(other, is_out).second) return;
    if (details_.links.size() == SliceDetails::kMaxLinks) {
      ++details_.links_left_out;
      return;
    }
    details_.links.push_back({place_of_slice(trace_, other), is_out, what});
  }

  void add_arrows() {
    const FlowColumns& flows = trace_.flows();
    for (size_t i = 0; i < flows.from.size(); ++i) {
      const bool is_out = flows.from[i] == slice_;
      if (!is_out && flows.to[i] != slice_) continue;
      const std::string_view what = trace_.string(trace_.labels()[flows.label[i]].name);
      add_link(is_out ? flows.to[i] : flows.from[i], is_out, what);
    }
  }

  // Work on a device and the call that started it have one correlation id; in a trace without such
  // calls, work and the operator have one External id.
  void add_launches() {
    const std::vector<Label>& labels = trace_.labels().all();
    const bool has_calls = std::any_of(labels.begin(), labels.end(), [](const Label& label) {
      return label.kind == SliceKind::kRuntime;
    });
    const SliceKind host_kind = has_calls ? SliceKind::kRuntime : SliceKind::kOperator;
    const auto is_device = [](SliceKind kind) {
      return is_device_work(kind) || kind == SliceKind::kSync;
    };
    const bool is_out = details_.kind == host_kind;
    if (!is_out && !is_device(details_.kind)) return;
    for (const std::string_view key : {"correlation", "External id", "external id"}) {
      if (has_calls != (key == "correlation")) continue;
      const ArgColumn* column = trace_.find_args(key, ArgType::kInt);
      const auto at = column != nullptr ? column->find(slice_) : std::nullopt;
      if (!at || column->ints[*at] == 0) continue;
      const int64_t id = column->ints[*at];
      for (size_t i = 0; i < column->rows.size(); ++i) {
        if (column->ints[i] != id) continue;
        const SliceKind kind = label_of(column->rows[i]).kind;
        if (is_out ? is_device(kind) : kind == host_kind) {
          add_link(column->rows[i], is_out, "launch");
        }
      }
    }
  }

  void finish_links() {
    std::stable_sort(
        details_.links.begin(), details_.links.end(), [](const SliceLink& a, const SliceLink& b) {
          return std::tuple(a.is_out, a.other.start_ns) < std::tuple(b.is_out, b.other.start_ns);
        });
  }

  const Trace& trace_;
  const SliceColumns& slices_;
  const SliceId slice_;
  SliceDetails details_;
  std::set<std::pair<SliceId, bool>> linked_;
};

}  // namespace

SlicePlace place_of_slice(const Trace& trace, SliceId slice) {
  const SliceColumns& slices = trace.slices();
  const uint32_t row = index(slice);
  return {.slice = slice,
          .track = trace.find_track_of(slice),
          .label = slices.label[row],
          .start_ns = subtract_saturating(slices.start_ns[row], trace.begin_ns()),
          .dur_ns = slices.dur_ns[row],
          .depth = slices.depth[row],
          .name = trace.slice_name(slice)};
}

Result<SliceDetails> describe_slice(const Trace& trace, SliceId slice) {
  if (index(slice) >= trace.slices().size()) {
    return Status::error(
        fmt::format("no slice {}: the trace has {}", index(slice), trace.slices().size()));
  }
  return Describer(trace, slice).describe();
}

}  // namespace stepscope
