// SampleRecording: what a Sampler tells, into a SampleFile.
//
//   auto file = SampleFile::create(path, describe_sampling(options));
//   SampleRecording recording(**file, options);
//   Sampler sampler(options, recording);
//   …
//   recording.set_counts(sampler.counts());      // now and then: a kill leaves what was counted
//   recording.close(sampler.counts());
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

// Before the first look.
SamplingInfo describe_sampling(const SamplerOptions& options);

class SampleRecording : public SampleSink {
 public:
  // Borrows the file.
  SampleRecording(SampleFile& file, const SamplerOptions& options);

  void add_process(uint32_t process, pid_t pid, const std::string& command_line) override;
  void add_thread(uint32_t thread, uint32_t process, int32_t tid, const ThreadName& name) override;
  void add_function(uint32_t function, std::string_view name, std::string_view file,
                    int32_t first_line) override;
  void add_stack(uint32_t stack, uint32_t parent, uint32_t function, int32_t line) override;
  void add_sample(const Sample& sample) override;
  void end_process(uint32_t) override {}

  // The first thing that went wrong in writing (a full disk); fine so far.
  const Status& status() const { return status_; }
  void set_counts(const SamplerCounts& counts);
  Status close(const SamplerCounts& counts);

 private:
  SampleFile& file_;
  SamplingInfo info_;
  const int64_t begin_ns_;
  Status status_;
  // By the sampler's numbers: the file's.
  std::vector<uint32_t> processes_, threads_, functions_, stacks_;
};

}  // namespace stepscope::sample
