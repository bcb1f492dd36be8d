#include "cli/record_progress.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <string_view>

#include "analyze/text_value.h"
#include "cli/terminal.h"

namespace stepscope::cli {
namespace {

constexpr int64_t kRedrawNs = 250'000'000;
constexpr std::string_view kEmptyLine = "\r\x1b[K";

// Leaves it out where the terminal takes nothing now.
void draw(std::string_view text) {
  pollfd terminal{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&terminal, 1, 0) == 1) (void)!::write(STDERR_FILENO, text.data(), text.size());
}

std::string count_text(uint64_t count) { return text_of_count(static_cast<int64_t>(count)); }

}  // namespace

RecordProgress::RecordProgress(bool is_wanted) : is_on_(is_wanted && is_terminal(STDERR_FILENO)) {}

void RecordProgress::show(int64_t elapsed_ns, const sample::SamplerCounts& counts) {
  if (!is_on_ || elapsed_ns < next_draw_ns_) return;
  next_draw_ns_ = elapsed_ns + kRedrawNs;
  is_drawn_ = true;
  draw(std::string(kEmptyLine) + progress_text(elapsed_ns, counts));
}

void RecordProgress::clear() {
  if (is_drawn_) draw(kEmptyLine);
  is_drawn_ = false;
}

std::string progress_text(int64_t elapsed_ns, const sample::SamplerCounts& counts) {
  std::string text =
      fmt::format("{} s, {} samples", elapsed_ns / 1'000'000'000, count_text(counts.samples));
  if (counts.missed_ticks > 0) {
    const uint64_t ticks = counts.ticks + counts.missed_ticks;
    text += fmt::format(
        ", {} of {} ticks missed ({:.1f} %)", count_text(counts.missed_ticks), count_text(ticks),
        100.0 * static_cast<double>(counts.missed_ticks) / static_cast<double>(ticks));
  }
  return text + "; Ctrl-C ends it";
}

}  // namespace stepscope::cli
