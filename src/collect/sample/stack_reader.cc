#include "collect/sample/stack_reader.h"

#include <algorithm>
#include <span>
#include <utility>

#include "collect/sample/code_table.h"
#include "collect/sample/frame_chain.h"
#include "collect/sample/thread_copy.h"
#include "collect/sample/thread_list.h"

namespace stepscope::sample {
namespace {

constexpr int kMaxTries = 24;
constexpr int kMaxNameTries = 8;

// The outermost `count` frames; the innermost of them may have gone on since.
bool have_same_calls(std::span<const StackFrame> a, std::span<const StackFrame> b, size_t count) {
  if (a.size() < count || b.size() < count) return false;
  for (size_t i = 1; i <= count; ++i) {
    const StackFrame& x = a[a.size() - i];
    const StackFrame& y = b[b.size() - i];
    if (x.code != y.code || x.address != y.address) return false;
    if (i < count && x.instruction != y.instruction) return false;
  }
  return true;
}

}  // namespace

class StackReader::Impl {
 public:
  Impl(const PythonProcess& python, CodeTable& codes)
      : python_(python), codes_(codes), list_(python) {}

  bool read(std::vector<ThreadStack>& out, const std::function<bool(int32_t)>& has_run);
  void expect_changes() { is_list_known_ = false; }
  void set_paused(bool is_paused) { is_paused_ = is_paused; }
  uint64_t torn_reads() const { return torn_reads_; }

 private:
  struct Thread {
    explicit Thread(const KnownThread& thread) : known(thread), copy(thread.state) {}

    KnownThread known;
    ThreadCopy copy;
    std::vector<StackFrame> frames;
    std::vector<StackFrame> probable;  // what the last copy gave, if that proved nothing
    std::vector<StackFrame> unnamed;   // what it gave before the names were read
    size_t unnamed_calls = 0;          // of its outermost frames, up to the last without a name
    bool is_known = false;             // `frames` is its stack, as of some time
    bool is_torn = false;
    bool is_old = false;
    size_t first_piece = 0;
  };

  bool walk_list();
  void start(const std::function<bool(int32_t)>& has_run);
  bool copy_pending(bool with_list);
  void take_pending();
  bool take(Thread& thread);
  bool settle_pending();
  void give_up_pending();
  void find_unnamed();
  size_t count_unnamed_calls(std::span<const StackFrame> frames) const;
  void give(std::vector<ThreadStack>& out);

  const PythonProcess& python_;
  CodeTable& codes_;
  CallLinks links_;
  ThreadList list_;
  std::vector<Thread> threads_;  // in the list's order
  bool is_list_known_ = false;
  bool is_paused_ = false;
  uint64_t torn_reads_ = 0;
  // Of one read.
  std::vector<uint32_t> pending_;  // threads whose stack is not had yet
  std::vector<ProcessMemory::Piece> pieces_;
  std::vector<uint64_t> addresses_;
};

bool StackReader::Impl::read(std::vector<ThreadStack>& out,
                             const std::function<bool(int32_t)>& has_run) {
  if (!is_list_known_ && !walk_list()) return false;
  start(has_run);
  if (!copy_pending(true)) return false;
  if (list_.has_changed()) {
    if (!walk_list()) return false;
    start(has_run);
    if (!copy_pending(true)) return false;
  }
  take_pending();
  if (!settle_pending()) return false;
  for (int i = 0; i < kMaxNameTries; ++i) {
    find_unnamed();
    if (pending_.empty()) break;
    if (i + 1 == kMaxNameTries) {
      give_up_pending();
    } else if (!copy_pending(false)) {
      return false;
    } else {
      take_pending();
      if (!settle_pending()) return false;
    }
  }
  give(out);
  return true;
}

// Copies until all threads could be taken, or too often.
bool StackReader::Impl::settle_pending() {
  for (int i = 1; i < kMaxTries && !pending_.empty(); ++i) {
    if (!copy_pending(false)) return false;
    take_pending();
  }
  give_up_pending();
  return true;
}

void StackReader::Impl::give_up_pending() {
  for (const uint32_t i : pending_) {
    threads_[i].is_torn = true;
    threads_[i].is_known = false;
  }
  pending_.clear();
}

// Keeps what is known of threads that are still there.
bool StackReader::Impl::walk_list() {
  if (!list_.walk()) return false;
  is_list_known_ = true;
  std::vector<Thread> old = std::exchange(threads_, {});
  for (const KnownThread& known : list_.threads()) {
    const auto same = std::find_if(old.begin(), old.end(), [&](const Thread& thread) {
      return thread.known.state == known.state && thread.known.id == known.id;
    });
    if (same != old.end()) {
      threads_.push_back(std::move(*same));
      threads_.back().known = known;
    } else {
      threads_.emplace_back(known);
    }
  }
  return true;
}

void StackReader::Impl::start(const std::function<bool(int32_t)>& has_run) {
  pending_.clear();
  for (uint32_t i = 0; i < threads_.size(); ++i) {
    Thread& thread = threads_[i];
    thread.is_torn = false;
    thread.probable.clear();
    thread.unnamed_calls = 0;
    thread.is_old = thread.is_known && has_run && !has_run(thread.known.tid);
    if (!thread.is_old) pending_.push_back(i);
  }
}

// One system call for all. What can not be read is found out and left for the next time.
bool StackReader::Impl::copy_pending(bool with_list) {
  pieces_.clear();
  if (with_list) list_.append_pieces(pieces_);
  const size_t of_list = pieces_.size();
  for (const uint32_t i : pending_) {
    threads_[i].first_piece = pieces_.size();
    threads_[i].copy.append_pieces(python_.layout(), pieces_);
  }
  size_t done = 0;
  size_t unread = 0;
  while (done < pieces_.size()) {
    done += python_.memory().read_all(std::span(pieces_).subspan(done));
    if (done == pieces_.size()) break;
    if (done < of_list) return false;
    // The thread that the piece belongs to is over, or a part of its stack is.
    const auto next = std::find_if(pending_.begin(), pending_.end(),
                                   [&](uint32_t i) { return threads_[i].first_piece > done; });
    Thread& failed = threads_[*(next - 1)];
    failed.copy.forget_piece(python_.layout(), done - failed.first_piece);
    failed.is_known = false;
    failed.is_torn = true;
    ++unread;
    done = next == pending_.end() ? pieces_.size() : threads_[*next].first_piece;
  }
  return unread < pending_.size() || pending_.empty() || with_list || python_.is_there();
}

void StackReader::Impl::take_pending() {
  std::erase_if(pending_, [&](uint32_t i) { return take(threads_[i]); });
}

bool StackReader::Impl::take(Thread& thread) {
  if (std::exchange(thread.is_torn, false)) return false;  // could not be copied
  list_.identify(thread.copy.state(python_.layout()), thread.known);
  if (!thread.copy.settle(python_.layout())) return false;
  size_t unproven = 0;
  switch (read_frames(python_.memory(), python_.layout(), codes_, links_, is_paused_, thread.copy,
                      thread.frames, unproven)) {
    case ChainResult::kProbable:
      if (!have_same_calls(thread.frames, thread.probable, unproven)) {
        thread.probable = thread.frames;
        return false;
      }
      [[fallthrough]];
    case ChainResult::kGood:
      thread.copy.drop_unused();
      thread.is_known = !thread.frames.empty();  // without any it may not have begun
      return true;
    case ChainResult::kTorn:
      ++torn_reads_;
      return false;
    case ChainResult::kMissing:
      return false;
  }
  return false;
}

// A function may be gone, and another in its place, before its name was read. A name is right for
// stacks that are copied after it was read and before it is looked at again; and for one that was
// copied before, where those functions are still in the same calls: they were there all the time.
void StackReader::Impl::find_unnamed() {
  addresses_.clear();
  for (const Thread& thread : threads_) {
    if (thread.is_torn || thread.is_old) continue;
    for (const StackFrame& frame : thread.frames) addresses_.push_back(frame.code);
  }
  codes_.check(addresses_);
  for (uint32_t i = 0; i < threads_.size(); ++i) {
    Thread& thread = threads_[i];
    if (thread.is_torn || thread.is_old) continue;
    const size_t unnamed_calls = count_unnamed_calls(thread.frames);
    if (thread.unnamed_calls > 0 && count_unnamed_calls(thread.unnamed) == 0 &&
        have_same_calls(thread.frames, thread.unnamed, thread.unnamed_calls)) {
      thread.frames = std::move(thread.unnamed);
    } else if (unnamed_calls > 0) {
      pending_.push_back(i);
      thread.unnamed = thread.frames;
      thread.unnamed_calls = unnamed_calls;
      continue;
    }
    thread.unnamed_calls = 0;
  }
}

// How many of the outermost frames there are up to the innermost one whose name is not sure; 0
// where all are.
size_t StackReader::Impl::count_unnamed_calls(std::span<const StackFrame> frames) const {
  const auto first = std::find_if(frames.begin(), frames.end(), [&](const StackFrame& frame) {
    return codes_.find(frame.code) == nullptr || (!is_paused_ && codes_.is_new(frame.code));
  });
  return static_cast<size_t>(frames.end() - first);
}

void StackReader::Impl::give(std::vector<ThreadStack>& out) {
  out.resize(threads_.size());
  size_t begun = 0;
  for (const Thread& thread : threads_) {
    if (thread.known.pthread == 0) continue;
    ThreadStack& stack = out[begun++];
    stack.thread_state = thread.known.state;
    stack.thread_id = thread.known.id;
    stack.pthread = thread.known.pthread;
    stack.tid = thread.known.tid;
    stack.interpreter = thread.known.interpreter;
    stack.holds_gil = list_.holds_gil(thread.known);
    stack.is_torn = thread.is_torn;
    stack.is_old = thread.is_old;
    stack.frames.clear();
    if (!thread.is_torn) stack.frames.assign(thread.frames.begin(), thread.frames.end());
  }
  out.resize(begun);
}

StackReader::StackReader(const PythonProcess& python, CodeTable& codes)
    : impl_(std::make_unique<Impl>(python, codes)) {}
StackReader::~StackReader() = default;
StackReader::StackReader(StackReader&&) noexcept = default;

bool StackReader::read(std::vector<ThreadStack>& threads,
                       const std::function<bool(int32_t)>& has_run) {
  return impl_->read(threads, has_run);
}
void StackReader::expect_changes() { impl_->expect_changes(); }
void StackReader::set_paused(bool is_paused) { impl_->set_paused(is_paused); }
uint64_t StackReader::torn_reads() const { return impl_->torn_reads(); }

}  // namespace stepscope::sample
