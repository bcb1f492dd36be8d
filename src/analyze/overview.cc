// The view `overview`: the trace at a glance, put together from the other views. A row has a
// section, a name, a value in the column of its unit (value_ns, value_bytes, value_count,
// value_text; the others are null) and a share where there is one. Renderers for eyes show the
// value columns as one.
#include "analyze/calls_of_samples.h"
#include "analyze/json_field.h"
#include "analyze/phase_times.h"
#include "analyze/row_order.h"
#include "analyze/sampled_threads.h"
#include "analyze/step_spans.h"
#include "analyze/text_value.h"
#include "analyze/views.h"
#include "base/saturating.h"
#include "trace/track_title.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace stepscope {
namespace {

constexpr int64_t kTopRows = 3;

class OverviewTable {
 public:
  OverviewTable()
      : table("overview"),
        section_(table.add("section", ColumnType::kString)),
        name_(table.add("name", ColumnType::kString)),
        ns_(table.add("value_ns", ColumnType::kInt, Unit::kNs)),
        bytes_(table.add("value_bytes", ColumnType::kInt, Unit::kBytes)),
        count_(table.add("value_count", ColumnType::kInt, Unit::kCount)),
        text_(table.add("value_text", ColumnType::kString)),
        fraction_(table.add("fraction", ColumnType::kDouble, Unit::kFraction)) {}

  void begin_section(std::string section) { current_ = std::move(section); }
  void add_ns(std::string_view name, int64_t ns, double fraction = kNone) {
    add(name, &ns_, ns, {}, fraction);
  }
  void add_bytes(std::string_view name, int64_t bytes, double fraction = kNone) {
    add(name, &bytes_, bytes, {}, fraction);
  }
  void add_count(std::string_view name, uint64_t count) {
    add(name, &count_, static_cast<int64_t>(std::min<uint64_t>(count, INT64_MAX)), {}, kNone);
  }
  void add_text(std::string_view name, std::string_view text) { add(name, &text_, 0, text, kNone); }
  void add_fraction(std::string_view name, double fraction) { add(name, nullptr, 0, {}, fraction); }

  Table table;

 private:
  static constexpr double kNone = __builtin_nan("");

  void add(std::string_view name, const Column* value, int64_t number, std::string_view text,
           double fraction) {
    section_.push(current_);
    name_.push(name);
    for (Column* column : {&ns_, &bytes_, &count_}) {
      column == value ? column->push(number) : column->push_null();
    }
    value == &text_ ? text_.push(text) : text_.push_null();
    fraction_.push(fraction);
  }

  Column &section_, &name_, &ns_, &bytes_, &count_, &text_, &fraction_;
  std::string current_;
};

std::string count_of(uint64_t count, std::string_view one) {
  return text_of_count(static_cast<int64_t>(count)) + " " + std::string(one) +
         (count == 1 ? "" : "s");
}

void add_trace(const Trace& trace, OverviewTable& out) {
  out.begin_section("trace");
  const std::string& source = trace.source();
  if (!source.empty()) out.add_text("file", source.substr(source.rfind('/') + 1));
  if (!trace.format().empty()) out.add_text("format", trace.format());
  out.add_ns("span", trace.end_ns() - trace.begin_ns());
  out.add_count("slices", trace.slices().size());
  const std::vector<SampledThread> sampled = sampled_threads(trace, {});
  std::vector<uint8_t> has_samples(trace.tracks().size(), 0);
  uint64_t samples = 0;
  for (const SampledThread& thread : sampled) {
    has_samples[index(thread.track)] = 1;
    samples += thread.samples;
  }
  if (samples > 0) out.add_count("samples", samples);
  if (const std::string text = sampling_text(trace); !text.empty()) out.add_text("sampled", text);
  if (!trace.call_edges().callee.empty())
    out.add_count("call edges", trace.call_edges().callee.size());
  std::array<uint64_t, 4> kinds{};
  std::set<uint32_t> processes;
  for (size_t i = 0; i < trace.tracks().size(); ++i) {
    const Track& track = trace.tracks()[i];
    if (track.slice_count == 0 && track.value_count == 0 && has_samples[i] == 0) continue;
    ++kinds[static_cast<size_t>(track.kind)];
    processes.insert(track.process);
  }
  std::string lanes;
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    if (kinds[kind] == 0) continue;
    const bool is_async = static_cast<TrackKind>(kind) == TrackKind::kAsync;
    lanes += (lanes.empty() ? "" : ", ") +
             count_of(kinds[kind],
                      is_async ? "async lane" : track_kind_name(static_cast<TrackKind>(kind)));
  }
  if (!lanes.empty()) out.add_text("tracks", lanes);
  if (!processes.empty()) out.add_count("processes", processes.size());

  const std::string_view distributed = trace.find_metadata("distributedInfo");
  if (const auto rank = find_json_field(distributed, "$.rank")) {
    const auto world_size = find_json_field(distributed, "$.world_size");
    const auto backend = find_json_field(distributed, "$.backend");
    out.add_text("rank", *rank + (world_size ? " of " + *world_size : "") +
                             (backend ? " (" + *backend + ")" : ""));
  }
  if (trace.stats().get(Stat::kEventsSkipped) > 0) {
    out.add_count("events skipped", trace.stats().get(Stat::kEventsSkipped));
  }
}

// Which threads were on the CPU, and which waited.
void add_sampled_threads(const Trace& trace, OverviewTable& out) {
  std::vector<SampledThread> threads = sampled_threads(trace, {});
  std::erase_if(threads, [](const SampledThread& thread) { return !thread.cpu_ns; });
  if (threads.empty()) return;
  std::stable_sort(
      threads.begin(), threads.end(),
      [](const SampledThread& a, const SampledThread& b) { return *a.cpu_ns > *b.cpu_ns; });
  out.begin_section("CPU by thread");
  const size_t shown = std::min<size_t>(threads.size(), kTopRows);
  for (size_t i = 0; i < shown; ++i) {
    const SampledThread& thread = threads[i];
    const double wall_ns = static_cast<double>(std::max<int64_t>(1, thread.wall_ns));
    out.add_ns(track_title(trace, thread.track), *thread.cpu_ns,
               std::min(1.0, static_cast<double>(*thread.cpu_ns) / wall_ns));
  }
  int64_t waiting_ns = 0;
  int64_t wall_ns = 0;
  bool knows_waiting = false;
  for (const SampledThread& thread : threads) {
    wall_ns = add_saturating(wall_ns, thread.wall_ns);
    waiting_ns = add_saturating(waiting_ns, thread.waiting_ns.value_or(0));
    knows_waiting = knows_waiting || thread.waiting_ns.has_value();
  }
  if (knows_waiting && wall_ns > 0) {
    out.add_ns("all threads, waiting", waiting_ns,
               static_cast<double>(waiting_ns) / static_cast<double>(wall_ns));
  }
}

int64_t sum(const Column& column) {
  int64_t total = 0;
  for (size_t row = 0; row < column.size(); ++row) {
    if (!column.is_null(row)) total += column.get_int(row);
  }
  return total;
}

using NamedColumn = std::pair<const char*, const char*>;

constexpr std::array<NamedColumn, 8> kStepParts = {{
    {"kernel_ns", "kernel"},
    {"memcpy_ns", "memcpy"},
    {"memset_ns", "memset"},
    {"communication_ns", "communication"},
    {"runtime_ns", "runtime"},
    {"input_ns", "input"},
    {"cpu_exec_ns", "cpu exec"},
    {"other_ns", "other"},
}};

constexpr std::array<NamedColumn, kPhases> kPhaseParts = {{
    {"input_ns", "input"},
    {"forward_ns", "forward"},
    {"backward_ns", "backward"},
    {"optimizer_ns", "optimizer"},
    {"communication_ns", "communication"},
    {"copy_ns", "copy"},
    {"host_ns", "host"},
    {"idle_ns", "idle"},
}};

// Of `steps` or `phases`: the average step, and the average of each of its parts.
void add_steps(const Table& steps, std::span<const NamedColumn> parts, bool shows_zeros,
               OverviewTable& out) {
  const auto count = static_cast<int64_t>(steps.rows());
  const Column* dur = steps.find("dur_ns");
  if (count == 0 || dur == nullptr) return;
  const int64_t total_ns = sum(*dur);
  out.begin_section("steps");
  out.add_count("steps", static_cast<uint64_t>(count));
  out.add_ns("average step", total_ns / count);
  for (const auto& [column_name, name] : parts) {
    const Column* column = steps.find(column_name);
    if (column == nullptr) continue;
    const int64_t part_ns = sum(*column);
    if (part_ns == 0 && !shows_zeros) continue;
    out.add_ns(name, part_ns / count,
               total_ns > 0 ? static_cast<double>(part_ns) / static_cast<double>(total_ns) : 0);
  }
}

// The first rows of a view by a column of times, with their shares of that column.
void add_top(Table table, std::string section, const std::string& time_column, OverviewTable& out) {
  const Column* time = table.find(time_column);
  const Column* name = table.find("name");
  if (time == nullptr || name == nullptr || table.rows() == 0) return;
  const int64_t total_ns = sum(*time);
  if (total_ns <= 0 || !sort_rows(table, "-" + time_column)) return;
  out.begin_section(std::move(section));
  limit_rows(table, kTopRows);
  for (size_t row = 0; row < table.rows(); ++row) {
    const int64_t ns = time->get_int(row);
    out.add_ns(name->get_string(row), ns, static_cast<double>(ns) / static_cast<double>(total_ns));
  }
}

void add_devices(const Table& devices, OverviewTable& out) {
  static constexpr std::array<std::pair<const char*, const char*>, 4> kFigures = {{
      {"busy_fraction", "utilisation"},
      {"sm_efficiency", "est. SM efficiency"},
      {"occupancy", "est. achieved occupancy"},
      {"tensor_core_fraction", "Tensor Core share of kernel time"},
  }};
  const Column* device = devices.find("device");
  const Column* name = devices.find("name");
  for (size_t row = 0; row < devices.rows(); ++row) {
    std::string section = "device";
    if (device != nullptr && !device->is_null(row)) section += " " + text_of_cell(*device, row);
    out.begin_section(section);
    if (name != nullptr && !name->is_null(row) && !name->get_string(row).empty()) {
      out.add_text("name", name->get_string(row));
    }
    for (const auto& [column_name, title] : kFigures) {
      const Column* column = devices.find(column_name);
      if (column != nullptr && !column->is_null(row))
        out.add_fraction(title, column->get_number(row));
    }
  }
}

void add_memory(const Trace& trace, OverviewTable& out) {
  const AllocationColumns& allocations = trace.allocations();
  struct Usage {
    int64_t now_bytes = 0, peak_bytes = 0, peak_reserved_bytes = 0;
  };
  std::map<std::pair<int16_t, int16_t>, Usage> devices;
  for (size_t i = 0; i < allocations.time_ns.size(); ++i) {
    Usage& usage = devices[{allocations.device_type[i], allocations.device_id[i]}];
    // Where the file has no totals, what was taken since its begin is all that is known.
    const int64_t total_bytes = allocations.total_allocated_bytes[i];
    if (__builtin_add_overflow(usage.now_bytes, allocations.bytes[i], &usage.now_bytes)) continue;
    if (total_bytes >= 0) usage.now_bytes = total_bytes;
    usage.peak_bytes = std::max(usage.peak_bytes, usage.now_bytes);
    usage.peak_reserved_bytes =
        std::max(usage.peak_reserved_bytes, allocations.total_reserved_bytes[i]);
  }
  out.begin_section("memory");
  for (const auto& [device, usage] : devices) {
    const std::string where = device.first == 0 ? "CPU" : "device " + std::to_string(device.second);
    out.add_bytes("peak on " + where, usage.peak_bytes);
    if (usage.peak_reserved_bytes > 0) {
      out.add_bytes("peak reserved on " + where, usage.peak_reserved_bytes);
    }
  }
}

bool has_kind(const Trace& trace, std::initializer_list<SliceKind> kinds) {
  return std::any_of(trace.labels().all().begin(), trace.labels().all().end(),
                     [&](const Label& label) {
                       return std::find(kinds.begin(), kinds.end(), label.kind) != kinds.end();
                     });
}

}  // namespace

Result<Table> overview(const Trace& trace, const TableOptions& options) {
  TableOptions part;
  part.range = options.range;
  part.track = options.track;
  OverviewTable out;
  add_trace(trace, out);
  add_sampled_threads(trace, out);

  const bool has_steps = has_kind(trace, {SliceKind::kStep});
  const bool has_operators = has_kind(trace, {SliceKind::kOperator});
  const bool has_device_work = has_kind(trace, {SliceKind::kKernel, SliceKind::kMemcpy});
  const bool has_functions = has_kind(trace, {SliceKind::kPython, SliceKind::kCall}) ||
                             !trace.call_edges().callee.empty() ||
                             !trace.samples().time_ns.empty() || !has_operators;
  // Without calls and operators only steps tell that it was a training.
  const bool has_sampled_steps =
      CallsOfSamples::of(trace) != nullptr &&
      StepSpans::of(trace_with_calls(trace))->origin != StepOrigin::kWhole;
  if (has_steps || has_operators || has_device_work || has_sampled_steps) {
    // Without a device most of what `steps` tells apart can not be there.
    Result<Table> table = make_whole_view(trace, has_device_work ? "steps" : "phases", part);
    if (!table) return table;
    if (has_device_work) {
      add_steps(*table, kStepParts, true, out);
    } else {
      add_steps(*table, kPhaseParts, false, out);
    }
    for (std::string& note : table->notes) out.table.notes.push_back(std::move(note));
    if (table->rows() == 0 && table->notes.empty() && !has_sampled_steps) {
      out.table.notes.push_back(
          "no steps in this trace (with torch.profiler, prof.step() marks them)");
    }
  }
  if (has_operators) {
    Result<Table> table = make_whole_view(trace, "operators", part);
    if (!table) return table;
    add_top(std::move(*table), "top operators", "self_host_ns", out);
  }
  if (has_device_work) {
    Result<Table> table = make_whole_view(trace, "kernels", part);
    if (!table) return table;
    add_top(std::move(*table), "top kernels", "total_ns", out);
    table = make_whole_view(trace, "devices", part);
    if (!table) return table;
    add_devices(*table, out);
  } else if (has_operators) {
    out.table.notes.push_back("no device work in this trace");
  }
  if (has_functions) {
    Result<Table> table = make_whole_view(trace, "functions", part);
    if (!table) return table;
    const bool by_cpu = table->default_sort == "-self_cpu_ns";
    add_top(std::move(*table), by_cpu ? "top functions, CPU" : "top functions",
            by_cpu ? "self_cpu_ns" : "self_ns", out);
  }
  if (!trace.allocations().time_ns.empty()) {
    add_memory(trace, out);
  } else if (has_operators) {
    out.table.notes.push_back(
        "no memory in this trace (torch.profiler records it with "
        "profile_memory=True)");
  }
  return std::move(out.table);
}

}  // namespace stepscope
