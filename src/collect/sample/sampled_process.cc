#include "collect/sample/sampled_process.h"

#include <algorithm>
#include <utility>

#include "base/mapped_file.h"

namespace stepscope::sample {
namespace {

constexpr int64_t kNamesEveryNs = 1'000'000'000;
constexpr int64_t kHoldAtMostNs = 1'000'000'000;
constexpr uint32_t kNoFunction = UINT32_MAX;
constexpr size_t kFilesPerThread = 2;

}  // namespace

Result<std::unique_ptr<SampledProcess>> SampledProcess::open(pid_t pid, SamplerState& shared) {
  auto python = PythonProcess::find(pid);
  if (!python) return python.status();
  return std::unique_ptr<SampledProcess>(new SampledProcess(*std::move(python), shared));
}

SampledProcess::SampledProcess(PythonProcess python, SamplerState& shared)
    : python_(std::move(python)),
      shared_(shared),
      codes_(python_),
      reader_(python_, codes_),
      objects_(python_),
      names_(objects_),
      process_(shared.processes++) {
  shared_.sink.add_process(process_, pid(), read_command_line(pid()));
}

SampledProcess::~SampledProcess() {
  finish();
  for (const auto& [tid, thread] : threads_) {
    if (thread.keeps_files) shared_.files_left += kFilesPerThread;
  }
  shared_.sink.end_process(process_);
}

bool SampledProcess::look(int64_t now_ns, int64_t wall_ns) {
  ++looks_;
  const auto has_run = [&](int32_t tid) {
    const auto known = threads_.find(tid);
    if (known == threads_.end()) return true;
    if (!known->second.clock.look(now_ns)) reader_.expect_changes();
    return known->second.clock.has_run();
  };
  if (!reader_.read(stacks_, has_run)) return false;
  refresh_names(now_ns);
  for (const ThreadStack& stack : stacks_) take(stack, now_ns, wall_ns);
  shared_.counts.retries +=
      reader_.torn_reads() - std::exchange(retries_before_, reader_.torn_reads());
  forget_ended();
  return true;
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

void SampledProcess::take(const ThreadStack& stack, int64_t now_ns, int64_t wall_ns) {
  Thread& thread = thread_of(stack);
  const bool is_new = std::exchange(thread.seen_at, looks_) == 0;
  if (is_new) thread.clock.look(now_ns);
  thread.holds_gil = stack.holds_gil;
  if (stack.is_torn) {
    ++shared_.counts.torn;
    return;
  }
  thread.is_running = !stack.is_old && thread.clock.is_running(wall_ns);
  const bool is_wanted = !shared_.options.only_with_gil || stack.holds_gil;
  if (stack.frames.empty() || !is_wanted) return;
  Sample sample;
  sample.thread = thread.number;
  sample.time_ns = now_ns;
  sample.weight_ns = is_new ? std::min(wall_ns, shared_.options.period_ns) : wall_ns;
  sample.cpu_ns = thread.is_running ? sample.weight_ns : 0;
  sample.flags =
      static_cast<uint8_t>((stack.holds_gil ? kHeldGil : 0) | (thread.is_running ? 0 : kWaited));
  ++shared_.counts.samples;
  if (stack.is_old && thread.held.count > 0 && thread.held.flags == sample.flags) {
    hold(thread, sample);
    return;
  }
  tell_held(thread);
  sample.stack = number_of(stack.frames);
  if (stack.is_old) {
    thread.held = sample;
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

void SampledProcess::finish() {
  for (auto& [tid, thread] : threads_) tell_held(thread);
}

uint32_t SampledProcess::number_of(const std::vector<StackFrame>& frames) {
  uint32_t stack = kNoParent;
  for (size_t i = frames.size(); i-- > 0;) {
    stack = shared_.numbers.stack(stack, place_of(frames[i]));
  }
  return stack;
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
    std::string name = name_of(tid, thread.pthread);
    if (name.empty() || name == thread.name) continue;
    thread.name = std::move(name);
    shared_.sink.add_thread(thread.number, process_, thread.tid, thread.name);
  }
}

std::string SampledProcess::name_of(int32_t tid, uint64_t pthread) const {
  if (const std::string* name = names_.find(pthread)) return *name;
  const auto file =
      MappedFile::open("/proc/" + std::to_string(pid()) + "/task/" + std::to_string(tid) + "/comm");
  if (!file) return "";
  const auto bytes = file->bytes();
  std::string name(bytes.begin(), bytes.end());
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

void SampledProcess::append_threads(std::vector<ThreadState>& states) const {
  for (const auto& [tid, thread] : threads_) {
    states.push_back({.thread = thread.number,
                      .process = process_,
                      .tid = thread.tid,
                      .name = thread.name,
                      .is_running = thread.is_running,
                      .holds_gil = thread.holds_gil,
                      .cpu_ns = thread.clock.cpu_ns()});
  }
}

}  // namespace stepscope::sample
