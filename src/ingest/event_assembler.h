// EventAssembler: EventBatches, in the order of the file, to a TraceBuilder: here events get their
// meaning. Phases: X; B and E; i, I, R (moments; "[memory]" is an allocation); C; M; s, t, f; the
// asynchronous b, n, e and the older S, T, p, F. Others are counted as skipped.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ingest/event_batch.h"
#include "trace/trace_builder.h"

namespace stepscope {

class EventAssembler {
 public:
  explicit EventAssembler(TraceBuilder& builder) : builder_(builder) {}

  void add(const EventBatch& batch);
  // Only what the batch lists as new: for batches whose text is read again.
  void add_names(const EventBatch& batch);
  // Closes what is open and gives asynchronous operations their lanes. Call once, before finish().
  void finish();

 private:
  // A parser's numbers in terms of the builder.
  struct Names {
    std::vector<StringId> strings;
    // What could be a JSON value and has escapes, as it stands in the file.
    std::unordered_map<uint32_t, StringId> raw_json;
    std::vector<LabelId> labels;
    std::vector<LabelId> instant_labels;  // the same, of kind instant; made when first needed
    // Made when first needed: what a wrongly cut chunk seems to name is in no track list.
    std::vector<TrackId> threads;
    std::vector<ForeignId> pids;  // by thread
    std::vector<RawThread> raw_threads;
    std::vector<ArgColumnRef> columns;
    std::vector<RawColumn> raw_columns;
  };
  struct AsyncKey {
    uint64_t id;
    uint32_t process;
    StringId category;
    StringId scope;
    friend bool operator==(const AsyncKey&, const AsyncKey&) = default;
  };
  struct AsyncKeyHash {
    size_t operator()(const AsyncKey& key) const;
  };
  struct OpenAsync {
    SliceRef slice;
    StringId name;
  };
  struct AsyncOperation {  // from the first begin to the last end of one key
    int64_t start_ns;
    int64_t end_ns;
    uint32_t process;
    StringId category;
    std::vector<SliceRef> slices;
    std::vector<OpenAsync> open;
  };
  struct EarlyEnd {  // that came before its begin in the file
    StringId name;
    int64_t time_ns;
  };

  static constexpr LabelId kNoLabel{UINT32_MAX};
  static constexpr TrackId kNoTrack{UINT32_MAX};
  // How far back an asynchronous end is matched by name, and how many early ends of one key wait
  // for their begins: no file makes that quadratic.
  static constexpr size_t kMaxAsyncSearch = 64;

  SliceRef add_event(const RawEvent& event, const EventBatch& batch, Names& names);
  SliceRef add_instant(const RawEvent& event, const EventBatch& batch, Names& names);
  void add_counter(const RawEvent& event, const EventBatch& batch, const Names& names);
  void add_metadata(const RawEvent& event, const EventBatch& batch, const Names& names);
  void add_allocation(const RawEvent& event, const EventBatch& batch, const Names& names);
  void add_flow(const RawEvent& event, const Names& names);
  SliceRef add_async(const RawEvent& event, const Names& names, char phase);
  void mark_stream(TrackId track);
  void add_args(const EventBatch& batch, const Names& names, const std::vector<SliceRef>& slices);
  LabelId instant_label(Names& names, uint32_t label);
  TrackId thread_track(Names& names, uint32_t thread);

  TraceBuilder& builder_;
  std::vector<Names> names_;        // by parser
  std::vector<SliceRef> slices_;    // by event of the batch at hand
  std::vector<uint8_t> is_stream_;  // by track
  std::vector<AsyncOperation> async_;
  std::unordered_map<AsyncKey, size_t, AsyncKeyHash> open_async_;
  std::unordered_map<AsyncKey, std::vector<EarlyEnd>, AsyncKeyHash> early_ends_;
  uint64_t skipped_phases_[256] = {};
};

}  // namespace stepscope
