// Arbitrary requests to the viewer's API, on a trace with something in every table: each gets an
// answer, and every error is one line.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "serve/api.h"
#include "trace/trace_for_tests.h"

namespace {

using namespace stepscope;
using namespace stepscope::serve;

std::unique_ptr<Runs> make_runs() {
  std::vector<RunInfo> infos(2);
  infos[0].trace = std::make_shared<const Trace>(make_full_trace(50, 1));
  infos[1].trace = std::make_shared<const Trace>(make_full_trace(20, 2));
  return Runs::of(std::move(infos));
}

// "path\nname=value\nname=value\n\nbody": the text before the first empty line is the request.
ApiRequest parse(std::string_view text) {
  ApiRequest request;
  const size_t body = text.find("\n\n");
  if (body != std::string_view::npos) {
    request.has_body = true;
    request.body = text.substr(body + 2);
    text = text.substr(0, body);
  }
  bool is_path = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (is_path) {
      request.path = line;
      is_path = false;
      continue;
    }
    const size_t equals = std::min(line.find('='), line.size());
    request.parameters.emplace_back(line.substr(0, equals),
                                    line.substr(std::min(equals + 1, line.size())));
  }
  return request;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::unique_ptr<Runs> runs = make_runs();
  static Api api(*runs);
  ApiRequest request = parse({reinterpret_cast<const char*>(data), size});
  int questions = 0;
  request.should_stop = [&] { return ++questions > 50; };
  const ApiAnswer answer = api.answer(request);
  const bool is_error = answer.status != kStatusFine;
  CHECK(!is_error || answer.body.starts_with("{\"error\": "), "an error says why");
  CHECK(!is_error || answer.body.find('\n') == answer.body.size() - 1, "an error is one line");
  return 0;
}
