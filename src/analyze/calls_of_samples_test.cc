#include "analyze/calls_of_samples.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "analyze/phase_times.h"
#include "analyze/step_spans.h"
#include "analyze/views.h"
#include "trace/function_name.h"
#include "trace/trace_builder.h"

namespace stepscope {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr const char* kLoader = "/lib/python3.11/site-packages/torch/utils/data/dataloader.py";
constexpr const char* kFetch = "/lib/python3.11/site-packages/torch/utils/data/_utils/fetch.py";
constexpr const char* kModule = "/lib/python3.11/site-packages/torch/nn/modules/module.py";
constexpr const char* kTensor = "/lib/python3.11/site-packages/torch/_tensor.py";
constexpr const char* kAutograd = "/lib/python3.11/site-packages/torch/autograd/__init__.py";
constexpr const char* kOptimizer = "/lib/python3.11/site-packages/torch/optim/optimizer.py";

// A training loop: marks as our collector records them, and samples of the same thread.
class Training {
 public:
  Training() {
    builder_.add_metadata("sampling", R"({"period_ns": 10000000})", true);
    builder_.set_format(std::string(kRecordingFormat));
    thread_ = builder_.add_thread(ForeignId{7}, ForeignId{7});
  }

  struct Function {
    const char* name;
    const char* file;
  };
  StackId stack(const std::vector<Function>& functions) {
    StackId stack = kNoStack;
    for (const Function& function : functions) {
      const FrameId frame =
          builder_.add_frame({builder_.string(function.name), builder_.string(function.file), 1});
      stack = builder_.add_stack({stack, frame, 2});
    }
    return stack;
  }
  void mark(const char* name, const char* category, int64_t begin_ns, int64_t end_ns,
            SliceKind kind = SliceKind::kAnnotation) {
    builder_.add_slice(thread_, begin_ns, end_ns - begin_ns, builder_.label(name, category, kind));
  }
  void sample(StackId stack, int64_t time_ns, uint8_t flags = 0, int64_t count = 1) {
    builder_.add_sample(thread_, time_ns, stack, count * 10 * kMs,
                        (flags & kSampleWaited) != 0 ? 0 : 10 * kMs, flags, count);
  }
  Trace finish() && { return std::move(builder_).finish(); }

  // Of 10 ms: 4 of input, 3 forward, 2 backward, 1 in the optimizer.
  void add_step(int64_t begin_ns) {
    const auto at = [&](int64_t ms) { return begin_ns + ms * kMs; };
    mark("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "user_annotation", at(0),
         at(4));
    mark("backward", "phase", at(7), at(9));
    mark("Optimizer.step#SGD.step", "user_annotation", at(9), at(10));
  }
  StackId fetching() {
    return stack({{"train", "/me/train.py"},
                  {"_BaseDataLoaderIter.__next__", kLoader},
                  {"_MapDatasetFetcher.fetch", kFetch},
                  {"Data.__getitem__", "/me/train.py"}});
  }
  StackId collating() {
    return stack({{"train", "/me/train.py"},
                  {"_BaseDataLoaderIter.__next__", kLoader},
                  {"_MapDatasetFetcher.fetch", kFetch},
                  {"pad", "/me/train.py"}});
  }
  StackId going_forward() {
    return stack({{"train", "/me/train.py"},
                  {"Module._wrapped_call_impl", kModule},
                  {"Net.forward", "/me/train.py"}});
  }
  StackId going_backward() {
    return stack(
        {{"train", "/me/train.py"}, {"Tensor.backward", kTensor}, {"backward", kAutograd}});
  }
  StackId optimizing() {
    return stack(
        {{"train", "/me/train.py"}, {"Optimizer.profile_hook_step.<locals>.wrapper", kOptimizer}});
  }

 private:
  TraceBuilder builder_;
  TrackId thread_{};
};

// 40 steps of 10 ms; a look every 11 ms, so that each meets another part of a step.
Trace make_training() {
  Training training;
  for (int64_t step = 0; step < 40; ++step) training.add_step(step * 10 * kMs);
  for (int64_t at_ns = kMs / 2; at_ns < 400 * kMs; at_ns += 11 * kMs) {
    const int64_t ms = at_ns / kMs % 10;
    if (ms < 3) {
      training.sample(training.fetching(), at_ns, kSampleHeldGil);
    } else if (ms < 4) {
      training.sample(training.collating(), at_ns, kSampleHeldGil);
    } else if (ms < 7) {
      training.sample(training.going_forward(), at_ns);
    } else if (ms < 9) {
      training.sample(training.going_backward(), at_ns);
    } else {
      training.sample(training.optimizing(), at_ns, kSampleHeldGil);
    }
  }
  return std::move(training).finish();
}

std::vector<std::string> path_of(const Trace& trace, SliceId slice) {
  std::vector<std::string> names;
  for (; slice != kNoSlice; slice = trace.slices().parent[index(slice)]) {
    const std::string_view name = trace.slice_name(slice);
    names.insert(names.begin(), std::string(parse_function_name(name).name));
  }
  return names;
}

std::vector<SliceId> find_named(const Trace& trace, std::string_view begin) {
  std::vector<SliceId> found;
  for (uint32_t row = 0; row < trace.slices().size(); ++row) {
    const FunctionName name = parse_function_name(trace.slice_name(SliceId{row}));
    if (name.name.starts_with(begin)) found.push_back(SliceId{row});
  }
  return found;
}

TEST(CallsOfSamples, StepsAreThoseOfTheMarks) {
  const Trace trace = make_training();
  const auto spans = StepSpans::of(trace_with_calls(trace));
  ASSERT_EQ(spans->steps.size(), 40u);
  EXPECT_EQ(spans->steps[3].scope, (Interval{30 * kMs, 40 * kMs}));
}

TEST(CallsOfSamples, PhasesOfStepsThatAreShorterThanThePeriodAddUp) {
  const Trace trace = make_training();
  const Trace& seen = trace_with_calls(trace);
  PhaseTimes sum{};
  for (const PhaseTimes& step : find_phase_times(seen, StepSpans::of(seen)->steps)) {
    for (size_t i = 0; i < kPhases; ++i) sum[i] += step[i];
  }
  const auto of = [&](Phase phase) { return sum[static_cast<size_t>(phase)]; };
  EXPECT_EQ(of(Phase::kInput), 160 * kMs);
  EXPECT_EQ(of(Phase::kBackward), 80 * kMs);
  EXPECT_EQ(of(Phase::kOptimizer), 40 * kMs);
  EXPECT_EQ(of(Phase::kForward), 120 * kMs);
  EXPECT_EQ(of(Phase::kIdle), 0);
}

TEST(CallsOfSamples, MarksLieInTheFunctionsThatOpenThem) {
  const Trace trace = make_training();
  const Trace& seen = trace_with_calls(trace);
  using Path = std::vector<std::string>;
  const auto fetch = find_named(seen, "Data.__getitem__");
  ASSERT_FALSE(fetch.empty());
  EXPECT_EQ(path_of(seen, fetch[0]),
            (Path{"train", "_BaseDataLoaderIter.__next__",
                  "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "fetch",
                  "_MapDatasetFetcher.fetch", "Data.__getitem__"}));
  const auto collate = find_named(seen, "pad");
  ASSERT_FALSE(collate.empty());
  EXPECT_EQ(path_of(seen, collate[0]).at(5), "collate");
  const auto engine = find_named(seen, "backward");
  ASSERT_FALSE(engine.empty());
  EXPECT_EQ(path_of(seen, engine.back()),
            (Path{"train", "Tensor.backward", "backward", "backward"}));
}

TEST(CallsOfSamples, EachMarkIsOneSliceThatTellsItsOriginal) {
  const Trace trace = make_training();
  const auto calls = CallsOfSamples::of(trace);
  ASSERT_NE(calls, nullptr);
  std::set<uint32_t> originals;
  for (const SliceId slice : find_named(calls->trace(), "enumerate(DataLoader)#")) {
    const SliceId original = calls->find_original(slice);
    ASSERT_NE(original, kNoSlice);
    EXPECT_EQ(trace.slices().start_ns[index(original)],
              calls->trace().slices().start_ns[index(slice)]);
    EXPECT_EQ(trace.slices().dur_ns[index(original)], calls->trace().slices().dur_ns[index(slice)]);
    originals.insert(index(original));
  }
  EXPECT_EQ(originals.size(), 40u);
  for (const SliceId slice : find_named(calls->trace(), "train")) {
    EXPECT_EQ(calls->find_original(slice), kNoSlice);
  }
}

TEST(CallsOfSamples, WaitingIsIdleUnlessItIsForInput) {
  Training training;
  const StackId sleeping = training.stack({{"train", "/me/train.py"}, {"log", "/me/train.py"}});
  for (int64_t step = 0; step < 4; ++step) {
    const int64_t begin_ns = step * 100 * kMs;
    training.mark("ProfilerStep#", "user_annotation", begin_ns, begin_ns + 100 * kMs,
                  SliceKind::kStep);
    training.sample(sleeping, begin_ns + kMs, kSampleHeldGil);
    training.sample(sleeping, begin_ns + 11 * kMs, kSampleWaited, 9);
  }
  const Trace trace = std::move(training).finish();
  const Trace& seen = trace_with_calls(trace);
  const auto times = find_phase_times(seen, StepSpans::of(seen)->steps);
  ASSERT_EQ(times.size(), 4u);
  EXPECT_GT(times[1][static_cast<size_t>(Phase::kIdle)], 70 * kMs);
  EXPECT_GT(times[1][static_cast<size_t>(Phase::kHost)], 2 * kMs);
}

TEST(CallsOfSamples, OtherTracesAreLeftAlone) {
  TraceBuilder builder;
  const TrackId thread = builder.add_thread(ForeignId{1}, ForeignId{1});
  builder.add_slice(thread, 0, 10, builder.label("f", "python_function", SliceKind::kPython));
  const Trace recorded = std::move(builder).finish();
  EXPECT_EQ(&trace_with_calls(recorded), &recorded);
  EXPECT_FALSE(is_made_of_samples(recorded));

  TraceBuilder foreign;
  const TrackId other = foreign.add_thread(ForeignId{1}, ForeignId{1});
  const FrameId frame = foreign.add_frame({foreign.string("f"), kEmptyString, 0});
  foreign.add_sample(other, 0, foreign.add_stack({kNoStack, frame, 0}), 10);
  const Trace imported = std::move(foreign).finish();
  EXPECT_EQ(&trace_with_calls(imported), &imported);
}

TEST(CallsOfSamples, TablesSayThatTheyAreEstimates) {
  const Trace trace = make_training();
  for (const char* view : {"phases", "steps"}) {
    const auto table = make_view(trace, view, {});
    ASSERT_TRUE(table.ok());
    EXPECT_EQ(table->rows(), 40u);
    bool is_told = false;
    for (const std::string& note : table->notes) is_told |= note.find("samples") != note.npos;
    EXPECT_TRUE(is_told) << view;
  }
}

}  // namespace
}  // namespace stepscope
