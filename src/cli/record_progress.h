// RecordProgress: the line that tells, on a terminal, how far a recording is: seconds, samples,
// looks that were missed. Never waits for the terminal: a sampler draws it between two ticks.
//
//   RecordProgress progress;
//   ... progress.show(seconds, sampler.counts());      // as often as one likes
//   progress.clear();
#pragma once

#include <cstdint>
#include <string>

#include "collect/sample/sampler.h"

namespace stepscope::cli {

class RecordProgress {
 public:
  explicit RecordProgress(bool is_wanted);
  RecordProgress(const RecordProgress&) = delete;
  RecordProgress& operator=(const RecordProgress&) = delete;
  ~RecordProgress() { clear(); }

  void show(int64_t elapsed_ns, const sample::SamplerCounts& counts);
  void clear();

 private:
  const bool is_on_;
  bool is_drawn_ = false;
  int64_t next_draw_ns_ = 0;
};

// "12 s, 3,456 samples, 7 of 1,200 ticks missed (0.6 %); Ctrl-C ends it"
std::string progress_text(int64_t elapsed_ns, const sample::SamplerCounts& counts);

}  // namespace stepscope::cli
