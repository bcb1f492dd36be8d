// Arbitrary bytes as a .prof: decoded, written and decoded again, which must give the same; put
// through all that stepscope.pstats does with it; and loaded as a trace, with its views and back.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "analyze/call_stats.h"
#include "analyze/views.h"
#include "base/check.h"
#include "export/prof.h"
#include "export/prof_encoder.h"
#include "ingest/load.h"
#include "ingest/prof_decoder.h"

namespace {

using namespace stepscope;

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool is_same(const CallFigures& a, const CallFigures& b) {
  return a.calls == b.calls && a.primitive_calls == b.primitive_calls &&
         is_same(a.self_s, b.self_s) && is_same(a.total_s, b.total_s);
}

void check_same(const CallProfile& a, const CallProfile& b) {
  const auto check_function = [&](uint32_t of_a, uint32_t of_b) {
    const CallProfile::Function &f = a.functions()[of_a], &g = b.functions()[of_b];
    CHECK(f.line == g.line && a.string(f.file) == b.string(g.file) &&
              a.string(f.name) == b.string(g.name),
          "functions stay the same");
  };
  CHECK(a.entries().size() == b.entries().size(), "no function is lost");
  for (size_t i = 0; i < a.entries().size(); ++i) {
    const CallProfile::Entry &x = a.entries()[i], &y = b.entries()[i];
    check_function(x.function, y.function);
    CHECK(is_same(x.figures, y.figures), "figures stay the same");
    CHECK(x.callers.size() == y.callers.size(), "no caller is lost");
    for (size_t k = 0; k < x.callers.size(); ++k) {
      check_function(x.callers[k].function, y.callers[k].function);
      CHECK(x.callers[k].has_times == y.callers[k].has_times, "callers keep their kind");
      CHECK(is_same(x.callers[k].figures, y.callers[k].figures), "callers stay the same");
    }
  }
}

void print_all(CallStats& stats) {
  for (int field = 0; field <= static_cast<int>(CallStats::Field::kStandardName); ++field) {
    const CallStats::SortKey key{static_cast<CallStats::Field>(field), field % 2 == 0};
    const CallStats::Rows rows = stats.sort({&key, 1});
    CHECK(rows.size() == stats.profile().entries().size(), "no row is lost");
    (void)stats.format_stats(rows);
  }
  const CallStats::Rows rows = stats.rows();
  const size_t width = stats.totals().name_width + 2;
  CHECK(width == stats.standard_width(rows) + 2, "the longest name is found");
  (void)stats.format_callers(rows, width);
  (void)stats.format_callees(rows, width);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Result<CallProfile> profile = decode_prof(bytes, "fuzz");
  if (profile) {
    const Result<CallProfile> again = decode_prof(encode_prof(*profile), "fuzz");
    CHECK(again.ok(), "what is written can be read");
    check_same(*profile, *again);
    CallStats stats(*std::move(profile));
    print_all(stats);
    Result<CallStats> stripped = stats.without_folders();
    if (stripped) print_all(*stripped);
    if (stripped && stripped->add(stats)) print_all(*stripped);
    CHECK(stats.add(stats).ok(), "a profile can be added to itself");
  }
  if (!looks_like_prof(bytes)) return 0;  // another format's fuzzer has it
  const Result<Trace> trace = load_bytes(bytes, "fuzz");
  if (trace) {
    for (const char* view : {"overview", "functions", "callers", "callees", "tree"}) {
      CHECK(make_view(*trace, view, {}).ok(), "every view can be made");
    }
    CHECK(decode_prof(encode_prof(build_call_profile(*trace)), "fuzz").ok(), "it can be written");
  }
  return 0;
}
