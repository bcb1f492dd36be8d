#include "ingest/chrome_json.h"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "ingest/chunk_source.h"
#include "ingest/event_assembler.h"
#include "ingest/event_pipeline.h"
#include "ingest/json_text.h"
#include "ingest/kineto.h"
#include "ingest/megengine_timeline.h"
#include "ingest/slow_reader.h"

namespace stepscope {
namespace {

constexpr size_t npos = std::string_view::npos;
constexpr size_t kHeadBytes = size_t{256} << 10;
constexpr size_t kMaxMetadataBytes = size_t{16} << 20;
constexpr uint64_t kMaxMembers = 10'000;

// Reads the text around the events: the members of the outer object.
class OuterReader {
 public:
  OuterReader(ByteSource& source, TraceBuilder& builder) : source_(source), builder_(builder) {}

  enum class Found { kEvents, kEnd, kFault };

  // From the start of the file: stops after the "[" of the events.
  Found read_head() {
    if (text_.empty() && !more()) return Found::kFault;
    if (left().starts_with("\xEF\xBB\xBF")) consume(3);
    if (!to_token()) return Found::kFault;
    if (left()[0] == '[') {
      is_bare_list_ = true;
      consume(1);
      return Found::kEvents;
    }
    if (left()[0] != '{') return Found::kFault;
    consume(1);
    return read_members();
  }

  // Goes on after a list of events with the text that is left of it.
  Found read_tail(std::string text, uint64_t offset) {
    text_ = std::move(text);
    used_ = 0;
    offset_ = offset;
    return is_bare_list_ ? Found::kEnd : read_members();
  }

  std::string take_text() {
    text_.erase(0, std::exchange(used_, 0));
    return std::exchange(text_, {});
  }
  uint64_t offset() const { return offset_; }
  bool is_bare_list() const { return is_bare_list_; }
  bool is_megengine() const { return is_megengine_; }
  const Status& status() const { return status_; }

 private:
  std::string_view left() const { return std::string_view(text_).substr(used_); }

  bool more() {
    text_.erase(0, std::exchange(used_, 0));
    const size_t before = text_.size();
    text_.resize(before + std::max(kHeadBytes, before));
    const Result<size_t> count = source_.read({text_.data() + before, text_.size() - before});
    if (!count) status_ = count.status();
    text_.resize(before + (count ? *count : 0));
    return count && *count > 0;
  }

  void consume(size_t bytes) {
    used_ += bytes;
    offset_ += bytes;
  }

  bool to_token() {
    while (true) {
      const size_t at = skip_space(left(), 0);
      if (at < left().size()) {
        consume(at);
        return true;
      }
      if (!more()) return false;
    }
  }

  // The end of the value in front, reading on until it is there.
  size_t end_of_value() {
    while (true) {
      const size_t end = find_value_end(left(), 0);
      if (end != npos && end < left().size()) return end;
      if (!more()) return end;
    }
  }

  Found read_members() {
    while (true) {
      if (!to_token()) return Found::kEnd;
      if (left()[0] == ',') {
        consume(1);
        continue;
      }
      if (left()[0] != '"') return Found::kEnd;
      const size_t key_end = end_of_value();
      if (key_end == npos) return Found::kEnd;
      const std::string key = unescape(left().substr(1, key_end - 2));
      consume(key_end);
      if (!to_token() || left()[0] != ':') return Found::kEnd;
      consume(1);
      if (!to_token()) return Found::kEnd;
      if (key == "traceEvents" && left()[0] == '[') {
        consume(1);
        return Found::kEvents;
      }
      const size_t end = end_of_value();
      if (end == npos || end == 0) return Found::kEnd;
      add_member(key, left().substr(0, end));
      consume(end);
    }
  }

  void add_member(std::string_view key, std::string_view value) {
    if (++members_ > kMaxMembers) {
      builder_.stats().add(Stat::kValuesSkipped);
      if (members_ == kMaxMembers + 1) {
        builder_.stats().note("metadata after the first " + std::to_string(kMaxMembers) +
                              " entries is left out");
      }
      return;
    }
    if (key == "deviceProperties" || key == "computeProperties") add_devices(value, builder_);
    if (key == "baseTimeNanoseconds") {
      if (const auto ns = parse_int(value)) builder_.set_clock_base_ns(*ns);
    }
    if (key == "metadata") {
      if (const auto ns = find_megengine_local_time(value)) {
        builder_.set_clock_base_ns(*ns);
        is_megengine_ = true;
      }
    }
    if (value.size() > kMaxMetadataBytes) {
      builder_.stats().add(Stat::kValuesSkipped);
      builder_.stats().note("\"" + std::string(key) +
                            "\" is left out: " + std::to_string(value.size()) + " bytes");
      return;
    }
    const bool is_text = value.size() >= 2 && value.front() == '"';
    if (is_text) {
      builder_.add_metadata(key, unescape(value.substr(1, value.size() - 2)), false);
    } else {
      builder_.add_metadata(key, value, true);
    }
  }

  ByteSource& source_;
  TraceBuilder& builder_;
  std::string text_;  // read; looked at up to used_
  size_t used_ = 0;
  uint64_t offset_ = 0;
  uint64_t members_ = 0;
  bool is_bare_list_ = false;
  bool is_megengine_ = false;
  Status status_;
};

std::string format_name(TraceBuilder& builder) {
  const auto has = [&](std::string_view key) { return builder.has_metadata(key); };
  if (has("schemaVersion") || has("deviceProperties") || has("distributedInfo")) {
    return "Kineto JSON";
  }
  if (has("viztracer_metadata")) return "viztracer JSON";
  return "Chrome JSON";
}

// An empty list is an empty trace; a list of something else is none.
Status check_has_events(const Stats& stats, const std::string& name) {
  const uint64_t read = stats.get(Stat::kEventsRead);
  if (read > stats.get(Stat::kEventsSkipped)) return {};
  if (read > 0) {
    return Status::error(name + ": not a trace: none of its " + std::to_string(read) +
                         " entries is an event");
  }
  if (stats.get(Stat::kBytesTruncated) > 1) {
    return Status::error(name + ": not a trace: it ends inside its first entry");
  }
  return {};
}

}  // namespace

bool looks_like_chrome_json(std::string_view head) {
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  const size_t at = skip_space(head, 0);
  return at < head.size() && (head[at] == '{' || head[at] == '[');
}

Result<Trace> load_chrome_json(ByteSource& source, const LoadOptions& options) {
  TraceBuilder builder;
  EventAssembler assembler(builder);
  OuterReader outer(source, builder);
  using Found = OuterReader::Found;
  Found found = outer.read_head();
  if (!outer.status().ok()) return outer.status();
  if (found != Found::kEvents) {
    return Status::error(source.name() + ": JSON, but not a trace: no \"traceEvents\" in it");
  }

  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int threads = std::clamp(options.threads > 0 ? options.threads : cores, 1, 64);
  SlowReader slow(static_cast<uint32_t>(threads), assembler, builder.stats());
  {
    const uint64_t offset = outer.offset();
    ChunkSource chunks(source, outer.take_text(), offset, options.chunk_bytes);
    EventPipeline pipeline(chunks, threads);
    while (EventPipeline::Piece* piece = pipeline.next()) {
      const bool is_fast = piece->is_whole && slow.is_between_events();
      if (is_fast) {
        assembler.add(piece->batch);
      } else {
        if (!piece->chunk.is_tail) assembler.add_names(piece->batch);
        slow.feed(piece->chunk.view(), piece->chunk.offset, piece->chunk.is_tail);
        // The comma between the pieces matters only where an event goes on past it.
        if (!slow.is_between_events()) {
          slow.feed(piece->chunk.gap, piece->chunk.offset + piece->chunk.length, false);
        }
      }
      if (options.progress && source.total_bytes_compressed() > 0) {
        options.progress(static_cast<double>(source.bytes_read_compressed()) /
                         static_cast<double>(source.total_bytes_compressed()));
      }
      pipeline.give_back(piece);
    }
    if (!chunks.status().ok()) return chunks.status();
  }
  // After the list: the other members, and further lists of events.
  while (slow.list_ended()) {
    if (outer.read_tail(slow.rest(), slow.rest_offset()) != Found::kEvents) break;
    slow.start_list();
    const uint64_t offset = outer.offset();
    slow.feed(outer.take_text(), offset, true);
  }
  if (!slow.list_ended() && !outer.is_bare_list()) {
    builder.stats().note("the file ends inside the list of events");
    builder.stats().add(Stat::kBytesTruncated, builder.stats().get(Stat::kBytesTruncated) == 0);
  }
  if (source.truncated()) {
    builder.stats().add(Stat::kBytesTruncated, builder.stats().get(Stat::kBytesTruncated) == 0);
    builder.stats().note(source.fault());
  }
  if (Status status = check_has_events(builder.stats(), source.name()); !status) return status;
  assembler.finish();
  builder.set_format(outer.is_megengine() ? "MegEngine timeline" : format_name(builder));
  builder.set_source(source.name());
  return std::move(builder).finish();
}

}  // namespace stepscope
