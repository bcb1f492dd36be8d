// The handles of the model: each is an index into one table of a Trace, and a type of its own so
// that a track can not be taken for a slice. `index(id)` gives the plain number for use with a
// span.
#pragma once

#include <cstdint>

namespace stepscope {

enum class StringId : uint32_t {};  // into Trace::strings(); 0 is always ""
enum class LabelId : uint32_t {};   // into Trace::labels()
enum class TrackId : uint32_t {};   // into Trace::tracks()
enum class SliceId : uint32_t {};   // into Trace::slices()
enum class StackId : uint32_t {};   // into Trace::stacks()
enum class FrameId : uint32_t {};   // into Trace::frames()

inline constexpr StringId kEmptyString{0};
inline constexpr TrackId kNoTrack{UINT32_MAX};
inline constexpr SliceId kNoSlice{UINT32_MAX};
inline constexpr StackId kNoStack{UINT32_MAX};
inline constexpr FrameId kNoFrame{UINT32_MAX};

template <typename Id>
constexpr uint32_t index(Id id) {
  return static_cast<uint32_t>(id);
}

}  // namespace stepscope
