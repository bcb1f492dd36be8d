// A trace as SQL's tables read it, with the orders and sums that searches need. Internal to sql.cc.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trace/trace.h"

namespace stepscope {

// The trace, and what has to be made to search it, each when first asked for. One thread at a time.
class SqlTraceData {
 public:
  explicit SqlTraceData(const Trace& from) : trace(from) {}

  const std::vector<int64_t>& self_ns();                // by slice
  const std::vector<uint32_t>& slices_by_name();        // rows by name, category, kind
  const std::vector<uint32_t>& flows_by_from();         // rows by from_slice
  const std::vector<uint32_t>& flows_by_to();           // rows by to_slice
  const std::vector<uint32_t>& allocations_by_slice();  // rows by slice_id
  const std::vector<uint64_t>& arg_offsets();           // first row of each argument's column
  std::vector<std::pair<std::string, std::string>>&
  metadata();  // with what the trace says of itself

  const Trace& trace;

 private:
  std::vector<int64_t> self_ns_;
  std::vector<uint32_t> slices_by_name_, flows_by_from_, flows_by_to_, allocations_by_slice_;
  std::vector<uint64_t> arg_offsets_;
  std::vector<std::pair<std::string, std::string>> metadata_;
};

}  // namespace stepscope
