// The view `copies`: copies and fills of device memory, by device, name and direction: how much,
// how fast. bytes_per_s is of all bytes in all the time; mean and max are of single copies, as the
// file gives them ("memory bandwidth (GB/s)") or else from bytes and duration. Columns are null
// where a trace has no sizes. --by time gives the sum of the bandwidths of the copies that run, at
// each change.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analyze/device_slices.h"
#include "analyze/gpu_breakdown.h"
#include "analyze/slice_filter.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

constexpr double kBytesInGb = 1e9;
constexpr double kNsInSecond = 1e9;

// Of an argument that a file may have as a whole number or not. O(log n) for each.
class NumberArg {
 public:
  NumberArg(const Trace& trace, std::string_view key)
      : ints_(trace.find_args(key, ArgType::kInt)),
        doubles_(trace.find_args(key, ArgType::kDouble)) {}
  std::optional<double> find(uint32_t row) const {
    if (ints_ != nullptr) {
      if (const auto at = ints_->find(SliceId{row})) return static_cast<double>(ints_->ints[*at]);
    }
    if (doubles_ != nullptr) {
      if (const auto at = doubles_->find(SliceId{row})) return doubles_->doubles[*at];
    }
    return std::nullopt;
  }

 private:
  const ArgColumn* ints_;
  const ArgColumn* doubles_;
};

struct Copy {
  std::optional<double> bytes;
  std::optional<double> bytes_per_s;
};

class CopySizes {
 public:
  explicit CopySizes(const Trace& trace)
      : bytes_(trace, "bytes"), size_(trace, "size"), rate_(trace, "memory bandwidth (GB/s)") {}

  Copy find(const DeviceSlice& slice) const {
    Copy copy;
    copy.bytes = bytes_.find(slice.row);
    if (!copy.bytes) copy.bytes = size_.find(slice.row);  // MTIA's
    if (copy.bytes && *copy.bytes < 0) copy.bytes.reset();
    const int64_t dur_ns = slice.end_ns - slice.start_ns;
    if (const auto rate = rate_.find(slice.row); rate && *rate >= 0) {
      copy.bytes_per_s = *rate * kBytesInGb;
    } else if (copy.bytes && dur_ns > 0) {
      copy.bytes_per_s = *copy.bytes / static_cast<double>(dur_ns) * kNsInSecond;
    }
    return copy;
  }

 private:
  NumberArg bytes_;
  NumberArg size_;
  NumberArg rate_;
};

// "HtoD" of "Memcpy HtoD (Pageable -> Device)", or of MTIA's argument HOST_TO_DEVICE.
class CopyDirections {
 public:
  explicit CopyDirections(const Trace& trace)
      : trace_(trace), directions_(trace.find_args("direction", ArgType::kString)) {}

  std::string_view find(const DeviceSlice& slice) const {
    constexpr std::string_view kStart = "Memcpy ";
    std::string_view name = trace_.slice_name(SliceId{slice.row});
    if (name.starts_with("Memset")) return "Memset";
    const size_t at = name.find(kStart);
    if (at == name.npos) return find_argument(slice.row);
    name.remove_prefix(at + kStart.size());
    return name.substr(0, name.find(' '));
  }

 private:
  std::string_view find_argument(uint32_t row) const {
    const auto at = directions_ == nullptr ? std::nullopt : directions_->find(SliceId{row});
    if (!at) return {};
    const std::string_view direction = trace_.string(directions_->string(*at));
    if (direction == "HOST_TO_DEVICE") return "HtoD";
    if (direction == "DEVICE_TO_HOST") return "DtoH";
    return direction == "DEVICE_TO_DEVICE" ? "DtoD" : direction;
  }

  const Trace& trace_;
  const ArgColumn* directions_;
};

Table make_copies(const Trace& trace, const DeviceSlices& work, const SliceFilter& filter) {
  struct Copies {
    uint64_t calls = 0;
    int64_t total_ns = 0;
    double bytes = 0;
    int64_t sized_ns = 0;
    uint64_t sized = 0;
    double rates = 0;
    double max_rate = 0;
    uint64_t rated = 0;
  };
  const CopySizes sizes(trace);
  const CopyDirections directions(trace);
  std::map<std::tuple<int32_t, StringId, std::string_view>, Copies> found;
  for (const DeviceStream& stream : work.streams()) {
    for (const DeviceSlice& slice : work.of_stream(stream)) {
      if (slice.type != WorkType::kMemory || !is_taken(trace, filter, slice)) continue;
      const StringId id = trace.labels()[trace.slices().label[slice.row]].name;
      Copies& copies = found[{stream.device, id, directions.find(slice)}];
      ++copies.calls;
      copies.total_ns += slice.end_ns - slice.start_ns;
      const Copy copy = sizes.find(slice);
      if (copy.bytes) {
        copies.bytes += *copy.bytes;
        copies.sized_ns += slice.end_ns - slice.start_ns;
        ++copies.sized;
      }
      if (copy.bytes_per_s) {
        copies.rates += *copy.bytes_per_s;
        copies.max_rate = std::max(copies.max_rate, *copy.bytes_per_s);
        ++copies.rated;
      }
    }
  }
  Table table("copies");
  Column& device = table.add("device", ColumnType::kInt);
  Column& name = table.add("name", ColumnType::kString);
  Column& direction = table.add("direction", ColumnType::kString);
  Column& calls = table.add("calls", ColumnType::kInt, Unit::kCount);
  Column& total = table.add("total_ns", ColumnType::kInt, Unit::kNs);
  Column& bytes = table.add("bytes", ColumnType::kInt, Unit::kBytes);
  Column& rate = table.add("bytes_per_s", ColumnType::kDouble, Unit::kBytes);
  Column& mean_rate = table.add("mean_bytes_per_s", ColumnType::kDouble, Unit::kBytes);
  Column& max_rate = table.add("max_bytes_per_s", ColumnType::kDouble, Unit::kBytes);
  const auto push_if = [](Column& column, bool is_known, double value) {
    if (is_known) {
      column.push(value);
    } else {
      column.push_null();
    }
  };
  bool has_sizes = false;
  for (const auto& [key, copies] : found) {
    const auto& [number, id, way] = key;
    push_device_number(device, number);
    name.push(trace.string(id));
    if (way.empty()) {
      direction.push_null();
    } else {
      direction.push(way);
    }
    calls.push(static_cast<int64_t>(copies.calls));
    total.push(copies.total_ns);
    // A sum of sizes from a hostile file may be anything.
    if (copies.sized > 0 && copies.bytes < 9e18) {
      bytes.push(static_cast<int64_t>(copies.bytes));
    } else {
      bytes.push_null();
    }
    push_if(
        rate, copies.sized_ns > 0,
        copies.bytes / static_cast<double>(std::max<int64_t>(1, copies.sized_ns)) * kNsInSecond);
    push_if(mean_rate, copies.rated > 0,
            copies.rates / static_cast<double>(std::max<uint64_t>(1, copies.rated)));
    push_if(max_rate, copies.rated > 0, copies.max_rate);
    has_sizes |= copies.sized > 0;
  }
  table.default_sort = "-total_ns";
  if (!found.empty() && !has_sizes) {
    table.notes.push_back("the trace does not tell the sizes of copies");
  }
  return table;
}

Table make_copies_by_time(const Trace& trace, const DeviceSlices& work, const SliceFilter& filter) {
  struct Change {
    int64_t time_ns;
    double bytes_per_s;
    bool is_begin;
  };
  const CopySizes sizes(trace);
  const CopyDirections directions(trace);
  std::map<std::pair<int32_t, std::string>, std::vector<Change>> found;
  for (const DeviceStream& stream : work.streams()) {
    for (const DeviceSlice& slice : work.of_stream(stream)) {
      if (slice.type != WorkType::kMemory || !is_taken(trace, filter, slice)) continue;
      const auto rate = sizes.find(slice).bytes_per_s;
      if (!rate) continue;
      auto& changes = found[{stream.device, std::string(directions.find(slice))}];
      changes.push_back({slice.start_ns, *rate, true});
      // What takes no time at the file's resolution took a microsecond at most.
      changes.push_back({std::max(slice.end_ns, slice.start_ns + 1000), *rate, false});
    }
  }
  Table table("copies");
  Column& device = table.add("device", ColumnType::kInt);
  Column& direction = table.add("direction", ColumnType::kString);
  Column& time = table.add("time_ns", ColumnType::kInt, Unit::kNs);
  Column& rate = table.add("bytes_per_s", ColumnType::kDouble, Unit::kBytes);
  for (auto& [key, changes] : found) {
    std::stable_sort(changes.begin(), changes.end(),
                     [](const Change& a, const Change& b) { return a.time_ns < b.time_ns; });
    double sum = 0;
    size_t open = 0;
    for (const Change& change : changes) {
      sum += change.is_begin ? change.bytes_per_s : -change.bytes_per_s;
      change.is_begin ? ++open : --open;
      if (open == 0) sum = 0;  // what rounding left over
      push_device_number(device, key.first);
      direction.push(key.second);
      time.push(change.time_ns - trace.begin_ns());
      rate.push(std::max(0.0, sum));
    }
  }
  return table;
}

}  // namespace

Result<Table> copies(const Trace& trace, const TableOptions& options) {
  const Result<SliceFilter> filter = SliceFilter::make(trace, options);
  if (!filter) return filter.status();
  if (!options.by.empty() && options.by != "time") {
    return Status::error("--by " + options.by + ": copies can be shown by time");
  }
  const auto work = DeviceSlices::of(trace);
  Table table = options.by.empty() ? make_copies(trace, *work, *filter)
                                   : make_copies_by_time(trace, *work, *filter);
  if (table.rows() == 0) table.notes.push_back("no copies of device memory in this trace");
  return table;
}

}  // namespace stepscope
