#include "export/prof.h"

#include <gtest/gtest.h>

#include <string>

#include "export/prof_encoder.h"
#include "trace/trace_builder.h"

namespace stepscope {
namespace {

using namespace std::string_literals;

std::string text(const CallProfile& profile) {
  const auto name = [&](uint32_t number) {
    const CallProfile::Function& function = profile.functions()[number];
    return std::string(profile.string(function.file)) + ":" + std::to_string(function.line) + ":" +
           std::string(profile.string(function.name));
  };
  const auto figures = [](const CallFigures& of) {
    return " " + std::to_string(of.calls) + "/" + std::to_string(of.primitive_calls) + " " +
           std::to_string(of.self_s) + " " + std::to_string(of.total_s) + "\n";
  };
  std::string lines;
  for (const CallProfile::Entry& entry : profile.entries()) {
    lines += name(entry.function) + figures(entry.figures);
    for (const CallProfile::Caller& caller : entry.callers) {
      lines += "  from " + name(caller.function) +
               (caller.has_times ? figures(caller.figures) : std::string(" without times\n"));
    }
  }
  return lines;
}

TEST(BuildCallProfile, NamesFunctionsAsCProfileDoes) {
  TraceBuilder builder;
  const TrackId thread = builder.add_thread(ForeignId{1}, ForeignId{1});
  const auto call = [&](std::string_view name, SliceKind kind, int64_t start_s, int64_t dur_s) {
    builder.add_slice(thread, start_s * 1'000'000'000, dur_s * 1'000'000'000,
                      builder.label(name, "", kind));
  };
  call("a.py(1): <module>", SliceKind::kPython, 0, 100);
  call("a.py(5): A.f", SliceKind::kPython, 10, 10);
  call("a.py(5): B.f", SliceKind::kPython, 30, 10);
  call("<built-in method builtins.len>", SliceKind::kCall, 35, 1);
  EXPECT_EQ(text(build_call_profile(std::move(builder).finish())),
            "a.py:1:<module> 1/1 80.000000 100.000000\n"
            "a.py:5:f 2/2 19.000000 20.000000\n"
            "  from a.py:1:<module> 2/2 19.000000 20.000000\n"
            "~:0:<built-in method builtins.len> 1/1 1.000000 1.000000\n"
            "  from a.py:5:f 1/1 1.000000 1.000000\n");
}

TEST(BuildCallProfile, KeepsWhatAFileHad) {
  TraceBuilder builder;
  const FrameId f = builder.add_frame({builder.string("A.f"), kEmptyString, 0});
  const FrameId len = builder.add_frame({builder.string("len"), builder.string("~"), 0});
  builder.add_call_edge(kNoFrame, len, 3, 2, 500'000'000, 500'000'000);
  builder.add_call_edge(f, len, 3, 3, kNoCallTimeNs, kNoCallTimeNs);
  EXPECT_EQ(text(build_call_profile(std::move(builder).finish())),
            "~:0:len 3/2 0.500000 0.500000\n  from :0:A.f without times\n");
}

TEST(EncodeProf, WritesTextsAndFunctionsOnce) {
  CallProfile profile;
  const uint32_t f = profile.add_function("a", 1, "f");
  const uint32_t g = profile.add_function("a", 2, "a");
  profile.add_entry(f).figures = {1, int64_t{1} << 31, 0, 0.5};
  profile.add_entry(f).callers.push_back({g, false, {7, 7, 0, 0}});
  profile.add_entry(g);
  const std::string zero = "g\0\0\0\0\0\0\0\0"s, half = "g\0\0\0\0\0\0\xe0\x3f"s;
  // Marks: 0 is f, 1 is "a", 2 is "f", 3 is g.
  EXPECT_EQ(encode_prof(profile),
            "{\xa9\3\xfa\1ai\1\0\0\0\xfa\1f"
            ")\5l\3\0\0\0\0\0\0\0\2\0i\1\0\0\0"s +
                zero + half +
                "{\xa9\3r\1\0\0\0i\2\0\0\0r\1\0\0\0i\7\0\0\0"
                "0r\3\0\0\0)\5i\0\0\0\0i\0\0\0\0"s +
                zero + zero + "{00");
}

}  // namespace
}  // namespace stepscope
