// SampleRecording: what a Sampler tells, into a SampleFile.
//
//   SampleRecording recording(**file);
//   Sampler sampler(options, recording);
//   …
//   recording.close(sampler.counts(), seconds);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "collect/sample/sample_file.h"
#include "collect/sample/sample_sink.h"
#include "collect/sample/sampler.h"

namespace stepscope::sample {

class SampleRecording : public SampleSink {
 public:
  // Borrows it.
  explicit SampleRecording(SampleFile& file) : file_(file) {}

  void add_process(uint32_t process, pid_t pid, const std::string& command_line) override;
  void add_thread(uint32_t thread, uint32_t process, int32_t tid, const std::string& name) override;
  void add_function(uint32_t function, std::string_view name, std::string_view file,
                    int32_t first_line) override;
  void add_stack(uint32_t stack, uint32_t parent, uint32_t function, int32_t line) override;
  void add_sample(const Sample& sample) override;
  void end_process(uint32_t) override {}

  // The first thing that went wrong in writing (a full disk); fine so far.
  const Status& status() const { return status_; }
  Status close(const SamplerCounts& counts, SamplingInfo info);

 private:
  SampleFile& file_;
  Status status_;
  // By the sampler's numbers: the file's.
  std::vector<uint32_t> processes_, threads_, functions_, stacks_;
};

}  // namespace stepscope::sample
