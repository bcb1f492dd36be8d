// The bare cost of reading a trace: one simdjson on-demand pass that touches every field that a
// loader must, and keeps nothing but a checksum. It is what bench/run.py measures stepscope
// against.
//
//   simdjson_pass TRACE.json      prints {"events": ..., "checksum": ..., "cpu_s": ..., ...}
//
// The whole file is loaded into memory and iterated once, as simdjson's documentation shows.
// Strings are unescaped, ts and dur become doubles, other scalars what they are; arrays and objects
// within args are taken as their text.
#include <simdjson.h>

#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <string_view>

namespace {

using simdjson::ondemand::json_type;
namespace ondemand = simdjson::ondemand;

struct Checksum {
  uint64_t events = 0;
  uint64_t integers = 0;
  double doubles = 0;

  void add(std::string_view text) {
    integers += text.size() + (text.empty() ? 0 : static_cast<unsigned char>(text.back()));
  }
  void add(ondemand::number number) {
    if (number.is_double()) {
      doubles += number.get_double();
    } else {
      integers +=
          number.is_uint64() ? number.get_uint64() : static_cast<uint64_t>(number.get_int64());
    }
  }
};

void add_value(ondemand::value value, Checksum& sum) {
  switch (value.type()) {
    case json_type::string:
      sum.add(value.get_string().value());
      break;
    case json_type::number:
      sum.add(value.get_number().value());
      break;
    case json_type::boolean:
      sum.integers += value.get_bool().value() ? 1 : 0;
      break;
    case json_type::array:
      sum.add(value.get_array().value().raw_json().value());
      break;
    case json_type::object:
      sum.add(value.get_object().value().raw_json().value());
      break;
    case json_type::null:
      break;
  }
}

void add_event(ondemand::object event, Checksum& sum) {
  ++sum.events;
  for (auto field : event) {
    const ondemand::raw_json_string key = field.key();
    ondemand::value value = field.value();
    if (key == "ph" || key == "name" || key == "cat") {
      sum.add(value.get_string().value());
    } else if (key == "ts" || key == "dur") {
      sum.doubles += value.get_double().value();
    } else if (key == "pid" || key == "tid" || key == "id") {
      add_value(value, sum);
    } else if (key == "args") {
      for (auto argument : value.get_object()) {
        sum.add(argument.unescaped_key().value());
        add_value(argument.value(), sum);
      }
    }
  }
}

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: simdjson_pass TRACE.json\n");
    return 2;
  }
  Checksum sum;
  size_t bytes = 0;
  try {
    const simdjson::padded_string text = simdjson::padded_string::load(argv[1]);
    bytes = text.size();
    ondemand::parser parser;
    ondemand::document document = parser.iterate(text);
    for (auto event : document["traceEvents"].get_array()) add_event(event.get_object(), sum);
  } catch (const simdjson::simdjson_error& error) {
    std::fprintf(stderr, "simdjson_pass: %s: %s\n", argv[1], error.what());
    return 1;
  }
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const double cpu_s = seconds(used.ru_utime) + seconds(used.ru_stime);
  std::printf(
      "{\"events\": %llu, \"checksum\": \"%016llx-%.17g\", \"cpu_s\": %.3f, \"mb_per_s\": %.1f, "
      "\"peak_rss_bytes\": %lld}\n",
      static_cast<unsigned long long>(sum.events), static_cast<unsigned long long>(sum.integers),
      sum.doubles, cpu_s, static_cast<double>(bytes) * 1e-6 / cpu_s,
      static_cast<long long>(used.ru_maxrss) * 1024);
  return 0;
}
