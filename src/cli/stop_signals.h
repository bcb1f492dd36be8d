// StopSignals: Ctrl-C, SIGTERM and SIGHUP ask a command to come to its end, which then writes what
// it has. The second one ends it at once.
//
//   StopSignals stop;
//   while (!stop.is_asked()) ...
#pragma once

#include <signal.h>

#include <array>

namespace stepscope::cli {

class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();  // as it was before

  static bool is_asked();

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace stepscope::cli
