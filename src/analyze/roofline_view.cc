// The view `roofline`: where operators stand between what their device can compute and what its
// memory can give (roofline.h): by name and type of the inputs, for operators whose FLOPs and bytes
// are known (operator_cost.h), which needs recorded shapes. intensity is FLOPs per byte;
// roof_fraction the share of what the device could do at that intensity; Tensor Cores can do more
// than the roof, which is that of plain single precision.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyze/operator_records.h"
#include "analyze/roofline.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

struct OperatorSums {
  uint64_t calls = 0;
  double device_s = 0;
  double flops = 0;
  double bytes = 0;
};

std::string input_type_names(const OperatorRecords& records, const OperatorRecord& record) {
  std::string text;
  std::vector<std::string> types = records.input_types(record);
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  for (const std::string& type : types) {
    // Scalars and lists beside the tensors say nothing of what is computed with.
    if (type.empty() || type == "Scalar" || type == "ScalarList") continue;
    text += (text.empty() ? "" : ", ") + type;
  }
  return text;
}

}  // namespace

Result<Table> roofline(const Trace& trace, const TableOptions&) {
  const OperatorRecords records = OperatorRecords::find(trace);
  const Roofline roof(trace, records);
  std::map<std::pair<std::string_view, std::string>, OperatorSums> sums;
  for (const OperatorRecord& record : records.all()) {
    if (!(record.device.to_end_s > 0) || !(record.computation >= 0) || !(record.memory > 0)) {
      continue;
    }
    OperatorSums& sum = sums[{records.type(record), input_type_names(records, record)}];
    ++sum.calls;
    sum.device_s += record.device.to_end_s;
    sum.flops += record.computation;
    sum.bytes += record.memory;
  }
  Table table("roofline");
  Column& name = table.add("name", ColumnType::kString);
  Column& types = table.add("types", ColumnType::kString);
  Column& calls = table.add("calls", ColumnType::kInt, Unit::kCount);
  Column& device = table.add("device_ns", ColumnType::kInt, Unit::kNs);
  Column& flops = table.add("flops", ColumnType::kDouble, Unit::kCount);
  Column& bytes = table.add("bytes", ColumnType::kDouble, Unit::kBytes);
  Column& intensity = table.add("intensity", ColumnType::kDouble);
  Column& flops_per_s = table.add("flops_per_s", ColumnType::kDouble);
  Column& bytes_per_s = table.add("bytes_per_s", ColumnType::kDouble, Unit::kBytes);
  Column& fraction = table.add("roof_fraction", ColumnType::kDouble, Unit::kFraction);
  Column& bound = table.add("bound", ColumnType::kString);
  for (const auto& [key, sum] : sums) {
    name.push(key.first);
    types.push(key.second);
    calls.push(static_cast<int64_t>(sum.calls));
    device.push(static_cast<int64_t>(sum.device_s * 1e9));
    flops.push(sum.flops);
    bytes.push(sum.bytes);
    intensity.push(sum.flops / sum.bytes);
    flops_per_s.push(sum.flops / sum.device_s);
    bytes_per_s.push(sum.bytes / sum.device_s);
    const std::string what = roof.bound(sum.flops, sum.bytes, sum.device_s);
    if (what.empty()) {
      fraction.push_null();
      bound.push_null();
      continue;
    }
    const double least_s = std::max(sum.flops / roof.flops_per_s(), sum.bytes / roof.bytes_per_s());
    fraction.push(least_s / sum.device_s);
    bound.push(what);
  }
  table.default_sort = "-device_ns";
  for (const std::string& note : records.notes()) table.notes.push_back(note);
  if (!roof.description().empty()) table.notes.push_back(roof.description());
  if (sums.empty()) table.notes.push_back("no operator whose computation and memory are known");
  return table;
}

}  // namespace stepscope
