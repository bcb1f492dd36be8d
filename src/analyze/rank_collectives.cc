#include "analyze/rank_collectives.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyze/json_field.h"
#include "analyze/operator_rules.h"

namespace stepscope {
namespace {

constexpr int64_t kMostGroups = 256;  // of distributedInfo; more are known by their calls only
constexpr size_t kMostGroupRanks = 65'536;

std::optional<int64_t> parse_whole(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "[0, 1, 2]". Nothing where the list is not whole ("[0, 1, ..., 127]").
std::vector<int32_t> parse_ranks(std::string_view text) {
  std::vector<int32_t> ranks;
  if (text.find("..") != text.npos) return ranks;
  size_t at = 0;
  while (at < text.size() && ranks.size() < kMostGroupRanks) {
    int32_t value = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error == std::errc()) {
      ranks.push_back(value);
      at = static_cast<size_t>(end - text.data());
    } else {
      ++at;
    }
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

// The number of elements of "[[16, 128], [4]]": all tensors together. 0 where it says nothing.
int64_t count_elements(std::string_view dims) {
  constexpr int64_t kMost = int64_t{1} << 50;
  int64_t total = 0;
  int64_t product = 1;
  bool has_number = false;
  size_t at = 0;
  while (at < dims.size()) {
    if (dims[at] == ']') {
      if (has_number) total = std::min(kMost, total + product);
      has_number = false;
      product = 1;
      ++at;
      continue;
    }
    int64_t value = 0;
    const auto [end, error] = std::from_chars(dims.data() + at, dims.data() + dims.size(), value);
    if (error == std::errc() && value >= 0) {
      product = value == 0 ? 0 : (product > kMost / value ? kMost : product * value);
      has_number = true;
    }
    at = error == std::errc() ? static_cast<size_t>(end - dims.data()) : at + 1;
  }
  return total;
}

// "float" of "[\"float\", \"\"]" or of "['float']".
std::string_view first_word(std::string_view list) {
  const size_t begin = list.find_first_not_of("[]\"', ");
  if (begin == list.npos) return {};
  return list.substr(begin, list.find_first_of("[]\"',", begin) - begin);
}

// An argument of any type, as text or as a number.
class AnyArgs {
 public:
  AnyArgs(const Trace& trace, std::string_view key)
      : trace_(trace),
        ints_(trace.find_args(key, ArgType::kInt)),
        strings_(trace.find_args(key, ArgType::kString)),
        json_(trace.find_args(key, ArgType::kJson)) {}

  std::optional<int64_t> number(SliceId row) const {
    if (const auto at = place(ints_, row)) return ints_->ints[*at];
    const std::string_view text = this->text(row);
    return text.empty() ? std::nullopt : parse_whole(text);
  }
  std::string_view text(SliceId row) const {
    if (const auto at = place(strings_, row)) return trace_.string(strings_->string(*at));
    if (const auto at = place(json_, row)) return trace_.string(json_->string(*at));
    return {};
  }
  std::string name(SliceId row) const {  // of numbers too
    if (const auto at = place(ints_, row)) return std::to_string(ints_->ints[*at]);
    return std::string(text(row));
  }

 private:
  static std::optional<size_t> place(const ArgColumn* column, SliceId row) {
    return column == nullptr ? std::nullopt : column->find(row);
  }
  const Trace& trace_;
  const ArgColumn* ints_;
  const ArgColumn* strings_;
  const ArgColumn* json_;
};

class Finder {
 public:
  Finder(const Trace& trace, int64_t world_size)
      : trace_(trace),
        world_size_(world_size),
        collective_(trace, "Collective name"),
        in_elements_(trace, "In msg nelems"),
        out_elements_(trace, "Out msg nelems"),
        dtype_(trace, "dtype"),
        group_name_(trace, "Process Group Name"),
        group_description_(trace, "Process Group Description"),
        group_ranks_(trace, "Process Group Ranks"),
        group_size_(trace, "Group size"),
        sequence_(trace, "Seq"),
        input_dims_(trace, "Input Dims"),
        input_types_(trace, "Input type") {}

  RankCollectives find() {
    read_known_groups();
    find_kernels();
    if (found_.calls.empty()) find_scopes();
    std::stable_sort(
        found_.calls.begin(), found_.calls.end(),
        [](const CollectiveCall& a, const CollectiveCall& b) { return a.start_ns < b.start_ns; });
    return std::move(found_);
  }

 private:
  // What a call says of itself, by one or by several slices.
  struct Facts {
    CollectiveType type = CollectiveType::kOther;
    std::string group;
    std::string description;
    std::vector<int32_t> ranks;
    int64_t group_size = 0;
    int64_t bytes = -1;
    std::string dtype;
    int64_t sequence = -1;
  };

  void read_known_groups() {
    const std::string_view info = trace_.find_metadata("distributedInfo");
    if (info.empty()) return;
    const int64_t count = parse_whole(find_json_field(info, "$.pg_count").value_or("")).value_or(0);
    for (int64_t i = 0; i < std::min(count, kMostGroups); ++i) {
      const std::string at = "$.pg_config[" + std::to_string(i) + "].";
      const auto name = find_json_field(info, at + "pg_name");
      if (!name) break;
      ProcessGroup group;
      group.name = *name;
      group.description = find_json_field(info, at + "pg_desc").value_or("");
      group.ranks = parse_ranks(find_json_field(info, at + "ranks").value_or(""));
      group.size = parse_whole(find_json_field(info, at + "pg_size").value_or("")).value_or(0);
      known_groups_.emplace(*name, std::move(group));
    }
  }

  void find_kernels() {
    const SliceColumns& slices = trace_.slices();
    std::vector<uint8_t> is_wanted;
    bool has_any = false;
    for (const Label& label : trace_.labels().all()) {
      is_wanted.push_back(label.kind == SliceKind::kKernel &&
                          is_communication_kernel(trace_.string(label.name)));
      has_any |= is_wanted.back() != 0;
    }
    if (!has_any) return;
    std::vector<SliceId> rows;
    for (uint32_t row = 0; row < slices.size(); ++row) {
      if (is_wanted[index(slices.label[row])] != 0) rows.push_back(SliceId{row});
    }
    const std::vector<SliceId> launches = find_launches(rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      Facts facts;
      read_args(rows[i], facts);
      if (facts.type == CollectiveType::kOther || facts.bytes < 0) read_around(launches[i], facts);
      if (facts.type == CollectiveType::kOther) {
        facts.type = find_collective_type(trace_.slice_name(rows[i]));
      }
      add(rows[i], std::move(facts));
    }
    found_.is_on_device = true;
  }

  // By kernel: the runtime call of its correlation, or kNoSlice.
  std::vector<SliceId> find_launches(const std::vector<SliceId>& kernels) const {
    std::vector<SliceId> launches(kernels.size(), kNoSlice);
    const ArgColumn* correlations = trace_.find_args("correlation", ArgType::kInt);
    if (correlations == nullptr) return launches;
    // The launch of a graph has several.
    std::unordered_map<int64_t, std::vector<size_t>> wanted;
    for (size_t i = 0; i < kernels.size(); ++i) {
      if (const auto at = correlations->find(kernels[i])) {
        wanted[correlations->ints[*at]].push_back(i);
      }
    }
    const SliceColumns& slices = trace_.slices();
    for (size_t at = 0; at < correlations->rows.size(); ++at) {
      const auto it = wanted.find(correlations->ints[at]);
      if (it == wanted.end()) continue;
      const SliceId row = correlations->rows[at];
      if (trace_.labels()[slices.label[index(row)]].kind == SliceKind::kRuntime) {
        for (const size_t i : it->second) launches[i] = row;
      }
    }
    return launches;
  }

  void find_scopes() {
    const SliceColumns& slices = trace_.slices();
    std::vector<uint8_t> is_scope;
    bool has_any = false;
    for (const Label& label : trace_.labels().all()) {
      is_scope.push_back(label.kind != SliceKind::kDeviceAnnotation &&
                         is_communication_scope(trace_.string(label.name)));
      has_any |= is_scope.back() != 0;
    }
    if (!has_any) return;
    for (uint32_t row = 0; row < slices.size(); ++row) {
      if (is_scope[index(slices.label[row])] == 0) continue;
      const SliceId parent = slices.parent[row];
      if (parent != kNoSlice && is_scope[index(slices.label[index(parent)])] != 0) continue;
      Facts facts;
      read_around(SliceId{row}, facts);
      add(SliceId{row}, std::move(facts));
    }
  }

  // The slice itself and what holds it: the first that knows something wins.
  void read_around(SliceId slice, Facts& facts) const {
    constexpr int kLevels = 8;
    const SliceColumns& slices = trace_.slices();
    for (int level = 0; slice != kNoSlice && level < kLevels; ++level) {
      read_args(slice, facts);
      const std::string_view name = trace_.slice_name(slice);
      const bool is_scope = is_communication_scope(name);
      if (facts.type == CollectiveType::kOther && is_scope) {
        facts.type = find_collective_type(name);
      }
      if (facts.bytes < 0 && is_scope) read_shapes(slice, facts);
      slice = slices.parent[index(slice)];
    }
  }

  void read_args(SliceId row, Facts& facts) const {
    if (const std::string_view name = collective_.text(row);
        !name.empty() && facts.type == CollectiveType::kOther) {
      facts.type = find_collective_type(name);
    }
    if (facts.dtype.empty()) facts.dtype = std::string(dtype_.text(row));
    const auto in = in_elements_.number(row);
    const auto out = out_elements_.number(row);
    if (facts.bytes < 0 && (in || out)) {
      const int64_t elements = std::max(in.value_or(0), out.value_or(0));
      const int64_t each = dtype_bytes(facts.dtype);
      if (each > 0 && elements >= 0 && elements < INT64_MAX / 8) facts.bytes = elements * each;
    }
    if (facts.group.empty()) facts.group = group_name_.name(row);
    if (facts.description.empty()) facts.description = std::string(group_description_.text(row));
    if (facts.ranks.empty()) facts.ranks = parse_ranks(group_ranks_.text(row));
    if (facts.group_size == 0) facts.group_size = group_size_.number(row).value_or(0);
    if (facts.sequence < 0) facts.sequence = sequence_.number(row).value_or(-1);
  }

  // Of traces that have no metadata: the shapes of the inputs of nccl:all_reduce.
  void read_shapes(SliceId scope, Facts& facts) const {
    const int64_t elements = count_elements(input_dims_.text(scope));
    const std::string_view type = first_word(input_types_.text(scope));
    const int64_t each = dtype_bytes(type);
    if (elements == 0 || each == 0) return;
    facts.bytes = elements * each;
    facts.dtype = std::string(type);
    // What is gathered is as large as all inputs together.
    const int64_t ranks = facts.group_size > 0 ? facts.group_size : world_size_;
    if (facts.type == CollectiveType::kAllGather && ranks > 0 && ranks < (1 << 20)) {
      facts.bytes = facts.bytes < INT64_MAX / ranks ? facts.bytes * ranks : INT64_MAX;
    }
  }

  uint32_t find_group(Facts& facts) {
    ProcessGroup group;
    if (const auto known = known_groups_.find(facts.group); known != known_groups_.end()) {
      group = known->second;
    }
    group.name = facts.group;
    if (group.description.empty()) group.description = std::move(facts.description);
    if (!facts.ranks.empty()) group.ranks = std::move(facts.ranks);
    if (facts.group_size > 0) group.size = facts.group_size;
    if (group.size <= 0) group.size = static_cast<int64_t>(group.ranks.size());
    if (group.size == 0 && group.name.empty()) group.size = world_size_;
    const auto [it, is_new] =
        groups_.try_emplace({group.name, group.ranks}, static_cast<uint32_t>(found_.groups.size()));
    if (is_new) found_.groups.push_back(std::move(group));
    return it->second;
  }

  void add(SliceId row, Facts facts) {
    CollectiveShape shape;
    shape.type = facts.type;
    shape.bytes = facts.bytes;
    shape.dtype = facts.dtype;
    shape.group = find_group(facts);
    const auto [it, is_new] = shapes_.try_emplace(
        {static_cast<uint8_t>(shape.type), shape.group, shape.bytes, shape.dtype},
        static_cast<uint32_t>(found_.shapes.size()));
    if (is_new) found_.shapes.push_back(std::move(shape));
    CollectiveCall call;
    call.shape = it->second;
    call.sequence = facts.sequence;
    call.start_ns = trace_.slices().start_ns[index(row)];
    call.end_ns = trace_.slices().end_ns(index(row));
    found_.calls.push_back(call);
  }

  using GroupKey = std::pair<std::string, std::vector<int32_t>>;
  using ShapeKey = std::tuple<uint8_t, uint32_t, int64_t, std::string>;

  const Trace& trace_;
  const int64_t world_size_;
  AnyArgs collective_, in_elements_, out_elements_, dtype_, group_name_, group_description_,
      group_ranks_, group_size_, sequence_, input_dims_, input_types_;
  std::map<std::string, ProcessGroup> known_groups_;  // of distributedInfo, by name
  std::map<GroupKey, uint32_t> groups_;
  std::map<ShapeKey, uint32_t> shapes_;
  RankCollectives found_;
};

}  // namespace

RankCollectives RankCollectives::find(const Trace& trace, int64_t world_size) {
  return Finder(trace, world_size).find();
}

}  // namespace stepscope
