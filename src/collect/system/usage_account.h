// UsageAccount: what one process of a tree has used, kept so that the sum over the tree counts
// everything once although the system moves figures around: what a child has used is its own while
// it lives, and is added to its parent's "reaped" figures once the parent has waited for it.
//
// So a child that is gone leaves a credit with its parent: what was counted for it already. The
// parent's next growth of "reaped" is paid from that first, and only the rest is new: what the
// child used after it was last read, and children that came and went unseen.
//
//   account.update(usage_now, true);     // for each process that could be read, parents first
//   parent.add_credit(gone.counted());   // for each that is gone, children first
//   tree += account.settle();            // what was used since the last time
//
// Parents are read first, so that a child that is reaped in between is gone when its own turn
// comes: its credit then waits for the parent's next reading. After that it is void, as a child
// that nobody waits for (SIGCHLD ignored) is never added to its parent.
#pragma once

#include <array>
#include <cstdint>

namespace stepscope {

enum Quantity : uint32_t {
  kUserNs,
  kSystemNs,
  kBlockIoNs,
  kMinorFaults,
  kMajorFaults,
  kReadBytes,
  kWrittenBytes,
  kQuantities
};
using Amounts = std::array<int64_t, kQuantities>;

// Since a process began. `reaped` also holds figures that the system does not split in two (disk).
struct Usage {
  Amounts own{};
  Amounts reaped{};
};

class UsageAccount {
 public:
  // The first time nothing counts, or all of it where the process is `new_born`. A figure that has
  // gone backwards counts nothing, but for CPU times, which are rounded: there a little less than
  // nothing is made up for later.
  void update(const Usage& now, bool new_born);
  // Nothing for blocked time: it does not go to the parent.
  Amounts counted() const;
  void add_credit(const Amounts& amounts);
  Amounts settle();

 private:
  Usage last_;
  bool is_known_ = false;
  Amounts own_change_{};
  Amounts reaped_change_{};
  Amounts credit_{};
  Amounts older_credit_{};
};

}  // namespace stepscope
