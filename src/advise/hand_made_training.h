// For tests: a training loop as a recording of our own shows it: steps, marks of fetching,
// functions of the program's own, operators, and the counters of the machine. Times are in us; what
// holds something is 2 ns longer than that.
//
//   HandMadeTraining training(2);                      // cores
//   for (int i = 0; i < 10; ++i) {
//     training.step([&] {
//       training.fetch(600, "load");
//       training.op("aten::mm", 400);
//     });
//   }
//   Findings found = training.check(check_dataloader_in_process);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "advise/rules.h"
#include "analyze/hand_made_trace.h"

namespace stepscope {

class HandMadeTraining {
 public:
  // `thread` is the number of the training thread, in process 1.
  explicit HandMadeTraining(int cores = 2, int64_t thread = 1) : made(thread) {
    for (int i = 0; i < cores; ++i) count("core " + std::to_string(i), "", 0);
  }

  template <typename Body>
  void step(Body&& body) {
    const int64_t begin_ns = now_ns_++;
    body();
    made.step("ProfilerStep#" + std::to_string(step_++), begin_ns, ++now_ns_ - begin_ns);
  }
  void op(std::string_view name, int64_t dur_us) {
    made.op(name, now_ns_, ns(dur_us));
    now_ns_ += ns(dur_us);
  }
  // Nothing that is recorded.
  void pass(int64_t dur_us) { now_ns_ += ns(dur_us); }

  // A function of the program's own, and what it does.
  template <typename Body>
  void function(std::string_view name, Body&& body) {
    python("/home/me/train.py(7): " + std::string(name), body);
  }
  template <typename Body>
  void python(std::string_view name, Body&& body) {
    const int64_t begin_ns = now_ns_++;
    body();
    made.python(name, begin_ns, ++now_ns_ - begin_ns);
  }
  template <typename Body>
  void mark(std::string_view name, Body&& body, std::string_view category = "phase") {
    const int64_t begin_ns = now_ns_++;
    body();
    made.add(made.thread(), name, category, SliceKind::kAnnotation, begin_ns, ++now_ns_ - begin_ns);
  }
  // The DataLoader's __next__.
  template <typename Body>
  void next(Body&& body, std::string_view iterator = "_SingleProcess") {
    mark("enumerate(DataLoader)#" + std::string(iterator) + "DataLoaderIter.__next__", body,
         "user_annotation");
  }
  // A batch that is made on this thread, by one function.
  void fetch(int64_t dur_us, std::string_view name) {
    next([&] { mark("fetch", [&] { function(name, [&] { pass(dur_us); }); }); });
  }
  // A batch that is waited for while a worker makes it in so much time.
  void wait(int64_t dur_us, int worker, int64_t fetch_us) {
    const TrackId track =
        made.builder().add_thread(ForeignId{100 + worker}, ForeignId{100 + worker});
    made.add(track, "fetch", "phase", SliceKind::kAnnotation, now_ns_, ns(fetch_us));
    made.add(track, "/home/me/data.py(3): Pictures.__getitem__", "python_function",
             SliceKind::kPython, now_ns_ + 1, ns(fetch_us) - 2);
    next([&] { pass(dur_us); }, "_MultiProcessing");
  }
  void count(std::string_view name, std::string_view series, double value) {
    TraceBuilder& builder = made.builder();
    const TrackId track =
        builder.add_counter(ForeignId{1}, builder.string(name), builder.string(series));
    for (int64_t us = 0; us < 20'000; us += 100) {
      builder.add_counter_value(track, now_ns_ + ns(us), value);
    }
  }

  // What a rule finds. Uses the trace up.
  Findings check(Rule rule) {
    const Trace trace = made.build();
    const Case c(trace);
    Findings found;
    rule(c, found);
    return found;
  }

  HandMadeTrace made;

 private:
  static int64_t ns(int64_t us) { return 1000 * us; }

  int64_t now_ns_ = 1'000'000;
  int step_ = 0;
};

}  // namespace stepscope
