#include "ingest/collapsed.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "ingest/json_text.h"
#include "trace/function_name.h"
#include "trace/trace_builder.h"

namespace stepscope {
namespace {

constexpr size_t kReadBytes = size_t{1} << 20;
constexpr size_t kMaxLineBytes = size_t{64} << 20;
constexpr std::string_view kOwnComment = "# stepscope: weights in ";
constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kNoStackName = "[no stack]";  // py-spy writes such lines

struct Line {
  std::string_view stack;
  double weight = 0;
};

std::string_view without_end_of_line(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool is_blank(std::string_view line) { return line.find_first_not_of(kBlanks) == line.npos; }

bool is_comment(std::string_view line) { return line.starts_with('#'); }

bool is_number(std::string_view text) {
  const size_t digits = text.find_first_not_of("0123456789");
  if (digits == 0 || text.empty()) return false;
  if (digits == text.npos) return true;
  return text[digits] == '.' && text.find_first_not_of("0123456789", digits + 1) == text.npos;
}

std::optional<Line> parse_line(std::string_view line) {
  const size_t last = line.find_last_not_of(kBlanks);
  line = line.substr(0, last == line.npos ? 0 : last + 1);
  const size_t blank = line.find_last_of(kBlanks);
  if (blank == line.npos) return std::nullopt;
  const std::string_view number = line.substr(blank + 1);
  if (!is_number(number)) return std::nullopt;
  const std::optional<double> weight = parse_double(number);
  if (!weight) return std::nullopt;
  const size_t end = line.find_last_not_of(kBlanks, blank);
  return Line{line.substr(0, end == line.npos ? 0 : end + 1), *weight};
}

class CollapsedReader {
 public:
  explicit CollapsedReader(TraceBuilder& builder)
      : builder_(builder), track_(builder.add_thread({}, {})) {}

  void add_line(std::string_view line, uint64_t number) {
    line = without_end_of_line(line);
    if (is_blank(line)) return;
    if (is_comment(line)) {
      if (line.starts_with(kOwnComment)) unit_ = line.substr(kOwnComment.size());
      return;
    }
    Stats& stats = builder_.stats();
    stats.add(Stat::kEventsRead);
    const auto parsed = parse_line(line);
    if (!parsed) {
      stats.add(Stat::kEventsSkipped);
      stats.note("line " + std::to_string(number) + ": no stack with a number; skipped");
      return;
    }
    const auto weight = static_cast<int64_t>(
        std::llround(std::min(parsed->weight, static_cast<double>(TraceBuilder::kMaxDurNs))));
    has_fractions_ = has_fractions_ || static_cast<double>(weight) != parsed->weight;
    builder_.add_sample(track_, now_,
                        add_stack(parsed->stack.empty() ? kNoStackName : parsed->stack), weight);
    now_ = std::min(now_ + weight, TraceBuilder::kMaxTimeNs);
  }

  void skip_long_line(uint64_t number) {
    builder_.stats().add(Stat::kEventsRead);
    builder_.stats().add(Stat::kEventsSkipped);
    builder_.stats().note("line " + std::to_string(number) + ": longer than 64 MiB; skipped");
  }

  void finish() {
    if (has_fractions_) builder_.stats().note("weights are rounded to whole numbers");
    if (unit_ == "ns") return;
    builder_.add_metadata("weight_unit", unit_ == "bytes" ? "bytes" : "none", false);
    builder_.stats().note(unit_ == "bytes"
                              ? "weights are bytes: where a table says ns, it is bytes"
                              : "the file does not tell what its numbers count (mostly samples): "
                                "where a table says ns, it is that number");
  }

 private:
  StackId add_stack(std::string_view frames) {
    StackId stack = kNoStack;
    while (true) {
      const size_t end = std::min(frames.find(';'), frames.size());
      stack = builder_.add_stack({stack, frame(frames.substr(0, end))});
      if (end == frames.size()) return stack;
      frames.remove_prefix(end + 1);
    }
  }

  FrameId frame(std::string_view text) {
    const StringId id = builder_.string(text);
    const auto [it, is_new] = frames_.emplace(id, kNoFrame);
    if (!is_new) return it->second;
    const FunctionName parsed = parse_function_name(text);
    const bool has_place = !parsed.file.empty() && parsed.line > 0 && parsed.line <= INT32_MAX;
    it->second = builder_.add_frame(has_place ? Frame{builder_.string(parsed.name),
                                                      builder_.string(parsed.file),
                                                      static_cast<int32_t>(parsed.line)}
                                              : Frame{id, kEmptyString, 0});
    return it->second;
  }

  TraceBuilder& builder_;
  TrackId track_;
  std::unordered_map<StringId, FrameId> frames_;  // by their text
  std::string unit_;
  int64_t now_ = 0;
  bool has_fractions_ = false;
};

}  // namespace

bool looks_like_collapsed(std::string_view head) {
  const bool is_own = head.starts_with(kOwnComment);
  bool has_path = is_own;
  size_t stacks = 0;
  size_t lines = 0;
  while (!head.empty()) {
    const size_t newline = head.find('\n');
    // The last line may be cut. Alone it has to do.
    if (newline == head.npos && lines > 0) break;
    const std::string_view line = without_end_of_line(head.substr(0, newline));
    head.remove_prefix(newline == head.npos ? head.size() : newline + 1);
    ++lines;
    const bool has_control = std::any_of(line.begin(), line.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 && c != '\t';
    });
    if (has_control) return false;
    if (is_blank(line) || is_comment(line)) continue;
    const auto parsed = parse_line(line);
    if (!parsed) return false;
    has_path = has_path || parsed->stack.find(';') != parsed->stack.npos;
    ++stacks;
  }
  return has_path && (stacks > 0 || is_own);
}

Result<Trace> load_collapsed(ByteSource& source, const LoadOptions& options) {
  TraceBuilder builder;
  CollapsedReader reader(builder);
  std::string text;  // from the begin of a line
  uint64_t number = 0;
  bool is_skipping = false;  // the rest of a line that is too long
  while (true) {
    const size_t before = text.size();
    text.resize(before + kReadBytes);
    const Result<size_t> count = source.read({text.data() + before, kReadBytes});
    if (!count) return count.status();
    text.resize(before + *count);
    const bool is_end = *count == 0;
    size_t at = 0;
    size_t searched = before;  // nothing before it ends a line
    while (at < text.size()) {
      const size_t newline = text.find('\n', searched);
      if (newline == text.npos && !is_end) break;
      const size_t end = newline == text.npos ? text.size() : newline + 1;
      ++number;
      if (!std::exchange(is_skipping, false)) {
        reader.add_line(std::string_view(text).substr(at, end - at), number);
      } else {
        reader.skip_long_line(number);
      }
      at = searched = end;
    }
    text.erase(0, at);
    if (text.size() > kMaxLineBytes) {
      is_skipping = true;
      text.clear();
    }
    if (is_end) break;
    if (options.progress && source.total_bytes_compressed() > 0) {
      options.progress(static_cast<double>(source.bytes_read_compressed()) /
                       static_cast<double>(source.total_bytes_compressed()));
    }
  }
  if (source.truncated()) {
    builder.stats().add(Stat::kBytesTruncated);
    builder.stats().note(source.fault());
  }
  reader.finish();
  builder.set_format("collapsed stacks");
  builder.set_source(source.name());
  return std::move(builder).finish();
}

}  // namespace stepscope
