// What ran on the devices, in sums of durations: by type of work, and by the user's annotation
// around it. And what the views about devices have in common.
#pragma once

#include <cstdint>

#include "analyze/device_slices.h"
#include "analyze/slice_filter.h"
#include "analyze/table.h"

namespace stepscope {

Table make_gpu_types(const Trace& trace, const DeviceSlices& work, const SliceFilter& filter);
Table make_gpu_annotations(const Trace& trace, const DeviceSlices& work, const SliceFilter& filter);

// Whether --track and --range take it.
bool is_taken(const Trace& trace, const SliceFilter& filter, const DeviceSlice& slice);
void push_device_number(Column& column, int32_t device);  // null where it is unknown
void push_device_name(Column& column, const Trace& trace, int32_t device);
// What a trace lacks for such a view: devices, launches.
void add_device_notes(Table& table, const DeviceSlices& work);

}  // namespace stepscope
