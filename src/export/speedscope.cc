#include "export/speedscope.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/saturating.h"
#include "export/json_text.h"
#include "export/output_file.h"
#include "export/stack_export.h"
#include "trace/function_name.h"
#include "trace/sample_weights.h"

namespace stepscope {
namespace {

constexpr uint32_t kNoNumber = UINT32_MAX;

bool is_shown(SliceKind kind) { return kind != SliceKind::kInstant && kind != SliceKind::kSpan; }

class SpeedscopeWriter {
 public:
  SpeedscopeWriter(const Trace& trace, const ExportOptions& options, OutputFile& out)
      : trace_(trace),
        weights_(trace.samples(), options.sample_weight),
        out_(out),
        number_of_label_(trace.labels().size(), kNoNumber),
        number_of_frame_(trace.frames().size(), kNoNumber),
        samples_of_track_(trace.tracks().size()) {}

  void write() {
    survey();
    text_ =
        "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
        "\"exporter\":\"stepscope " STEPSCOPE_VERSION "\",\n\"name\":";
    json::append_string(text_, title());
    text_ += ",\n\"activeProfileIndex\":";
    json::append_uint(text_, active_profile_);
    text_ += ",\n\"shared\":{\"frames\":[" + frames_ + "]},\n\"profiles\":[";
    bool is_first = true;
    for (uint32_t i = 0; i < trace_.tracks().size() && out_.ok(); ++i) {
      const Track& track = trace_.tracks()[i];
      if (has_slices(track)) {
        text_ += std::exchange(is_first, false) ? "\n" : ",\n";
        write_slices(track);
      }
      if (!samples_of_track_[i].empty()) {
        text_ += std::exchange(is_first, false) ? "\n" : ",\n";
        write_samples(track, samples_of_track_[i]);
      }
    }
    text_ += "]}\n";
    out_.append(text_);
  }

  uint64_t slices_cut() const { return slices_cut_; }
  bool is_empty() const { return profiles_ == 0; }

 private:
  struct OpenSlice {
    uint32_t row;
    uint32_t frame;
    int64_t end_ns;
  };

  std::string_view string(StringId id) const { return trace_.string(id); }

  bool row_is_shown(uint32_t row) const {
    return is_shown(trace_.labels()[trace_.slices().label[row]].kind);
  }

  bool has_slices(const Track& track) const {
    for (uint32_t i = 0; i < track.slice_count; ++i) {
      if (row_is_shown(track.first_slice + i)) return true;
    }
    return false;
  }

  // Numbers the frames in the order of their use, finds the begin and the largest profile.
  void survey() {
    const SampleColumns& samples = trace_.samples();
    for (uint32_t i = 0; i < samples.time_ns.size(); ++i) {
      if (index(samples.track[i]) < samples_of_track_.size() && weights_.counts(i)) {
        samples_of_track_[index(samples.track[i])].push_back(i);
      }
    }
    uint64_t largest = 0;
    std::vector<uint8_t> is_seen(trace_.stacks().size(), 0);
    const auto count_profile = [&](uint64_t events) {
      if (events > largest) {
        largest = events;
        active_profile_ = profiles_;
      }
      ++profiles_;
    };
    for (uint32_t i = 0; i < trace_.tracks().size(); ++i) {
      const Track& track = trace_.tracks()[i];
      if (has_slices(track)) {
        survey_slices(track);
        count_profile(track.slice_count);
      }
      std::vector<uint32_t>& rows = samples_of_track_[i];
      if (rows.empty()) continue;
      std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
        return samples.time_ns[a] < samples.time_ns[b];
      });
      begin_ns_ = std::min(begin_ns_, samples.time_ns[rows.front()]);
      for (const uint32_t row : rows) {
        const StackId stack = samples.stack[row];
        if (index(stack) >= is_seen.size() || is_seen[index(stack)] != 0) continue;
        is_seen[index(stack)] = 1;
        for (const FrameId frame : path_of(stack)) number_frame(frame);
      }
      count_profile(rows.size());
    }
  }

  void survey_slices(const Track& track) {
    const SliceColumns& slices = trace_.slices();
    for (uint32_t i = 0; i < track.slice_count; ++i) {
      const uint32_t row = track.first_slice + i;
      if (!row_is_shown(row)) continue;
      begin_ns_ = std::min(begin_ns_, slices.start_ns[row]);
      end_ns_ = std::max(end_ns_, slices.end_ns(row));
      uint32_t& number = number_of_label_[index(slices.label[row])];
      if (number != kNoNumber) continue;
      const StringId name = trace_.labels()[slices.label[row]].name;
      const auto [it, is_new] = number_of_name_.emplace(name, frame_count_);
      number = it->second;
      if (is_new) add_frame(parse_function_name(string(name)));
    }
  }

  void number_frame(FrameId id) {
    if (number_of_frame_[index(id)] != kNoNumber) return;
    number_of_frame_[index(id)] = frame_count_;
    const Frame& frame = trace_.frames()[index(id)];
    add_frame({string(frame.name), string(frame.file), frame.line});
  }

  void add_frame(const FunctionName& function) {
    frames_ += frame_count_++ == 0 ? "\n{\"name\":" : ",\n{\"name\":";
    json::append_string(frames_, function.name);
    if (!function.file.empty()) {
      frames_ += ",\"file\":";
      json::append_string(frames_, function.file);
    }
    if (function.line > 0) {
      frames_ += ",\"line\":";
      json::append_int(frames_, function.line);
    }
    frames_ += '}';
  }

  // The frames of a stack, the outermost first.
  const std::vector<FrameId>& path_of(StackId stack) {
    const auto stacks = trace_.stacks();
    path_.clear();
    while (index(stack) < stacks.size()) {
      const StackNode& node = stacks[index(stack)];
      if (index(node.frame) < trace_.frames().size()) path_.push_back(node.frame);
      if (node.parent >= stack) break;  // a parent comes before its children
      stack = node.parent;
    }
    std::reverse(path_.begin(), path_.end());
    return path_;
  }

  std::string_view title() const {
    if (const std::string_view name = trace_.find_metadata("name"); !name.empty()) return name;
    const std::string_view source = trace_.source();
    return source.substr(source.rfind('/') + 1);  // npos + 1 is 0
  }

  std::string name_of(const Track& track) const {
    std::string name(string(track.name));
    if (name.empty()) {
      name = fmt::format("{} {}", track_kind_name(track.kind), trace_.id_text(track.tid));
    }
    if (trace_.processes().size() < 2) return name;
    const Process& process = trace_.processes()[track.process];
    const std::string pid = trace_.id_text(process.pid);
    const std::string_view title = string(process.name);
    return title.empty() || title == pid ? pid + " / " + name
                                         : fmt::format("{} {} / {}", title, pid, name);
  }

  void begin_profile(std::string_view type, const Track& track, std::string_view unit,
                     int64_t start, int64_t end) {
    text_ += "{\"type\":\"";
    text_ += type;
    text_ += "\",\"name\":";
    json::append_string(text_, name_of(track));
    text_ += ",\"unit\":\"";
    text_ += unit;
    text_ += "\",\"startValue\":";
    json::append_int(text_, start);
    text_ += ",\"endValue\":";
    json::append_int(text_, end);
  }

  void event(std::string_view head, uint32_t frame, int64_t time_ns) {
    text_ += std::exchange(is_first_event_, false) ? "\n" : ",\n";
    text_ += head;
    json::append_uint(text_, frame);
    text_ += ",\"at\":";
    json::append_int(text_, time_ns - begin_ns_);
    text_ += '}';
    flush_if_full();
  }

  void write_slices(const Track& track) {
    const SliceColumns& slices = trace_.slices();
    begin_profile("evented", track, "nanoseconds", 0, end_ns_ - begin_ns_);
    text_ += ",\"events\":[";
    is_first_event_ = true;
    std::vector<OpenSlice> open;
    const auto close = [&](int64_t latest_ns) {
      const OpenSlice& last = open.back();
      slices_cut_ += last.end_ns > latest_ns;
      event("{\"type\":\"C\",\"frame\":", last.frame, std::min(last.end_ns, latest_ns));
      open.pop_back();
    };
    for (uint32_t i = 0; i < track.slice_count && out_.ok(); ++i) {
      const uint32_t row = track.first_slice + i;
      if (!row_is_shown(row)) continue;
      SliceId parent = slices.parent[row];
      while (parent != kNoSlice && !row_is_shown(index(parent))) {
        parent = slices.parent[index(parent)];
      }
      const int64_t start_ns = slices.start_ns[row];
      while (!open.empty() && SliceId{open.back().row} != parent) close(start_ns);
      const uint32_t frame = number_of_label_[index(slices.label[row])];
      event("{\"type\":\"O\",\"frame\":", frame, start_ns);
      open.push_back({row, frame, slices.end_ns(row)});
    }
    while (!open.empty()) close(std::numeric_limits<int64_t>::max());
    text_ += "]}";
  }

  void write_samples(const Track& track, const std::vector<uint32_t>& rows) {
    const SampleColumns& samples = trace_.samples();
    const int64_t start = samples.time_ns[rows.front()] - begin_ns_;
    int64_t end = start;
    for (const uint32_t row : rows) end = add_saturating(end, weights_[row]);
    begin_profile("sampled", track, unit_of_samples(), start, end);
    text_ += ",\"samples\":[";
    for (size_t i = 0; i < rows.size() && out_.ok(); ++i) {
      text_ += i == 0 ? "\n[" : ",\n[";
      bool is_first = true;
      for (const FrameId frame : path_of(samples.stack[rows[i]])) {
        if (!std::exchange(is_first, false)) text_ += ',';
        json::append_uint(text_, number_of_frame_[index(frame)]);
      }
      text_ += ']';
      flush_if_full();
    }
    text_ += "],\"weights\":[";
    for (size_t i = 0; i < rows.size() && out_.ok(); ++i) {
      if (i != 0) text_ += ',';
      json::append_int(text_, weights_[rows[i]]);
      flush_if_full();
    }
    text_ += "]}";
  }

  std::string_view unit_of_samples() const {
    switch (weight_unit(trace_, CallTree::Source::kSamples)) {
      case WeightUnit::kNone:
        return "none";
      case WeightUnit::kBytes:
        return "bytes";
      case WeightUnit::kNs:
        break;
    }
    return "nanoseconds";
  }

  void flush_if_full() {
    constexpr size_t kFlushBytes = 256 << 10;
    if (text_.size() <= kFlushBytes) return;
    out_.append(text_);
    text_.clear();
  }

  const Trace& trace_;
  const SampleWeights weights_;
  OutputFile& out_;
  std::string text_;
  std::string frames_;  // as JSON
  uint32_t frame_count_ = 0;
  std::vector<uint32_t> number_of_label_;
  std::vector<uint32_t> number_of_frame_;
  std::unordered_map<StringId, uint32_t> number_of_name_;
  std::vector<std::vector<uint32_t>> samples_of_track_;  // by time
  std::vector<FrameId> path_;
  int64_t begin_ns_ = std::numeric_limits<int64_t>::max();
  int64_t end_ns_ = std::numeric_limits<int64_t>::min();
  uint64_t profiles_ = 0;
  uint64_t active_profile_ = 0;
  uint64_t slices_cut_ = 0;
  bool is_first_event_ = true;
};

}  // namespace

Result<std::vector<std::string>> write_speedscope(const Trace& trace, const std::string& path,
                                                  const ExportOptions& options) {
  if (trace.slices().size() == 0 && trace.samples().time_ns.empty()) {
    if (const auto tree = build_stacks(trace, options); !tree) return tree.status();
  }
  auto out = OutputFile::create(path);
  if (!out) return out.status();
  SpeedscopeWriter writer(trace, options, **out);
  writer.write();
  if (Status status = (*out)->finish(); !status) return status;
  std::vector<std::string> left_out = describe_left_out_of_timeline(trace);
  if (writer.slices_cut() > 0) {
    left_out.push_back(
        fmt::format("the ends of {} slices, which overlap the next in part", writer.slices_cut()));
  }
  return left_out;
}

}  // namespace stepscope
