#include "collect/system/usage_account.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

Usage user_time(int64_t own_ns, int64_t reaped_ns = 0) {
  Usage usage;
  usage.own[kUserNs] = own_ns;
  usage.reaped[kUserNs] = reaped_ns;
  return usage;
}

TEST(UsageAccount, TheFirstReadingIsTheBaseline) {
  UsageAccount account;
  account.update(user_time(5 * kSecond), false);
  EXPECT_EQ(account.settle()[kUserNs], 0);
  account.update(user_time(6 * kSecond), false);
  EXPECT_EQ(account.settle()[kUserNs], kSecond);
}

TEST(UsageAccount, ANewBornProcessCountsFromItsBegin) {
  UsageAccount account;
  account.update(user_time(kSecond), true);
  EXPECT_EQ(account.settle()[kUserNs], kSecond);
}

TEST(UsageAccount, AReapedChildCountsOnce) {
  UsageAccount parent, child;
  parent.update(user_time(0), false);
  child.update(user_time(3 * kSecond), true);
  parent.settle();
  EXPECT_EQ(child.settle()[kUserNs], 3 * kSecond);
  // It used one more second, ended, and was waited for.
  parent.update(user_time(0, 4 * kSecond), false);
  parent.add_credit(child.counted());
  EXPECT_EQ(parent.settle()[kUserNs], kSecond);
}

TEST(UsageAccount, AChildThatIsReapedBetweenTwoReadingsCountsOnce) {
  UsageAccount parent, child;
  parent.update(user_time(0), false);
  child.update(user_time(3 * kSecond), true);
  child.settle();
  parent.settle();
  parent.update(user_time(0), false);  // read just before it waited
  parent.add_credit(child.counted());
  EXPECT_EQ(parent.settle()[kUserNs], 0);
  parent.update(user_time(0, 3 * kSecond), false);
  EXPECT_EQ(parent.settle()[kUserNs], 0);
}

TEST(UsageAccount, TheCreditOfAChildThatNobodyWaitedForIsVoidAfterTwoReadings) {
  UsageAccount parent, child;
  parent.update(user_time(0), false);
  child.update(user_time(3 * kSecond), true);
  parent.add_credit(child.counted());
  parent.settle();
  parent.settle();
  parent.update(user_time(0, kSecond), false);  // another one's
  EXPECT_EQ(parent.settle()[kUserNs], kSecond);
}

TEST(UsageAccount, AGrandchildsCreditPassesThroughAGoneParent) {
  UsageAccount root, parent, child;
  root.update(user_time(0), false);
  parent.update(user_time(kSecond), true);
  child.update(user_time(2 * kSecond), true);
  parent.settle();
  child.settle();
  root.update(user_time(0, 3 * kSecond), false);
  parent.add_credit(child.counted());
  root.add_credit(parent.counted());
  EXPECT_EQ(root.settle()[kUserNs], 0);
}

TEST(UsageAccount, FiguresThatGoBackwardsCountNothing) {
  UsageAccount account;
  Usage usage = user_time(9 * kSecond, 9 * kSecond);
  usage.own[kMinorFaults] = 100;
  account.update(usage, false);
  account.settle();
  account.update(user_time(kSecond, kSecond), false);
  const Amounts used = account.settle();
  EXPECT_EQ(used[kUserNs], 0);
  EXPECT_EQ(used[kMinorFaults], 0);
}

TEST(UsageAccount, RoundingOfCpuTimesIsMadeUpForLater) {
  UsageAccount account;
  account.update(user_time(kSecond), false);
  account.update(user_time(kSecond - 7'000'000), false);
  account.update(user_time(kSecond + 3'000'000), false);
  EXPECT_EQ(account.settle()[kUserNs], 3'000'000);
}

}  // namespace
}  // namespace stepscope
