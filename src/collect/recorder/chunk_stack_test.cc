// Tries every interleaving of small cases: the real ChunkStack, over atomics at each access of
// which the test chooses who goes on. Runs are repeated from the start with another choice until
// there is none left (stateless search, depth first). The interleavings are sequentially consistent
// ones; why weaker orders add nothing is argued in chunk_stack.h, and TSan looks at the real thing
// under load.
#include "collect/recorder/chunk_stack.h"

// TSan does not follow a change of stacks; it has recorder_stress_test.cc.
#ifndef STEPSCOPE_TSAN

#include <gtest/gtest.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <set>
#include <vector>

namespace stepscope {
namespace {

// Runs some functions as coroutines, switching at every call of pause().
class Scheduler {
 public:
  using Body = std::function<void()>;

  // Calls `make` for fresh bodies and `check` after each run; the result is how many runs there
  // were.
  template <typename Make, typename Check>
  uint64_t explore(Make make, Check check) {
    choices_.clear();
    uint64_t runs = 0;
    do {
      run(make());
      check();
      ++runs;
    } while (advance());
    return runs;
  }

  static void pause() {
    if (current_ != nullptr) current_->yield();
  }

 private:
  static constexpr size_t kStackBytes = 64 * 1024;
  struct Task {
    ucontext_t context{};
    std::unique_ptr<char[]> stack = std::make_unique<char[]>(kStackBytes);
    Body body;
    bool is_done = false;
  };
  struct Choice {
    uint32_t taken, of;
  };

  static void enter() {
    Scheduler* self = current_;
    Task& task = *self->tasks_[self->running_];
    task.body();
    task.is_done = true;
    swapcontext(&task.context, &self->main_);
  }

  void yield() { swapcontext(&tasks_[running_]->context, &main_); }

  void run(std::vector<Body> bodies) {
    // Stacks are used again: to make them anew takes longer than the rest of a run.
    tasks_.resize(bodies.size());
    for (size_t i = 0; i < bodies.size(); ++i) {
      std::unique_ptr<Task>& task = tasks_[i];
      if (task == nullptr) task = std::make_unique<Task>();
      task->is_done = false;
      task->body = std::move(bodies[i]);
      getcontext(&task->context);
      task->context.uc_stack.ss_sp = task->stack.get();
      task->context.uc_stack.ss_size = kStackBytes;
      makecontext(&task->context, &Scheduler::enter, 0);
    }
    depth_ = 0;
    current_ = this;
    while (true) {
      std::vector<size_t> ready;
      for (size_t i = 0; i < tasks_.size(); ++i) {
        if (!tasks_[i]->is_done) ready.push_back(i);
      }
      if (ready.empty()) break;
      running_ = ready[choose(static_cast<uint32_t>(ready.size()))];
      swapcontext(&main_, &tasks_[running_]->context);
    }
    current_ = nullptr;
  }

  uint32_t choose(uint32_t of) {
    if (depth_ == choices_.size()) choices_.push_back({0, of});
    return choices_[depth_++].taken;
  }

  bool advance() {
    while (!choices_.empty() && choices_.back().taken + 1 == choices_.back().of) {
      choices_.pop_back();
    }
    if (choices_.empty()) return false;
    ++choices_.back().taken;
    return true;
  }

  static Scheduler* current_;
  ucontext_t main_{};
  std::vector<std::unique_ptr<Task>> tasks_;
  size_t running_ = 0;
  std::vector<Choice> choices_;
  size_t depth_ = 0;
};

Scheduler* Scheduler::current_ = nullptr;

template <typename T>
class ScheduledAtomic {
 public:
  ScheduledAtomic() = default;
  ScheduledAtomic(T value) : value_(value) {}  // NOLINT: as std::atomic
  T load(std::memory_order) const {
    Scheduler::pause();
    return value_;
  }
  void store(T value, std::memory_order) {
    Scheduler::pause();
    value_ = value;
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order, std::memory_order) {
    Scheduler::pause();
    if (value_ == expected) {
      value_ = desired;
      return true;
    }
    expected = value_;
    return false;
  }

 private:
  T value_{};
};

using Stack = ChunkStack<ScheduledAtomic>;

// A round of the recorder's: who holds which chunk, and whether two ever held the same.
struct Round {
  explicit Round(uint32_t chunks) : links(new Stack::Link[chunks]), owners(chunks, 0) {}

  void own(uint32_t chunk) { EXPECT_EQ(owners[chunk]++, 0) << "two hold chunk " << chunk; }
  void disown(uint32_t chunk) { --owners[chunk]; }

  std::unique_ptr<Stack::Link[]> links;
  Stack free{links.get()};
  Stack full{links.get()};
  std::vector<int> owners;
};

// A thread: takes a chunk, fills it, hands it over.
void write_once(Round& round) {
  const uint32_t chunk = round.free.pop();
  if (chunk == kNoChunk) return;
  round.own(chunk);
  round.disown(chunk);
  round.full.push(chunk);
}

// The drain: takes all that are full and frees them.
void drain_once(Round& round) {
  for (uint32_t chunk = round.full.take_all(); chunk != kNoChunk;) {
    const uint32_t next = round.full.next(chunk);
    round.own(chunk);
    round.disown(chunk);
    round.free.push(chunk);
    chunk = next;
  }
}

std::vector<uint32_t> empty(Stack& stack) {
  std::vector<uint32_t> chunks;
  for (uint32_t chunk = stack.take_all(); chunk != kNoChunk; chunk = stack.next(chunk)) {
    chunks.push_back(chunk);
  }
  return chunks;
}

// After any interleaving every chunk is in exactly one stack.
void expect_all_there(Round& round) {
  std::vector<uint32_t> all = empty(round.free);
  const std::vector<uint32_t> full = empty(round.full);
  all.insert(all.end(), full.begin(), full.end());
  std::sort(all.begin(), all.end());
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < round.owners.size(); ++i) expected.push_back(i);
  ASSERT_EQ(all, expected);
}

TEST(ChunkStack, LosesAndDoublesNothingInAnyInterleavingOfAWriterAndTheDrain) {
  std::unique_ptr<Round> round;
  const uint64_t runs = Scheduler().explore(
      [&] {
        round = std::make_unique<Round>(2);
        round->free.push(1);
        round->full.push(0);
        return std::vector<Scheduler::Body>{
            [&] { write_once(*round); },
            [&] { drain_once(*round); },
        };
      },
      [&] { expect_all_there(*round); });
  EXPECT_GT(runs, 900u);
}

TEST(ChunkStack, LosesAndDoublesNothingInAnyInterleavingOfTwoWritersAndTheDrain) {
  std::unique_ptr<Round> round;
  const uint64_t runs = Scheduler().explore(
      [&] {
        round = std::make_unique<Round>(2);
        round->free.push(1);
        round->own(0);  // by the drain
        return std::vector<Scheduler::Body>{
            [&] {
              if (const uint32_t chunk = round->free.pop(); chunk != kNoChunk) round->own(chunk);
            },
            [&] {
              if (const uint32_t chunk = round->free.pop(); chunk != kNoChunk) round->own(chunk);
            },
            [&] {
              round->disown(0);
              round->free.push(0);
            },
        };
      },
      [&] {
        // Those that a writer holds are in no stack.
        for (uint32_t chunk = 0; chunk < 2; ++chunk) {
          if (round->owners[chunk] == 1) round->full.push(chunk);
        }
        expect_all_there(*round);
      });
  EXPECT_GT(runs, 1000u);
}

// What the tag is for: 0 is popped, 1 is popped, 0 is pushed again, all while another thread is
// between reading the head (0) and its link (1).
TEST(ChunkStack, IsNotFooledByAChunkThatWentRound) {
  std::unique_ptr<Round> round;
  const uint64_t runs = Scheduler().explore(
      [&] {
        round = std::make_unique<Round>(2);
        round->free.push(1);
        round->free.push(0);
        return std::vector<Scheduler::Body>{
            [&] {
              if (const uint32_t chunk = round->free.pop(); chunk != kNoChunk) round->own(chunk);
            },
            [&] {
              const uint32_t first = round->free.pop();
              const uint32_t second = round->free.pop();
              if (first != kNoChunk) round->free.push(first);
              if (second != kNoChunk) round->own(second);
            },
        };
      },
      [&] {
        for (uint32_t chunk = 0; chunk < 2; ++chunk) {
          if (round->owners[chunk] == 1) round->full.push(chunk);
        }
        expect_all_there(*round);
      });
  EXPECT_GT(runs, 100u);
}

}  // namespace
}  // namespace stepscope

#endif  // STEPSCOPE_TSAN
