// Memory as a picture: every allocation a rectangle, time × address, with what it was held for and
// which operator took it. Addresses lie far apart; `ranges` are the parts of the address space that
// were used, and `offset` of a rectangle is its place when all between them is cut out.
//
//   MemoryFlow flow = build_memory_flow(trace, {});
//   flow.devices[flow.device].name, flow.rectangles.size(), flow.left_out
//
// Times are ns from the trace's begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/memory_category.h"
#include "trace/trace.h"

namespace stepscope {

struct MemoryFlowOptions {
  std::string device;  // a name in MemoryFlow::devices; "": the one that held most
  size_t limit = 20'000;
};

// A device as one process sees it: "cuda:0", or "cuda:0, process 71" where several have it.
struct MemoryFlowDevice {
  std::string name;
  uint32_t process = 0;  // into Trace::processes()
  int64_t peak_bytes = 0;
};

struct MemoryRectangle {
  uint64_t address = 0;
  uint64_t offset = 0;  // with the gaps cut out
  int64_t bytes = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;  // the trace's end where it was not given back
  bool is_open = false;
  MemoryCategory category = MemoryCategory::kUnknown;
  SliceId slice = kNoSlice;  // that took it
  std::string_view
      operator_name;  // the operator around that, else the slice; "" where there is none
};

struct AddressRange {
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint64_t offset = 0;
};

struct MemoryFlow {
  std::vector<MemoryFlowDevice> devices;    // the one that held most first
  size_t device = 0;                        // that is shown
  std::vector<MemoryRectangle> rectangles;  // the largest `limit`, by begin
  std::vector<AddressRange> ranges;         // by address
  uint64_t total = 0;                       // allocations of the device that have an address
  uint64_t left_out = 0;
  int64_t left_out_bytes = 0;
  uint64_t without_address = 0;  // have no place in the picture
  int64_t peak_bytes = 0;        // of all of the device's memory
  int64_t peak_ns = 0;
  bool is_judged = true;  // the categories are a judgement: trace/memory_categories.h
};

// Where no device has the name, `device` is the number of devices and there is no picture.
MemoryFlow build_memory_flow(const Trace& trace, const MemoryFlowOptions& options);

}  // namespace stepscope
