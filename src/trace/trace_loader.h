// TraceLoader: the blocks of one .sscope file, or of one recording (its files in order, then its
// pool), into a TraceBuilder. Ids of definitions, threads and slices mean the same in all of them.
// Several recordings go into one builder by one loader each.
//
//   TraceLoader loader(builder, budget, sources);   // reads the clock
//   loader.shift_ns(…);                             // where another recording's clock is the
//   trace's loader.load();
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "format/block_reader.h"
#include "format/column_decoder.h"
#include "trace/clock_table.h"
#include "trace/definition_reader.h"
#include "trace/record_decoder.h"
#include "trace/row_budget.h"
#include "trace/slice_block_reader.h"
#include "trace/slice_ranges.h"
#include "trace/trace_builder.h"

namespace stepscope {

struct BlockSource {
  const format::BlockReader* reader = nullptr;  // borrowed
  uint64_t bytes = 0;
  std::string note_prefix;       // before what is said of its damage: "1234.sscope: "
  bool is_pool = false;          // format/pool_reader.h made it
  bool is_running = false;       // the recording goes on
  bool tail_is_in_pool = false;  // a torn last block loses nothing
};

class TraceLoader {
 public:
  // Borrows all. The readers count their damaged blocks.
  TraceLoader(TraceBuilder& builder, RowBudget& budget, std::span<const BlockSource> sources);

  const ClockTable& clock() const { return clock_; }
  // Moves all times that are read by load().
  void shift_ns(int64_t ns);
  // Of a sampler's file: see DefinitionReader. Borrows it.
  void join(const KnownThreads& known, bool knows_all) { definitions_.join(known, knows_all); }
  // The recording's older files are not there.
  void set_begins_late() { records_.set_begins_late(); }
  void load();
  // That no file had.
  uint64_t records_from_pool() const { return records_from_pool_; }

 private:
  template <typename Wants, typename Read>
  void for_each_block(const BlockSource& source, Wants&& wants, Read&& read_one);
  void reserve();
  Status read_clock(const format::BlockView& block);
  Status read(const format::BlockView& block);
  Status read_slice_block(const format::BlockView& block);
  Status read_arg_block(const format::BlockView& block);
  Status read_counters(const format::BlockView& block);
  Status read_flows(const format::BlockView& block);
  Status read_samples(const format::BlockView& block);
  Status read_call_edges(const format::BlockView& block);
  Status read_allocations(const format::BlockView& block);
  void shift(std::vector<int64_t>& times_ns) const;
  void note_damage(const BlockSource& source, const format::BlockInfo& info, const Status& status);
  void count_damage();

  template <typename T>
  Status decode(const format::BlockView& block, format::Column column, std::vector<T>& out) {
    return decoder_.decode_rows(block, column, out);
  }

  TraceBuilder& builder_;
  RowBudget& budget_;
  std::span<const BlockSource> sources_;
  DefinitionReader definitions_;
  ClockTable clock_;
  RecordDecoder records_;
  RecordDecoder::Gap gap_ = RecordDecoder::Gap::kLoss;
  uint64_t records_from_pool_ = 0;
  int64_t shift_ns_ = 0;
  format::ColumnDecoder decoder_;
  SliceRanges ranges_;
  // Kept from block to block: memory that is freed and taken again has to be cleared again.
  DecodedSlices slices_;
  DecodedArgs args_;
  struct {
    std::vector<SliceId> from, to;
    std::vector<int64_t> from_ns, to_ns;
    std::vector<LabelId> labels;
    std::vector<uint64_t> ids;
  } flows_;
  bool believes_headers_ = false;
  std::unordered_map<uint32_t, uint64_t> values_by_key_;  // by the file's string id
  std::vector<std::string> notes_;
};

}  // namespace stepscope
