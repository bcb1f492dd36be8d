// Writes a Kineto-shaped trace of a chosen size, for benchmarks.
//
//   generate_kineto OUT.json [--mb 300] [--seed 1] [--python]
//
// It imitates what torch.profiler of PyTorch 2.x exports for bf16 training with DDP on an A100,
// with shapes recorded on a part of the operators: Kineto's layout, key order and order of sections
// (host events by start time, then device activities each with its flow, then metadata); steps,
// operators nested 1 to 5 deep, backward nodes on the autograd thread, copies by a pin-memory
// thread, launches with increasing, gappy correlation ids, kernels queueing on streams 7 and 20,
// all-reduce on stream 40, ac2g and fwdbwd flows. A model is drawn once (layers by Zipf's law,
// about 300 names) and replayed every step, as training does; what varies from step to step is
// time: durations are lognormal, with nanosecond digits. --python adds python_function frames as
// with_stack=True does. The same seed gives the same bytes.
#include "kineto/file_text.h"
#include "kineto/model.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stepscope::bench {
namespace {

struct HostEvent {
  int64_t start_ns, end_ns;
  const char* category;
  const std::string* name;
  const std::string* shapes;
  int tid;
  uint32_t external_id, record_id;
  int64_t sequence;  // -1: none
  int fwd_thread;
  int64_t flow_id;  // of fwdbwd, 0: none
};

// Runs the model step by step and keeps the JSON of the sections.
class Simulation {
 public:
  Simulation(const Model& model, Random& random, bool python)
      : model_(model), random_(random), python_(python) {}

  size_t size() const { return host_.size() + device_.size() + frames_.size(); }

  void run_step(int number) {
    events_.clear();
    step_name_ = "ProfilerStep#" + std::to_string(number);
    const int64_t first_ns = now_ns_;
    const size_t step = open("user_annotation", step_name_, kMainThread);
    const size_t next = open("user_annotation", kNextName, kMainThread);
    int64_t fetched_ns = now_ns_ + random_.lognormal_ns(300'000, 0.6);
    pin(fetched_ns);
    now_ns_ = fetched_ns;
    close(next);
    run(copy_in_, kMainThread);
    std::vector<std::pair<int64_t, int64_t>> forward;  // sequence number, fwdbwd flow
    for (const Layer& layer : model_.layers()) {
      const int64_t sequence = sequence_++, flow = ++flow_;
      forward.emplace_back(sequence, flow);
      const size_t frames = python_ ? open_frames(layer) : 0;
      run(layer.forward, kMainThread, sequence, flow, 0);
      for (size_t i = 0; i < frames; ++i) close_frame();
    }
    for (size_t i = model_.layers().size(), since_reduce = 0; i-- > 0;) {
      const Layer& layer = model_.layers()[i];
      run(layer.backward, kAutogradThread, forward[i].first, forward[i].second, 1);
      if (!layer.has_weight) continue;
      run(accumulate_, kAutogradThread);
      if (++since_reduce % 12 == 0) run(all_reduce_, kAutogradThread);
    }
    const size_t optimizer = open("user_annotation", kOptimizerName, kMainThread);
    for (size_t i = 0; i < model_.layers().size(); i += 8) {
      for (const Op& op : model_.optimizer()) run(op, kMainThread);
    }
    close(optimizer);
    run(item_, kMainThread);
    now_ns_ = std::max(now_ns_, stream_free_ns_[kComputeStream]) + random_.lognormal_ns(9'000, 0.4);
    close(step);
    now_ns_ += random_.lognormal_ns(40'000, 0.3);  // the profiler's own step()
    std::stable_sort(events_.begin(), events_.end(), [](const HostEvent& a, const HostEvent& b) {
      return a.start_ns < b.start_ns;
    });
    for (const HostEvent& event : events_) write_host(event);
    write_device_step(first_ns);
  }
  void save(std::FILE* out) const {
    for (const std::string& part :
         {build_head(python_), host_, frames_, device_, build_tail(kFirstNs, now_ns_)}) {
      std::fwrite(part.data(), 1, part.size(), out);
    }
  }

 private:
  size_t open(const char* category, const std::string& name, int tid,
              const std::string* shapes = nullptr, int64_t sequence = -1, int64_t flow = 0,
              int fwd_thread = 0) {
    const uint32_t id = ++external_id_;
    events_.push_back(
        {now_ns_, 0, category, &name, shapes, tid, id, id - 140, sequence, fwd_thread, flow});
    return events_.size() - 1;
  }
  void close(size_t event) { events_[event].end_ns = now_ns_; }

  // The operator's own time before, between and after what it calls; the launch comes last.
  void run(const Op& op, int tid, int64_t sequence = -1, int64_t flow = 0, int fwd_thread = 0) {
    const bool node = op.name.find("Backward") != op.name.npos || fwd_thread == 0;
    const bool annotation = op.name.starts_with("nccl:");
    const size_t event =
        open(annotation ? "user_annotation" : "cpu_op", op.name, tid, &op.shapes, sequence,
             node && !op.name.starts_with("autograd::") ? flow : 0, fwd_thread);
    const uint32_t external_id = events_[event].external_id;
    now_ns_ += random_.lognormal_ns(op.overhead_ns, 0.35);
    for (const Op& child : op.children) {
      // Sequence number and flow of a backward node are also those of its first, like-named child.
      const bool same = fwd_thread != 0 && op.name.starts_with("autograd::");
      run(child, tid, same ? sequence : -1, same ? flow : 0, same ? fwd_thread : 0);
      now_ns_ += random_.lognormal_ns(op.overhead_ns * 0.2, 0.5);
    }
    if (op.launch.family != Family::kNone) launch(op.launch, tid, external_id);
    now_ns_ += random_.lognormal_ns(op.overhead_ns * 0.3, 0.4);
    close(event);
    now_ns_ += random_.lognormal_ns(900, 0.5);
  }

  // Puts what a pin-memory thread does between now and `until_ns` beside the main thread's wait.
  void pin(int64_t& until_ns) {
    const int64_t back_ns = now_ns_;
    for (int i = 0; i < 3; ++i) run(pin_, kPinThread);
    until_ns = std::max(until_ns, now_ns_);
    now_ns_ = back_ns;
  }

  void launch(const Launch& what, int tid, uint32_t external_id) {
    using enum Family;
    const char* call = "cudaLaunchKernel";
    const char* category = "kernel";
    int cbid = 211;
    int64_t stream = kComputeStream;
    switch (what.family) {
      case kGemm:
        runtime("cudaFuncSetAttribute", 273, 700, tid, external_id);
        runtime("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", 241, 900, tid,
                external_id);
        break;
      case kConvolution:
        runtime("cudaStreamGetPriority", 203, 600, tid, external_id);
        runtime("cudaDeviceGetStreamPriorityRange", 205, 600, tid, external_id);
        runtime("cudaEventRecord", 135, 700, tid, external_id);
        break;
      case kNccl:
        runtime("cudaStreamWaitEvent", 147, 800, tid, external_id);
        call = "cudaLaunchKernelExC", cbid = 430, stream = kNcclStream;
        break;
      case kCopyToDevice:
        stream = kCopyStream;
        [[fallthrough]];
      case kCopyOnDevice:
      case kCopyToHost:
        runtime("cudaStreamIsCapturing", 317, 600, tid, external_id);
        call = "cudaMemcpyAsync", category = "gpu_memcpy", cbid = 41;
        break;
      case kMemset:
        call = "cudaMemsetAsync", category = "gpu_memset", cbid = 51;
        break;
      default:
        break;
    }
    correlation_ += 1 + random_.below(24);
    const int64_t begin_ns = now_ns_;
    const int64_t took_ns = random_.lognormal_ns(5'200, 0.35);
    int64_t& free_ns = stream_free_ns_[stream];
    const int64_t start_ns = std::max(free_ns + random_.lognormal_ns(900, 0.3),
                                      begin_ns + took_ns + random_.lognormal_ns(1'400, 0.5));
    const int64_t dur_ns =
        std::max<int64_t>(32, random_.lognormal_ns(what.median_ns, 0.12) / 32 * 32 +
                                  static_cast<int64_t>(random_.below(2)));
    free_ns = start_ns + dur_ns;
    begin_event(device_, category, *what.kernel, 0, stream, start_ns, dur_ns);
    append_text(device_, "      \"External id\": ", external_id, ",      ");
    if (*category == 'k') append_text(device_, "\"queued\": 0, ");
    append_text(device_, "\"device\": 0, \"context\": 1,      \"stream\": ", stream,
                ", \"correlation\": ", correlation_, ",");
    if (*category == 'k') {
      append_text(device_, std::string_view(what.args));
    } else {
      char bandwidth[32];
      auto end = std::to_chars(bandwidth, std::end(bandwidth),
                               static_cast<double>(what.bytes) / static_cast<double>(dur_ns));
      append_text(device_, "      \"bytes\": ", what.bytes, ", \"memory bandwidth (GB/s)\": ",
                  std::string_view(bandwidth, static_cast<size_t>(end.ptr - bandwidth)));
    }
    append_text(device_, kEventEnd);
    append_flow(device_, 'f', "ac2g", correlation_, 0, stream, start_ns);
    write_runtime(call, cbid, tid, external_id, begin_ns, took_ns);
    append_flow(device_, 's', "ac2g", correlation_, kPid, tid, begin_ns);
    now_ns_ += took_ns;
  }

  void runtime(const char* call, int cbid, double median_ns, int tid, uint32_t external_id) {
    ++correlation_;
    const int64_t took_ns = random_.lognormal_ns(median_ns, 0.4);
    write_runtime(call, cbid, tid, external_id, now_ns_, took_ns);
    now_ns_ += took_ns + random_.lognormal_ns(300, 0.4);
  }

  size_t open_frames(const Layer& layer) {
    static constexpr const char* kFrames[] = {
        "torch/nn/modules/module.py(1532): _wrapped_call_impl",
        "torch/nn/modules/module.py(1541): _call_impl"};
    for (const char* name : kFrames) push_frame(name);
    push_frame("nn.Module: " + layer.module);
    push_frame("model.py(" + std::to_string(40 + layer.module.size() * 7) + "): forward");
    return 4;
  }
  void push_frame(std::string name) {
    open_frames_.push_back({std::move(name), now_ns_, ++python_id_});
    now_ns_ += random_.lognormal_ns(700, 0.4);
  }
  void close_frame() {
    const Frame frame = std::move(open_frames_.back());
    open_frames_.pop_back();
    now_ns_ += random_.lognormal_ns(300, 0.4);
    begin_event(frames_, "python_function", frame.name, kPid, kMainThread, frame.start_ns,
                now_ns_ - frame.start_ns);
    append_text(frames_,
                "      \"Python parent id\": ", open_frames_.empty() ? 0 : open_frames_.back().id,
                ", \"Python id\": ", frame.id, ", \"Ev Idx\": ", 100'000'000 + frame.id, kEventEnd);
  }

  void write_host(const HostEvent& e) {
    begin_event(host_, e.category, *e.name, kPid, e.tid, e.start_ns, e.end_ns - e.start_ns);
    append_text(host_, "      \"External id\": ", e.external_id,
                ",\"Record function id\": ", e.record_id, ", ");
    if (e.sequence >= 0)
      append_text(host_, "\"Sequence number\": ", e.sequence, ", \"Fwd thread id\": ", e.fwd_thread,
                  ", ");
    if (e.shapes) append_text(host_, std::string_view(*e.shapes));
    append_text(host_, "\"Ev Idx\": ", event_index_++, kEventEnd);
    if (e.flow_id)
      append_flow(host_, e.fwd_thread ? 'f' : 's', "fwdbwd", e.flow_id, kPid, e.tid, e.start_ns);
  }

  void write_runtime(const char* call, int cbid, int tid, uint32_t external_id, int64_t start_ns,
                     int64_t dur_ns) {
    begin_event(device_, "cuda_runtime", call, kPid, tid, start_ns, dur_ns);
    append_text(device_, "      \"External id\": ", external_id, ",      \"cbid\": ", cbid,
                ", \"correlation\": ", correlation_, kEventEnd);
  }

  void write_device_step(int64_t start_ns) {
    begin_event(device_, "gpu_user_annotation", step_name_, 0, kComputeStream, start_ns + 40'000,
                now_ns_ - start_ns - 60'000);
    append_text(device_, "      \"External id\": ", external_id_, kEventEnd);
  }
  static constexpr int64_t kFirstNs = 4458676388118751;

  struct Frame {
    std::string name;
    int64_t start_ns;
    int64_t id;
  };

  const Model& model_;
  Random& random_;
  const bool python_;
  Random fixed_random_{7};
  Model fixed_{0, fixed_random_};
  const Op copy_in_ = fixed_.parse("aten::to(aten::_to_copy(aten::empty_strided,aten::copy_!d))");
  const Op pin_ =
      fixed_.parse("aten::pin_memory(aten::_pin_memory(aten::empty,aten::set_,aten::copy_))");
  const Op accumulate_ = fixed_.parse(
      "autograd::engine::evaluate_function: "
      "torch::autograd::AccumulateGrad(torch::autograd::AccumulateGrad(aten::add_!e))");
  const Op all_reduce_ = fixed_.parse("c10d::allreduce_(nccl:all_reduce!l)");
  const Op item_ = fixed_.parse("aten::item(aten::_local_scalar_dense!h)");
  const std::string kNextName = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
  const std::string kOptimizerName = "Optimizer.step#AdamW.step";

  std::vector<HostEvent> events_;  // of the current step
  std::vector<Frame> open_frames_;
  std::string step_name_, host_, device_, frames_;
  std::map<int64_t, int64_t> stream_free_ns_;
  int64_t now_ns_ = kFirstNs, sequence_ = 1080, flow_ = 0, python_id_ = 0, event_index_ = 0;
  uint64_t correlation_ = 57531;
  uint32_t external_id_ = 2048;
};

int main(int argc, char** argv) {
  double megabytes = 300;
  uint64_t seed = 1;
  bool python = false;
  const char* path = nullptr;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--mb") && i + 1 < argc)
      megabytes = std::atof(argv[++i]);
    else if (!std::strcmp(argv[i], "--seed") && i + 1 < argc)
      seed = std::strtoull(argv[++i], nullptr, 10);
    else if (!std::strcmp(argv[i], "--python"))
      python = true;
    else
      path = argv[i];
  }
  if (!path || megabytes <= 0) {
    std::fprintf(stderr, "usage: generate_kineto OUT.json [--mb 300] [--seed 1] [--python]\n");
    return 2;
  }
  Random random(seed);
  const Model model(static_cast<size_t>(std::clamp(megabytes * 3, 8.0, 900.0)), random);
  Simulation simulation(model, random, python);
  for (int step = 10; static_cast<double>(simulation.size()) < megabytes * 1e6; ++step)
    simulation.run_step(step);
  std::FILE* out = std::fopen(path, "wb");
  if (!out) return std::perror(path), 1;
  simulation.save(out);
  return std::fclose(out) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace stepscope::bench

int main(int argc, char** argv) { return stepscope::bench::main(argc, argv); }
