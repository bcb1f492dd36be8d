#include "cli/top_keys.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stepscope::cli {
namespace {

using Keys = std::vector<TopKey>;

TEST(TopKeys, LettersAreCommands) {
  TopKeys keys;
  EXPECT_EQ(keys.read("1234"), (Keys{TopKey::kSortOwnNow, TopKey::kSortTotalNow,
                                     TopKey::kSortOwnSinceStart, TopKey::kSortTotalSinceStart}));
  EXPECT_EQ(keys.read("tgi r?q"),
            (Keys{TopKey::kThreads, TopKey::kGil, TopKey::kIdle, TopKey::kPause, TopKey::kReset,
                  TopKey::kHelp, TopKey::kQuit}));
  EXPECT_EQ(keys.read("\x1a\x0c"), (Keys{TopKey::kSuspend, TopKey::kRedraw}));
}

TEST(TopKeys, OtherLettersAreNothing) {
  TopKeys keys;
  EXPECT_TRUE(keys.read("xyz\n\t€äö\x7f").empty());
  EXPECT_TRUE(keys.read(std::string_view("\0\xff\xfe", 3)).empty());
}

TEST(TopKeys, ArrowsComeInBothModesOfTerminals) {
  TopKeys keys;
  EXPECT_EQ(keys.read("\x1b[A\x1b[B\x1bOA\x1bOB"),
            (Keys{TopKey::kUp, TopKey::kDown, TopKey::kUp, TopKey::kDown}));
  EXPECT_EQ(keys.read("\x1b[5~\x1b[6~"), (Keys{TopKey::kPageUp, TopKey::kPageDown}));
  EXPECT_EQ(keys.read("\x1b[H\x1b[1~\x1bOH"), Keys(3, TopKey::kHome));
  EXPECT_EQ(keys.read("\x1b[F\x1b[4~\x1b[8~"), Keys(3, TopKey::kEnd));
}

TEST(TopKeys, ASequenceMayComeInPieces) {
  const std::string bytes = "\x1b[5~q\x1b[A";
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    TopKeys keys;
    Keys found = keys.read(bytes.substr(0, cut));
    for (const TopKey key : keys.read(bytes.substr(cut))) found.push_back(key);
    EXPECT_EQ(found, (Keys{TopKey::kPageUp, TopKey::kQuit, TopKey::kUp})) << cut;
  }
  TopKeys keys;
  Keys found;
  for (const char byte : bytes) {
    for (const TopKey key : keys.read(std::string(1, byte))) found.push_back(key);
  }
  EXPECT_EQ(found, (Keys{TopKey::kPageUp, TopKey::kQuit, TopKey::kUp}));
}

TEST(TopKeys, SequencesThatAreNotKnownAreSwallowedWhole) {
  TopKeys keys;
  EXPECT_TRUE(keys.read("\x1b[1;5C\x1b[200~\x1b[<0;10;20M\x1bOP").empty());
  EXPECT_EQ(keys.read("q"), Keys{TopKey::kQuit});
}

TEST(TopKeys, AnEscapeAloneDoesNotSwallowTheNextKey) {
  TopKeys keys;
  EXPECT_TRUE(keys.read("\x1b").empty());
  EXPECT_EQ(keys.read("q"), Keys{TopKey::kQuit});
  EXPECT_EQ(keys.read("\x1b\x1b[A"), Keys{TopKey::kUp});
}

TEST(TopKeys, ASequenceWithoutAnEndIsGivenUp) {
  TopKeys keys;
  EXPECT_TRUE(keys.read("\x1b[" + std::string(30, ';')).empty());
  EXPECT_EQ(keys.read("q"), Keys{TopKey::kQuit});
}

TEST(ApplyKey, ThreeKindsOfTimeAreSwitchedByTwoKeys) {
  TopSettings settings;
  apply_key(TopKey::kGil, 10, settings);
  EXPECT_EQ(settings.weight, TopWeight::kGil);
  apply_key(TopKey::kIdle, 10, settings);
  EXPECT_EQ(settings.weight, TopWeight::kWall);
  apply_key(TopKey::kIdle, 10, settings);
  EXPECT_EQ(settings.weight, TopWeight::kCpu);
}

TEST(ApplyKey, ScrollingStopsAtTheFirstFunction) {
  TopSettings settings;
  apply_key(TopKey::kUp, 10, settings);
  EXPECT_EQ(settings.scroll, 0u);
  apply_key(TopKey::kPageDown, 10, settings);
  apply_key(TopKey::kDown, 10, settings);
  EXPECT_EQ(settings.scroll, 11u);
  apply_key(TopKey::kPageUp, 10, settings);
  apply_key(TopKey::kPageUp, 10, settings);
  EXPECT_EQ(settings.scroll, 0u);
}

TEST(ApplyKey, AnotherOrderBeginsAtItsFirstFunction) {
  TopSettings settings;
  settings.scroll = 7;
  apply_key(TopKey::kSortTotalNow, 10, settings);
  EXPECT_EQ(settings.sort, TopSort::kTotalNow);
  EXPECT_EQ(settings.scroll, 0u);
}

TEST(ApplyKey, ThreadsHelpAndPauseAreSwitchedOnAndOff) {
  TopSettings settings;
  for (const bool is_on : {true, false}) {
    apply_key(TopKey::kPause, 10, settings);
    apply_key(TopKey::kHelp, 10, settings);
    apply_key(TopKey::kThreads, 10, settings);
    EXPECT_EQ(settings.is_paused, is_on);
    EXPECT_EQ(settings.with_help, is_on);
    EXPECT_EQ(settings.with_threads, !is_on);
  }
}

}  // namespace
}  // namespace stepscope::cli
