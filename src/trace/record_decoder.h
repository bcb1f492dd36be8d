// RecordDecoder: the raw 8-byte records of a live recorder (format/record.h), made into slices,
// counters and steps of a TraceBuilder. Each thread has its stream of blocks; within a thread each
// context (a greenlet) has a stack of open slices of its own, and a track of its own, since its
// slices stay open while another context runs.
//
//   RecordDecoder records(builder, definitions, clock, budget);
//   status = records.read(block, decoder);   // blocks of a thread in their order
//   records.lose(stream);                    // instead of a block that is damaged
//   records.finish();                        // closes what is open
//
// An end that carries its label closes the innermost open slice of that label, and what is open
// inside of it, but for the program's own scopes (torch_scopes.h), which go on until their own end,
// as do calls when a scope around them ends; one without closes the innermost. Across lost records
// nests are not to be trusted: an end without a label then closes nothing that was opened before
// the loss.
//
// Blocks that say which word of the thread they begin with (Column::kFirstWord) may repeat words,
// as file and pool do: each word counts once. Missing words are counted: as lost, or, before the
// first block of a thread where a ring has removed older files, as expired. A slice that was open
// at such a begin is shown from there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "format/block_reader.h"
#include "format/column_decoder.h"
#include "format/record.h"
#include "trace/async_slices.h"
#include "trace/clock_table.h"
#include "trace/definition_reader.h"
#include "trace/flow_matcher.h"
#include "trace/operator_details.h"
#include "trace/row_budget.h"
#include "trace/trace_builder.h"

namespace stepscope {

class RecordDecoder {
 public:
  // Borrows all four.
  RecordDecoder(TraceBuilder& builder, DefinitionReader& definitions, const ClockTable& clock,
                RowBudget& budget)
      : builder_(builder),
        definitions_(definitions),
        clock_(clock),
        budget_(budget),
        details_(builder) {}

  // What it means that words are missing before a block.
  enum class Gap : uint8_t {
    kLoss,
    kNotYet,  // the pool of a program that runs: they are left for the next reading, as is the rest
  };

  // Older files of the recording are not there: what begins late has expired.
  void set_begins_late() { begins_late_ = true; }
  Status read(const format::BlockView& block, format::ColumnDecoder& decoder, Gap gap = Gap::kLoss);
  void lose(uint32_t stream);
  void finish();

 private:
  struct Open {
    SliceRef slice;
    LabelId label;
  };
  struct Context {
    TrackId track{};
    std::vector<Open> open;
    // How many of the first `indexed` there are of each label. Only a search needs it, and most
    // ends are those of the innermost: it is brought up to date then.
    std::unordered_map<uint32_t, uint32_t> open_by_label;
    size_t indexed = 0;
    size_t untrusted = 0;      // that many of `open` are from before a loss
    uint64_t losses_seen = 0;  // of the thread's
  };
  struct Thread {
    TrackId track{};
    std::map<uint32_t, Context> contexts;
    Context* context = nullptr;  // of the records that follow
    // What details belong to: none once something has ended or was lost.
    SliceRef just_opened = kNoSliceRef;
    uint64_t tick = 0;
    uint64_t next_word = 0;  // that many words were read
    bool has_begun = false;
    bool is_left_out = false;  // Gap::kNotYet was met
    bool begins_late = false;
    int64_t begin_ns = 0;  // of the first record
    uint64_t losses = 0;
    int64_t lost_at_ns = 0;    // the last one
    int64_t step_from_ns = 0;  // the end of the step before, or the first record
    bool has_steps = false;
    TrackId step_track{};
  };

  // How many of the block's words were read before; nothing where the block is to be left out.
  std::optional<uint64_t> find_words_seen(Thread& thread, uint64_t first_word, int64_t first_ns,
                                          Gap gap);
  void read_words(Thread& thread, std::span<const uint64_t> words, uint64_t seen);
  void read_record(Thread& thread, const format::Record& record, std::span<const uint64_t> words);
  void read_extended(Thread& thread, uint32_t subtype, std::span<const uint64_t> words,
                     int64_t now_ns);
  void add_memory(TrackId track, bool is_free, std::span<const uint64_t> words, int64_t now_ns);
  void enter(Thread& thread, uint32_t context);
  Context& current(Thread& thread);
  void add_instant(Thread& thread, LabelId label, int64_t now_ns);
  void note_once(const std::string& sentence);
  void begin(Thread& thread, LabelId label, int64_t now_ns);
  void end(Thread& thread, uint32_t label_plus_1, int64_t now_ns);
  void end_without_begin(Thread& thread, LabelId label, int64_t now_ns);
  void end_step(Thread& thread, uint32_t number, int64_t now_ns);
  void count_dropped(Thread& thread, uint64_t records, int64_t now_ns);
  static bool has_open(Context& context, LabelId label);
  // What lies in the open slice that ends now and goes on all the same: the program's own scopes,
  // which need not nest with calls.
  std::vector<Open> find_crossing(const Context& context, size_t ended) const;
  // Closes what is above `keep` open slices; how many that were.
  size_t close_down_to(Context& context, size_t keep, int64_t now_ns);

  TraceBuilder& builder_;
  DefinitionReader& definitions_;
  ClockCursor clock_;
  RowBudget& budget_;
  FlowMatcher flows_;
  OperatorDetails details_;
  AsyncSlices async_;
  std::map<uint32_t, Thread> threads_;
  bool begins_late_ = false;
  int64_t last_ns_ = 0;
  bool has_time_ = false;
};

}  // namespace stepscope
