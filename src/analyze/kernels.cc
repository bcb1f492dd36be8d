// The view `kernels`: TensorBoard's kernel table. A row per name and device; copies and fills are
// not kernels. Blocks per SM and occupancy are means weighted by duration, where a call without the
// figure counts as 0; they are null where no call of the trace has it.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyze/number_cursor.h"
#include "analyze/operator_rules.h"
#include "analyze/slice_filter.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

struct Row {
  StringId name{};
  int32_t device = -1;
  uint64_t calls = 0;
  int64_t total_ns = 0;
  int64_t max_ns = 0;
  int64_t min_ns = INT64_MAX;
  double blocks_per_sm_us = 0;  // times duration; in us, so that it rounds as TensorBoard's does
  double occupancy_percent_us = 0;
};

class KernelTable {
 public:
  KernelTable(const SliceStream& stream, const SliceFilter& filter)
      : stream_(stream), filter_(filter) {}

  void add(const SliceBlock& block) {
    const int32_t device = stream_.tracks()[index(block.track)].device;
    std::vector<uint32_t>& label_row = label_rows_[device];
    label_row.resize(stream_.labels().size(), kUnset);
    NumberCursor blocks_per_sm(block, stream_.strings(), "blocks per SM");
    NumberCursor occupancy(block, stream_.strings(), "est. achieved occupancy %");
    for (size_t i = 0; i < block.size(); ++i) {
      uint32_t& slot = label_row[index(block.label[i])];
      if (slot == kUnset) slot = find_or_add(stream_.labels()[block.label[i]], device);
      if (slot == kNoKernel || !filter_.takes_time(block.start_ns[i])) continue;
      Row& row = rows_[slot];
      const int64_t dur_ns = block.dur_ns(i);
      const double dur_us = static_cast<double>(dur_ns) / 1000;
      ++row.calls;
      row.total_ns += dur_ns;
      row.max_ns = std::max(row.max_ns, dur_ns);
      row.min_ns = std::min(row.min_ns, dur_ns);
      if (const auto value = blocks_per_sm.find(block.row(i))) {
        row.blocks_per_sm_us += *value * dur_us;
        has_blocks_per_sm_ = true;
      }
      if (const auto value = occupancy.find(block.row(i))) {
        row.occupancy_percent_us += *value * dur_us;
        has_occupancy_ = true;
      }
    }
  }

  Table make_table() const {
    Table table("kernels");
    Column& name = table.add("name", ColumnType::kString);
    Column& calls = table.add("calls", ColumnType::kInt, Unit::kCount);
    Column& total = table.add("total_ns", ColumnType::kInt, Unit::kNs);
    Column& mean = table.add("mean_ns", ColumnType::kInt, Unit::kNs);
    Column& max = table.add("max_ns", ColumnType::kInt, Unit::kNs);
    Column& min = table.add("min_ns", ColumnType::kInt, Unit::kNs);
    Column& device = table.add("device", ColumnType::kInt);
    Column& tensor_cores = table.add("tensor_cores", ColumnType::kBool);
    Column& blocks_per_sm = table.add("blocks_per_sm", ColumnType::kDouble);
    Column& occupancy = table.add("occupancy", ColumnType::kDouble, Unit::kFraction);
    const auto push_mean = [](Column& column, bool known, double weighted_us, int64_t total_ns) {
      if (!known) return column.push_null();
      column.push(total_ns > 0 ? weighted_us / (static_cast<double>(total_ns) / 1000) : 0.0);
    };
    for (const Row& row : rows_) {
      if (row.calls == 0) continue;
      const auto count = static_cast<int64_t>(row.calls);
      const std::string_view row_name = stream_.strings().view(row.name);
      name.push(row_name);
      calls.push(count);
      total.push(row.total_ns);
      mean.push((row.total_ns + count / 2) / count);
      max.push(row.max_ns);
      min.push(row.min_ns);
      if (row.device >= 0) {
        device.push(int64_t{row.device});
      } else {
        device.push_null();
      }
      tensor_cores.push(int64_t{uses_tensor_cores(row_name)});
      push_mean(blocks_per_sm, has_blocks_per_sm_, row.blocks_per_sm_us, row.total_ns);
      push_mean(occupancy, has_occupancy_, row.occupancy_percent_us / 100, row.total_ns);
    }
    if (table.rows() == 0) table.notes.push_back("no kernels of a device in this trace");
    return table;
  }

 private:
  static constexpr uint32_t kUnset = UINT32_MAX;
  static constexpr uint32_t kNoKernel = UINT32_MAX - 1;

  uint32_t find_or_add(const Label& label, int32_t device) {
    if (label.kind != SliceKind::kKernel) return kNoKernel;
    const uint64_t key = uint64_t{index(label.name)} << 32 | static_cast<uint32_t>(device);
    const auto [it, is_new] = row_ids_.try_emplace(key, static_cast<uint32_t>(rows_.size()));
    if (is_new) {
      Row& row = rows_.emplace_back();
      row.name = label.name;
      row.device = device;
    }
    return it->second;
  }

  const SliceStream& stream_;
  const SliceFilter& filter_;
  std::vector<Row> rows_;
  std::unordered_map<uint64_t, uint32_t> row_ids_;
  std::unordered_map<int32_t, std::vector<uint32_t>> label_rows_;  // by device, then label
  bool has_blocks_per_sm_ = false;
  bool has_occupancy_ = false;
};

Result<Table> make(SliceStream& stream, const SliceFilter& filter) {
  KernelTable kernels(stream, filter);
  SliceBlock block;
  while (true) {
    const Result<bool> more = stream.next(block);
    if (!more) return more.status();
    if (!*more) break;
    if (filter.takes_track(block.track)) kernels.add(block);
  }
  return kernels.make_table();
}

}  // namespace

Result<Table> kernels(const Trace& trace, const TableOptions& options) {
  const Result<SliceFilter> filter = SliceFilter::make(trace, options);
  if (!filter) return filter.status();
  TraceSliceStream stream(trace);
  return make(stream, *filter);
}

Result<Table> stream_kernels(SliceStream& stream, const TableOptions& options) {
  if (!options.track.empty() || options.range.begin_ns != 0 || options.range.end_ns != INT64_MAX) {
    return Status::error("--range and --track need the whole trace in memory");
  }
  return make(stream, SliceFilter());
}

}  // namespace stepscope
