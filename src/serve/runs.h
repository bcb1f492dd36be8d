// Runs: the traces that a server shows. Each was loaded, or says why not. A run that is still being
// recorded is read again when it has grown, at most every two seconds, and its version then grows.
//
//   Runs runs = Runs::open({"runs/monday", "trace.json.gz"}, {});
//   std::shared_ptr<const Trace> trace = runs.trace(0);   // null: runs.info()[0].error says why
//
// Any thread may ask. A trace stays as long as someone holds it, also when a newer one has come.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "trace/trace.h"

namespace stepscope::serve {

struct RunInfo {
  std::string path;
  std::string name;   // the end of the path that tells it from the others
  std::string error;  // why it did not open; "" where it did
  uint64_t version = 0;
  bool is_live = false;
  std::shared_ptr<const Trace> trace;  // null where there is an error
};

// Loads a trace; the command shows its progress bar in it.
using RunLoader = std::function<Result<Trace>(const std::string& path)>;

class Runs {
 public:
  // A path may stand for several traces: a folder of them. Never fails: errors are kept as runs.
  static std::unique_ptr<Runs> open(const std::vector<std::string>& paths, RunLoader loader);
  // Of traces that are there already.
  static std::unique_ptr<Runs> of(std::vector<RunInfo> runs);

  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;

  size_t size() const { return entries_.size(); }
  // As of now. Where it is time, live runs are read again meanwhile.
  std::vector<RunInfo> info();
  RunInfo info(size_t run) const;
  std::shared_ptr<const Trace> trace(size_t run) const { return info(run).trace; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    RunInfo info;
    std::atomic<bool> is_being_read = false;
    // Only of the one who set is_being_read.
    uint64_t bytes = 0;
    Clock::time_point next_read;
    std::future<void> reading;  // goes first: it uses what is above
  };

  Runs() = default;
  void add(const std::string& path);
  void read(Entry& entry, bool is_again);
  void refresh(Entry& entry);
  void refresh_later(Entry& entry);

  RunLoader loader_;
  mutable std::mutex mutex_;                     // guards every Entry::info
  std::vector<std::unique_ptr<Entry>> entries_;  // fixed after open()
};

}  // namespace stepscope::serve
