// The operators of a trace, each call a record, as MegEngine's profile_analyze wants them: times on
// the device and on the host, what there was to compute and to move.
//
//   const OperatorRecords records = OperatorRecords::find(trace);
//   for (const OperatorRecord& record : records.all()) total_s += record.device.to_end_s;
//   records.name(record);   // "conv1.aten::conv2d"
//
// Of a static profile of MegEngine a record is an operator of the graph, as its file has it, in the
// file's order. Of other traces it is a call on the host: an operator whose cost is known with all
// that it calls, any other one with its own time alone, so that times add up. Where nothing was
// launched on a device, the CPU is the device.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/operator_cost.h"
#include "trace/trace.h"

namespace stepscope {

inline constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// In seconds, as MegEngine computes with them; kMissing where there are none. Of several devices or
// threads the longest.
struct OperatorTimes {
  double to_end_s = kMissing;
  double to_kernel_s = kMissing;  // from the operator's begin to its kernel's
};

struct OperatorRecord {
  OperatorTimes device;
  OperatorTimes host;
  double computation = kMissing;  // FLOPs
  double memory = kMissing;       // bytes
  StringId name = kEmptyString;
  StringId type = kEmptyString;
  StringId module = kEmptyString;
  SliceId slice = kNoSlice;
  uint32_t cost = UINT32_MAX;  // where shapes come from; UINT32_MAX: from the trace
};

class OperatorRecords {
 public:
  static OperatorRecords find(const Trace& trace);

  const std::vector<OperatorRecord>& all() const { return records_; }
  bool is_static() const { return is_static_; }
  // Whether anything was launched on a device.
  bool has_device() const { return has_device_; }
  const std::vector<std::string>& notes() const { return notes_; }

  std::string name(const OperatorRecord& record) const;
  std::string_view type(const OperatorRecord& record) const { return trace_->string(record.type); }
  std::string id(const OperatorRecord& record) const;
  // Nothing where they are not known. A layout that is not special is empty.
  std::optional<std::vector<Shape>> in_shapes(const OperatorRecord& record) const;
  std::optional<std::vector<Shape>> in_layouts(const OperatorRecord& record) const;
  std::optional<std::vector<Shape>> out_shapes(const OperatorRecord& record) const;
  // Whether an input is known to be of this type.
  bool has_input_type(const OperatorRecord& record, std::string_view type) const;
  // The types of tensors among the inputs, as the trace calls them; of static profiles each once.
  std::vector<std::string> input_types(const OperatorRecord& record) const;
  // An argument of the operator that is JSON, or "".
  std::string_view text(const OperatorRecord& record, std::string_view key,
                        ArgType type = ArgType::kJson) const;

 private:
  explicit OperatorRecords(const Trace& trace) : trace_(&trace) {}

  void add_static();
  void add_calls();
  const Trace* trace_;
  std::vector<OperatorRecord> records_;
  std::vector<OperatorCost> costs_;
  std::vector<std::string> notes_;
  bool is_static_ = false;
  bool has_device_ = false;

  friend class CallRecords;
};

}  // namespace stepscope
