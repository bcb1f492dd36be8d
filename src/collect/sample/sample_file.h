// SampleFile: what a sampler saw, written into a .sscope file of its own, block by block
// (docs/format.md, "A sampler's file"). The file is whole after each block, and a block is written
// at least every second of samples: a sampler that is killed leaves all but the last second.
//
//   auto file = SampleFile::create("run/1234.samples.sscope", {.period_ns = 10'000'000});
//   uint32_t process = (*file)->add_process(1234, "python train.py");
//   uint32_t thread = (*file)->add_thread(process, 1234, "MainThread");
//   uint32_t frame = (*file)->add_frame("Model.forward", "/model.py", 17);
//   uint32_t stack = (*file)->add_stack(SampleFile::kNoStack, frame, 21);
//   Status status = (*file)->add_sample({thread, now_ns, stack, period_ns, cpu_ns, 0, 1});
//   status = (*file)->close();
//
// Ids are the file's own numbers. The same frame or stack gives the same id, as long as fewer than
// some millions were seen; then it is written a second time, which readers take for the same. So
// memory is bounded whatever the program does.
//
// Disk full: the call that finds it gives the error. After it nothing more is written, calls do
// nothing and give no error; the file is whole up to there. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/byte_sink.h"
#include "base/flat_map.h"
#include "base/status.h"
#include "format/block_writer.h"
#include "format/schema.h"

namespace stepscope::sample {

// How it was sampled, as told in the file's metadata `sampling`. All counts are of all threads.
struct SamplingInfo {
  int64_t period_ns = 0;
  uint64_t ticks = 0;         // moments at which the sampler meant to look, missed ones too
  uint64_t missed_ticks = 0;  // of these: it came too late
  uint64_t torn_reads = 0;    // stacks that were left out
  bool is_inside = false;     // the sampler is a thread of the program itself
  bool is_native = false;     // with native frames
  bool is_paused = false;     // the program was stopped for each look
  bool beside_calls = false;  // which others record: nothing but the samples is told
  double seconds = 0;         // from begin to end
};

struct Sample {
  uint32_t thread = 0;
  int64_t time_ns = 0;  // CLOCK_MONOTONIC
  uint32_t stack = 0;
  int64_t weight_ns = 0;
  int64_t cpu_ns = -1;  // -1: unknown
  uint8_t flags = 0;    // kSampleHeldGil, kSampleWaited
  int64_t count = 1;    // ticks
};

using format::kSampleHeldGil;
using format::kSampleWaited;

class SampleFile {
 public:
  static constexpr uint32_t kNoStack = UINT32_MAX;  // the parent of an outermost frame

  // A file that exists is emptied.
  static Result<std::unique_ptr<SampleFile>> create(const std::string& path,
                                                    const SamplingInfo& info);
  // The same into any sink, which it borrows.
  static Result<std::unique_ptr<SampleFile>> create(ByteSink& sink, const SamplingInfo& info);
  SampleFile(const SampleFile&) = delete;
  SampleFile& operator=(const SampleFile&) = delete;

  // A new one for each call: a pid may be used again.
  uint32_t add_process(int64_t pid, std::string_view name);
  void rename_process(uint32_t process, std::string_view name);
  // `is_own_name`: as the program calls it, not the system; then other recordings' names give way.
  uint32_t add_thread(uint32_t process, int64_t tid, std::string_view name,
                      bool is_own_name = false);
  void rename_thread(uint32_t thread, std::string_view name, bool is_own_name = false);
  // A function: its first line, 0 where it has none.
  uint32_t add_frame(std::string_view name, std::string_view file, int32_t first_line);
  // `line`: where the function stood, 0 where that is unknown.
  uint32_t add_stack(uint32_t parent, uint32_t frame, int32_t line);

  [[nodiscard]] Status add_sample(const Sample& sample);
  // Counts so far; the last ones are told at the end.
  void set_sampling_info(const SamplingInfo& info) { info_ = info; }
  // A sentence for the user.
  void add_note(std::string_view sentence);

  [[nodiscard]] Status flush();
  // The last block: the recording is whole. Nothing can be added after it.
  [[nodiscard]] Status close();

  uint64_t samples() const { return samples_; }  // ticks that were added
  uint64_t bytes_written() const { return writer_->bytes_written(); }

 private:
  struct Named {  // a process or a thread
    uint32_t process = 0;
    int64_t number = 0;
    uint32_t name = 0;
    uint8_t flags = 0;  // of threads
  };
  struct PendingNamed {
    uint32_t id;
    Named row;
  };
  struct Counts {
    uint64_t ticks = 0, missed = 0, torn = 0;
  };

  explicit SampleFile(const SamplingInfo& info) : info_(info) {}

  Status open(ByteSink& sink);
  uint32_t string(std::string_view text);
  void keep_bounds();
  void forget_pending();
  Status write_pending();
  Status write_strings();
  Status write_processes();
  Status write_threads();
  Status write_frames();
  Status write_stacks();
  Status write_samples();
  Status write_counts();
  Status write_sampling_info();
  Status write_clock();
  // The first error goes out, once.
  Status take(Status status);

  std::unique_ptr<FileSink> own_sink_;
  std::unique_ptr<format::BlockWriter> writer_;
  SamplingInfo info_;
  Counts counts_written_;
  uint64_t samples_ = 0;
  int64_t first_pending_ns_ = 0;
  int64_t next_clock_ns_ = 0;
  bool has_failed_ = false;
  bool is_closed_ = false;
  std::vector<std::string> notes_;

  std::unordered_map<std::string, uint32_t> string_ids_;
  FlatMap frames_by_place_, frame_ids_;  // name and file -> place; place and line -> id
  FlatMap stacks_by_place_, stack_ids_;  // parent and frame -> place; place and line -> id
  uint32_t strings_ = 0, frame_places_ = 0, frames_ = 0, stack_places_ = 0, stacks_ = 0;
  std::vector<Named> processes_, threads_;

  // Not in the file yet; the ids of strings, frames and stacks end at the counts above.
  std::string text_bytes_;
  std::vector<uint32_t> text_lengths_;
  std::vector<PendingNamed> pending_processes_, pending_threads_;
  std::vector<uint32_t> frame_names_, frame_files_;
  std::vector<int32_t> frame_lines_;
  std::vector<uint32_t> stack_parents_, stack_frames_;
  std::vector<int32_t> stack_lines_;
  std::vector<uint32_t> sample_threads_, sample_stacks_;
  std::vector<int64_t> sample_times_, sample_weights_, sample_cpu_, sample_counts_;
  std::vector<uint8_t> sample_flags_;
};

}  // namespace stepscope::sample
