// Runs: the traces that a server shows. Each was loaded, or says why not. A run that is still being
// recorded is read again when it has grown, at most every two seconds, and its version then grows.
//
//   std::unique_ptr<Runs> runs = Runs::open({"runs/monday", "trace.json.gz"}, load);
//   RunInfo run = runs->load(0);     // where run.trace is null, run.error says why
//
// Where there are many, each may wait until it is asked for (when_asked).
// Any thread may ask. A trace stays as long as someone holds it, also when a newer one has come.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
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
  size_t job = 0;                      // runs of the same number are ranks of one job
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

  // None yet. Those that are added are loaded when they are first asked for; where more than
  // `max_open` are, the one that was not asked for longest is let go.
  static std::unique_ptr<Runs> when_asked(RunLoader loader, size_t max_open);

  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;

  // Only of when_asked(): one more run, of one trace. Its number is the size() before. Files of one
  // folder are a job, and so is the folder of a run; all runs of open() are one.
  void add_when_asked(std::string path, std::string name);

  size_t size() const;
  // As of now. Where it is time, live runs are read again meanwhile.
  std::vector<RunInfo> info();
  RunInfo info(size_t run) const;
  // The same, and loads it where that has waited, or failed and its file has changed since.
  RunInfo load(size_t run);

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    RunInfo info;
    uint64_t last_asked = 0;
    Clock::time_point next_read;
    std::atomic<bool> is_being_read = false;
    std::mutex reading_mutex;   // held by the one who reads it; before Runs::mutex_
    uint64_t bytes = 0;         // guarded by reading_mutex
    std::future<void> reading;  // goes first: it uses what is above
  };

  Runs() = default;
  void add(const std::string& path);
  Entry* find(size_t run) const;
  // The caller holds reading_mutex.
  void read(Entry& entry, bool is_again);
  void let_others_go(const Entry& entry);
  void refresh(Entry& entry);
  void refresh_later(Entry& entry);

  RunLoader loader_;
  size_t max_open_ = 0;       // 0: all are
  mutable std::mutex mutex_;  // guards entries_, and of each info, last_asked and next_read
  uint64_t asked_ = 0;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::map<std::string, size_t> jobs_;  // by folder; guarded by mutex_
};

}  // namespace stepscope::serve
