#include "collect/recorder/live_recording.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/process_stat.h"
#include "collect/recorder/slot_arena.h"
#include "collect/system/system_counters.h"
#include "format/recording_metadata.h"

namespace stepscope {
namespace {

using format::ChunkHeader;
using format::kChunkBytes;
using format::kChunkWords;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSecond = 1'000 * kMs;
constexpr int64_t kCounterIntervalNs = 100 * kMs;
constexpr int64_t kFirstClockNs = 10 * kMs;  // then doubled, up to the next
constexpr int64_t kMaxClockNs = 10 * kSecond;
constexpr int64_t kNamesNs = kSecond;
constexpr int64_t kMaxPendingNs = kSecond;  // a chunk waits no longer for others of its thread
constexpr uint32_t kNamesPerTurn = 64;
constexpr size_t kChunksPerBlock = format::kRowsPerBlock / kChunkWords;
constexpr uint32_t kGrowthStep = 32;
constexpr uint32_t kReserve = 4 * 1024 * 1024 / kChunkBytes;  // lasts a tenth of a second

uint32_t to_chunks(uint64_t bytes) {
  return static_cast<uint32_t>(std::clamp<uint64_t>(bytes / kChunkBytes, 4, uint64_t{1} << 24));
}

}  // namespace

LiveRecording::LiveRecording(const RecorderOptions& options, Definitions& definitions,
                             SlotArena& slots, uint32_t number)
    : options_(options),
      definitions_(definitions),
      slots_(slots),
      number_(number),
      links_(std::make_unique<std::atomic<uint32_t>[]>(to_chunks(options.max_pool_bytes))),
      free_(links_.get()),
      full_(links_.get()) {}

LiveRecording::~LiveRecording() = default;

Result<std::unique_ptr<LiveRecording>> LiveRecording::start(const RecorderOptions& options,
                                                            Definitions& definitions,
                                                            SlotArena& slots, uint32_t number) {
  if (options.folder.empty()) return Status::error("no folder to record into");
  std::error_code error;
  RecorderOptions absolute = options;
  absolute.folder = std::filesystem::absolute(options.folder, error).lexically_normal().string();
  std::filesystem::create_directories(absolute.folder, error);
  if (error) return Status::error(options.folder + ": " + error.message());
  std::unique_ptr<LiveRecording> recording(new LiveRecording(absolute, definitions, slots, number));

  // The program's signals are for its own threads.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    recording->drain_ = std::thread([drained = recording.get()] { drained->run(); });
  } catch (const std::system_error& no_thread) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return Status::error(std::string("the recorder's thread: ") + no_thread.what());
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::unique_lock lock(recording->mutex_);
  recording->opened_.wait(lock, [&] { return recording->is_open_; });
  if (!recording->outcome_) {
    lock.unlock();
    recording->drain_.join();
    return recording->outcome_;
  }
  return recording;
}

Status LiveRecording::stop() {
  is_stopping_.store(true, std::memory_order_release);
  wake_drain();
  drain_.join();
  return outcome_;
}

bool LiveRecording::take_chunk(ThreadSlot& slot, uint64_t first_tick) {
  const uint32_t number = free_.pop();
  if (number == kNoChunk) return false;
  free_count_.fetch_sub(1, std::memory_order_seq_cst);
  if (wants_growth()) wake_drain();
  ChunkHeader& chunk = *pool_->chunk(number);
  const uint64_t generation = chunk.generation.load(std::memory_order_relaxed);
  chunk.generation.store(generation + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  const uint64_t dropped = slot.dropped.exchange(0, std::memory_order_relaxed);
  chunk.first_word = slot.words_before;
  chunk.first_tick = first_tick;
  chunk.dropped = dropped;
  chunk.stream = slot.stream;
  chunk.track = slot.track;
  chunk.context = slot.context;
  chunk.committed.store(0, std::memory_order_relaxed);
  chunk.is_used.store(1, std::memory_order_release);
  chunk.generation.store(generation + 2, std::memory_order_release);
  if (dropped > 0) pool_->header().dropped.fetch_sub(dropped, std::memory_order_relaxed);
  slot.chunk = &chunk;
  slot.words = Pool::words(&chunk);
  slot.chunk_number = number;
  slot.count = 0;
  return true;
}

// Less than 1/4 of a large pool is free, or less than the reserve. A small pool, which a
// short-lived child need not see grow, is left alone until 1/4 of it is used.
bool LiveRecording::wants_growth() const {
  const uint32_t count = pool_->chunk_count();
  const uint32_t wanted = std::max(count / 4, std::min(count * 3 / 4, kReserve));
  return free_count_.load(std::memory_order_seq_cst) < wanted && count < pool_->max_chunks() &&
         may_grow_.load(std::memory_order_relaxed);
}

void LiveRecording::hand_over(ThreadSlot& slot) {
  slot.words_before += slot.count;
  slot.chunk = nullptr;
  slot.words = nullptr;
  slot.count = 0;
  slot.limit.store(0, std::memory_order_relaxed);
  full_.push(slot.chunk_number);
  const uint32_t full = full_count_.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (full >= wake_at_.load(std::memory_order_relaxed)) wake_drain();
}

void LiveRecording::drop(ThreadSlot& slot) {
  slot.dropped.fetch_add(1, std::memory_order_relaxed);
  pool_->header().dropped.fetch_add(1, std::memory_order_relaxed);
  wake_drain();
}

void LiveRecording::leave(ThreadSlot& slot) {
  if (slot.chunk != nullptr) hand_over(slot);
  const uint64_t dropped = slot.dropped.exchange(0, std::memory_order_relaxed);
  if (dropped == 0) return;
  const std::lock_guard lock(mutex_);
  losses_.push_back({slot.stream, slot.track, slot.words_before, dropped, slot.last_tick});
}

void LiveRecording::wake_drain() {
  if (is_asleep_.load(std::memory_order_seq_cst) == 0) return;
  if (is_asleep_.exchange(0, std::memory_order_acq_rel) == 0) return;
  ::syscall(SYS_futex, &is_asleep_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void LiveRecording::wait(int64_t until_ns) {
  is_asleep_.store(1, std::memory_order_seq_cst);
  const int64_t left_ns = until_ns - read_clock_ns(CLOCK_MONOTONIC);
  const bool has_work =
      is_stopping_.load(std::memory_order_seq_cst) ||
      full_count_.load(std::memory_order_seq_cst) >= wake_at_.load(std::memory_order_relaxed) ||
      wants_growth();
  if (left_ns > 0 && !has_work) {
    const timespec timeout{left_ns / kSecond, left_ns % kSecond};
    ::syscall(SYS_futex, &is_asleep_, FUTEX_WAIT_PRIVATE, 1, &timeout, nullptr, 0);
  }
  is_asleep_.store(0, std::memory_order_relaxed);
}

void LiveRecording::run() {
  ::pthread_setname_np(::pthread_self(), "stepscope");
  Status opened = open();
  {
    const std::lock_guard lock(mutex_);
    outcome_ = opened;
    is_open_ = true;
  }
  opened_.notify_all();
  if (!opened) return;
  while (!is_stopping_.load(std::memory_order_acquire)) {
    wait(std::min({next_clock_ns_, next_names_ns_, next_counters_ns_}));
    turn();
  }
  finish();
}

Status LiveRecording::open() {
  RecordingIdentity identity;
  identity.files_are_private = take_private_descriptors();
  identity.folder = options_.folder;
  identity.folder_descriptor = ::open(options_.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (identity.folder_descriptor < 0) {
    return Status::error(options_.folder + ": " + std::strerror(errno));
  }
  if (!identity.files_are_private) {
    ::close(identity.folder_descriptor);  // the program might close it, and take the number
    identity.folder_descriptor = -1;
  }
  identity.file_id = format::make_file_id();
  identity.pid = ::getpid();
  ticks_per_second_ = measure_ticks_per_second();
  identity.ticks_per_second = ticks_per_second_;
  identity.metadata = options_.metadata;
  char read_ns[32];
  std::snprintf(read_ns, sizeof(read_ns), "%.2f", measure_tick_read_ns(ticks_per_second_));
  identity.metadata.push_back({std::string(format::kClockReadKey), read_ns});
  const PoolIdentity pool_identity{identity.file_id, identity.pid,
                                   read_process_stat("self").start_ticks};

  auto file = RecordingFile::create(identity, {options_.rotate_bytes, options_.max_file_bytes},
                                    definitions_);
  if (!file) return file.status();
  file_ = std::move(*file);
  const uint32_t max_chunks = to_chunks(options_.max_pool_bytes);
  auto pool = Pool::create(options_.folder, file_->stem() + ".pool", pool_identity,
                           std::min(to_chunks(options_.first_pool_bytes), max_chunks), max_chunks);
  Status status = pool ? Status() : pool.status();
  if (status) {
    pool_ = std::move(*pool);
    status = file_->open(pool_->path(), read_clocks(ticks_per_second_));
    if (!status) pool_->close(Pool::Keep::kNo);
  }
  if (!status) {
    ::unlink(file_->path().c_str());
    return status;
  }
  path_ = file_->path();
  journals_ = std::make_unique<Journals>(pool_->journal(0), pool_->journal(1));
  definitions_.attach(journals_.get(), [this] { wake_drain(); });
  for (uint32_t i = pool_->chunk_count(); i-- > 0;) free_.push(i);
  free_count_.store(pool_->chunk_count());
  wake_at_.store(std::max(1u, pool_->chunk_count() / 4));
  const int64_t now_ns = read_clock_ns(CLOCK_MONOTONIC);
  clock_interval_ns_ = kFirstClockNs;
  next_clock_ns_ = now_ns + clock_interval_ns_;
  next_names_ns_ = now_ns + kNamesNs;
  next_counters_ns_ = INT64_MAX;
  if (options_.system_counters) next_counters_ns_ = now_ns;
  return {};
}

void LiveRecording::turn() {
  collect_full();
  grow_if_short();
  const int64_t now_ns = read_clock_ns(CLOCK_MONOTONIC);
  if (now_ns >= next_counters_ns_) {
    if (counters_ == nullptr) counters_ = std::make_unique<SystemCounters>(definitions_);
    counters_->sample();
    next_counters_ns_ = std::max(next_counters_ns_ + kCounterIntervalNs, now_ns);
  }
  name_threads_if_due(now_ns);
  const bool is_short = free_count_.load(std::memory_order_relaxed) < pool_->chunk_count() / 2;
  const bool is_late = pending_count_ > 0 && now_ns - oldest_pending_ns_ > kMaxPendingNs;
  Status status = write_pending(is_short || is_late);
  if (status && definitions_.wants_drain()) status = file_->write_definitions();
  if (!status) note_failure(status);
  read_clock_if_due(now_ns);
}

// Chunks of a thread come last first. Losses are taken before them: a thread reports its loss after
// it has handed over its last chunk, so that chunk is then here too.
void LiveRecording::collect_full() {
  {
    const std::lock_guard lock(mutex_);
    pending_losses_.insert(pending_losses_.end(), losses_.begin(), losses_.end());
    losses_.clear();
  }
  uint32_t count = 0;
  for (uint32_t number = full_.take_all(); number != kNoChunk; ++count) {
    const uint32_t next = full_.next(number);
    pending_[pool_->chunk(number)->stream].push_back(number);
    number = next;
  }
  if (count == 0) return;
  full_count_.fetch_sub(count, std::memory_order_relaxed);
  if (pending_count_ == 0) oldest_pending_ns_ = read_clock_ns(CLOCK_MONOTONIC);
  pending_count_ += count;
}

// At the end: the chunks that threads still hold.
void LiveRecording::collect_used() {
  std::vector<bool> is_pending(pool_->chunk_count());
  for (const auto& [stream, chunks] : pending_) {
    for (const uint32_t number : chunks) is_pending[number] = true;
  }
  for (uint32_t number = 0; number < pool_->chunk_count(); ++number) {
    const ChunkHeader& chunk = *pool_->chunk(number);
    if (is_pending[number] || chunk.is_used.load(std::memory_order_acquire) == 0) continue;
    pending_[chunk.stream].push_back(number);
    ++pending_count_;
  }
}

Status LiveRecording::write_pending(bool all) {
  Status status;
  for (auto it = pending_.begin(); it != pending_.end() && status;) {
    std::vector<uint32_t>& chunks = it->second;
    status = write_stream(chunks, all);
    it = chunks.empty() ? pending_.erase(it) : std::next(it);
  }
  if (status) status = write_losses();
  return status;
}

// Whole blocks of the stream's chunks; the rest too where `all`.
Status LiveRecording::write_stream(std::vector<uint32_t>& chunks, bool all) {
  if (chunks.size() < kChunksPerBlock && !all) return {};
  std::sort(chunks.begin(), chunks.end(), [&](uint32_t a, uint32_t b) {
    return pool_->chunk(a)->first_word < pool_->chunk(b)->first_word;
  });
  if (Status status = file_->write_definitions(); !status) return status;
  size_t written = 0;
  Status status;
  while (status && (all ? written < chunks.size() : chunks.size() - written >= kChunksPerBlock)) {
    RecordStretch stretch;
    size_t end = written;
    for (; end < chunks.size() && end - written < kChunksPerBlock; ++end) {
      ChunkHeader& chunk = *pool_->chunk(chunks[end]);
      if (end == written) {
        stretch.stream = chunk.stream;
        stretch.track = chunk.track;
        stretch.context = chunk.context;
        stretch.first_tick = chunk.first_tick;
        stretch.first_word = chunk.first_word;
        stretch.dropped = chunk.dropped;
      } else if (chunk.dropped > 0) {
        break;
      }
      stretch.words.emplace_back(Pool::words(&chunk),
                                 chunk.committed.load(std::memory_order_acquire));
    }
    status = file_->write_records(stretch);
    if (!status) break;
    for (; written < end; ++written) free_chunk(chunks[written]);
    grow_if_short();  // a block takes milliseconds, in which busy threads may use up what is free
  }
  chunks.erase(chunks.begin(), chunks.begin() + static_cast<ptrdiff_t>(written));
  return status;
}

// A loss comes after all records of its thread: a reader takes what is told later, but was recorded
// before, for something that it has read already.
Status LiveRecording::write_losses() {
  std::vector<Loss> later;
  Status status;
  for (const Loss& loss : pending_losses_) {
    if (!status || pending_.contains(loss.stream)) {
      later.push_back(loss);
      continue;
    }
    RecordStretch stretch;
    stretch.stream = loss.stream;
    stretch.track = loss.track;
    stretch.first_tick = loss.tick;
    stretch.first_word = loss.words;
    stretch.dropped = loss.dropped;
    status = file_->write_records(stretch);
    if (status) {
      pool_->header().dropped.fetch_sub(loss.dropped, std::memory_order_relaxed);
    } else {
      later.push_back(loss);
    }
  }
  pending_losses_ = std::move(later);
  return status;
}

void LiveRecording::free_chunk(uint32_t number) {
  ChunkHeader& chunk = *pool_->chunk(number);
  const uint64_t generation = chunk.generation.load(std::memory_order_relaxed);
  chunk.generation.store(generation + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  chunk.is_used.store(0, std::memory_order_relaxed);
  chunk.generation.store(generation + 2, std::memory_order_release);
  --pending_count_;
  free_count_.fetch_add(1, std::memory_order_relaxed);
  free_.push(number);
}

// Twice as many, in small steps: threads may be waiting to have them.
void LiveRecording::grow_if_short() {
  const uint32_t wanted = 2 * pool_->chunk_count();
  while (wants_growth() && pool_->chunk_count() < wanted) {
    const uint32_t count = pool_->chunk_count();
    const Result<uint32_t> grown = pool_->grow(kGrowthStep);
    if (!grown) {
      may_grow_.store(false,
                      std::memory_order_relaxed);  // the disk is full: no use in asking again
      return note_failure(grown.status());
    }
    free_count_.fetch_add(*grown, std::memory_order_relaxed);
    for (uint32_t i = count; i < count + *grown; ++i) free_.push(i);
  }
  wake_at_.store(std::max(1u, pool_->chunk_count() / 4), std::memory_order_relaxed);
}

void LiveRecording::read_clock_if_due(int64_t now_ns) {
  if (now_ns < next_clock_ns_) return;
  if (const Status status = file_->write_clock(read_clocks(ticks_per_second_)); !status) {
    note_failure(status);
  }
  next_clock_ns_ = now_ns + clock_interval_ns_;
  clock_interval_ns_ = std::min(2 * clock_interval_ns_, kMaxClockNs);
}

// The system's names: a program may change them at any time. Some threads at each turn, so that
// thousands cost no more than a few.
void LiveRecording::name_threads_if_due(int64_t now_ns) {
  if (now_ns < next_names_ns_) return;
  next_names_ns_ = now_ns + kNamesNs;
  const uint32_t first = slots_.first();
  const uint32_t count = slots_.end() - first;
  names_.resize(count);
  for (uint32_t i = 0; i < std::min(count, kNamesPerTurn); ++i) {
    next_named_ = (next_named_ + 1) % count;
    const ThreadSlot& slot = slots_.at(first + next_named_);
    if (slot.is_taken.load(std::memory_order_acquire) != 2) continue;
    Name now{slot.track, {}};
    const int32_t tid = slot.tid;
    std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/comm");
    if (!std::getline(file, now.text)) continue;
    Name& before = names_[next_named_];
    if (before.track == now.track && before.text != now.text && !slot.has_own_name) {
      definitions_.rename_thread(now.track, now.text, tid);
    }
    before = std::move(now);
  }
}

void LiveRecording::note_failure(const Status& status) {
  if (failures_++ == 0) first_failure_ = status.message();
}

void LiveRecording::finish() {
  counters_.reset();
  collect_full();
  collect_used();
  for (uint32_t i = slots_.first(); i < slots_.end(); ++i) {
    ThreadSlot& slot = slots_.at(i);
    if (slot.is_taken.load(std::memory_order_acquire) != 2 || slot.recording != number_) continue;
    // Who drops holds no chunk, so the thread is not writing now.
    const uint64_t dropped = slot.dropped.exchange(0, std::memory_order_relaxed);
    if (dropped == 0) continue;
    pending_losses_.push_back(
        {slot.stream, slot.track, slot.words_before, dropped, slot.last_tick});
  }
  Status status = file_->write_definitions();
  if (status) status = write_pending(true);
  if (status) status = file_->write_clock(read_clocks(ticks_per_second_));
  std::vector<std::string> notes;
  if (failures_ > 0) {
    notes.push_back("writing failed " + std::to_string(failures_) +
                    " times while recording: " + first_failure_);
  }
  if (status) status = file_->close(notes);
  definitions_.attach(nullptr);
  outcome_ = status;
  // What could not be written is in the pool still.
  pool_->close(status ? Pool::Keep::kNo : Pool::Keep::kYes);
  file_.reset();
}

}  // namespace stepscope
