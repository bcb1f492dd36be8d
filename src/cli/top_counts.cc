#include "cli/top_counts.h"

#include <algorithm>
#include <utility>

namespace stepscope::cli {
namespace {

// A sampler forgets its stacks after 1 << 22 new ones and tells them anew: none that is older than
// twice that is named again.
constexpr size_t kStacksToForget = size_t{1} << 22;
constexpr size_t kMaxStacks = 3 * kStacksToForget;

template <typename T>
T& grow_to(std::vector<T>& rows, uint32_t number) {
  if (rows.size() <= number) rows.resize(number + size_t{1});
  return rows[number];
}

double fraction_of(int64_t ns, int64_t wall_ns) {
  return wall_ns > 0 ? static_cast<double>(std::max<int64_t>(ns, 0)) / static_cast<double>(wall_ns)
                     : 0;
}

TopTimes times_of(const sample::Sample& sample) {
  const bool waited = (sample.flags & sample::kSampleWaited) != 0;
  const bool held_gil = (sample.flags & sample::kSampleHeldGil) != 0;
  TopTimes times;
  times.ns[static_cast<size_t>(TopWeight::kCpu)] =
      sample.cpu_ns >= 0 ? sample.cpu_ns : (waited ? 0 : sample.weight_ns);
  times.ns[static_cast<size_t>(TopWeight::kWall)] = sample.weight_ns;
  times.ns[static_cast<size_t>(TopWeight::kGil)] = held_gil ? sample.weight_ns : 0;
  return times;
}

void add_to(TopSum& sum, const TopSum& span) {
  sum.times += span.times;
  sum.wall_ns += span.wall_ns;
  for (size_t i = 0; i < kTopWeights; ++i) sum.samples[i] += span.samples[i];
}

void take_from(TopSum& sum, const TopSum& span) {
  sum.times -= span.times;
  sum.wall_ns -= span.wall_ns;
  for (size_t i = 0; i < kTopWeights; ++i) sum.samples[i] -= span.samples[i];
}

}  // namespace

void TopCounts::add_process(uint32_t process, pid_t pid, const std::string& command_line) {
  Process& row = grow_to(processes_, process);
  row.pid = pid;
  row.command_line = command_line;
}

// Its name comes with the state of the threads at the end of a span.
void TopCounts::add_thread(uint32_t thread, uint32_t process, int32_t, const sample::ThreadName&) {
  grow_to(threads_, thread).process = process;
}

void TopCounts::add_function(uint32_t function, std::string_view name, std::string_view file,
                             int32_t first_line) {
  Function& row = grow_to(functions_, function);
  row.name = name;
  row.file = file;
  row.first_line = first_line;
}

void TopCounts::add_stack(uint32_t stack, uint32_t parent, uint32_t function, int32_t line) {
  if (stack < first_stack_) return;
  if (stacks_.size() >= kMaxStacks) {
    stacks_.erase(stacks_.begin(), stacks_.begin() + static_cast<ptrdiff_t>(kStacksToForget));
    first_stack_ += static_cast<uint32_t>(kStacksToForget);
  }
  grow_to(stacks_, stack - first_stack_) = {parent, function, line};
}

const TopCounts::Stack* TopCounts::find_stack(uint32_t stack) const {
  if (stack < first_stack_ || stack - first_stack_ >= stacks_.size()) return nullptr;
  return &stacks_[stack - first_stack_];
}

void TopCounts::add_sample(const sample::Sample& sample) {
  const TopTimes times = cli::times_of(sample);
  const auto count = static_cast<uint64_t>(std::max<int64_t>(sample.count, 0));
  span_.sum.times += times;
  for (size_t i = 0; i < kTopWeights; ++i) {
    if (times.ns[i] > 0) span_.sum.samples[i] += count;
  }
  const auto [place, is_new] =
      stack_places_.try_emplace(sample.stack, static_cast<uint32_t>(by_stack_.size()));
  if (is_new) by_stack_.push_back({sample.stack, {}});
  by_stack_[place].times += times;

  Thread& thread = grow_to(threads_, sample.thread);
  if (sample.time_ns >= thread.last_sample_ns) {
    thread.last_sample_ns = sample.time_ns;
    thread.last_stack = sample.stack;
  }
  ClockTimes& clock = times_of(span_.threads, thread_places_, sample.thread);
  clock.sampled_cpu_ns += times.get(TopWeight::kCpu);
  clock.gil_ns += times.get(TopWeight::kGil);
  times_of(span_.processes, process_places_, thread.process).gil_ns += times.get(TopWeight::kGil);
}

void TopCounts::end_process(uint32_t process) { grow_to(processes_, process).has_ended = true; }

TopCounts::ClockTimes& TopCounts::times_of(std::vector<ClockTimes>& times, FlatMap& places,
                                           uint32_t number) {
  const auto [place, is_new] = places.try_emplace(number, static_cast<uint32_t>(times.size()));
  if (is_new) times.push_back({.number = number});
  return times[place];
}

TopCounts::FunctionCost& TopCounts::cost_of(uint32_t function) {
  const auto [place, is_new] =
      function_places_.try_emplace(function, static_cast<uint32_t>(span_.functions.size()));
  if (is_new) span_.functions.push_back({function, {}});
  return span_.functions[place];
}

void TopCounts::share_out(const StackTimes& stack) {
  ++walks_;
  bool is_innermost = true;
  for (const Stack* at = find_stack(stack.stack); at != nullptr; at = find_stack(at->parent)) {
    Function& function = grow_to(functions_, at->function);
    if (std::exchange(function.walked_at, walks_) != walks_) {
      cost_of(at->function).cost.total += stack.times;
    }
    if (std::exchange(is_innermost, false)) cost_of(at->function).cost.own += stack.times;
  }
}

void TopCounts::begin_cpu(Clock& clock, uint64_t cpu_ns) {
  clock.last_cpu_ns = cpu_ns;
  clock.has_cpu = true;
}

// Counts are of a whole life: what was used before the first look is not of now. A kernel that has
// none says 0.
void TopCounts::take_cpu(Clock& clock, ClockTimes& times, uint64_t cpu_ns) {
  if (cpu_ns == 0) times.cpu_ns += times.sampled_cpu_ns;
  if (clock.has_cpu && cpu_ns > clock.last_cpu_ns) {
    times.cpu_ns += static_cast<int64_t>(cpu_ns - clock.last_cpu_ns);
  }
  clock.last_cpu_ns = cpu_ns;
  clock.has_cpu = true;
}

void TopCounts::add_to_now(const Span& span) {
  add_to(now_, span.sum);
  for (const auto& [function, cost] : span.functions) functions_[function].now += cost;
  for (const ClockTimes& times : span.threads) {
    threads_[times.number].clock.cpu_now_ns += times.cpu_ns;
    threads_[times.number].clock.gil_now_ns += times.gil_ns;
  }
  for (const ClockTimes& times : span.processes) {
    processes_[times.number].clock.cpu_now_ns += times.cpu_ns;
    processes_[times.number].clock.gil_now_ns += times.gil_ns;
  }
}

void TopCounts::take_from_now(const Span& span) {
  take_from(now_, span.sum);
  for (const auto& [function, cost] : span.functions) functions_[function].now -= cost;
  for (const ClockTimes& times : span.threads) {
    threads_[times.number].clock.cpu_now_ns -= times.cpu_ns;
    threads_[times.number].clock.gil_now_ns -= times.gil_ns;
  }
  for (const ClockTimes& times : span.processes) {
    processes_[times.number].clock.cpu_now_ns -= times.cpu_ns;
    processes_[times.number].clock.gil_now_ns -= times.gil_ns;
  }
}

void TopCounts::end_span(TopSpanEnd end) {
  for (const StackTimes& stack : by_stack_) share_out(stack);
  for (const auto& [number, cpu_ns] : end.new_threads) {
    begin_cpu(grow_to(threads_, number).clock, cpu_ns);
  }
  for (const auto& [number, cpu_ns] : end.new_processes) {
    begin_cpu(grow_to(processes_, number).clock, cpu_ns);
  }
  for (const sample::ThreadState& state : end.threads) {
    take_cpu(grow_to(threads_, state.thread).clock,
             times_of(span_.threads, thread_places_, state.thread), state.cpu_ns);
  }
  for (const auto& [number, cpu_ns] : end.processes) {
    take_cpu(grow_to(processes_, number).clock, times_of(span_.processes, process_places_, number),
             cpu_ns);
  }
  for (const ClockTimes& times : span_.threads) grow_to(threads_, times.number);
  for (const ClockTimes& times : span_.processes) grow_to(processes_, times.number);
  span_.sum.wall_ns = std::max<int64_t>(end.end_ns - span_start_ns_, 0);
  span_start_ns_ = end.end_ns;
  last_ = std::move(end);

  add_to(since_start_, span_.sum);
  for (const auto& [function, cost] : span_.functions) functions_[function].since_start += cost;
  add_to_now(span_);
  spans_.push_back(std::move(span_));
  while (spans_.size() > spans_of_now_) {
    take_from_now(spans_.front());
    spans_.pop_front();
  }
  span_ = {};
  by_stack_.clear();
  stack_places_ = {};
  function_places_ = {};
  thread_places_ = {};
  process_places_ = {};
}

void TopCounts::reset() {
  since_start_ = {};
  for (Function& function : functions_) function.since_start = {};
  counts_at_reset_ = last_.counts;
}

TopProcess TopCounts::view_of(const Process& process) const {
  return {.pid = process.pid,
          .command_line = process.command_line,
          .cpu_fraction = fraction_of(process.clock.cpu_now_ns, now_.wall_ns),
          .gil_fraction = std::min(fraction_of(process.clock.gil_now_ns, now_.wall_ns), 1.0),
          .has_ended = process.has_ended};
}

TopThread TopCounts::view_of(const sample::ThreadState& state) const {
  TopThread view{.tid = state.tid,
                 .name = state.name,
                 .is_running = state.is_running,
                 .holds_gil = state.holds_gil};
  if (state.process < processes_.size()) view.pid = processes_[state.process].pid;
  if (state.thread >= threads_.size()) return view;
  const Thread& thread = threads_[state.thread];
  view.cpu_fraction = fraction_of(thread.clock.cpu_now_ns, now_.wall_ns);
  view.gil_fraction = std::min(fraction_of(thread.clock.gil_now_ns, now_.wall_ns), 1.0);
  const Stack* innermost = find_stack(thread.last_stack);
  if (innermost == nullptr || innermost->function >= functions_.size()) return view;
  view.function = functions_[innermost->function].name;
  view.file = functions_[innermost->function].file;
  view.line = innermost->line;
  return view;
}

// Those that live; the first one where none does.
void TopCounts::view_processes(TopView& view) const {
  std::vector<TopProcess> all;
  for (const Process& process : processes_) all.push_back(view_of(process));
  for (const sample::ThreadState& state : last_.threads) {
    if (state.process >= all.size()) continue;
    ++all[state.process].threads;
    if (state.is_running) ++all[state.process].running;
  }
  for (const TopProcess& process : all) {
    if (process.has_ended) {
      ++view.ended_processes;
    } else {
      view.processes.push_back(process);
    }
  }
  if (view.processes.empty() && !all.empty()) view.processes.push_back(all.front());
}

TopView TopCounts::build_view() const {
  TopView view;
  view.now = now_;
  view.since_start = since_start_;
  view.missed_ticks = last_.counts.missed_ticks - counts_at_reset_.missed_ticks;
  view.torn = last_.counts.torn - counts_at_reset_.torn;
  view_processes(view);
  for (const sample::ThreadState& state : last_.threads) view.threads.push_back(view_of(state));
  const auto wall_of = [](const TopCost& cost) { return cost.total.get(TopWeight::kWall); };
  for (const Function& function : functions_) {
    if (wall_of(function.since_start) <= 0 && wall_of(function.now) <= 0) continue;
    view.functions.push_back({.name = function.name,
                              .file = function.file,
                              .first_line = function.first_line,
                              .now = function.now,
                              .since_start = function.since_start});
  }
  return view;
}

}  // namespace stepscope::cli
