#include "format/schema.h"

namespace stepscope::format {

std::string_view to_string(BlockType type) {
  switch (type) {
    case BlockType::kMetadata:
      return "metadata";
    case BlockType::kStrings:
      return "strings";
    case BlockType::kLabels:
      return "labels";
    case BlockType::kTracks:
      return "tracks";
    case BlockType::kSlices:
      return "slices";
    case BlockType::kArgs:
      return "args";
    case BlockType::kCounters:
      return "counters";
    case BlockType::kFlows:
      return "flows";
    case BlockType::kFrames:
      return "frames";
    case BlockType::kStacks:
      return "stacks";
    case BlockType::kSamples:
      return "samples";
    case BlockType::kCallEdges:
      return "call_edges";
    case BlockType::kAllocations:
      return "allocations";
    case BlockType::kStats:
      return "stats";
    case BlockType::kClock:
      return "clock";
    case BlockType::kRecords:
      return "records";
    case BlockType::kProcesses:
      return "processes";
    case BlockType::kDevices:
      return "devices";
    case BlockType::kIndex:
      return "index";
    case BlockType::kTrailer:
      return "trailer";
  }
  return "unknown";
}

}  // namespace stepscope::format
