#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace stepscope::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 500ms;
constexpr auto kRedraw = 100ms;
constexpr size_t kMinWidth = 20;
constexpr size_t kFallbackWidth = 80;

size_t find_terminal_width(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kFallbackWidth;
  return std::max<size_t>(size.ws_col, kMinWidth);
}

}  // namespace

bool is_terminal(int descriptor) { return isatty(descriptor) == 1; }

size_t find_output_width() {
  if (const char* columns = std::getenv("COLUMNS")) {
    const std::string_view text = columns;
    size_t width = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), width);
    if (error == std::errc() && end == text.data() + text.size() && width > 0) {
      return std::clamp<size_t>(width, kMinWidth, 100'000);
    }
  }
  return is_terminal(STDOUT_FILENO) ? find_terminal_width(STDOUT_FILENO) : kPipeWidth;
}

bool wants_color(int descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = std::getenv("TERM");
  if (term == nullptr || std::string_view(term) == "dumb") return false;
  return is_terminal(descriptor);
}

std::string draw_bar(double fraction, size_t columns) {
  const double clamped = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
  constexpr size_t kAround = 8;  // "[] 100 %"
  const size_t length = columns > kAround ? columns - kAround : 0;
  const auto done = static_cast<size_t>(clamped * static_cast<double>(length));
  char percent[8];
  std::snprintf(percent, sizeof percent, " %3d %%", static_cast<int>(clamped * 100));
  return std::string(1, '[') + std::string(done, '#') + std::string(length - done, '.') + "]" +
         percent;
}

ProgressBar::ProgressBar(std::string what)
    : what_(std::move(what)),
      is_on_(is_terminal(STDERR_FILENO)),
      start_(Clock::now()),
      next_draw_(start_ + kPatience) {}

void ProgressBar::show(double fraction) {
  if (!is_on_) return;
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  if (now < next_draw_) return;
  next_draw_ = now + kRedraw;
  const size_t width = find_terminal_width(STDERR_FILENO);
  std::string line = "loading " + what_;
  constexpr size_t kBarColumns = 38;
  const size_t room = width > kBarColumns + 2 ? width - kBarColumns - 2 : 0;
  if (line.size() > room) line = "loading";
  line += ' ';
  if (fraction >= 0 && std::isfinite(fraction)) {
    line += draw_bar(fraction, std::min(kBarColumns, width - 1));
  } else {
    line += "|/-\\"[spins_++ % 4];
  }
  line = "\r" + line + "\x1b[K";
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
  is_drawn_ = true;
}

void ProgressBar::show(double fraction, const std::string& what) {
  if (!is_on_) return;
  {
    const std::lock_guard lock(mutex_);
    what_ = what;
  }
  show(fraction);
}

void ProgressBar::clear() {
  const std::lock_guard lock(mutex_);
  if (is_drawn_) std::fputs("\r\x1b[K", stderr);
  is_drawn_ = false;
}

}  // namespace stepscope::cli
