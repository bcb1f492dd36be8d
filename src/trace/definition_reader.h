// DefinitionReader: the blocks of a .sscope file that say what ids mean (strings, labels,
// processes, tracks, devices, metadata, frames, stacks, stats), read into a TraceBuilder. It keeps
// the maps from the file's ids to the trace's, by which the readers of other blocks translate their
// columns.
//
//   DefinitionReader definitions(builder, budget);
//   if (DefinitionReader::reads(type)) status = definitions.read(block, decoder);
//   definitions.translate(labels);
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "format/block_reader.h"
#include "format/column_decoder.h"
#include "trace/id_map.h"
#include "trace/known_threads.h"
#include "trace/row_budget.h"
#include "trace/trace_builder.h"

namespace stepscope {

class DefinitionReader {
 public:
  // Borrows both.
  DefinitionReader(TraceBuilder& builder, RowBudget& budget) : builder_(builder), budget_(budget) {}
  DefinitionReader(const DefinitionReader&) = delete;
  DefinitionReader& operator=(const DefinitionReader&) = delete;

  // A sampler's file tells of processes and threads that other recordings have told of already:
  // by their pids and tids they are the same, where `known` has them. Before the first block.
  // `knows_all`: what is not there becomes kNoTrack, and nothing gets another name.
  void join(const KnownThreads& known, bool knows_all) {
    known_ = &known;
    knows_all_ = knows_all;
  }
  bool knows_all() const { return knows_all_; }

  static bool reads(format::BlockType type);
  // On an error the block is damaged; what it defined before the fault was found may remain.
  Status read(const format::BlockView& block, format::ColumnDecoder& decoder);

  // In place. What is not defined becomes "?" and is counted as a skipped value.
  void translate(std::span<StringId> ids);
  void translate(std::span<LabelId> ids);
  void translate(std::span<FrameId> ids);  // kNoFrame stays
  void translate(std::span<StackId> ids);  // kNoStack stays
  // Tracks that are not defined all become one, or kNoTrack: see join().
  void translate(std::span<TrackId> ids);
  StringId string(StringId file_id);
  LabelId label(LabelId file_id);
  // A track of its own for each file id; a nameless one where it is not defined.
  TrackId track(uint32_t file_id);
  std::optional<TrackId> find_track(uint32_t file_id) const;

  // The sentences of stats blocks.
  const std::vector<std::string>& notes() const { return notes_; }
  uint64_t ids_lost() const { return ids_lost_; }

 private:
  Status read_strings(const format::BlockView& block, format::ColumnDecoder& decoder);
  Status read_labels(const format::BlockView& block, format::ColumnDecoder& decoder);
  Status read_processes(const format::BlockView& block, format::ColumnDecoder& decoder);
  Status read_tracks(const format::BlockView& block, format::ColumnDecoder& decoder);
  Status read_devices(const format::BlockView& block, format::ColumnDecoder& decoder);
  Status read_metadata(const format::BlockView& block, format::ColumnDecoder& decoder);
  Status read_file_metadata(std::string_view key, std::string_view value);
  Status read_frames(const format::BlockView& block, format::ColumnDecoder& decoder);
  Status read_stacks(const format::BlockView& block, format::ColumnDecoder& decoder);
  Status read_stats(const format::BlockView& block, format::ColumnDecoder& decoder);
  Result<uint32_t> first_id(const format::BlockView& block, format::ColumnDecoder& decoder,
                            size_t defined);
  void count_skipped(uint64_t count) { builder_.stats().add(Stat::kValuesSkipped, count); }
  void count_lost(uint64_t count);
  uint32_t process(uint32_t file_id);
  std::optional<uint32_t> find_known_process(int64_t pid) const;
  std::optional<TrackId> find_known_track(const Track& track) const;
  StringId unknown_string() { return builder_.string("?"); }
  LabelId unknown_label() { return builder_.label("?", "", SliceKind::kOther); }
  FrameId unknown_frame() { return builder_.add_frame({unknown_string(), kEmptyString, 0}); }

  TraceBuilder& builder_;
  RowBudget& budget_;
  const KnownThreads* known_ = nullptr;
  bool knows_all_ = false;
  std::unordered_map<uint32_t, bool> joined_processes_, joined_tracks_;  // whether it had a name
  IdMap<StringId> strings_;
  IdMap<LabelId> labels_;
  IdMap<FrameId> frames_;
  IdMap<StackId> stacks_;
  std::unordered_map<uint32_t, uint32_t> processes_;
  std::unordered_map<uint32_t, TrackId> tracks_;
  std::optional<TrackId> lost_track_;
  std::vector<std::string> notes_;
  uint64_t ids_lost_ = 0;
};

}  // namespace stepscope
