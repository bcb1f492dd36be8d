#include "serve/html_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "advise/advise.h"
#include "analyze/device_slices.h"
#include "analyze/memory_flow.h"
#include "serve/api.h"
#include "serve/html_file.h"
#include "serve/html_tiles.h"
#include "serve/json_writer.h"

namespace stepscope::serve {
namespace {

// Shares of the room: tables and stacks take at most 60 %, one of them a quarter of what is left;
// tiles leave 15 % to the details of slices.
constexpr double kShareAfterTables = 0.4;
constexpr uint64_t kPartForOne = 4;
constexpr double kShareOfSlices = 0.15;

constexpr size_t kSlicesPerBlock = 1'000;
constexpr size_t kSlicesBytes = size_t{4} << 20;  // those of deep stacks are large
constexpr size_t kMaxDetailedLabels = 20'000;     // whose longest slice has its details in the file
constexpr size_t kMaxSlices = 300'000;            // of one run, for the sake of time
constexpr size_t kMaxFlowDevices = 32;

// What a view asks, and what its answer is made with instead where it is too large.
struct Question {
  std::string_view title;
  std::string_view path;
  ApiParameters parameters;
  std::string_view smaller_by;  // a parameter; "" where there is no smaller answer
  std::vector<std::string_view> smaller = {};
  std::string_view body = {};
};

const std::vector<std::string_view> kFewerRows = {"20000", "2000", "200"};
const std::vector<std::string_view> kFewerNodes = {"0.001", "0.01"};
const std::vector<std::string_view> kFewerRectangles = {"5000", "1000", "200"};

Question table_of(std::string_view title, std::string view, ApiParameters others = {}) {
  ApiParameters parameters = {{"view", std::move(view)}};
  parameters.insert(parameters.end(), others.begin(), others.end());
  return {title, "table", std::move(parameters), "limit", kFewerRows};
}

Question job_view_of(std::string_view title, std::string view, ApiParameters others = {}) {
  Question question = table_of(title, std::move(view), std::move(others));
  question.path = "job";
  question.parameters.emplace_back("limit", "0");
  return question;
}

// Of all runs together.
std::vector<Question> make_job_questions() {
  return {
      job_view_of("the ranks", "ranks"),
      job_view_of("findings about the ranks", "findings"),
      job_view_of("collectives", "collectives"),
      job_view_of("process groups", "groups"),
      job_view_of("collectives by rank", "collectives", {{"by", "rank"}}),
  };
}

Question flame_of(std::string_view title, std::string least, std::string kind) {
  ApiParameters parameters = {{"least", std::move(least)}};
  if (!kind.empty()) parameters.emplace_back("kind", std::move(kind));
  return {title, "flame", std::move(parameters), "least", kFewerNodes};
}

// What the page says where there is no device is the answer to the first of them.
void add_device_questions(const Trace& trace, std::vector<Question>& questions) {
  const std::pair<std::string, std::string> all = {"limit", "0"};
  questions.push_back(table_of("the GPU's time", "gpu", {all}));
  if (DeviceSlices::of(trace)->empty()) return;
  struct Grouping {
    std::string_view view;
    std::vector<std::string_view> by;
  };
  const std::array<Grouping, 8> groupings = {{{"gpu", {"stream", "type", "annotation"}},
                                              {"launches", {"", "stream"}},
                                              {"copies", {""}},
                                              {"syncs", {""}},
                                              {"critical_path", {"", "event"}},
                                              {"sequences", {"", "stream"}},
                                              {"roofline", {""}},
                                              {"cupti", {""}}}};
  for (const Grouping& grouping : groupings) {
    for (const std::string_view by : grouping.by) {
      ApiParameters parameters = {all};
      if (!by.empty()) parameters.emplace_back("by", by);
      questions.push_back(table_of(grouping.view, std::string(grouping.view), parameters));
    }
  }
}

// As docs/viewer.md lists them, what is seen first at the top.
std::vector<Question> make_questions(const Trace& trace) {
  const std::pair<std::string, std::string> all = {"limit", "0"};
  std::vector<Question> questions = {
      {"the tracks", "tracks", {}, ""},
      table_of("the overview", "overview"),
      table_of("the findings", "findings"),
      table_of("phases of steps", "phases", {all}),
      {"the environment",
       "sql",
       {{"limit", "200"}},
       "limit",
       {"20"},
       "SELECT key, value FROM metadata"},
      table_of("devices over time", "devices", {{"by", "time"}, all}),
      table_of("functions", "functions", {all}),
      table_of("lines", "lines", {all}),
      flame_of("stacks of functions", "0.0001", "python,call"),
      table_of("operators", "operators", {all}),
      table_of("kernels", "kernels", {all}),
      table_of("devices", "devices"),
      table_of("modules", "modules", {all}),
      table_of("steps", "steps", {all}),
      table_of("memory by operator", "memory", {{"by", "operator"}, all}),
      table_of("memory by category", "memory", {{"by", "category"}, {"limit", "200000"}}),
      table_of("input pipelines", "input", {all}),
      flame_of("stacks of annotations", "0", "annotation"),
      table_of("functions of workers", "functions", {{"filter", "^_worker_loop$"}, all}),
      table_of("functions of loaders", "functions",
               {{"filter", "DataLoaderIter\\._get_data$"}, all}),
      table_of("callees of loaders", "callees",
               {{"filter", "DatasetFetcher\\.fetch|^default_collate$|^collate$"}, all}),
      {"allocations", "memory-flow", {{"limit", "20000"}}, "limit", kFewerRectangles},
      flame_of("stacks of everything", "0.0001", ""),
      flame_of("stacks of functions and operators", "0.0001", "python,call,operator"),
      flame_of("stacks of operators", "0.0001", "operator"),
      table_of("operators by shape", "operators", {{"by", "shape"}, all}),
      table_of("operators by stack", "operators", {{"by", "stack"}, all}),
  };
  add_device_questions(trace, questions);
  const MemoryFlow flow = build_memory_flow(trace, {.device = {}, .limit = 1});
  for (size_t i = 0; flow.devices.size() > 1 && i < flow.devices.size() && i < kMaxFlowDevices;
       ++i) {
    questions.push_back({"allocations",
                         "memory-flow",
                         {{"device", flow.devices[i].name}, {"limit", "20000"}},
                         "limit",
                         kFewerRectangles});
  }
  return questions;
}

// How the page knows a question: its parameters as they were to be asked.
std::string make_entry(const Question& question, std::optional<size_t> run) {
  JsonWriter json;
  json.begin_object();
  json.field("kind", "answer");
  json.field("path", question.path);
  json.key("parameters").begin_object();
  if (run) json.field("run", std::to_string(*run));
  for (const auto& [name, value] : question.parameters) json.field(name, value);
  json.end_object();
  if (!question.body.empty()) json.field("body", question.body);
  json.end_object();
  return std::move(json).text();
}

class HtmlExport {
 public:
  HtmlExport(std::vector<RunInfo> infos, HtmlFile& file, const HtmlExportOptions& options)
      : infos_(std::move(infos)),
        runs_(Runs::of(infos_)),
        api_(*runs_),
        file_(file),
        options_(options),
        room_(file.bytes_left()),
        has_details_(infos_.size()) {
    for (const RunInfo& info : infos_) {
      if (info.trace) ++open_runs_;
    }
  }

  std::vector<std::string> write() {
    ApiRequest request;
    request.path = "runs";
    file_.add(HtmlFile::pack("{\"kind\": \"answer\", \"path\": \"runs\", \"parameters\": {}}",
                             api_.answer(request).body));
    if (open_runs_ > 0) {
      for (const Question& question : make_job_questions()) add_answer(std::nullopt, question);
    }
    for (size_t run = 0; run < infos_.size(); ++run) {
      if (infos_[run].trace) add_answers(run);
    }
    for (size_t run = 0; run < infos_.size(); ++run) {
      if (infos_[run].trace) add_evidence(run);
    }
    add_timeline();
    for (size_t run = 0; run < infos_.size(); ++run) {
      if (infos_[run].trace) add_details(run);
    }
    return std::move(left_out_);
  }

 private:
  void show_progress(double fraction) const {
    if (options_.progress) options_.progress(fraction);
  }

  std::string name_of(std::optional<size_t> run) const {
    return run && infos_.size() > 1 ? infos_[*run].name + ": " : std::string();
  }

  ApiAnswer ask(std::optional<size_t> run, const Question& question, std::string_view instead) {
    ApiRequest request;
    request.path = std::string(question.path);
    if (run) request.parameters = {{"run", std::to_string(*run)}};
    bool is_set = false;
    for (auto [name, value] : question.parameters) {
      if (!instead.empty() && name == question.smaller_by) {
        value = std::string(instead);
        is_set = true;
      }
      request.parameters.emplace_back(std::move(name), std::move(value));
    }
    if (!instead.empty() && !is_set) {
      request.parameters.emplace_back(std::string(question.smaller_by), std::string(instead));
    }
    request.has_body = !question.body.empty();
    request.body = std::string(question.body);
    return api_.answer(request);
  }

  // Tables share what they may have among the runs.
  uint64_t room_for_answer() const {
    const double done = static_cast<double>(runs_done_ + 1) / static_cast<double>(open_runs_);
    const auto until =
        static_cast<uint64_t>(static_cast<double>(room_) * (1 - (1 - kShareAfterTables) * done));
    const uint64_t left = file_.bytes_left();
    return left > until ? std::min(left - until, left / kPartForOne) : 0;
  }

  void add_answers(size_t run) {
    const std::vector<Question> questions = make_questions(*infos_[run].trace);
    for (size_t i = 0; i < questions.size(); ++i) {
      add_answer(run, questions[i]);
      const double done = static_cast<double>(runs_done_) +
                          static_cast<double>(i + 1) / static_cast<double>(questions.size());
      show_progress(0.5 * done / static_cast<double>(open_runs_));
    }
    ++runs_done_;
  }

  // Of one run, or of all together.
  void add_answer(std::optional<size_t> run, const Question& question) {
    if (try_answer(run, question, {})) return;
    for (const std::string_view instead : question.smaller) {
      if (!try_answer(run, question, instead)) continue;
      left_out_.push_back(fmt::format("{}{}: {}", name_of(run), question.title,
                                      question.smaller_by == "least"
                                          ? fmt::format("stacks of less than {} % of the time",
                                                        instead == "0.001" ? "0.1" : "1")
                                          : fmt::format("all but the first {}", instead)));
      return;
    }
    left_out_.push_back(fmt::format("{}{}: all of it", name_of(run), question.title));
  }

  bool try_answer(std::optional<size_t> run, const Question& question, std::string_view instead) {
    const ApiAnswer answer = ask(run, question, instead);
    // Too large to be asked at once.
    if (answer.status != kStatusFine) return false;
    const HtmlBlock block = HtmlFile::pack(make_entry(question, run), answer.body);
    return block.bytes() <= room_for_answer() && file_.add(block);
  }

  // The slices that findings lead to.
  void add_evidence(size_t run) {
    const Trace& trace = *infos_[run].trace;
    has_details_[run].assign(trace.slices().size(), false);
    std::vector<uint32_t> slices;
    for (const Finding& finding : Advice::of(trace)->findings) {
      for (const SliceId slice : finding.slices) slices.push_back(index(slice));
    }
    add_slices(run, std::move(slices));
  }

  void add_timeline() {
    std::vector<const Trace*> traces;
    for (const RunInfo& info : infos_) traces.push_back(info.trace.get());
    const auto to_leave = static_cast<uint64_t>(static_cast<double>(room_) * kShareOfSlices);
    const HtmlTilesResult result = add_tiles(
        api_, traces, file_, to_leave, [this](double part) { show_progress(0.5 + 0.3 * part); });
    if (result.cut_tracks == 0) return;
    left_out_.push_back(fmt::format("the finest details of {} of {} tracks of the timeline",
                                    result.cut_tracks, result.tracks));
  }

  // First the longest slice of each name, then the longest ones, as many as fit.
  void add_details(size_t run) {
    const Trace& trace = *infos_[run].trace;
    const size_t slices = trace.slices().size();
    add_slices(run, find_longest_of_labels(trace));
    const uint64_t share = file_.bytes_left() / (open_runs_ - details_done_++);
    const double bytes_per_slice = measure_slice(run);
    const auto fitting = static_cast<size_t>(static_cast<double>(share) / bytes_per_slice);
    add_slices(run, find_longest(trace, std::min(fitting, kMaxSlices)));
    const auto there =
        static_cast<size_t>(std::count(has_details_[run].begin(), has_details_[run].end(), true));
    if (there == slices) return;
    left_out_.push_back(fmt::format("{}arguments, stacks and flows of {} of {} slices",
                                    name_of(run), slices - there, slices));
  }

  static std::vector<uint32_t> take_longest(const Trace& trace, std::vector<uint32_t> slices,
                                            size_t count) {
    if (slices.size() <= count) return slices;
    std::nth_element(slices.begin(), slices.begin() + static_cast<ptrdiff_t>(count), slices.end(),
                     [&](uint32_t a, uint32_t b) {
                       return trace.slices().dur_ns[a] > trace.slices().dur_ns[b];
                     });
    slices.resize(count);
    return slices;
  }

  static std::vector<uint32_t> find_longest_of_labels(const Trace& trace) {
    constexpr uint32_t kNone = UINT32_MAX;
    std::vector<uint32_t> longest(trace.labels().size(), kNone);
    for (uint32_t i = 0; i < trace.slices().size(); ++i) {
      uint32_t& best = longest[index(trace.slices().label[i])];
      if (best == kNone || trace.slices().dur_ns[i] > trace.slices().dur_ns[best]) best = i;
    }
    std::erase(longest, kNone);
    return take_longest(trace, std::move(longest), kMaxDetailedLabels);
  }

  std::vector<uint32_t> find_longest(const Trace& trace, size_t count) const {
    std::vector<uint32_t> all(trace.slices().size());
    for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    return take_longest(trace, std::move(all), count);
  }

  struct PackedSlices {
    HtmlBlock block;
    size_t count = 0;
  };

  // As many of the first slices as make a block.
  PackedSlices pack_slices(size_t run, std::span<const uint32_t> slices) {
    std::string bodies = "[";
    size_t count = 0;
    while (count < slices.size() && count < kSlicesPerBlock && bodies.size() < kSlicesBytes) {
      ApiRequest request;
      request.path = "slice";
      request.parameters = {{"run", std::to_string(run)}, {"id", std::to_string(slices[count])}};
      if (count++ > 0) bodies += ',';
      bodies += api_.answer(request).body;
    }
    bodies += ']';
    return {
        HtmlFile::pack(fmt::format(R"({{"kind": "slices", "run": {}, "first": {}, "last": {}}})",
                                   run, slices.front(), slices[count - 1]),
                       bodies),
        count};
  }

  // Bytes that the details of a slice take, by a sample of those all over the run.
  double measure_slice(size_t run) {
    const uint32_t slices = infos_[run].trace->slices().size();
    if (slices == 0) return 1;
    const uint32_t step = std::max<uint32_t>(1, slices / kSlicesPerBlock);
    std::vector<uint32_t> sample;
    for (uint32_t i = 0; i < slices; i += step) sample.push_back(i);
    const PackedSlices packed = pack_slices(run, sample);
    return static_cast<double>(packed.block.bytes()) / static_cast<double>(packed.count);
  }

  // By number, so that a block holds neighbours. Those that are there already are passed over.
  void add_slices(size_t run, std::vector<uint32_t> slices) {
    std::vector<bool>& there = has_details_[run];
    std::sort(slices.begin(), slices.end());
    slices.erase(std::unique(slices.begin(), slices.end()), slices.end());
    std::erase_if(slices, [&](uint32_t slice) { return slice >= there.size() || there[slice]; });
    std::span<const uint32_t> left = slices;
    while (!left.empty()) {
      const PackedSlices packed = pack_slices(run, left);
      if (!file_.add(packed.block)) return;
      for (const uint32_t slice : left.first(packed.count)) there[slice] = true;
      left = left.subspan(packed.count);
    }
  }

  const std::vector<RunInfo> infos_;
  const std::unique_ptr<Runs> runs_;
  Api api_;
  HtmlFile& file_;
  const HtmlExportOptions& options_;
  const uint64_t room_;
  size_t open_runs_ = 0;
  size_t runs_done_ = 0;
  size_t details_done_ = 0;
  std::vector<std::vector<bool>> has_details_;  // by run and slice
  std::vector<std::string> left_out_;
};

}  // namespace

Result<std::vector<std::string>> export_html(std::vector<RunInfo> runs, const std::string& path,
                                             const HtmlExportOptions& options) {
  std::string title = runs.empty() ? std::string() : runs.front().name;
  if (runs.size() > 1) title += fmt::format(" and {} more", runs.size() - 1);
  auto file = HtmlFile::create(path, title, options.max_bytes);
  if (!file) return file.status();
  std::vector<std::string> left_out = HtmlExport(std::move(runs), **file, options).write();
  const Status status = (*file)->finish(left_out);
  if (!status) return status;
  return left_out;
}

}  // namespace stepscope::serve
