#include "analyze/profile_analyze.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <span>
#include <unordered_map>
#include <utility>

#include "analyze/pattern.h"
#include "analyze/roofline.h"

namespace stepscope {
namespace {

using TimeOf = std::function<double(const OperatorRecord&)>;

double device_to_end(const OperatorRecord& record) { return record.device.to_end_s; }
double device_to_kernel(const OperatorRecord& record) { return record.device.to_kernel_s; }
double host_to_end(const OperatorRecord& record) { return record.host.to_end_s; }
double host_to_kernel(const OperatorRecord& record) { return record.host.to_kernel_s; }

double sum(std::span<const double> values) { return pairwise_sum(values.data(), values.size()); }

// Of what is there; kMissing where nothing is. A mean is by all, as MegEngine has it.
double aggregate(Aggregate how, std::span<const double> all) {
  std::vector<double> values;
  std::copy_if(all.begin(), all.end(), std::back_inserter(values),
               [](double value) { return !std::isnan(value); });
  if (values.empty()) return kMissing;
  switch (how) {
    case Aggregate::kMax:
      return *std::max_element(values.begin(), values.end());
    case Aggregate::kMin:
      return *std::min_element(values.begin(), values.end());
    case Aggregate::kMean:
      return sum(values) / static_cast<double>(all.size());
    case Aggregate::kSum:
    case Aggregate::kNone:
      break;
  }
  return sum(values);
}

// A row before its texts are made: of millions of calls few are shown.
struct Entry {
  const OperatorRecord* record;  // the first, where it is several
  uint64_t count = 1;
  double time_s = 0;
  double computation = kMissing;
  double memory = kMissing;
};

struct OrderColumn {
  std::string_view name;
  double (*value)(const OperatorRecords& records, const Entry& entry);
};

double id_number(const OperatorRecords& records, const Entry& entry) {
  const std::string id = records.id(*entry.record);
  if (id.empty() || id.size() > 15) return kMissing;
  double number = 0;
  for (const char c : id) {
    if (c < '0' || c > '9') return kMissing;
    number = number * 10 + (c - '0');
  }
  return number;
}

constexpr auto kOrderColumns = std::to_array<OrderColumn>({
    {"time", [](const OperatorRecords&, const Entry& entry) { return entry.time_s; }},
    {"computation", [](const OperatorRecords&, const Entry& entry) { return entry.computation; }},
    {"flops",
     [](const OperatorRecords&, const Entry& entry) { return entry.computation / entry.time_s; }},
    {"memory", [](const OperatorRecords&, const Entry& entry) { return entry.memory; }},
    {"bandwidth",
     [](const OperatorRecords&, const Entry& entry) { return entry.memory / entry.time_s; }},
    {"count",
     [](const OperatorRecords&, const Entry& entry) { return static_cast<double>(entry.count); }},
    {"opr_id", id_number},
});

struct Order {
  const OrderColumn* column;
  bool is_ascending;
};

Result<Order> parse_order(std::string_view text) {
  const bool is_ascending = text.starts_with('+');
  if (is_ascending) text.remove_prefix(1);
  const auto column = std::find_if(kOrderColumns.begin(), kOrderColumns.end(),
                                   [&](const OrderColumn& known) { return known.name == text; });
  if (column != kOrderColumns.end()) return Order{&*column, is_ascending};
  std::string names;
  for (const OrderColumn& known : kOrderColumns) {
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  return Status::error(fmt::format("--order-by {}: there are {}", text, names));
}

class Analyzer {
 public:
  Analyzer(const Trace& trace, const ProfileQuery& query)
      : query_(query), records_(OperatorRecords::find(trace)), roofline_(trace, records_) {}

  Result<ProfileAnalysis> run() {
    const auto order = parse_order(query_.order_by);
    if (!order) return order.status();
    if (Status status = select(); !status) return status;
    ProfileAnalysis analysis;
    analysis.is_static = records_.is_static();
    analysis.notes = records_.notes();
    std::vector<const OperatorRecord*> all;
    for (const OperatorRecord& record : records_.all()) all.push_back(&record);
    analysis.device_s = total(all, device_to_end);
    analysis.host_s = total(all, host_to_end);
    analysis.device = rows(query_.to_kernel ? device_to_kernel : device_to_end, *order);
    analysis.host = rows(query_.to_kernel ? host_to_kernel : host_to_end, *order);
    if (query_.copy_time) {
      analysis.copy = copies(device_to_end);
      analysis.copy_wait = copies(device_to_kernel);
    }
    if (!records_.is_static() && !roofline_.description().empty()) {
      analysis.notes.push_back(roofline_.description());
    }
    return analysis;
  }

 private:
  Status select() {
    std::optional<Pattern> pattern;
    if (!query_.opr_name.empty()) {
      auto made = Pattern::make("^(?:" + query_.opr_name + ")");
      if (!made) return made.status();
      pattern.emplace(*std::move(made));
    }
    for (const OperatorRecord& record : records_.all()) {
      const auto& types = query_.types;
      if (!types.empty() &&
          std::find(types.begin(), types.end(), records_.type(record)) == types.end()) {
        continue;
      }
      if (pattern && !pattern->matches(records_.name(record))) continue;
      if (!query_.input_dtype.empty() && !records_.has_input_type(record, query_.input_dtype)) {
        continue;
      }
      selected_.push_back(&record);
    }
    return {};
  }

  static double total(std::span<const OperatorRecord* const> records, const TimeOf& time_of) {
    std::vector<double> times;
    for (const OperatorRecord* record : records) {
      if (const double time = time_of(*record); !std::isnan(time)) times.push_back(time);
    }
    return times.empty() ? kMissing : sum(times);
  }

  CopyTimes copies(const TimeOf& time_of) const {
    std::vector<double> times;
    for (const OperatorRecord* record : selected_) {
      const std::string_view type = records_.type(*record);
      if (type != "Copy" && type != "aten::copy_") continue;
      if (const double time = time_of(*record); !std::isnan(time)) times.push_back(time);
    }
    if (times.empty()) return {};
    return {sum(times), sum(times) / static_cast<double>(times.size())};
  }

  std::vector<ProfileRow> rows(const TimeOf& time_of, const Order& order) const {
    std::vector<Entry> entries;
    for (const OperatorRecord* record : selected_) {
      const double time = time_of(*record);
      if (!std::isnan(time) && time >= query_.min_time_s && time <= query_.max_time_s) {
        entries.push_back({record, 1, time, record->computation, record->memory});
      }
    }
    if (query_.aggregate != Aggregate::kNone) entries = aggregates(entries);
    sort(entries, order);
    if (query_.top > 0 && entries.size() > static_cast<size_t>(query_.top)) {
      entries.resize(static_cast<size_t>(query_.top));
    }
    std::vector<ProfileRow> result;
    double cumulative_s = 0;
    for (const Entry& entry : entries) {
      cumulative_s += entry.time_s;
      result.push_back(make_row(entry, cumulative_s));
    }
    return result;
  }

  // Stable; what is missing or not a number comes last either way.
  void sort(std::vector<Entry>& entries, const Order& order) const {
    std::vector<std::pair<double, Entry>> keyed;
    keyed.reserve(entries.size());
    for (const Entry& entry : entries) {
      keyed.emplace_back(order.column->value(records_, entry), entry);
    }
    std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
      if (std::isnan(a.first) || std::isnan(b.first)) {
        return !std::isnan(a.first) && std::isnan(b.first);
      }
      return order.is_ascending ? a.first < b.first : a.first > b.first;
    });
    for (size_t i = 0; i < keyed.size(); ++i) entries[i] = keyed[i].second;
  }

  ProfileRow make_row(const Entry& entry, double cumulative_s) const {
    ProfileRow row;
    const OperatorRecord& record = *entry.record;
    row.is_aggregate = query_.aggregate != Aggregate::kNone;
    row.count = entry.count;
    row.time_s = entry.time_s;
    row.cumulative_s = cumulative_s;
    row.computation = entry.computation;
    row.memory = entry.memory;
    row.bound = roofline_.bound(row.computation, row.memory, row.time_s);
    if (row.is_aggregate) {
      row.type = query_.aggregate_by_type ? std::string(records_.type(record)) : "all";
      row.id = "N/A";
      return row;
    }
    row.name = records_.name(record);
    row.type = records_.type(record);
    row.id = records_.id(record);
    row.in_shapes = records_.in_shapes(record);
    if (records_.is_static()) row.in_layouts = records_.in_layouts(record);
    row.out_shapes = records_.out_shapes(record);
    return row;
  }

  std::vector<Entry> aggregates(std::span<const Entry> entries) const {
    struct Group {
      std::vector<double> times, computation, memory;
    };
    std::vector<Group> groups;
    std::vector<Entry> result;
    std::unordered_map<uint32_t, size_t> by_type;
    for (const Entry& entry : entries) {
      const uint32_t key = query_.aggregate_by_type ? index(entry.record->type) : 0;
      const auto [at, is_new] = by_type.try_emplace(key, groups.size());
      if (is_new) {
        groups.emplace_back();
        result.push_back({entry.record});
      }
      Group& group = groups[at->second];
      group.times.push_back(entry.time_s);
      group.computation.push_back(entry.computation);
      group.memory.push_back(entry.memory);
    }
    for (size_t i = 0; i < groups.size(); ++i) {
      result[i].count = groups[i].times.size();
      result[i].time_s = aggregate(query_.aggregate, groups[i].times);
      result[i].computation = aggregate(query_.aggregate, groups[i].computation);
      result[i].memory = aggregate(query_.aggregate, groups[i].memory);
    }
    return result;
  }

  const ProfileQuery& query_;
  const OperatorRecords records_;
  const Roofline roofline_;
  std::vector<const OperatorRecord*> selected_;
};

std::string shapes_text(const std::vector<Shape>& shapes) {
  std::string text;
  for (const Shape& shape : shapes) {
    text += fmt::format("{}{{{}}}", text.empty() ? "" : ", ", fmt::join(shape, ","));
  }
  return text;
}

}  // namespace

double pairwise_sum(const double* values, size_t count) {
  constexpr size_t kBlock = 128;
  if (count < 8) {
    double total = 0;
    for (size_t i = 0; i < count; ++i) total += values[i];
    return total;
  }
  if (count <= kBlock) {
    std::array<double, 8> parts;
    std::copy_n(values, 8, parts.begin());
    size_t i = 8;
    for (; i + 8 <= count; i += 8) {
      for (size_t k = 0; k < 8; ++k) parts[k] += values[i + k];
    }
    double total = ((parts[0] + parts[1]) + (parts[2] + parts[3])) +
                   ((parts[4] + parts[5]) + (parts[6] + parts[7]));
    for (; i < count; ++i) total += values[i];
    return total;
  }
  const size_t half = count / 2 - count / 2 % 8;
  return pairwise_sum(values, half) + pairwise_sum(values + half, count - half);
}

Result<ProfileAnalysis> analyze_profile(const Trace& trace, const ProfileQuery& query) {
  return Analyzer(trace, query).run();
}

Table profile_table(const ProfileAnalysis& analysis, bool of_host) {
  Table table("analyze");
  Column& name = table.add("name", ColumnType::kString);
  Column& type = table.add("type", ColumnType::kString);
  Column& id = table.add("id", ColumnType::kString);
  Column& count = table.add("calls", ColumnType::kInt, Unit::kCount);
  Column& self =
      table.add(of_host ? "self_host_ns" : "self_device_ns", ColumnType::kInt, Unit::kNs);
  Column& share = table.add("self_fraction", ColumnType::kDouble, Unit::kFraction);
  Column& cumulative = table.add("cumulative_ns", ColumnType::kInt, Unit::kNs);
  Column& cumulative_share = table.add("cumulative_fraction", ColumnType::kDouble, Unit::kFraction);
  Column& computation = table.add("flops", ColumnType::kInt, Unit::kCount);
  Column& flops_per_s = table.add("flops_per_s", ColumnType::kDouble);
  Column& memory = table.add("bytes", ColumnType::kInt, Unit::kBytes);
  Column& bytes_per_s = table.add("bytes_per_s", ColumnType::kDouble);
  Column& bound = table.add("bound", ColumnType::kString);
  Column& in_shapes = table.add("in_shapes", ColumnType::kString);
  Column& out_shapes = table.add("out_shapes", ColumnType::kString);
  const double total_s = of_host ? analysis.host_s : analysis.device_s;
  const auto push_text = [](Column& column, const std::string& text) {
    text.empty() ? column.push_null() : column.push(std::string_view(text));
  };
  const auto push_count = [](Column& column, double value) {
    std::isfinite(value) ? column.push(static_cast<int64_t>(std::clamp(value, -9e18, 9e18)))
                         : column.push_null();
  };
  const auto push_finite = [](Column& column, double value) {
    std::isfinite(value) ? column.push(value) : column.push_null();
  };
  for (const ProfileRow& row : of_host ? analysis.host : analysis.device) {
    push_text(name, row.name);
    push_text(type, row.type);
    push_text(id, row.is_aggregate ? "" : row.id);
    count.push(static_cast<int64_t>(row.count));
    self.push(static_cast<int64_t>(std::llround(row.time_s * 1e9)));
    push_finite(share, row.time_s / total_s);
    cumulative.push(static_cast<int64_t>(std::llround(row.cumulative_s * 1e9)));
    push_finite(cumulative_share, row.cumulative_s / total_s);
    push_count(computation, row.computation);
    push_finite(flops_per_s, row.flops_per_s());
    push_count(memory, row.memory);
    push_finite(bytes_per_s, row.bytes_per_s());
    push_text(bound, row.bound);
    push_text(in_shapes, row.in_shapes ? shapes_text(*row.in_shapes) : "");
    push_text(out_shapes, row.out_shapes ? shapes_text(*row.out_shapes) : "");
  }
  table.notes = analysis.notes;
  return table;
}

}  // namespace stepscope
