// What is known about the terminal: its width, whether to use colours, and a progress bar on
// stderr.
//
//   ProgressBar bar("trace.json");
//   load(path, {.progress = [&](double fraction) { bar.show(fraction); }});
//   bar.clear();
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>

namespace stepscope::cli {

bool is_terminal(int descriptor);
// Columns that text on standard output should fit: the terminal's; $COLUMNS where it is set; else
// kPipeWidth, since nobody can widen a pipe.
size_t find_output_width();
inline constexpr size_t kPipeWidth = 160;
// Colours only on a terminal that has them, and never with NO_COLOR (https://no-color.org).
bool wants_color(int descriptor);

// Appears only on a terminal, and only when the work takes longer than half a second. Any thread
// may call show().
class ProgressBar {
 public:
  explicit ProgressBar(std::string what);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() { clear(); }

  // From 0 to 1; below 0 where it is not known how much there is.
  void show(double fraction);
  // The same with another name from now on: "120 of 256 ranks".
  void show(double fraction, const std::string& what);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  std::mutex mutex_;
  std::string what_;
  const bool is_on_;
  const Clock::time_point start_;
  Clock::time_point next_draw_;
  bool is_drawn_ = false;
  size_t spins_ = 0;
};

// "[#####.....]  50 %" for the given number of columns; in ASCII, for any locale.
std::string draw_bar(double fraction, size_t columns);

}  // namespace stepscope::cli
