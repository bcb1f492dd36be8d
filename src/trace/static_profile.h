// The arguments that slices of a static profile carry: MegEngine's, of one run of a compiled graph.
// ingest/megengine_static.h makes them, analyze and export read them.
#pragma once

#include <string_view>

namespace stepscope::static_profile {

inline constexpr std::string_view kId = "id";            // of the operator; a number or a text
inline constexpr std::string_view kType = "type";        // "ConvolutionForward"
inline constexpr std::string_view kPlace = "opr_place";  // in the graph's list of operators
inline constexpr std::string_view kKernNs = "kern_ns";   // from the start to the kernel's
inline constexpr std::string_view kComputation = "computation";  // FLOPs
inline constexpr std::string_view kMemory = "memory";            // bytes read and written
inline constexpr std::string_view kInputTypes = "input_dtypes";  // "Float32,Int32"
// JSON, as it is in the file.
inline constexpr std::string_view kInShapes = "in_shapes";
inline constexpr std::string_view kInLayouts = "in_layouts";
inline constexpr std::string_view kOutShapes = "out_shapes";
inline constexpr std::string_view kParam = "param";

}  // namespace stepscope::static_profile
