#include "cli/stop_signals.h"

#include <atomic>
#include <cstddef>

namespace stepscope::cli {
namespace {

std::atomic<bool> g_is_asked{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void ask(int signal) {
  // SIGINT after SIGTERM is a second one too.
  if (g_is_asked.exchange(true)) {
    ::signal(signal, SIG_DFL);
    ::raise(signal);
  }
}

}  // namespace

StopSignals::StopSignals() {
  g_is_asked = false;
  struct sigaction action {};
  action.sa_handler = ask;  // no SA_RESTART: whoever sleeps wakes up
  for (size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    // nohup. (Ctrl-C is ignored too in what scripts start with &, but a kill -INT is meant.)
    if (kSignals[i] == SIGHUP && before_[i].sa_handler == SIG_IGN) continue;
    ::sigaction(kSignals[i], &action, nullptr);
  }
}

StopSignals::~StopSignals() {
  for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
}

bool StopSignals::is_asked() { return g_is_asked; }

}  // namespace stepscope::cli
