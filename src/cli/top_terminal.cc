#include "cli/top_terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "analyze/utf8.h"
#include "cli/stop_signals.h"
#include "cli/terminal.h"

namespace stepscope::cli {
namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[2J";  // other screen, no cursor
constexpr std::string_view kLeave = "\x1b[0m\x1b[?25h\x1b[?1049l";
constexpr std::string_view kClearToEndOfLine = "\x1b[K";
constexpr int kPatienceMs = 1'000;

std::string_view style_code(TopStyle style) {
  switch (style) {
    case TopStyle::kPlain:
      return "";
    case TopStyle::kTitle:
      return "\x1b[1m";
    case TopStyle::kHeading:
      return "\x1b[7m";
    case TopStyle::kHot:
      return "\x1b[1;33m";
    case TopStyle::kDim:
      return "\x1b[2m";
  }
  return "";
}

bool waits_for(int file, short events, int timeout_ms) {
  pollfd entry{.fd = file, .events = events, .revents = 0};
  return ::poll(&entry, 1, timeout_ms) > 0;
}

}  // namespace

bool can_draw() {
  const char* term = std::getenv("TERM");
  return is_terminal(STDOUT_FILENO) && term != nullptr && *term != '\0' &&
         std::string_view(term) != "dumb";
}

bool is_utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    std::string locale = value;
    std::transform(locale.begin(), locale.end(), locale.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return locale.find("utf-8") != locale.npos || locale.find("utf8") != locale.npos;
  }
  return false;
}

Result<std::unique_ptr<TopTerminal>> TopTerminal::open() {
  std::unique_ptr<TopTerminal> terminal(new TopTerminal);
  terminal->has_color_ = wants_color(STDOUT_FILENO);
  if (is_terminal(STDIN_FILENO)) {
    terminal->keys_ = STDIN_FILENO;
  } else {
    terminal->keys_ = ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    terminal->owns_keys_ = terminal->keys_ >= 0;
  }
  // A resize shall end a wait; the size itself is asked for.
  struct sigaction action {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGWINCH, &action, &terminal->resize_before_);
  terminal->enter();
  if (terminal->is_gone_) return Status::error("standard output: the terminal is gone");
  return terminal;
}

TopTerminal::~TopTerminal() {
  leave();
  ::sigaction(SIGWINCH, &resize_before_, nullptr);
  if (owns_keys_) ::close(keys_);
}

void TopTerminal::enter() {
  has_modes_ = keys_ >= 0 && ::tcgetattr(keys_, &modes_before_) == 0;
  if (has_modes_) {
    termios modes = modes_before_;
    modes.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
    modes.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
    modes.c_cc[VMIN] = 0;
    modes.c_cc[VTIME] = 0;
    modes.c_cc[VSUSP] = _POSIX_VDISABLE;
    modes.c_cc[VQUIT] = _POSIX_VDISABLE;
    ::tcsetattr(keys_, TCSANOW, &modes);
  }
  write(kEnter);
  forget_drawn();
}

void TopTerminal::leave() {
  // Also where it is stuck: then we do not wait for it forever.
  if (waits_for(STDOUT_FILENO, POLLOUT, kPatienceMs)) {
    const ssize_t written = ::write(STDOUT_FILENO, kLeave.data(), kLeave.size());
    if (written < 0) is_gone_ = true;
  }
  if (!has_modes_) return;
  ::tcflush(keys_, TCIFLUSH);
  ::tcsetattr(keys_, TCSANOW, &modes_before_);
  has_modes_ = false;
}

void TopTerminal::suspend() {
  leave();
  ::raise(SIGTSTP);
  enter();
}

TopSize TopTerminal::size() const {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  TopSize found;
  if (size.ws_col > 0) found.columns = size.ws_col;
  if (size.ws_row > 0) found.rows = size.ws_row;
  return found;
}

void TopTerminal::forget_drawn() {
  drawn_.clear();
  drawn_size_ = {0, 0};
}

void TopTerminal::draw(const std::vector<TopLine>& lines) {
  const TopSize now = size();
  std::string out;
  if (now != drawn_size_) {
    out += "\x1b[0m\x1b[2J";
    drawn_.clear();
    drawn_size_ = now;
  }
  drawn_.resize(std::max(drawn_.size(), lines.size()));
  for (size_t row = 0; row < drawn_.size(); ++row) {
    const TopLine line = row < lines.size() ? lines[row] : TopLine{};
    if (line == drawn_[row]) continue;
    out += "\x1b[" + std::to_string(row + 1) + ";1H";
    const std::string_view code = has_color_ ? style_code(line.style) : "";
    out.append(code).append(line.text);
    if (!code.empty()) out += "\x1b[0m";
    // At the last column the cursor stands on the letter that was just written.
    if (display_width(line.text) < now.columns) out += kClearToEndOfLine;
    drawn_[row] = line;
  }
  if (!out.empty()) write(out);
}

void TopTerminal::write(std::string_view bytes) {
  while (!bytes.empty() && !is_gone_) {
    const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {
      waits_for(STDOUT_FILENO, POLLOUT, kPatienceMs);
    } else if (errno != EINTR) {
      is_gone_ = true;
    }
    if (!bytes.empty() && StopSignals::is_asked()) {
      forget_drawn();  // a terminal that is stuck does not keep us
      return;
    }
  }
}

std::string TopTerminal::wait_for_keys(int timeout_ms) {
  pollfd entry{.fd = keys_, .events = POLLIN, .revents = 0};
  if (::poll(&entry, keys_ >= 0 ? 1 : 0, timeout_ms) <= 0) return "";
  char bytes[256];
  const ssize_t got = ::read(keys_, bytes, sizeof(bytes));
  // Readable with nothing to read: the other end has hung up.
  if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) is_gone_ = true;
  return got > 0 ? std::string(bytes, static_cast<size_t>(got)) : "";
}

}  // namespace stepscope::cli
