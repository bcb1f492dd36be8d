#include "ingest/torch_memory_timeline.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ingest/json_text.h"
#include "trace/memory_category.h"
#include "trace/trace_builder.h"

namespace stepscope {
namespace {

constexpr size_t kReadBytes = size_t{1} << 20;
constexpr size_t kMaxEntryBytes = 256;  // far more than four numbers need

constexpr size_t kCategories = kMemoryCategoryCount;
constexpr std::string_view kTotal = "total";

enum Action : int64_t { kPreexisting = 1, kCreate = 2, kIncrementVersion = 3, kDestroy = 4 };

struct Entry {
  int64_t time_ns;
  int64_t action;
  int64_t bytes;
  int64_t category;
};

// The entry between the brackets of "[…]".
std::optional<Entry> parse_entry(std::string_view text) {
  std::array<int64_t, 4> values{};
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t end = i + 1 < values.size() ? text.find(',') : text.size();
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view field = text.substr(0, end);
    field.remove_prefix(std::min(skip_space(field, 0), field.size()));
    const size_t last = field.find_last_not_of(" \t\r\n");
    const auto value = parse_int(field.substr(0, last == std::string_view::npos ? 0 : last + 1));
    if (!value) return std::nullopt;
    values[i] = *value;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const Entry entry{values[0], values[1], values[2], values[3]};
  constexpr int64_t kMaxBytes = int64_t{1} << 50;  // more than any device has
  const bool is_sound = entry.action >= kPreexisting && entry.action <= kDestroy &&
                        entry.category >= 0 && entry.category < static_cast<int64_t>(kCategories) &&
                        entry.bytes >= -kMaxBytes && entry.bytes <= kMaxBytes;
  return is_sound ? std::optional(entry) : std::nullopt;
}

class Timeline {
 public:
  explicit Timeline(TraceBuilder& builder) : builder_(builder) {
    track_ = builder.add_thread({}, {});
    builder.track(track_).name = builder.string("memory timeline");
    for (size_t i = 0; i <= kCategories; ++i) {
      const std::string_view series = i < kCategories ? kMemoryCategoryNames[i].one : kTotal;
      counters_[i] = builder.add_counter({}, builder.string("memory"), builder.string(series));
    }
  }

  void add(const Entry& entry) {
    if (entry.time_ns < 0) {  // its time is that of the first entry that has one
      before_.push_back(entry);
      return;
    }
    start(entry.time_ns);
    apply(entry, entry.time_ns);
    write(static_cast<size_t>(entry.category), entry.time_ns);
    write(kCategories, entry.time_ns);
  }

  void finish() { start(0); }

 private:
  void start(int64_t time_ns) {
    if (started_) return;
    started_ = true;
    for (const Entry& entry : before_) apply(entry, time_ns);
    if (before_.empty()) return;
    for (size_t i = 0; i <= kCategories; ++i) write(i, time_ns);
    before_ = {};
  }

  void apply(const Entry& entry, int64_t time_ns) {
    for (const size_t series : {static_cast<size_t>(entry.category), kCategories}) {
      constexpr int64_t kMaxSum = int64_t{1} << 60;
      bytes_[series] = std::clamp(bytes_[series] + entry.bytes, -kMaxSum, kMaxSum);
    }
    if (entry.action == kIncrementVersion) return;  // only its category changes
    builder_.add_allocation(
        track_,
        {.time_ns = time_ns, .bytes = entry.bytes, .total_allocated_bytes = bytes_[kCategories]});
  }

  void write(size_t series, int64_t time_ns) {
    builder_.add_counter_value(counters_[series], time_ns, static_cast<double>(bytes_[series]));
  }

  TraceBuilder& builder_;
  TrackId track_{};
  std::array<TrackId, kCategories + 1> counters_{};
  std::array<int64_t, kCategories + 1> bytes_{};  // held now; the last is the total
  std::vector<Entry> before_;
  bool started_ = false;
};

}  // namespace

bool looks_like_torch_memory_timeline(std::string_view head) {
  size_t at = skip_space(head, 0);
  if (at >= head.size() || head[at] != '[') return false;
  at = skip_space(head, at + 1);
  if (at >= head.size() || head[at] != '[') return false;
  const std::string_view entry = head.substr(at + 1, kMaxEntryBytes);
  const size_t end = entry.find(']');
  return end != std::string_view::npos && parse_entry(entry.substr(0, end)).has_value();
}

Result<Trace> load_torch_memory_timeline(ByteSource& source, const LoadOptions& options) {
  TraceBuilder builder;
  Timeline timeline(builder);
  Stats& stats = builder.stats();
  std::string text;
  uint64_t offset = 0;  // of text in the file
  bool is_inside = false;
  bool ended = false;
  while (!ended) {
    const size_t before = text.size();
    text.resize(before + kReadBytes);
    const Result<size_t> count = source.read({text.data() + before, kReadBytes});
    if (!count) return count.status();
    text.resize(before + *count);
    size_t at = 0;
    while (true) {
      at = skip_space(text, at);
      while (at < text.size() && text[at] == ',') at = skip_space(text, at + 1);
      if (at == text.size()) break;
      if (text[at] == ']') {
        ended = true;
        break;
      }
      if (!is_inside) {  // the list's own "["
        is_inside = true;
        ++at;
        continue;
      }
      const size_t end = find_value_end(text, at);
      if (end == std::string::npos && *count > 0 && text.size() - at < kMaxEntryBytes) break;
      if (end == std::string::npos && *count == 0) {
        stats.add(Stat::kBytesTruncated, text.size() - at);
        stats.note("byte " + std::to_string(offset + at) + ": the file ends inside an entry");
        at = text.size();
        break;
      }
      const std::string_view found =
          std::string_view(text).substr(at, end == std::string::npos ? end : end - at);
      const bool is_list = found.starts_with('[') && found.ends_with(']');
      const auto entry = is_list ? parse_entry(found.substr(1, found.size() - 2)) : std::nullopt;
      stats.add(Stat::kEventsRead);
      if (entry) {
        timeline.add(*entry);
      } else {
        stats.add(Stat::kEventsSkipped);
        stats.note("byte " + std::to_string(offset + at) +
                   ": not [time, action, bytes, category]; entry skipped");
      }
      at = end == std::string::npos ? text.size() : std::max(end, at + 1);  // a stray bracket
    }
    offset += at;
    text.erase(0, at);
    if (*count == 0) break;
    if (options.progress && source.total_bytes_compressed() > 0) {
      options.progress(static_cast<double>(source.bytes_read_compressed()) /
                       static_cast<double>(source.total_bytes_compressed()));
    }
  }
  if (!ended) {
    stats.add(Stat::kBytesTruncated, stats.get(Stat::kBytesTruncated) == 0);
    stats.note("the file ends inside the list");
  }
  if (source.truncated()) stats.note(source.fault());
  timeline.finish();
  builder.set_format("PyTorch memory timeline");
  builder.set_source(source.name());
  return std::move(builder).finish();
}

}  // namespace stepscope
