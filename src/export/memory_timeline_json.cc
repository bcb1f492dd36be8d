#include "export/memory_timeline_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "export/json_text.h"
#include "export/output_file.h"
#include "trace/memory_timeline.h"

namespace stepscope {
namespace {

constexpr size_t kFlushBytes = 256 << 10;

class Writer {
 public:
  Writer(const Trace& trace, const MemoryTimeline& timeline, uint32_t device, OutputFile& out)
      : trace_(trace), timeline_(timeline), device_(device), out_(out) {}

  void write() {
    text_ = "[[";
    write_rows([&](int64_t time_us, const MemoryAtMoment&) { json::append_int(text_, time_us); });
    text_ += "], [";
    write_rows([&](int64_t, const MemoryAtMoment& now) {
      text_ += "[0";
      for (const int64_t bytes : now.bytes) {
        text_ += ", ";
        json::append_int(text_, bytes);
      }
      text_ += ']';
    });
    text_ += "]]";
    out_.append(text_);
  }

 private:
  // Moments of the same us are one row: what is held after the last of them.
  template <typename WriteRow>
  void write_rows(WriteRow&& write_row) {
    MemoryAtMoment last;
    int64_t last_us = 0;
    bool has_last = false, has_row = false;
    const auto write_last = [&] {
      if (has_row) text_ += ", ";
      has_row = true;
      write_row(last_us, last);
      if (text_.size() > kFlushBytes) {
        out_.append(text_);
        text_.clear();
      }
    };
    timeline_.walk({}, [&](const MemoryAtMoment& now) {
      if (now.device != device_ || !out_.ok()) return;
      const int64_t time_us = add_saturating(trace_.clock_base_ns(), now.time_ns) / 1000;
      if (has_last && time_us != last_us) write_last();
      last = now;
      last_us = time_us;
      has_last = true;
    });
    if (has_last) write_last();
  }

  const Trace& trace_;
  const MemoryTimeline& timeline_;
  const uint32_t device_;
  OutputFile& out_;
  std::string text_;
};

Result<std::vector<std::string>> write_device(const Trace& trace, const MemoryTimeline& timeline,
                                              size_t device, const std::string& path) {
  auto out = OutputFile::create(path);
  if (!out) return out.status();
  Writer(trace, timeline, static_cast<uint32_t>(device), **out).write();
  if (Status status = (*out)->finish(); !status) return status;
  std::vector<std::string> left_out = {"all but memory: a memory timeline holds nothing else"};
  if (const size_t others = timeline.devices().size() - 1; others > 0) {
    left_out.push_back(fmt::format("the memory of {} other device{}: the file is of {} alone",
                                   others, others == 1 ? "" : "s",
                                   device_name(timeline.devices()[device])));
  }
  return left_out;
}

}  // namespace

Result<std::vector<std::string>> write_memory_timeline_json(const Trace& trace,
                                                            const std::string& path) {
  const std::shared_ptr<const MemoryTimeline> timeline = MemoryTimeline::of(trace);
  const std::vector<AllocationDevice>& devices = timeline->devices();
  if (devices.empty()) {
    return Status::error(path + ": not written: no allocations in the trace");
  }
  const auto at = std::find_if(devices.begin(), devices.end(),
                               [](AllocationDevice device) { return device.type != 0; });
  const ptrdiff_t chosen = at == devices.end() ? 0 : at - devices.begin();
  return write_device(trace, *timeline, static_cast<size_t>(chosen), path);
}

Result<std::vector<std::string>> write_memory_timeline_json(const Trace& trace,
                                                            const std::string& path,
                                                            const std::string& device) {
  const std::shared_ptr<const MemoryTimeline> timeline = MemoryTimeline::of(trace);
  for (size_t i = 0; i < timeline->devices().size(); ++i) {
    if (device_name(timeline->devices()[i]) == device) {
      return write_device(trace, *timeline, i, path);
    }
  }
  return Status::error(path + ": not written: no memory of " + device + " in the trace");
}

}  // namespace stepscope
