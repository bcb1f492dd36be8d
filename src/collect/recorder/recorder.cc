// Start, stop, the slow path of a record, threads that come and go, forked children.
#include "collect/recorder/recorder.h"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>

#include "collect/recorder/live_recording.h"
#include "collect/recorder/slot_arena.h"

namespace stepscope {

thread_local ThreadSlot* t_slot = nullptr;

namespace {

using format::pack_record;
using format::RecordKind;

// Lives as long as the process: threads may record while others already run exit handlers.
struct Process {
  std::mutex mutex;  // of start() and stop(); never taken by a record
  std::atomic<Definitions*> definitions{new Definitions};
  std::atomic<bool> is_recording{false};
  std::atomic<LiveRecording*> recording{nullptr};
  uint32_t recordings = 0;
  pthread_key_t thread_end{};
};

void leave_thread(void* slot);
void stop_at_exit() { (void)Recorder::stop(); }

Process& process() {
  static Process* const instance = [] {
    auto* made = new Process;
    ::pthread_key_create(&made->thread_end, leave_thread);
    std::atexit(stop_at_exit);
    return made;
  }();
  return *instance;
}

std::string_view read_thread_name(std::array<char, 16>& buffer) {
  buffer.fill(0);
  ::prctl(PR_GET_NAME, buffer.data());
  return buffer.data();
}

uint32_t hash(std::string_view text) {
  return static_cast<uint32_t>(std::hash<std::string_view>()(text));
}

// While it lives, stop() waits: chunks may be taken and handed over.
class SlowPath {
 public:
  explicit SlowPath(ThreadSlot& slot) : slot_(slot) {
    slot_.is_busy.store(1, std::memory_order_seq_cst);
  }
  SlowPath(const SlowPath&) = delete;
  SlowPath& operator=(const SlowPath&) = delete;
  ~SlowPath() { slot_.is_busy.store(0, std::memory_order_release); }

 private:
  ThreadSlot& slot_;
};

// In a SlowPath. The flag comes first: once it is seen set, stop() waits for this thread before it
// takes the pointer away. A pointer read before it might be the last recording's, and the flag the
// next one's.
LiveRecording* find_recording(Process& p) {
  if (!p.is_recording.load(std::memory_order_seq_cst)) return nullptr;
  return p.recording.load(std::memory_order_seq_cst);
}

ThreadSlot* attach_thread() {
  SlotArena* slots = SlotArena::get();
  ThreadSlot* slot = slots == nullptr ? nullptr : slots->take();
  if (slot == nullptr) return nullptr;
  slot->tid = static_cast<int32_t>(::syscall(SYS_gettid));
  slot->recording = 0;
  slot->has_own_name = false;
  t_slot = slot;
  ::pthread_setspecific(process().thread_end, slot);
  return slot;
}

// The thread's first record in this recording.
void join(ThreadSlot& slot, LiveRecording& recording) {
  std::array<char, 16> buffer;
  const std::string_view name = read_thread_name(buffer);
  slot.name_hash = hash(name);
  slot.track = process().definitions.load(std::memory_order_acquire)->thread(name, slot.tid);
  slot.stream = recording.add_stream();
  slot.words = nullptr;
  slot.chunk = nullptr;
  slot.count = 0;
  slot.words_before = 0;
  slot.dropped.store(0, std::memory_order_relaxed);
  slot.context = 0;
  slot.recording = recording.number();
  slot.is_taken.store(2, std::memory_order_release);
}

// Where a forked child records or names something for the first time: it goes on with what the
// parent had defined, and with nothing else of it. Other threads of the child drop their records
// meanwhile.
void start_in_child(SlotArena& slots) {
  uint32_t expected = SlotArena::kForked;
  if (!slots.owner().compare_exchange_strong(expected, SlotArena::kMoving)) return;
  Process& p = process();
  slots.move_on();
  // The parent's objects stay where they are: one of its threads may have been in the middle of
  // changing them.
  new (&p.mutex) std::mutex;
  const LiveRecording* parents = p.recording.exchange(nullptr);
  p.definitions.store(new Definitions(*p.definitions.load()), std::memory_order_release);
  bool is_recording = p.is_recording.load();
  if (is_recording && parents != nullptr && parents->options().follow_forks) {
    RecorderOptions options = parents->options();
    constexpr uint64_t kChildPoolBytes = uint64_t{2} << 20;  // there may be thousands of them
    options.first_pool_bytes = std::min(options.first_pool_bytes, kChildPoolBytes);
    Result<std::unique_ptr<LiveRecording>> recording =
        LiveRecording::start(options, *p.definitions.load(), slots, ++p.recordings);
    is_recording = recording.ok();
    if (is_recording) p.recording.store(recording->release(), std::memory_order_release);
  } else {
    is_recording = false;
  }
  p.is_recording.store(is_recording, std::memory_order_seq_cst);
  slots.owner().store(SlotArena::kOwned, std::memory_order_release);
}

void leave_thread(void* pointer) {
  auto& slot = *static_cast<ThreadSlot*>(pointer);
  t_slot = nullptr;
  SlotArena* slots = SlotArena::get();
  if (slots->owner().load(std::memory_order_acquire) != SlotArena::kOwned ||
      slot.is_taken.load(std::memory_order_relaxed) == 0) {
    return;  // of the parent's
  }
  Process& p = process();
  {
    const SlowPath busy(slot);
    LiveRecording* recording = find_recording(p);
    if (recording != nullptr && slot.recording == recording->number()) {
      std::array<char, 16> buffer;
      const std::string_view name = read_thread_name(buffer);
      if (!slot.has_own_name && slot.name_hash != hash(name)) {
        p.definitions.load()->rename_thread(slot.track, name, slot.tid);
      }
      recording->leave(slot);
    }
  }
  slots->give_back(slot);
}

// Puts an absolute time into the chunk.
void sync_clock(ThreadSlot& slot, uint64_t tick) {
  slot.words[slot.count] = pack_record(RecordKind::kClockSync, 0, 0);
  slot.words[slot.count + 1] = tick;
  slot.count += 2;
  slot.last_tick = tick;
  slot.chunk->committed.store(slot.count, std::memory_order_release);
}

bool make_room_in(ThreadSlot& slot, LiveRecording& recording, uint32_t words, uint64_t tick) {
  if (slot.recording != recording.number()) join(slot, recording);
  constexpr uint32_t kSyncWords = 2;
  const bool is_continuous = slot.chunk != nullptr;
  const bool needs_sync = is_continuous && tick - slot.last_tick > UINT32_MAX;
  if (slot.chunk == nullptr || slot.count + 1 + words + kSyncWords > format::kChunkWords) {
    if (is_continuous) recording.hand_over(slot);
    // A stretch that goes on counts from the last record, also over a sync; a new one from now.
    if (!is_continuous) slot.last_tick = tick;
    if (!recording.take_chunk(slot, slot.last_tick)) {
      recording.drop(slot);
      return false;
    }
  }
  if (needs_sync) sync_clock(slot, tick);
  slot.limit.store(format::kChunkWords - kSyncWords, std::memory_order_seq_cst);
  return true;
}

}  // namespace

ThreadSlot* make_room(uint32_t words, uint64_t tick) {
  Process& p = process();
  if (!p.is_recording.load(std::memory_order_acquire)) return nullptr;
  SlotArena* slots = SlotArena::get();
  if (slots == nullptr) return nullptr;
  if (slots->owner().load(std::memory_order_acquire) != SlotArena::kOwned) [[unlikely]] {
    start_in_child(*slots);
    if (slots->owner().load(std::memory_order_acquire) != SlotArena::kOwned) return nullptr;
  }
  ThreadSlot* slot = t_slot;
  if (slot == nullptr || slot->is_taken.load(std::memory_order_relaxed) == 0) {
    slot = attach_thread();
    if (slot == nullptr) return nullptr;
  }
  const SlowPath busy(*slot);
  LiveRecording* recording = find_recording(p);
  if (recording == nullptr) return nullptr;
  if (!make_room_in(*slot, *recording, words, tick)) return nullptr;
  // stop() may have begun before the limit was set: it would not have seen it to take it back.
  if (!p.is_recording.load(std::memory_order_seq_cst)) {
    slot->limit.store(0, std::memory_order_relaxed);
    return nullptr;
  }
  return slot;
}

Status Recorder::start(const RecorderOptions& options) {
  Process& p = process();
  SlotArena* slots = SlotArena::get();
  if (slots == nullptr) return Status::error("no memory for the recorder");
  if (slots->owner().load() == SlotArena::kForked) {
    p.is_recording.store(false);  // the parent's; this one is asked for anew
    start_in_child(*slots);
  }
  const std::lock_guard lock(p.mutex);
  if (p.is_recording.load()) return Status::error("there is a recording in this process already");
  Result<std::unique_ptr<LiveRecording>> recording =
      LiveRecording::start(options, *p.definitions.load(), *slots, ++p.recordings);
  if (!recording) return recording.status();
  p.recording.store(recording->release(), std::memory_order_release);
  p.is_recording.store(true, std::memory_order_seq_cst);
  return {};
}

Status Recorder::stop() {
  Process& p = process();
  SlotArena* slots = SlotArena::get();
  // A forked child that has recorded nothing has nothing to close; what it sees is the parent's.
  if (slots == nullptr || slots->owner().load() != SlotArena::kOwned) return {};
  const std::lock_guard lock(p.mutex);
  if (!p.is_recording.load()) return {};
  p.is_recording.store(false, std::memory_order_seq_cst);
  for (uint32_t i = slots->first(); i < slots->end(); ++i) {
    slots->at(i).limit.store(0, std::memory_order_seq_cst);
  }
  for (uint32_t i = slots->first(); i < slots->end(); ++i) {
    ThreadSlot& slot = slots->at(i);
    while (&slot != t_slot && slot.is_busy.load(std::memory_order_seq_cst) != 0) ::sched_yield();
  }
  const std::unique_ptr<LiveRecording> recording(p.recording.exchange(nullptr));
  return recording->stop();
}

bool Recorder::is_recording() { return process().is_recording.load(std::memory_order_relaxed); }

Definitions& Recorder::definitions() {
  // The parent's would write into journals that a forked child does not have.
  if (SlotArena* slots = SlotArena::get(); slots != nullptr) {
    start_in_child(*slots);
    while (slots->owner().load(std::memory_order_acquire) == SlotArena::kMoving) ::sched_yield();
  }
  return *process().definitions.load(std::memory_order_acquire);
}

std::string Recorder::path() {
  Process& p = process();
  const std::lock_guard lock(p.mutex);
  const LiveRecording* recording = p.recording.load();
  return recording == nullptr ? "" : recording->path();
}

void Recorder::set_thread_name(std::string_view name) {
  if (!is_recording()) return;
  // Attaches the thread where it has not recorded yet.
  ThreadSlot* slot = make_room(0, read_ticks());
  if (slot == nullptr) return;
  slot->has_own_name = true;
  definitions().rename_thread(slot->track, name, slot->tid);
}

}  // namespace stepscope
