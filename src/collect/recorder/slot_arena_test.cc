#include "collect/recorder/slot_arena.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace stepscope {
namespace {

// Of the whole process: other tests use it too, so no number is taken for granted.
SlotArena& arena() { return *SlotArena::get(); }

int exit_code_of(pid_t child) {
  int status = -1;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

TEST(SlotArena, ASlotThatIsTakenIsNoOneElses) {
  std::set<ThreadSlot*> slots;
  for (int i = 0; i < 500; ++i) {
    ThreadSlot* slot = arena().take();
    ASSERT_NE(slot, nullptr);
    EXPECT_TRUE(slots.insert(slot).second);
    EXPECT_NE(slot->is_taken.load(), 0u);
    EXPECT_EQ(&arena().at(slot->number), slot);
    EXPECT_LT(slot->number, arena().end());
    EXPECT_GE(slot->number, arena().first());
  }
  for (ThreadSlot* slot : slots) arena().give_back(*slot);
}

TEST(SlotArena, GivenBackSlotsAreUsedAgainAndComeWithoutAChunk) {
  ThreadSlot* first = arena().take();
  uint64_t word = 0;
  first->words = &word;
  first->count = 5;
  first->limit.store(100);
  first->recording = 3;
  arena().give_back(*first);
  EXPECT_EQ(first->is_taken.load(), 0u);
  const uint32_t end = arena().end();
  for (int i = 0; i < 10'000; ++i) {
    ThreadSlot* slot = arena().take();
    ASSERT_EQ(slot->limit.load(), 0u);
    ASSERT_EQ(slot->words, nullptr);
    ASSERT_EQ(slot->chunk, nullptr);
    ASSERT_EQ(slot->count, 0u);
    ASSERT_EQ(slot->recording.load(), 0u);
    arena().give_back(*slot);
  }
  EXPECT_LE(arena().end(), end + 1) << "threads that come and go need no more slots";
}

TEST(SlotArena, ThreadsThatTakeAtOnceGetDifferentOnes) {
  constexpr size_t kThreads = 4;
  std::vector<std::thread> threads;
  std::atomic<int> clashes{0};
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < 5000; ++i) {
        ThreadSlot* slot = arena().take();
        // Plain memory: TSan sees who shares a slot.
        slot->context = static_cast<uint32_t>(t + 1);
        slot->stream = i;
        if (slot->context != t + 1 || slot->stream != i) ++clashes;
        slot->context = 0;
        arena().give_back(*slot);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(clashes.load(), 0);
}

TEST(SlotArena, AForkedChildFindsZeroesAndLeavesTheParentsSlotsAlone) {
  ThreadSlot* slot = arena().take();
  slot->limit.store(100);
  slot->count = 7;
  slot->last_tick = 9;
  const uint32_t parents_end = arena().end();
  const pid_t child = ::fork();
  if (child == 0) {
    if (arena().owner().load() != SlotArena::kForked) ::_exit(1);
    const auto* bytes = reinterpret_cast<const uint8_t*>(slot);
    for (size_t i = 0; i < sizeof(*slot); ++i) {
      if (bytes[i] != 0) ::_exit(2);
    }
    arena().owner().store(SlotArena::kOwned);
    arena().move_on();
    for (int i = 0; i < 100; ++i) {
      const ThreadSlot* mine = arena().take();
      if (mine == nullptr || mine->number < parents_end) ::_exit(3);
    }
    // A child of the child.
    const pid_t second = ::fork();
    if (second == 0) {
      if (arena().owner().load() != SlotArena::kForked) ::_exit(1);
      arena().move_on();
      ::_exit(arena().take()->number >= parents_end + 100 ? 0 : 4);
    }
    ::_exit(exit_code_of(second));
  }
  EXPECT_EQ(exit_code_of(child), 0);
  EXPECT_EQ(slot->limit.load(), 100u) << "the parent's is as it was";
  EXPECT_EQ(slot->count, 7u);
  EXPECT_EQ(arena().owner().load(), uint32_t{SlotArena::kOwned});
  arena().give_back(*slot);
}

}  // namespace
}  // namespace stepscope
