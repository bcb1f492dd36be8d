#include "analyze/sql_trace_data.h"

#include "analyze/self_time.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace stepscope {
namespace {

template <typename Key>
const std::vector<uint32_t>& make_order(std::vector<uint32_t>& rows, size_t count, const Key& key) {
  if (rows.size() == count) return rows;
  rows.resize(count);
  std::iota(rows.begin(), rows.end(), 0);
  std::stable_sort(rows.begin(), rows.end(),
                   [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  return rows;
}

}  // namespace

const std::vector<int64_t>& SqlTraceData::self_ns() {
  if (self_ns_.empty()) self_ns_ = build_self_ns(trace);
  return self_ns_;
}

const std::vector<uint32_t>& SqlTraceData::slices_by_name() {
  const SliceColumns& slices = trace.slices();
  if (slices_by_name_.size() == slices.size()) return slices_by_name_;
  // Labels are few: they are sorted, and the slices counted into their places.
  const std::vector<Label>& labels = trace.labels().all();
  std::vector<uint32_t> sorted(labels.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  const auto key = [&](uint32_t i) {
    return std::tuple(trace.string(labels[i].name), trace.string(labels[i].category),
                      kind_name(labels[i].kind));
  };
  std::sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  std::vector<uint32_t> place(labels.size(), 0);
  for (const LabelId label : slices.label) ++place[index(label)];
  uint32_t next = 0;
  for (const uint32_t label : sorted) next += std::exchange(place[label], next);
  slices_by_name_.resize(slices.size());
  for (uint32_t row = 0; row < slices.size(); ++row) {
    slices_by_name_[place[index(slices.label[row])]++] = row;
  }
  return slices_by_name_;
}

const std::vector<uint32_t>& SqlTraceData::flows_by_from() {
  return make_order(flows_by_from_, trace.flows().from.size(),
                    [&](uint32_t row) { return index(trace.flows().from[row]); });
}

const std::vector<uint32_t>& SqlTraceData::flows_by_to() {
  return make_order(flows_by_to_, trace.flows().to.size(),
                    [&](uint32_t row) { return index(trace.flows().to[row]); });
}

const std::vector<uint32_t>& SqlTraceData::allocations_by_slice() {
  return make_order(allocations_by_slice_, trace.allocations().slice.size(),
                    [&](uint32_t row) { return index(trace.allocations().slice[row]); });
}

const std::vector<uint64_t>& SqlTraceData::arg_offsets() {
  if (arg_offsets_.empty()) {
    uint64_t rows = 0;
    arg_offsets_.push_back(rows);
    for (const ArgColumn& column : trace.args()) arg_offsets_.push_back(rows += column.rows.size());
  }
  return arg_offsets_;
}

std::vector<std::pair<std::string, std::string>>& SqlTraceData::metadata() {
  if (metadata_.empty()) {
    metadata_ = {{"source", trace.source()},
                 {"format", trace.format()},
                 {"begin_ns", std::to_string(trace.begin_ns())},
                 {"end_ns", std::to_string(trace.end_ns())},
                 {"clock_base_ns", std::to_string(trace.clock_base_ns())}};
    for (const MetadataEntry& entry : trace.metadata()) {
      metadata_.emplace_back(trace.string(entry.key), trace.string(entry.value));
    }
  }
  return metadata_;
}

}  // namespace stepscope
