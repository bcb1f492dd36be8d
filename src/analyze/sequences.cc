// The view `sequences`: kernels that often follow each other: what fusing (torch.compile, a fused
// operator, a CUDA graph) would make one. Two ways to look at it:
//
// - By operator (the default): the device work that calls of an outermost operator launched, in the
//   order in which it ran. Calls with the same operator and the same sequence of at least three
//   pieces are one row, as HolisticTraceAnalysis has it.
// - --by stream: runs of two to eight kernels that repeat on a stream without a gap of more than
//   20 us between them, whoever launched them; repeated one after the other they do not overlap.
//   Of runs that hold each other, the one with most time in short kernels comes first.
//
// gap_ns is the time between the pieces, which fusing would save with the launches.
#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyze/device_slices.h"
#include "analyze/gpu_breakdown.h"
#include "analyze/slice_filter.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

constexpr size_t kLeastPieces = 3;  // by operator
constexpr size_t kMostShown = 12;   // names of a sequence
constexpr size_t kLongestRun = 8;   // by stream
constexpr int64_t kLongestGapNs = 20'000;
constexpr uint64_t kLeastRuns = 3;

struct Sequence {
  uint64_t calls = 0;
  int64_t device_ns = 0;
  int64_t gap_ns = 0;
  int64_t host_ns = 0;
};

struct SequenceHash {
  size_t operator()(const std::vector<uint32_t>& labels) const {
    size_t hash = labels.size();
    for (const uint32_t label : labels) hash = (hash ^ label) * 0x9E3779B97F4A7C15u;
    return hash;
  }
};
using Sequences = std::unordered_map<std::vector<uint32_t>, Sequence, SequenceHash>;

std::string join_names(const Trace& trace, const std::vector<uint32_t>& labels, size_t first) {
  std::string text;
  for (size_t i = first; i < labels.size(); ++i) {
    if (i - first == kMostShown) {
      text += " | … " + std::to_string(labels.size() - i) + " more";
      break;
    }
    if (!text.empty()) text += " | ";
    text += trace.string(trace.labels()[LabelId{labels[i]}].name);
  }
  return text;
}

// Of (operator's label, labels of its work).
Sequences find_by_operator(const Trace& trace, const DeviceSlices& work,
                           const SliceFilter& filter) {
  const SliceColumns& slices = trace.slices();
  std::map<uint32_t, std::vector<DeviceSlice>> by_call;  // of the outermost operator
  for (const DeviceSlice& slice : work.all()) {
    if (slice.call == kNoRow || !is_taken(trace, filter, slice)) continue;
    uint32_t outermost = kNoRow;
    for (SliceId at = slices.parent[slice.call]; at != kNoSlice; at = slices.parent[index(at)]) {
      if (trace.labels()[slices.label[index(at)]].kind == SliceKind::kOperator) {
        outermost = index(at);
      }
    }
    if (outermost != kNoRow) by_call[outermost].push_back(slice);
  }
  Sequences found;
  for (auto& [row, pieces] : by_call) {
    if (pieces.size() < kLeastPieces) continue;
    std::stable_sort(pieces.begin(), pieces.end(), [](const DeviceSlice& a, const DeviceSlice& b) {
      return a.start_ns < b.start_ns;
    });
    std::vector<uint32_t> key = {index(slices.label[row])};
    int64_t gap_ns = 0;
    int64_t device_ns = 0;
    int64_t end_ns = pieces.front().start_ns;
    for (const DeviceSlice& piece : pieces) {
      key.push_back(index(slices.label[piece.row]));
      device_ns += piece.end_ns - piece.start_ns;
      gap_ns += std::max<int64_t>(0, piece.start_ns - end_ns);
      end_ns = std::max(end_ns, piece.end_ns);
    }
    Sequence& sequence = found[std::move(key)];
    ++sequence.calls;
    sequence.device_ns += device_ns;
    sequence.gap_ns += gap_ns;
    sequence.host_ns += slices.dur_ns[row];
  }
  return found;
}

// Runs of `length` kernels of one stream, each kernel in one run of the same kind at most.
void add_runs(const Trace& trace, std::span<const DeviceSlice> kernels, size_t length,
              Sequences& found) {
  std::unordered_map<std::vector<uint32_t>, size_t, SequenceHash> next_free;
  std::vector<uint32_t> key(length);
  for (size_t i = 0; i + length <= kernels.size(); ++i) {
    int64_t device_ns = 0;
    int64_t gap_ns = 0;
    bool is_run = true;
    for (size_t j = 0; j < length && is_run; ++j) {
      const DeviceSlice& kernel = kernels[i + j];
      if (j > 0) {
        const int64_t ns = kernel.start_ns - kernels[i + j - 1].end_ns;
        is_run = ns <= kLongestGapNs;
        gap_ns += std::max<int64_t>(0, ns);
      }
      is_run &= kernel.type == WorkType::kCompute;
      device_ns += kernel.end_ns - kernel.start_ns;
      key[j] = index(trace.slices().label[kernel.row]);
    }
    if (!is_run) continue;
    size_t& free_at = next_free[key];
    if (i < free_at) continue;
    free_at = i + length;
    Sequence& sequence = found[key];
    ++sequence.calls;
    sequence.device_ns += device_ns;
    sequence.gap_ns += gap_ns;
  }
}

// Of rows with as many calls the one that takes most of a device comes first, whatever the order of
// the labels is.
std::vector<const Sequences::value_type*> in_order(const Trace& trace, const Sequences& found) {
  std::vector<const Sequences::value_type*> rows;
  rows.reserve(found.size());
  for (const auto& row : found) rows.push_back(&row);
  std::sort(rows.begin(), rows.end(), [&](const auto* a, const auto* b) {
    if (a->second.device_ns != b->second.device_ns) {
      return a->second.device_ns > b->second.device_ns;
    }
    const auto name_of = [&](uint32_t label) {
      return trace.string(trace.labels()[LabelId{label}].name);
    };
    return std::lexicographical_compare(
        a->first.begin(), a->first.end(), b->first.begin(), b->first.end(),
        [&](uint32_t one, uint32_t other) { return name_of(one) < name_of(other); });
  });
  return rows;
}

Table make_operator_sequences(const Trace& trace, const Sequences& found) {
  Table table("sequences");
  Column& operator_name = table.add("operator", ColumnType::kString);
  Column& sequence_column = table.add("sequence", ColumnType::kString);
  Column& pieces = table.add("pieces", ColumnType::kInt, Unit::kCount);
  Column& calls = table.add("calls", ColumnType::kInt, Unit::kCount);
  Column& device = table.add("device_ns", ColumnType::kInt, Unit::kNs);
  Column& gap = table.add("gap_ns", ColumnType::kInt, Unit::kNs);
  Column& host = table.add("host_ns", ColumnType::kInt, Unit::kNs);
  for (const auto* row : in_order(trace, found)) {
    const auto& [labels, sequence] = *row;
    operator_name.push(trace.string(trace.labels()[LabelId{labels.front()}].name));
    sequence_column.push(join_names(trace, labels, 1));
    pieces.push(static_cast<int64_t>(labels.size() - 1));
    calls.push(static_cast<int64_t>(sequence.calls));
    device.push(sequence.device_ns);
    gap.push(sequence.gap_ns);
    host.push(sequence.host_ns);
  }
  return table;
}

Table make_runs(const Trace& trace, const Sequences& found) {
  Table table("sequences");
  Column& sequence_column = table.add("sequence", ColumnType::kString);
  Column& pieces = table.add("pieces", ColumnType::kInt, Unit::kCount);
  Column& calls = table.add("calls", ColumnType::kInt, Unit::kCount);
  Column& device = table.add("device_ns", ColumnType::kInt, Unit::kNs);
  Column& gap = table.add("gap_ns", ColumnType::kInt, Unit::kNs);
  Column& mean = table.add("mean_kernel_ns", ColumnType::kInt, Unit::kNs);
  Column& saved = table.add("launches_saved", ColumnType::kInt, Unit::kCount);
  for (const auto* row : in_order(trace, found)) {
    const auto& [labels, sequence] = *row;
    if (sequence.calls < kLeastRuns) continue;
    const auto all = static_cast<int64_t>(sequence.calls * labels.size());
    sequence_column.push(join_names(trace, labels, 0));
    pieces.push(static_cast<int64_t>(labels.size()));
    calls.push(static_cast<int64_t>(sequence.calls));
    device.push(sequence.device_ns);
    gap.push(sequence.gap_ns);
    mean.push(sequence.device_ns / all);
    saved.push(all - static_cast<int64_t>(sequence.calls));
  }
  return table;
}

}  // namespace

Result<Table> sequences(const Trace& trace, const TableOptions& options) {
  const Result<SliceFilter> filter = SliceFilter::make(trace, options);
  if (!filter) return filter.status();
  if (!options.by.empty() && options.by != "stream") {
    return Status::error("--by " + options.by + ": sequences can be shown by stream");
  }
  const auto work = DeviceSlices::of(trace);
  Table table("sequences");
  if (options.by.empty()) {
    table = make_operator_sequences(trace, find_by_operator(trace, *work, *filter));
    table.default_sort = "-calls";
  } else {
    Sequences runs;
    for (const DeviceStream& stream : work->streams()) {
      std::vector<DeviceSlice> taken;
      for (const DeviceSlice& slice : work->of_stream(stream)) {
        if (is_taken(trace, *filter, slice)) taken.push_back(slice);
      }
      for (size_t length = 2; length <= kLongestRun; ++length) {
        add_runs(trace, taken, length, runs);
      }
    }
    table = make_runs(trace, runs);
    table.default_sort = "-launches_saved";
  }
  add_device_notes(table, *work);
  return table;
}

}  // namespace stepscope
