// What every recording says of itself (docs/format.md, "A recording"): the keys of its metadata,
// where their values come from, and the blocks that hold them. For all that write recordings.
//
//   WriterOptions options{.file_id = make_file_id(), .keeps_index = false};
//   status = write_metadata(writer, {{{std::string(kBootIdKey), read_boot_id()}}},
//   kMetadataOfFile); status = write_clock(writer, reading, ticks_per_second); status =
//   write_metadata(writer, {{{std::string(kClosedKey), "1"}}}, kMetadataOfFile);   // last
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "base/tick_clock.h"
#include "format/block_writer.h"

namespace stepscope::format {

// kFlags of a metadata block.
inline constexpr uint8_t kMetadataIsJson = 1;
inline constexpr uint8_t kMetadataOfFile = 2;  // of the file, not of the program

// Keys of metadata of the file.
inline constexpr std::string_view kPidKey = "stepscope.pid";
inline constexpr std::string_view kBootIdKey = "stepscope.boot_id";
inline constexpr std::string_view kHostKey = "stepscope.host";
inline constexpr std::string_view kSegmentKey = "stepscope.segment";
inline constexpr std::string_view kPoolKey = "stepscope.pool";
inline constexpr std::string_view kClosedKey = "stepscope.closed";
// Written by a sampler: its pid, a space and when it started (/proc/<pid>/stat). The processes and
// threads in the file are others', which may have recordings of their own.
inline constexpr std::string_view kSamplerKey = "stepscope.sampler";
// Of a sampler's file: the program's calls were recorded as well (kSampleBesideCalls).
inline constexpr std::string_view kBesideCallsKey = "stepscope.beside_calls";
// Of the program: its rank in a distributed job, as its launcher told it ("world_size" likewise).
inline constexpr std::string_view kRankKey = "rank";
// Of the program: what reading the recording's clock once takes, in ns, as a decimal number. Most
// of what recording costs is two of them.
inline constexpr std::string_view kClockReadKey = "clock_read_ns";
// Of the program: how it was sampled, as JSON.
inline constexpr std::string_view kSamplingKey = "sampling";

std::string read_boot_id();    // "" where it can not be read
std::string read_host_name();  // likewise
uint64_t make_file_id();       // a random one; never 0

using MetadataText = std::pair<std::string, std::string>;  // key, value

Status write_metadata(BlockWriter& writer, std::span<const MetadataText> entries, uint8_t flags);
Status write_clock(BlockWriter& writer, const ClockReading& reading, uint64_t ticks_per_second);

}  // namespace stepscope::format
