// Slices block by block, so that a table can be made of a file that does not fit into memory. A
// block holds slices of one track in order; the blocks of a track follow each other. An analysis
// that streams takes a SliceStream; a loaded Trace gives one with a block per track.
//
//   SliceBlock block;
//   while (true) {
//     Result<bool> more = stream.next(block);
//     if (!more) return more.status();
//     if (!*more) break;
//     ArgCursor correlation(block, stream.strings(), "correlation", ArgType::kInt);
//     for (size_t i = 0; i < block.size(); ++i) use(block.label[i], block.dur_ns(i));
//   }
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "trace/columns.h"
#include "trace/ids.h"
#include "trace/label.h"
#include "trace/string_pool.h"
#include "trace/track.h"

namespace stepscope {

class Trace;
struct Device;

struct SliceBlock {
  TrackId track{};
  bool starts_track = true;  // false: goes on with the track of the block before
  uint32_t first_row = 0;    // the SliceId of the first slice here
  std::span<const int64_t> start_ns;
  std::span<const uint32_t> short_dur_ns;
  std::span<const std::pair<uint32_t, int64_t>> long_dur_ns;  // by SliceId
  std::span<const LabelId> label;
  std::span<const ArgColumn> args;  // may hold rows outside the block as well

  size_t size() const { return start_ns.size(); }
  SliceId row(size_t i) const { return SliceId{first_row + static_cast<uint32_t>(i)}; }
  int64_t dur_ns(size_t i) const {
    return short_dur_ns[i] != DurationColumn::kLong ? int64_t{short_dur_ns[i]} : find_long(i);
  }

 private:
  int64_t find_long(size_t i) const;
};

class SliceStream {
 public:
  virtual ~SliceStream() = default;
  // Fills in the next block; false at the end. What it points to lives until the next call.
  virtual Result<bool> next(SliceBlock& block) = 0;
  virtual Status rewind() = 0;
  // What the blocks so far refer to; these tables only grow.
  virtual const StringPool& strings() const = 0;
  virtual const LabelTable& labels() const = 0;
  virtual std::span<const Track> tracks() const = 0;
  virtual std::span<const Device> devices() const = 0;
};

class TraceSliceStream : public SliceStream {
 public:
  explicit TraceSliceStream(const Trace& trace) : trace_(trace) {}
  Result<bool> next(SliceBlock& block) override;
  Status rewind() override;
  const StringPool& strings() const override;
  const LabelTable& labels() const override;
  std::span<const Track> tracks() const override;
  std::span<const Device> devices() const override;

 private:
  const Trace& trace_;
  size_t next_track_ = 0;
};

// Walks one argument's column beside the rows of a block, in ascending order of rows. O(1) a step.
class ArgCursor {
 public:
  ArgCursor(const SliceBlock& block, const StringPool& strings, std::string_view key, ArgType type);

  // Position of the row's value in column(), if it has one. Rows must not go backwards.
  std::optional<size_t> find(SliceId row) {
    if (column_ == nullptr) return std::nullopt;
    while (next_ < column_->rows.size() && column_->rows[next_] < row) ++next_;
    if (next_ == column_->rows.size() || column_->rows[next_] != row) return std::nullopt;
    return next_;
  }
  std::optional<int64_t> find_int(SliceId row) {
    const auto at = find(row);
    return at ? std::optional<int64_t>(column_->ints[*at]) : std::nullopt;
  }
  const ArgColumn* column() const { return column_; }

 private:
  const ArgColumn* column_ = nullptr;
  size_t next_ = 0;
};

}  // namespace stepscope
