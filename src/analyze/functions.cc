// The view `functions`: calls, own and total time of each function, as pstats has them. A
// function's own time is its duration less that of all slices directly in it, operators too; total
// time counts a recursive function once. Comes from slices that are function calls, else from call
// edges (.prof), else from samples; in a trace that knows no kinds every name is a function.
#include "trace/function_name.h"
#include "analyze/slice_filter.h"
#include "analyze/text_value.h"
#include "analyze/views.h"
#include "trace/nesting.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace stepscope {
namespace {

constexpr uint32_t kind_bit(SliceKind kind) { return 1u << static_cast<unsigned>(kind); }
constexpr uint32_t kKnownKinds = kind_bit(SliceKind::kPython) | kind_bit(SliceKind::kCall);
constexpr uint32_t kFunctionKinds = kKnownKinds | kind_bit(SliceKind::kOther);

struct FunctionRow {
  uint64_t calls = 0;
  uint64_t primitive_calls = 0;
  int64_t self_ns = 0;
  int64_t total_ns = 0;
};

class FunctionTable {
 public:
  explicit FunctionTable(bool by_thread)
      : table("functions"),
        name_(table.add("name", ColumnType::kString)),
        file_(table.add("file", ColumnType::kString)),
        line_(table.add("line", ColumnType::kInt)),
        calls_(table.add("calls", ColumnType::kInt, Unit::kCount)),
        primitive_calls_(table.add("primitive_calls", ColumnType::kInt, Unit::kCount)),
        self_(table.add("self_ns", ColumnType::kInt, Unit::kNs)),
        total_(table.add("total_ns", ColumnType::kInt, Unit::kNs)),
        thread_(by_thread ? &table.add("thread", ColumnType::kString) : nullptr) {}

  void add(const FunctionName& name, const FunctionRow& row, std::string_view thread) {
    name_.push(name.name);
    name.file.empty() ? file_.push_null() : file_.push(name.file);
    name.line > 0 ? line_.push(name.line) : line_.push_null();
    if (row.calls > 0) {
      calls_.push(static_cast<int64_t>(row.calls));
      primitive_calls_.push(static_cast<int64_t>(row.primitive_calls));
    } else {
      calls_.push_null();  // samples do not count calls
      primitive_calls_.push_null();
    }
    self_.push(row.self_ns);
    total_.push(row.total_ns);
    if (thread_ != nullptr) thread_->push(thread);
  }

  Table table;

 private:
  Column &name_, &file_, &line_, &calls_, &primitive_calls_, &self_, &total_;
  Column* thread_;
};

// Sums up slices by name. Slices of unknown kind are summed up too, apart, because only the end of
// the stream tells whether it holds anything that is known to be a function.
class FunctionCounter {
 public:
  FunctionCounter(SliceStream& stream, const SliceFilter& filter)
      : stream_(stream), filter_(filter) {}

  void add(const SliceBlock& block) {
    const auto on_close = [this](const Nesting::Slice& slice) { close(slice); };
    if (block.starts_track) nesting_.close_all(on_close);
    learn_labels();
    uint32_t kinds = 0;
    for (const LabelId label : block.label) kinds |= kind_bits_[index(label)];
    seen_kinds_ |= kinds;
    if ((kinds & kFunctionKinds) == 0 && nesting_.stack().empty()) return;
    for (size_t i = 0; i < block.size(); ++i) {
      const LabelId label = block.label[i];
      if (kind_bits_[index(label)] == 0) continue;
      nesting_.open(block.row(i), label, block.start_ns[i], block.dur_ns(i), on_close);
      const uint32_t function = function_of_[index(label)];
      if (function != kNotAFunction && filter_.takes_time(block.start_ns[i])) {
        ++functions_[function].open;
      }
    }
  }

  void close_track() {
    nesting_.close_all([this](const Nesting::Slice& slice) { close(slice); });
  }

  // Rows of the known functions, or, where the trace knows no kinds, of every name. Starts anew.
  void take_rows(bool known, FunctionTable& out, std::string_view thread) {
    for (Function& function : functions_) {
      if (function.row.calls > 0 && function.is_known == known) {
        out.add(parse_function_name(stream_.strings().view(function.name)), function.row, thread);
      }
      if (function.is_known == known) function.row = {};
    }
  }

  bool has_known() const { return (seen_kinds_ & kKnownKinds) != 0; }
  // Of the host's slices; a tool may tell its kernels apart and nothing else.
  bool knows_no_kinds() const {
    return (seen_kinds_ & kind_bit(SliceKind::kOther)) != 0 &&
           (seen_kinds_ & (kind_bit(SliceKind::kOperator) | kind_bit(SliceKind::kAnnotation) |
                           kind_bit(SliceKind::kStep) | kind_bit(SliceKind::kRuntime))) == 0;
  }

 private:
  static constexpr uint32_t kNotAFunction = UINT32_MAX;

  struct Function {
    StringId name;
    bool is_known;
    uint32_t open = 0;
    FunctionRow row;
  };

  void learn_labels() {
    const std::vector<Label>& labels = stream_.labels().all();
    for (size_t i = function_of_.size(); i < labels.size(); ++i) {
      const SliceKind kind = labels[i].kind;
      const bool takes_time = kind != SliceKind::kInstant && kind != SliceKind::kSpan;
      kind_bits_.push_back(takes_time ? kind_bit(kind) : 0);
      const bool is_known = kind == SliceKind::kPython || kind == SliceKind::kCall;
      if (!is_known && kind != SliceKind::kOther) {
        function_of_.push_back(kNotAFunction);
        continue;
      }
      const uint64_t key = uint64_t{index(labels[i].name)} * 2 + (is_known ? 1 : 0);
      const auto [it, is_new] = by_key_.emplace(key, static_cast<uint32_t>(functions_.size()));
      if (is_new) functions_.push_back({labels[i].name, is_known, 0, {}});
      function_of_.push_back(it->second);
    }
  }

  void close(const Nesting::Slice& slice) {
    const uint32_t id = function_of_[index(slice.label)];
    if (id == kNotAFunction || !filter_.takes_time(slice.start_ns)) return;
    Function& function = functions_[id];
    ++function.row.calls;
    function.row.self_ns += slice.self_ns();
    if (--function.open == 0) {
      ++function.row.primitive_calls;
      function.row.total_ns += slice.dur_ns();
    }
  }

  SliceStream& stream_;
  const SliceFilter& filter_;
  Nesting nesting_;
  std::vector<uint32_t> function_of_;  // by label
  std::vector<uint32_t> kind_bits_;    // by label; 0: has no place among calls
  std::vector<Function> functions_;
  std::unordered_map<uint64_t, uint32_t> by_key_;
  uint32_t seen_kinds_ = 0;
};

std::string thread_title(const SliceStream& stream, TrackId id) {
  const Track& track = stream.tracks()[index(id)];
  std::string title = track.tid.text != kEmptyString
                          ? std::string(stream.strings().view(track.tid.text))
                          : std::to_string(track.tid.number);
  const std::string_view name = stream.strings().view(track.name);
  if (!name.empty()) title += " (" + std::string(name) + ")";
  return title;
}

struct Functions {
  Table table;
  bool has_known;
  bool knows_no_kinds;
};

Result<Functions> count_functions(SliceStream& stream, const SliceFilter& filter, bool by_thread) {
  FunctionTable known(by_thread), unknown(by_thread);
  FunctionCounter counter(stream, filter);
  SliceBlock block;
  TrackId track{};
  bool is_first = true;
  const auto end_track = [&] {
    counter.close_track();
    if (!by_thread || is_first) return;
    const std::string title = thread_title(stream, track);
    counter.take_rows(true, known, title);
    counter.take_rows(false, unknown, title);
  };
  while (true) {
    Result<bool> more = stream.next(block);
    if (!more) return more.status();
    if (!*more) break;
    if (block.starts_track) end_track();
    is_first = false;
    track = block.track;
    if (!filter.takes_track(block.track)) continue;
    counter.add(block);
  }
  end_track();
  if (!by_thread) {
    counter.take_rows(true, known, "");
    counter.take_rows(false, unknown, "");
  }
  const bool use_unknown = !counter.has_known() && counter.knows_no_kinds();
  return Functions{use_unknown ? std::move(unknown.table) : std::move(known.table),
                   counter.has_known(), counter.knows_no_kinds()};
}

Table functions_of_call_edges(const Trace& trace) {
  const CallEdgeColumns& edges = trace.call_edges();
  std::vector<FunctionRow> rows(trace.frames().size());
  std::vector<uint8_t> has_own(rows.size(), 0);
  // A row whose caller is the root holds the callee's own figures; without one the callers are
  // summed.
  for (const bool own : {true, false}) {
    for (size_t i = 0; i < edges.callee.size(); ++i) {
      const uint32_t callee = index(edges.callee[i]);
      if (callee >= rows.size() || (edges.caller[i] == kNoFrame) != own) continue;
      if (!own && has_own[callee] != 0) continue;
      has_own[callee] |= own ? 1 : 0;
      rows[callee].calls += edges.calls[i];
      rows[callee].primitive_calls += edges.primitive_calls[i];
      rows[callee].self_ns += edges.self_ns[i];
      rows[callee].total_ns += edges.total_ns[i];
    }
  }
  FunctionTable out(false);
  for (size_t i = 0; i < rows.size(); ++i) {
    const Frame& frame = trace.frames()[i];
    if (rows[i].calls == 0) continue;
    out.add({trace.string(frame.name), trace.string(frame.file), frame.line}, rows[i], "");
  }
  return std::move(out.table);
}

Table functions_of_samples(const Trace& trace, const SliceFilter& filter) {
  const SampleColumns& samples = trace.samples();
  const auto stacks = trace.stacks();
  const auto frames = trace.frames();
  std::vector<int64_t> weight_ns(stacks.size(), 0);
  uint64_t taken = 0;
  for (size_t i = 0; i < samples.time_ns.size(); ++i) {
    if (!filter.takes_track(samples.track[i]) || !filter.takes_time(samples.time_ns[i])) continue;
    if (index(samples.stack[i]) >= stacks.size()) continue;
    weight_ns[index(samples.stack[i])] += samples.weight_ns[i];
    ++taken;
  }
  // A parent is made before its children, so that one pass backwards sums up whole subtrees.
  std::vector<int64_t> subtree_ns(weight_ns);
  const auto parent_of = [&](size_t i) {
    const uint32_t parent = index(stacks[i].parent);
    return parent < i ? parent : UINT32_MAX;
  };
  for (size_t i = stacks.size(); i-- > 0;) {
    if (const uint32_t parent = parent_of(i); parent != UINT32_MAX)
      subtree_ns[parent] += subtree_ns[i];
  }
  // Children lists, then a walk that knows which frames are open above each node.
  std::vector<uint32_t> first(stacks.size() + 1, UINT32_MAX), next(stacks.size(), UINT32_MAX);
  for (size_t i = stacks.size(); i-- > 0;) {
    const uint32_t parent = parent_of(i);
    const size_t list = parent == UINT32_MAX ? stacks.size() : parent;
    next[i] = first[list];
    first[list] = static_cast<uint32_t>(i);
  }
  std::vector<FunctionRow> rows(frames.size());
  std::vector<uint32_t> open(frames.size(), 0);
  std::vector<std::pair<uint32_t, bool>> walk;  // node, and whether it closes
  if (first[stacks.size()] != UINT32_MAX) walk.emplace_back(first[stacks.size()], false);
  while (!walk.empty()) {
    const auto [node, closes] = walk.back();
    walk.pop_back();
    const uint32_t frame = index(stacks[node].frame);
    const bool is_frame = frame < frames.size();
    if (closes) {
      if (is_frame) --open[frame];
      continue;
    }
    if (next[node] != UINT32_MAX) walk.emplace_back(next[node], false);
    walk.emplace_back(node, true);
    if (is_frame) {
      rows[frame].self_ns += weight_ns[node];
      if (open[frame]++ == 0) rows[frame].total_ns += subtree_ns[node];
    }
    if (first[node] != UINT32_MAX) walk.emplace_back(first[node], false);
  }
  FunctionTable out(false);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].total_ns == 0) continue;
    out.add({trace.string(frames[i].name), trace.string(frames[i].file), frames[i].line}, rows[i],
            "");
  }
  out.table.notes.push_back("times are estimated from " +
                            text_of_count(static_cast<int64_t>(taken)) +
                            " samples; samples do not count calls");
  return std::move(out.table);
}

Result<bool> parse_by_thread(const TableOptions& options) {
  if (options.by.empty()) return false;
  if (options.by == "thread") return true;
  return Status::error("--by " + options.by + ": functions are by function, or by thread");
}

void note_what_is_missing(const Functions& functions, Table& table) {
  if (table.rows() > 0 || functions.has_known || functions.knows_no_kinds) return;
  table.notes.push_back(
      "no function calls in this trace (torch.profiler records them with "
      "with_stack=True); the view tree shows what there is");
}

}  // namespace

Result<Table> functions(const Trace& trace, const TableOptions& options) {
  const Result<bool> by_thread = parse_by_thread(options);
  if (!by_thread) return by_thread.status();
  Result<SliceFilter> filter = SliceFilter::make(trace, options);
  if (!filter) return filter.status();
  TraceSliceStream stream(trace);
  Result<Functions> functions = count_functions(stream, *filter, *by_thread);
  if (!functions) return functions.status();
  if (!functions->has_known) {
    if (!trace.call_edges().callee.empty()) return functions_of_call_edges(trace);
    if (!trace.samples().time_ns.empty()) return functions_of_samples(trace, *filter);
  }
  note_what_is_missing(*functions, functions->table);
  return std::move(functions->table);
}

Result<Table> stream_functions(SliceStream& stream, const TableOptions& options) {
  const Result<bool> by_thread = parse_by_thread(options);
  if (!by_thread) return by_thread.status();
  if (!options.track.empty() || options.range.begin_ns != 0 || options.range.end_ns != INT64_MAX) {
    return Status::error("--range and --track need the whole trace in memory");
  }
  const SliceFilter all;
  Result<Functions> functions = count_functions(stream, all, *by_thread);
  if (!functions) return functions.status();
  note_what_is_missing(*functions, functions->table);
  return std::move(functions->table);
}

}  // namespace stepscope
