#include "cli/top_live.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <string>

#include "base/tick_clock.h"
#include "cli/stop_signals.h"
#include "cli/terminal.h"
#include "cli/top_keys.h"
#include "cli/top_screen.h"
#include "cli/top_terminal.h"
#include "export/output_file.h"

namespace stepscope::cli {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kFirstNs = 300 * kMs;  // the first figures soon
// A signal that comes just before a wait does not end it: so waits are short.
constexpr int64_t kLongestWaitNs = 100 * kMs;

int64_t now_ns() { return read_clock_ns(CLOCK_MONOTONIC); }

int wait_ms_until(int64_t time_ns) {
  const int64_t left_ns = std::clamp<int64_t>(time_ns - now_ns(), 0, kLongestWaitNs);
  return static_cast<int>((left_ns + kMs - 1) / kMs);
}

class LiveDisplay {
 public:
  LiveDisplay(TopSession& session, const TopSettings& settings, TopTerminal& terminal)
      : session_(session), settings_(settings), terminal_(terminal), shown_(session.view()) {
    settings_.is_live = true;
    settings_.is_utf8 = is_utf8_locale();
  }

  void run(int64_t interval_ns);

 private:
  void refresh();
  void draw();
  void take(TopKey key);

  TopSession& session_;
  TopSettings settings_;
  TopTerminal& terminal_;
  TopKeys keys_;
  TopView shown_;  // stays while it is paused
  size_t page_rows_ = 0;
  bool must_quit_ = false;
};

void LiveDisplay::run(int64_t interval_ns) {
  int64_t next_ns = now_ns() + std::min(kFirstNs, interval_ns);
  while (!must_quit_ && !StopSignals::is_asked() && !terminal_.is_gone()) {
    draw();
    const std::string typed = terminal_.wait_for_keys(wait_ms_until(next_ns));
    for (const TopKey key : keys_.read(typed)) take(key);
    if (session_.has_ended()) return;
    if (now_ns() < next_ns) continue;
    refresh();
    next_ns = std::max(next_ns + interval_ns, now_ns());
  }
}

void LiveDisplay::refresh() {
  if (session_.refresh() && !settings_.is_paused) shown_ = session_.view();
}

void LiveDisplay::draw() {
  const TopScreen screen = draw_top(shown_, settings_, terminal_.size());
  settings_.scroll = screen.scroll;
  page_rows_ = screen.page_rows;
  terminal_.draw(screen.lines);
}

void LiveDisplay::take(TopKey key) {
  switch (key) {
    case TopKey::kQuit:
      must_quit_ = true;
      return;
    case TopKey::kSuspend:
      terminal_.suspend();
      return;
    case TopKey::kRedraw:
      terminal_.forget_drawn();
      return;
    case TopKey::kReset:
      session_.reset();
      if (!settings_.is_paused) shown_ = session_.view();
      return;
    default:
      apply_key(key, page_rows_, settings_);
      if (key == TopKey::kPause && !settings_.is_paused) shown_ = session_.view();
  }
}

void print_view(const TopView& view, const TopSettings& settings, OutputFile& out) {
  const TopScreen screen = draw_top(view, settings, {find_output_width(), 0});
  for (const TopLine& line : screen.lines) {
    const size_t end = line.text.find_last_not_of(' ');
    out.append(line.text.substr(0, end == line.text.npos ? 0 : end + 1));
    out.append("\n");
  }
  out.flush();
}

}  // namespace

Status show_live(TopSession& session, TopSettings settings, int64_t interval_ns) {
  auto terminal = TopTerminal::open();
  if (!terminal) return terminal.status();
  LiveDisplay(session, settings, **terminal).run(interval_ns);
  return {};
}

Status print_snapshots(TopSession& session, TopSettings settings, int64_t interval_ns,
                       bool is_once) {
  auto out = OutputFile::create("-");
  if (!out) return out.status();
  bool is_first = true;
  int64_t next_ns = now_ns() + interval_ns;
  while ((*out)->ok()) {
    while (now_ns() < next_ns && !session.has_ended() && !StopSignals::is_asked()) {
      ::poll(nullptr, 0, wait_ms_until(next_ns));
    }
    const bool is_last = session.has_ended() || StopSignals::is_asked() || is_once;
    const bool has_samples =
        session.refresh() && session.view().now.get_samples(TopWeight::kWall) > 0;
    // The end of the last interval may be empty.
    if (has_samples || !is_last || is_first) {
      if (!is_first) (*out)->append("\n");
      print_view(session.view(), settings, **out);
      is_first = false;
    }
    if (is_last) break;
    next_ns = std::max(next_ns + interval_ns, now_ns());
  }
  return (*out)->finish();
}

Status print_snapshot(const TopSession& session, TopSettings settings) {
  auto out = OutputFile::create("-");
  if (!out) return out.status();
  print_view(session.view(), settings, **out);
  return (*out)->finish();
}

}  // namespace stepscope::cli
