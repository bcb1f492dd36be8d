#include "cli/top_keys.h"

#include <algorithm>

namespace stepscope::cli {
namespace {

constexpr char kEscape = '\x1b';
constexpr size_t kMaxSequence = 32;
constexpr size_t kFarDown = size_t{1} << 40;

std::optional<TopKey> key_of(char letter) {
  switch (letter) {
    case '1':
      return TopKey::kSortOwnNow;
    case '2':
      return TopKey::kSortTotalNow;
    case '3':
      return TopKey::kSortOwnSinceStart;
    case '4':
      return TopKey::kSortTotalSinceStart;
    case 't':
      return TopKey::kThreads;
    case 'g':
      return TopKey::kGil;
    case 'i':
      return TopKey::kIdle;
    case ' ':
    case 'p':
      return TopKey::kPause;
    case 'r':
      return TopKey::kReset;
    case '?':
    case 'h':
      return TopKey::kHelp;
    case 'q':
    case 'Q':
      return TopKey::kQuit;
    case 'k':
      return TopKey::kUp;
    case 'j':
      return TopKey::kDown;
    case '\x0c':
      return TopKey::kRedraw;  // Ctrl-L
    case '\x1a':
      return TopKey::kSuspend;  // Ctrl-Z
    default:
      return std::nullopt;
  }
}

// Without "ESC [" or "ESC O".
std::optional<TopKey> key_of_sequence(std::string_view body) {
  if (body == "A") return TopKey::kUp;
  if (body == "B") return TopKey::kDown;
  if (body == "H" || body == "1~" || body == "7~") return TopKey::kHome;
  if (body == "F" || body == "4~" || body == "8~") return TopKey::kEnd;
  if (body == "5~") return TopKey::kPageUp;
  if (body == "6~") return TopKey::kPageDown;
  return std::nullopt;
}

void toggle(TopWeight weight, TopSettings& settings) {
  settings.weight = settings.weight == weight ? TopWeight::kCpu : weight;
}

void sort_by(TopSort sort, TopSettings& settings) {
  settings.sort = sort;
  settings.scroll = 0;
}

}  // namespace

std::vector<TopKey> TopKeys::read(std::string_view bytes) {
  std::vector<TopKey> keys;
  for (const char byte : bytes) {
    if (const auto key = take(byte)) keys.push_back(*key);
  }
  return keys;
}

std::optional<TopKey> TopKeys::take(char byte) {
  if (byte == kEscape) {  // also where a sequence was never ended
    sequence_ = byte;
    return std::nullopt;
  }
  if (sequence_.empty()) return key_of(byte);
  sequence_ += byte;
  if (sequence_.size() == 2) {
    if (byte == '[' || byte == 'O') return std::nullopt;
    sequence_.clear();  // the escape key, then another one
    return key_of(byte);
  }
  // Parameters go on until a letter or "~" ends them.
  const bool is_end = byte >= '@' && byte <= '~';
  if (!is_end && sequence_.size() < kMaxSequence) return std::nullopt;
  const auto key = is_end ? key_of_sequence(std::string_view(sequence_).substr(2)) : std::nullopt;
  sequence_.clear();
  return key;
}

void apply_key(TopKey key, size_t page_rows, TopSettings& settings) {
  const size_t page = std::max<size_t>(page_rows, 1);
  switch (key) {
    case TopKey::kSortOwnNow:
      return sort_by(TopSort::kOwnNow, settings);
    case TopKey::kSortTotalNow:
      return sort_by(TopSort::kTotalNow, settings);
    case TopKey::kSortOwnSinceStart:
      return sort_by(TopSort::kOwnSinceStart, settings);
    case TopKey::kSortTotalSinceStart:
      return sort_by(TopSort::kTotalSinceStart, settings);
    case TopKey::kThreads:
      settings.with_threads = !settings.with_threads;
      return;
    case TopKey::kGil:
      return toggle(TopWeight::kGil, settings);
    case TopKey::kIdle:
      return toggle(TopWeight::kWall, settings);
    case TopKey::kPause:
      settings.is_paused = !settings.is_paused;
      return;
    case TopKey::kHelp:
      settings.with_help = !settings.with_help;
      return;
    case TopKey::kUp:
      settings.scroll -= std::min<size_t>(settings.scroll, 1);
      return;
    case TopKey::kDown:
      ++settings.scroll;
      return;
    case TopKey::kPageUp:
      settings.scroll -= std::min(settings.scroll, page);
      return;
    case TopKey::kPageDown:
      settings.scroll += page;
      return;
    case TopKey::kHome:
      settings.scroll = 0;
      return;
    case TopKey::kEnd:
      settings.scroll = kFarDown;
      return;
    case TopKey::kQuit:
    case TopKey::kSuspend:
    case TopKey::kRedraw:
    case TopKey::kReset:
      return;
  }
}

}  // namespace stepscope::cli
