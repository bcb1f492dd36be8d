#include "export/megengine_static.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "analyze/operator_records.h"
#include "export/json_text.h"
#include "export/output_file.h"
#include "trace/static_profile.h"

namespace stepscope {
namespace {

constexpr std::string_view kCpu = "CompNode(\"cpu0:0\" from \"cpu0:0\")";
constexpr std::string_view kGpu = "CompNode(\"gpu0:0\" from \"gpu0:0\")";
constexpr std::string_view kHost = "comp_node_dispatch:";

// MegEngine's name of one of torch's types; as it is, where there is none.
std::string_view type_name(std::string_view type) {
  struct Names {
    std::string_view torchs, megengines;
  };
  static constexpr auto kNames = std::to_array<Names>({{"float", "Float32"},
                                                       {"double", "Float64"},
                                                       {"c10::Half", "Float16"},
                                                       {"c10::BFloat16", "BFloat16"},
                                                       {"long int", "Int64"},
                                                       {"int", "Int32"},
                                                       {"short int", "Int16"},
                                                       {"signed char", "Int8"},
                                                       {"unsigned char", "Uint8"},
                                                       {"bool", "Bool"}});
  const auto found = std::find_if(kNames.begin(), kNames.end(),
                                  [&](const Names& names) { return names.torchs == type; });
  return found == kNames.end() ? type : found->megengines;
}

std::string shapes_json(const std::vector<Shape>& shapes) {
  std::string text = "[";
  for (const Shape& shape : shapes) {
    text += fmt::format("{}[{}]", text.size() > 1 ? ", " : "", fmt::join(shape, ", "));
  }
  return text + "]";
}

// An object that is put together member by member.
class JsonObject {
 public:
  std::string& member(std::string_view key) {
    text_ += text_.empty() ? "{" : ", ";
    json::append_string(text_, key);
    text_ += ": ";
    return text_;
  }
  std::string finish() && { return text_.empty() ? "{}" : text_ + "}"; }

 private:
  std::string text_;
};

class StaticWriter {
 public:
  explicit StaticWriter(const Trace& trace)
      : trace_(trace), records_(OperatorRecords::find(trace)) {}

  std::string write() {
    if (records_.is_static()) read_places();
    for (const OperatorRecord& record : records_.all()) add(record);
    JsonObject profiler;
    profiler.member("device") += std::move(device_).finish();
    profiler.member("host") += std::move(host_).finish();
    profiler.member("opr_footprint") += std::move(footprints_).finish();
    profiler.member("opr_internal_pf") += "[]";
    JsonObject graph;
    graph.member("operator") += std::move(operators_).finish();
    graph.member("var") += std::move(variables_).finish();
    graph.member("mem_chunk") += "{}";
    graph.member("comp_seq") += "[" + sequence_ + "]";
    JsonObject root;
    root.member("profiler") += std::move(profiler).finish();
    root.member("graph_exec") += std::move(graph).finish();
    return std::move(root).finish() + "\n";
  }

  size_t operators() const { return records_.all().size(); }

 private:
  struct Times {
    std::string place;
    int64_t start_ns = 0;
    int64_t kern_ns = 0;
    int64_t end_ns = 0;
    bool is_host = false;
  };

  // Of a static profile: all devices and threads of each operator.
  void read_places() {
    const ArgColumn* places = trace_.find_args(static_profile::kPlace, ArgType::kInt);
    const ArgColumn* kernels = trace_.find_args(static_profile::kKernNs, ArgType::kInt);
    const SliceColumns& slices = trace_.slices();
    for (size_t i = 0; i < places->rows.size(); ++i) {
      const SliceId slice = places->rows[i];
      const Track& track = trace_.tracks()[index(trace_.find_track_of(slice))];
      const int64_t start_ns = slices.start_ns[index(slice)];
      const auto kern = kernels != nullptr ? kernels->find(slice) : std::nullopt;
      times_[places->ints[i]].push_back({std::string(trace_.string(track.name)), start_ns,
                                         start_ns + (kern ? kernels->ints[*kern] : 0),
                                         slices.end_ns(index(slice)),
                                         track.kind != TrackKind::kStream});
    }
  }

  std::vector<Times> times_of(const OperatorRecord& record) const {
    if (records_.is_static()) {
      const ArgColumn* places = trace_.find_args(static_profile::kPlace, ArgType::kInt);
      const auto at = places->find(record.slice);
      const auto found = at ? times_.find(places->ints[*at]) : times_.end();
      return found != times_.end() ? found->second : std::vector<Times>();
    }
    const int64_t start_ns = trace_.slices().start_ns[index(record.slice)] - trace_.begin_ns();
    std::vector<Times> times;
    const auto add = [&](std::string place, double seconds, bool is_host) {
      if (std::isnan(seconds)) return;
      const auto dur_ns = static_cast<int64_t>(std::llround(seconds * 1e9));
      times.push_back({std::move(place), start_ns, start_ns, start_ns + dur_ns, is_host});
    };
    const std::string_view device = records_.has_device() ? kGpu : kCpu;
    add(std::string(device), record.device.to_end_s, false);
    add(fmt::format("{}{}", kHost, kCpu), record.host.to_end_s, true);
    return times;
  }

  void add(const OperatorRecord& record) {
    const std::string id = records_.id(record);
    sequence_ += sequence_.empty() ? "" : ", ";
    json::append_string(sequence_, id);
    JsonObject device, host;
    for (const Times& times : times_of(record)) {
      (times.is_host ? host : device).member(times.place) += fmt::format(
          "{{\"start\": {:.9f}, \"kern\": {:.9f}, \"end\": {:.9f}}}",
          static_cast<double>(times.start_ns) / 1e9, static_cast<double>(times.kern_ns) / 1e9,
          static_cast<double>(times.end_ns) / 1e9);
    }
    if (!std::isnan(record.device.to_end_s)) device_.member(id) += std::move(device).finish();
    if (!std::isnan(record.host.to_end_s)) host_.member(id) += std::move(host).finish();
    add_footprint(record, id);
    add_operator(record, id);
  }

  void add_footprint(const OperatorRecord& record, const std::string& id) {
    JsonObject footprint;
    const auto number = [](double value) {
      return std::isnan(value) ? std::string("null") : fmt::format("{:.0f}", value);
    };
    footprint.member("computation") += number(record.computation);
    if (!std::isnan(record.memory)) footprint.member("memory") += number(record.memory);
    if (const auto shapes = records_.in_shapes(record)) {
      footprint.member("in_shapes") += shapes_json(*shapes);
    }
    if (const std::string_view layouts = records_.text(record, static_profile::kInLayouts);
        json::is_value(layouts)) {
      footprint.member("in_layouts") += layouts;
    }
    if (const auto shapes = records_.out_shapes(record)) {
      footprint.member("out_shapes") += shapes_json(*shapes);
    }
    const std::string_view param = records_.text(record, static_profile::kParam);
    footprint.member("param") += json::is_value(param) ? param : "{}";
    footprints_.member(id) += std::move(footprint).finish();
  }

  void add_operator(const OperatorRecord& record, const std::string& id) {
    const std::vector<std::string> types = records_.input_types(record);
    const auto inputs = records_.in_shapes(record).value_or(std::vector<Shape>());
    const auto outputs = records_.out_shapes(record).value_or(std::vector<Shape>());
    const std::string first_type = types.empty() ? "" : types[0];
    std::string input_ids, output_ids;
    for (size_t i = 0; i < inputs.size(); ++i) {
      add_variable(input_ids, inputs[i], i < types.size() ? types[i] : first_type);
    }
    for (const Shape& shape : outputs) add_variable(output_ids, shape, first_type);
    JsonObject about;
    about.member("id") += quoted(id);
    about.member("name") += quoted(records_.name(record));
    about.member("type") += quoted(records_.type(record));
    about.member("input") += "[" + input_ids + "]";
    about.member("output") += "[" + output_ids + "]";
    about.member("node_type") += "\"operator\"";
    operators_.member(id) += std::move(about).finish();
  }

  void add_variable(std::string& ids, const Shape& shape, std::string_view type) {
    const std::string id = std::to_string(next_variable_++);
    ids += fmt::format("{}\"v{}\"", ids.empty() ? "" : ", ", id);
    JsonObject variable;
    variable.member("id") += fmt::format("\"v{}\"", id);
    std::string& plan = variable.member("mem_plan");
    if (type.empty()) {
      plan += "null";
    } else {
      plan += "{\"layout\": {\"dtype\": ";
      json::append_string(plan, type_name(type));
      plan += fmt::format(", \"shape\": [{}]}}, \"offset_byte\": 0, \"mem_chunk_id\": null}}",
                          fmt::join(shape, ", "));
    }
    variable.member("node_type") += "\"var\"";
    variables_.member("v" + id) += std::move(variable).finish();
  }

  static std::string quoted(std::string_view text) {
    std::string result;
    json::append_string(result, text);
    return result;
  }

  const Trace& trace_;
  const OperatorRecords records_;
  std::map<int64_t, std::vector<Times>> times_;  // by place in the graph
  JsonObject device_, host_, footprints_, operators_, variables_;
  std::string sequence_;
  uint64_t next_variable_ = 0;
};

}  // namespace

Result<std::vector<std::string>> write_megengine_static(const Trace& trace,
                                                        const std::string& path) {
  StaticWriter writer(trace);
  if (writer.operators() == 0) {
    return Status::error(trace.source() + ": no operators in this trace");
  }
  auto out = OutputFile::create(path);
  if (!out) return out.status();
  (*out)->append(writer.write());
  if (Status status = (*out)->finish(); !status) return status;
  std::vector<std::string> left_out;
  if (!trace.counters().time_ns.empty() || !trace.samples().time_ns.empty()) {
    left_out.push_back("all but operators: a static profile has no place for it");
  }
  return left_out;
}

}  // namespace stepscope
