// What the flags and names in a .sscope file mean to the model: shared by the writer and the
// readers of trace_file.h.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "format/recording_metadata.h"
#include "format/schema.h"
#include "trace/stats.h"
#include "trace/trace.h"

namespace stepscope {

using format::kMetadataIsJson;
using format::kMetadataOfFile;  // such an entry is none of Trace::metadata()

// Keys of metadata of the file.
inline constexpr std::string_view kFormatKey = "stepscope.format";  // what it was converted from
inline constexpr std::string_view kSourceKey = "stepscope.source";
inline constexpr std::string_view kClockBaseKey = "stepscope.clock_base_ns";

using format::kHasOwnName;
using format::kHasSortIndex;

// The figures of a device, by column.
inline constexpr std::array<std::pair<format::Column, int64_t Device::*>, 12> kDeviceFigures = {{
    {format::Column::kId, &Device::id},
    {format::Column::kTotalMemoryBytes, &Device::total_memory_bytes},
    {format::Column::kComputeMajor, &Device::compute_major},
    {format::Column::kComputeMinor, &Device::compute_minor},
    {format::Column::kSmCount, &Device::sm_count},
    {format::Column::kWarpSize, &Device::warp_size},
    {format::Column::kMaxThreadsPerBlock, &Device::max_threads_per_block},
    {format::Column::kMaxThreadsPerSm, &Device::max_threads_per_sm},
    {format::Column::kRegistersPerBlock, &Device::registers_per_block},
    {format::Column::kRegistersPerSm, &Device::registers_per_sm},
    {format::Column::kSharedMemoryPerBlock, &Device::shared_memory_per_block},
    {format::Column::kSharedMemoryPerSm, &Device::shared_memory_per_sm},
}};

// Found again by TraceBuilder::finish() from the slices themselves, so that a file does not hold
// them.
constexpr bool stat_is_derived(Stat stat) {
  return stat == Stat::kSlicesOverlapping || stat == Stat::kDepthClamped;
}

}  // namespace stepscope
