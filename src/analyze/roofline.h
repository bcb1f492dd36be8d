// Roofline: what an operator is held up by: the arithmetic of the device, its memory, or neither.
// The roofs are those of the device where it is one whose figures are known, else the best that any
// operator of the trace reached.
//
//   const Roofline roofline(trace, records);
//   roofline.bound(flops, bytes, seconds);   // "compute", "memory", "overhead", "" unknown
//
// An operator that takes more than twenty times what the roofs ask for is held up by something else
// (launching, small sizes): overhead.
#pragma once

#include <string>

#include "analyze/operator_records.h"
#include "trace/trace.h"

namespace stepscope {

class Roofline {
 public:
  Roofline(const Trace& trace, const OperatorRecords& records);

  std::string bound(double flops, double bytes, double seconds) const;
  // 0 where they are not known.
  double flops_per_s() const { return flops_per_s_; }
  double bytes_per_s() const { return bytes_per_s_; }
  // One sentence that names the roofs; "" where there are none.
  const std::string& description() const { return description_; }

 private:
  double flops_per_s_ = 0;
  double bytes_per_s_ = 0;
  std::string description_;
};

}  // namespace stepscope
