#include "export/pprof.h"

#include <protozero/pbf_writer.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "export/output_file.h"
#include "export/stack_export.h"
#include "export/utf8_text.h"

namespace stepscope {
namespace {

// Numbers of profile.proto's fields.
namespace profile {
enum : uint32_t {
  kSampleType = 1,
  kSample = 2,
  kLocation = 4,
  kFunction = 5,
  kString = 6,
  kTimeNs = 9,
  kDurationNs = 10,
  kDefaultSampleType = 14,
};
}
namespace value_type {
enum : uint32_t { kType = 1, kUnit = 2 };
}
namespace sample {
enum : uint32_t { kLocation = 1, kValue = 2 };
}
namespace location {
enum : uint32_t { kId = 1, kLine = 4 };
}
namespace line {
enum : uint32_t { kFunction = 1, kLine = 2 };
}
namespace function {
// Without a system name: readers would demangle it, and so take "<lambda>" for a template.
enum : uint32_t { kId = 1, kName = 2, kFile = 4, kStartLine = 5 };
}  // namespace function

class PprofWriter {
 public:
  PprofWriter(const Trace& trace, const CallTree& tree, OutputFile& out)
      : trace_(trace), tree_(tree), out_(out) {
    string("");  // the first has to be
  }

  void write(uint32_t max_level) {
    protozero::pbf_writer pbf(bytes_);
    const bool has_calls = tree_.source() == CallTree::Source::kSlices;
    const WeightUnit unit = weight_unit(trace_, tree_.source());
    add_value_type(pbf, has_calls ? "calls" : "samples", "count");
    switch (unit) {
      case WeightUnit::kNs:
        add_value_type(pbf, time_name(), "nanoseconds");
        break;
      case WeightUnit::kBytes:
        add_value_type(pbf, "space", "bytes");
        break;
      case WeightUnit::kNone:
        add_value_type(pbf, "weight", "count");
        break;
    }
    add_functions(pbf);
    add_samples(pbf, max_level);
    if (trace_.clock_base_ns() != 0) {
      pbf.add_int64(profile::kTimeNs, trace_.clock_base_ns() + trace_.begin_ns());
    }
    if (unit == WeightUnit::kNs) {
      pbf.add_int64(profile::kDurationNs, trace_.end_ns() - trace_.begin_ns());
    }
    const std::string_view main = unit == WeightUnit::kNs      ? time_name()
                                  : unit == WeightUnit::kBytes ? "space"
                                                               : "weight";
    pbf.add_int64(profile::kDefaultSampleType, string(main));
    for (const std::string& text : strings_) {
      pbf.add_string(profile::kString, text);
      flush_if_full();
    }
    out_.append(bytes_);
  }

 private:
  std::string_view time_name() const { return tree_.is_cpu_time() ? "cpu" : "time"; }

  int64_t string(std::string_view text) {
    std::string valid;
    append_utf8(valid, text);
    const auto number = static_cast<int64_t>(strings_.size());
    const auto [it, is_new] = string_numbers_.emplace(valid, number);
    if (is_new) strings_.push_back(std::move(valid));
    return it->second;
  }

  void add_value_type(protozero::pbf_writer& pbf, std::string_view type, std::string_view unit) {
    const int64_t type_number = string(type);
    const int64_t unit_number = string(unit);
    protozero::pbf_writer of_type(pbf, profile::kSampleType);
    of_type.add_int64(value_type::kType, type_number);
    of_type.add_int64(value_type::kUnit, unit_number);
  }

  // Ids are numbers from 1; a function and its location have the same.
  void add_functions(protozero::pbf_writer& pbf) {
    for (size_t i = 0; i < tree_.functions().size(); ++i) {
      const CallTree::Function& from = tree_.functions()[i];
      const int64_t name = string(from.name);
      const int64_t file = string(from.file);
      {
        protozero::pbf_writer to(pbf, profile::kFunction);
        to.add_uint64(function::kId, i + 1);
        to.add_int64(function::kName, name);
        to.add_int64(function::kFile, file);
        to.add_int64(function::kStartLine, std::max<int64_t>(0, from.line));
      }
      protozero::pbf_writer of_location(pbf, profile::kLocation);
      of_location.add_uint64(location::kId, i + 1);
      protozero::pbf_writer of_line(of_location, location::kLine);
      of_line.add_uint64(line::kFunction, i + 1);
      of_line.add_int64(line::kLine, std::max<int64_t>(0, from.line));
    }
    flush_if_full();
  }

  void add_samples(protozero::pbf_writer& pbf, uint32_t max_level) {
    std::vector<uint64_t> locations;
    for_each_stack(tree_, max_level, [&](const Stack& stack) {
      if (!out_.ok()) return;
      locations.assign(stack.functions.rbegin(), stack.functions.rend());  // the innermost first
      for (uint64_t& id : locations) ++id;
      const std::array<int64_t, 2> values = {static_cast<int64_t>(stack.calls), stack.own_ns};
      {
        protozero::pbf_writer of_sample(pbf, profile::kSample);
        of_sample.add_packed_uint64(sample::kLocation, locations.begin(), locations.end());
        of_sample.add_packed_int64(sample::kValue, values.begin(), values.end());
      }
      flush_if_full();
    });
  }

  // Between two fields of the profile a message may be cut as one likes.
  void flush_if_full() {
    constexpr size_t kFlushBytes = 256 << 10;
    if (bytes_.size() <= kFlushBytes) return;
    out_.append(bytes_);
    bytes_.clear();
  }

  const Trace& trace_;
  const CallTree& tree_;
  OutputFile& out_;
  std::string bytes_;
  std::vector<std::string> strings_;
  std::unordered_map<std::string, int64_t> string_numbers_;
};

}  // namespace

Result<std::vector<std::string>> write_pprof(const Trace& trace, const std::string& path,
                                             const ExportOptions& options) {
  const Result<CallTree> tree = build_stacks(trace, options);
  if (!tree) return tree.status();
  auto out = OutputFile::create(path, Compression::kGzip);
  if (!out) return out.status();
  const uint32_t max_level = find_max_level(*tree);
  PprofWriter(trace, *tree, **out).write(max_level);
  if (Status status = (*out)->finish(); !status) return status;
  return describe_left_out(trace, *tree, max_level);
}

}  // namespace stepscope
