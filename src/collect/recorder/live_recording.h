// LiveRecording: one recording of one process. It lends chunks of its pool to threads, and a thread
// of its own, the drain, seals full ones in the file and lends them again.
//
//   thread          take_chunk() ── records ── hand_over() ─┐          no lock, no system call but
//                        ▲                                  ▼          now and then a wake-up
//                   free chunks ◄── written to the file ── full chunks
//   drain thread                      zstd, CRC32C
//
// Nothing here ever makes a thread wait. Where no chunk is free, the thread drops its record and
// counts it; the drain lets the pool grow before that, up to its limit.
//
// What is on disk when the program is killed: every block that was written, and in the pool every
// chunk that was not written, up to the last committed record. A chunk becomes free only after its
// block is written, so no record is in neither; one that is in both is told by its first word.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "collect/recorder/chunk_stack.h"
#include "collect/recorder/definitions.h"
#include "collect/recorder/pool.h"
#include "collect/recorder/recorder.h"
#include "collect/recorder/recording_file.h"
#include "collect/recorder/thread_slot.h"

namespace stepscope {

class SlotArena;
class SystemCounters;

class LiveRecording {
 public:
  // Starts the drain, which opens folder, file and pool. Borrows definitions and slots, for good.
  static Result<std::unique_ptr<LiveRecording>> start(const RecorderOptions& options,
                                                      Definitions& definitions, SlotArena& slots,
                                                      uint32_t number);
  // Waits for the drain to write everything. No thread may be in take_chunk() or hand_over().
  Status stop();
  ~LiveRecording();

  uint32_t number() const { return number_; }
  const RecorderOptions& options() const { return options_; }
  std::string path() const { return path_; }

  // The rest is for recording threads, and takes no lock.
  uint32_t add_stream() { return streams_.fetch_add(1, std::memory_order_relaxed); }
  // A fresh chunk for the slot, whose first record comes `first_tick` or later. False: none is
  // free.
  bool take_chunk(ThreadSlot& slot, uint64_t first_tick);
  // Gives the slot's chunk to the drain.
  void hand_over(ThreadSlot& slot);
  void drop(ThreadSlot& slot);
  // A thread ends: what it dropped last is told by no chunk any more. Takes a lock.
  void leave(ThreadSlot& slot);
  void wake_drain();
  bool wants_growth() const;

 private:
  struct Loss {
    uint32_t stream, track;
    uint64_t words, dropped, tick;
  };
  struct Name {
    uint32_t track = 0;
    std::string text;
  };
  using Streams = std::map<uint32_t, std::vector<uint32_t>>;  // chunks by stream

  LiveRecording(const RecorderOptions& options, Definitions& definitions, SlotArena& slots,
                uint32_t number);

  // All of these on the drain thread.
  void run();
  Status open();
  void turn();
  void wait(int64_t until_ns);
  void collect_full();
  void collect_used();
  Status write_pending(bool all);
  Status write_stream(std::vector<uint32_t>& chunks, bool all);
  Status write_losses();
  void free_chunk(uint32_t number);
  void grow_if_short();
  void read_clock_if_due(int64_t now_ns);
  void name_threads_if_due(int64_t now_ns);
  void note_failure(const Status& status);
  void finish();

  const RecorderOptions options_;
  Definitions& definitions_;
  SlotArena& slots_;
  const uint32_t number_;

  std::unique_ptr<Pool> pool_;
  std::unique_ptr<std::atomic<uint32_t>[]> links_;
  ChunkStack<> free_;
  ChunkStack<> full_;
  std::atomic<uint32_t> free_count_{0};
  std::atomic<uint32_t> full_count_{0};
  std::atomic<uint32_t> wake_at_{1};
  std::atomic<uint32_t> streams_{1};
  std::atomic<uint32_t> is_asleep_{0};  // the futex that the drain sleeps on
  std::atomic<bool> is_stopping_{false};
  std::atomic<bool> may_grow_{true};

  // Of the drain.
  std::unique_ptr<Journals> journals_;
  std::unique_ptr<RecordingFile> file_;
  std::unique_ptr<SystemCounters> counters_;
  Streams pending_;
  uint32_t pending_count_ = 0;
  std::vector<Loss> pending_losses_;
  int64_t oldest_pending_ns_ = 0;
  int64_t next_clock_ns_ = 0;
  int64_t clock_interval_ns_ = 0;
  int64_t next_names_ns_ = 0;
  int64_t next_counters_ns_ = 0;
  uint64_t ticks_per_second_ = 0;
  std::vector<Name> names_;  // by slot
  uint32_t next_named_ = 0;
  uint64_t failures_ = 0;
  std::string first_failure_;
  Status outcome_;
  std::string path_;

  std::mutex mutex_;
  std::condition_variable opened_;
  bool is_open_ = false;
  std::vector<Loss> losses_;
  std::thread drain_;
};

}  // namespace stepscope
