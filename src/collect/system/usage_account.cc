#include "collect/system/usage_account.h"

#include <algorithm>

namespace stepscope {
namespace {

constexpr int64_t kRoundingNs = 40'000'000;  // ticks are of 10 ms at most, and some are added up

int64_t change(Quantity quantity, int64_t before, int64_t now) {
  const int64_t difference = now - before;
  if (difference >= 0) return difference;
  const bool is_rounded = quantity == kUserNs || quantity == kSystemNs;
  return is_rounded && difference > -kRoundingNs ? difference : 0;
}

}  // namespace

void UsageAccount::update(const Usage& now, bool new_born) {
  if (is_known_ || new_born) {
    for (uint32_t i = 0; i < kQuantities; ++i) {
      const auto quantity = static_cast<Quantity>(i);
      own_change_[i] += change(quantity, last_.own[i], now.own[i]);
      reaped_change_[i] += std::max<int64_t>(0, now.reaped[i] - last_.reaped[i]);
    }
  }
  last_ = now;
  is_known_ = true;
}

Amounts UsageAccount::counted() const {
  Amounts amounts{};
  for (uint32_t i = 0; i < kQuantities; ++i) {
    if (i == kBlockIoNs) continue;
    amounts[i] = last_.own[i] + last_.reaped[i] + credit_[i] + older_credit_[i];
  }
  return amounts;
}

void UsageAccount::add_credit(const Amounts& amounts) {
  for (uint32_t i = 0; i < kQuantities; ++i) credit_[i] += amounts[i];
}

Amounts UsageAccount::settle() {
  Amounts used{};
  for (uint32_t i = 0; i < kQuantities; ++i) {
    const int64_t from_older = std::min(older_credit_[i], reaped_change_[i]);
    const int64_t from_new = std::min(credit_[i], reaped_change_[i] - from_older);
    used[i] = own_change_[i] + reaped_change_[i] - from_older - from_new;
    older_credit_[i] = credit_[i] - from_new;
    credit_[i] = 0;
  }
  own_change_ = {};
  reaped_change_ = {};
  return used;
}

}  // namespace stepscope
