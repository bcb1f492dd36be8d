#include "collect/sample/sampled_process.h"

#include <algorithm>
#include <utility>

#include "base/mapped_file.h"

namespace stepscope::sample {
namespace {

constexpr int64_t kNamesEveryNs = 1'000'000'000;
constexpr int64_t kNamesSoonNs = 20'000'000;  // a thread that begins has no name yet
constexpr int64_t kHoldAtMostNs = 1'000'000'000;
constexpr uint32_t kNoFunction = UINT32_MAX;
constexpr uint32_t kNoPlace = UINT32_MAX;
constexpr size_t kFilesPerThread = 2;

}  // namespace

Result<std::unique_ptr<SampledProcess>> SampledProcess::open(pid_t pid, SamplerState& shared) {
  const SamplerOptions& options = shared.options;
  const bool must_stop = options.pause || options.native;
  if (must_stop && options.is_inside) {
    return Status::error("a program can not stop itself; sample it from outside");
  }
  if (options.native && options.make_unwinder == nullptr) {
    return Status::error("native frames are not part of this program");
  }
  auto python = PythonProcess::find(pid);
  if (!python) return python.status();
  std::unique_ptr<SampledProcess> target(new SampledProcess(*std::move(python), shared));
  if (must_stop) {
    auto paused =
        PausedLook::open(target->python_, options.native ? options.make_unwinder : nullptr);
    if (!paused) return paused.status();
    target->paused_ = *std::move(paused);
  }
  target->process_ = shared.processes++;
  target->is_told_ = true;
  shared.sink.add_process(target->process_, pid, read_command_line(pid));
  return target;
}

SampledProcess::SampledProcess(PythonProcess python, SamplerState& shared)
    : python_(std::move(python)),
      shared_(shared),
      codes_(python_),
      reader_(python_, codes_),
      objects_(python_),
      names_(objects_) {}

SampledProcess::~SampledProcess() {
  if (!is_told_) return;
  finish();
  for (const auto& [tid, thread] : threads_) {
    if (thread.keeps_files) shared_.files_left += kFilesPerThread;
  }
  shared_.sink.end_process(process_);
}

bool SampledProcess::look(const Moment& moment) {
  ++looks_;
  if (paused_ == nullptr) {
    if (!read_while_it_runs(moment.now_ns)) return false;
  } else {
    const PausedLook::Outcome outcome = read_while_it_stands_still(moment);
    if (outcome == PausedLook::Outcome::kGone) return false;
    if (outcome == PausedLook::Outcome::kMissed) {
      shared_.counts.torn += threads_.size();
      return true;
    }
  }
  refresh_names(moment.now_ns);
  for (const ThreadStack& stack : stacks_) take(stack, moment);
  shared_.counts.retries +=
      reader_.torn_reads() - std::exchange(retries_before_, reader_.torn_reads());
  forget_ended();
  return true;
}

bool SampledProcess::read_while_it_runs(int64_t now_ns) {
  return reader_.read(stacks_, [&](int32_t tid) {
    const auto known = threads_.find(tid);
    if (known == threads_.end()) return true;
    if (!known->second.clock.look(now_ns)) reader_.expect_changes();
    return known->second.clock.has_run();
  });
}

// Which threads run is looked at before: to be stopped wakes those that wait.
PausedLook::Outcome SampledProcess::read_while_it_stands_still(const Moment& moment) {
  for (auto& [tid, thread] : threads_) {
    if (!thread.clock.look(moment.now_ns)) reader_.expect_changes();
    thread.is_running = thread.clock.is_running(moment.elapsed_ns);
  }
  return paused_->read(reader_, stacks_);
}

SampledProcess::Thread& SampledProcess::thread_of(const ThreadStack& stack) {
  // A thread whose number is not known is known by its address.
  const int32_t tid = stack.tid != 0 ? stack.tid : -static_cast<int32_t>(stack.pthread >> 12);
  if (const auto known = threads_.find(tid); known != threads_.end()) return known->second;
  const bool keeps_files = shared_.files_left >= kFilesPerThread;
  if (keeps_files) shared_.files_left -= kFilesPerThread;
  Thread& thread =
      threads_.emplace(tid, Thread(ThreadClock(pid(), tid, keeps_files))).first->second;
  thread.keeps_files = keeps_files;
  thread.number = shared_.threads++;
  thread.tid = stack.tid;
  thread.pthread = stack.pthread;
  thread.held.count = 0;
  thread.name = name_of(tid, stack.pthread);
  shared_.sink.add_thread(thread.number, process_, stack.tid, thread.name);
  return thread;
}

void SampledProcess::take(const ThreadStack& stack, const Moment& moment) {
  const int64_t now_ns = moment.now_ns;
  Thread& thread = thread_of(stack);
  const uint64_t seen_before = std::exchange(thread.seen_at, looks_);
  const bool is_new = seen_before == 0;
  if (is_new) {
    if (names_.find(thread.pthread) == nullptr) {
      next_names_ns_ = std::min(next_names_ns_, now_ns + kNamesSoonNs);
    }
    thread.clock.look(now_ns);
    thread.released_cpu_ns = thread.clock.cpu_ns();
    thread.released_queued_ns = thread.clock.queued_ns();
  }
  // A thread may have a stack in each of several interpreters.
  thread.holds_gil = stack.holds_gil || (thread.holds_gil && seen_before == looks_);
  if (stack.is_torn) {
    ++shared_.counts.torn;
    return;
  }
  if (paused_ == nullptr || is_new) {
    thread.is_running = !stack.is_old && thread.clock.is_running(moment.elapsed_ns);
  }
  if (!thread.is_running) release_running(thread, true);
  if (shared_.options.only_with_gil && !stack.holds_gil) return;
  Sample sample;
  sample.thread = thread.number;
  sample.time_ns = now_ns;
  sample.weight_ns =
      is_new ? std::min(moment.weight_ns, shared_.options.period_ns) : moment.weight_ns;
  sample.cpu_ns = thread.is_running ? sample.weight_ns : 0;
  sample.flags = static_cast<uint8_t>((stack.holds_gil ? kSampleHeldGil : 0) |
                                      (thread.is_running ? 0 : kSampleWaited));
  const bool is_held = thread.held.count > 0 && thread.held.flags == sample.flags;
  if (stack.is_old && is_held) {
    ++shared_.counts.samples;
    hold(thread, sample);
    return;
  }
  sample.stack = number_of(stack);
  if (sample.stack == kNoParent) return;
  ++shared_.counts.samples;
  // One that was stopped has run for that, whatever it waits for.
  const bool waits_on = paused_ != nullptr && !thread.is_running;
  if (waits_on && is_held && thread.held.stack == sample.stack) {
    hold(thread, sample);
    return;
  }
  tell_held(thread);
  if (stack.is_old || waits_on) {
    thread.held = sample;
  } else if (thread.is_running) {
    thread.running.add(sample);
    release_running(thread, false);
  } else {
    shared_.sink.add_sample(sample);
  }
}

// One more look at a thread that has not run.
void SampledProcess::hold(Thread& thread, const Sample& sample) {
  thread.held.weight_ns += sample.weight_ns;
  ++thread.held.count;
  if (thread.held.weight_ns >= kHoldAtMostNs) tell_held(thread);
}

void SampledProcess::tell_held(Thread& thread) {
  if (thread.held.count > 0) shared_.sink.add_sample(thread.held);
  thread.held.count = 0;
}

void SampledProcess::release_running(Thread& thread, bool must) {
  const uint64_t ran_ns = thread.clock.cpu_ns() - thread.released_cpu_ns;
  const uint64_t queued_ns = thread.clock.queued_ns() - thread.released_queued_ns;
  const bool has_moved = ran_ns + queued_ns > 0 || !thread.clock.has_counts();
  if (!has_moved && !must && !thread.running.is_full()) return;
  thread.running.release(ran_ns, queued_ns,
                         [&](const Sample& sample) { shared_.sink.add_sample(sample); });
  thread.released_cpu_ns += ran_ns;
  thread.released_queued_ns += queued_ns;
}

void SampledProcess::finish() {
  for (auto& [tid, thread] : threads_) {
    release_running(thread, true);
    tell_held(thread);
  }
}

uint32_t SampledProcess::number_of(const ThreadStack& stack) {
  uint32_t number = kNoParent;
  if (paused_ == nullptr || paused_->unwinder() == nullptr) {
    for (size_t i = stack.frames.size(); i-- > 0;) {
      number = shared_.numbers.stack(number, place_of(stack.frames[i]));
    }
    return number;
  }
  paused_->merge(stack, merged_);
  const NativeStack& native = paused_->native_stack(stack.tid);
  for (size_t i = merged_.size(); i-- > 0;) {
    const auto [is_native, index] = merged_[i];
    number = shared_.numbers.stack(
        number, is_native ? place_of(native.frames[index]) : place_of(stack.frames[index]));
  }
  return number;
}

uint32_t SampledProcess::place_of(const NativeFrame& frame) {
  if (native_places_.size() <= frame.function) {
    native_places_.resize(frame.function + 1, kNoPlace);
  }
  uint32_t& place = native_places_[frame.function];
  if (place == kNoPlace) {
    const NativeFunction& function = paused_->unwinder()->function(frame.function);
    place = shared_.numbers.place(shared_.numbers.function(function.name, function.module, 0), 0);
  }
  return place;
}

uint32_t SampledProcess::place_of(const StackFrame& frame) {
  const Code& code = *codes_.find(frame.code);
  const uint64_t key = uint64_t{code.id} << 32 | static_cast<uint32_t>(frame.instruction);
  if (const uint32_t* known = places_.find(key)) return *known;
  if (functions_.size() <= code.id) functions_.resize(code.id + 1, kNoFunction);
  uint32_t& function = functions_[code.id];
  if (function == kNoFunction) {
    function = shared_.numbers.function(code.name, code.file, code.first_line);
  }
  const uint32_t place = shared_.numbers.place(function, code.line(frame.instruction));
  places_.try_emplace(key, place);
  return place;
}

void SampledProcess::forget_ended() {
  if (threads_.size() == stacks_.size()) return;
  for (auto at = threads_.begin(); at != threads_.end();) {
    Thread& thread = at->second;
    if (thread.seen_at == looks_) {
      ++at;
      continue;
    }
    release_running(thread, true);
    tell_held(thread);
    if (thread.keeps_files) shared_.files_left += kFilesPerThread;
    at = threads_.erase(at);
  }
}

void SampledProcess::refresh_names(int64_t now_ns) {
  if (now_ns < next_names_ns_) return;
  next_names_ns_ = now_ns + kNamesEveryNs;
  names_.refresh();
  for (auto& [tid, thread] : threads_) {
    ThreadName name = name_of(tid, thread.pthread);
    if (name.text.empty() || name == thread.name) continue;
    thread.name = std::move(name);
    shared_.sink.add_thread(thread.number, process_, thread.tid, thread.name);
  }
}

ThreadName SampledProcess::name_of(int32_t tid, uint64_t pthread) const {
  if (const std::string* name = names_.find(pthread)) return {*name, true};
  const auto file =
      MappedFile::open("/proc/" + std::to_string(pid()) + "/task/" + std::to_string(tid) + "/comm");
  if (!file) return {};
  const auto bytes = file->bytes();
  std::string name(bytes.begin(), bytes.end());
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return {name, false};
}

void SampledProcess::append_threads(std::vector<ThreadState>& states) const {
  for (const auto& [tid, thread] : threads_) {
    states.push_back({.thread = thread.number,
                      .process = process_,
                      .tid = thread.tid,
                      .name = thread.name.text,
                      .is_running = thread.is_running,
                      .holds_gil = thread.holds_gil,
                      .cpu_ns = thread.clock.cpu_ns()});
  }
}

}  // namespace stepscope::sample
