// TopTerminal: a terminal as a display that is drawn again and again: keys come unbuffered and
// without an echo, the alternate screen keeps what was there before. All is as it was when it ends.
//
//   auto terminal = TopTerminal::open();
//   terminal->draw(lines);
//   std::string keys = terminal->wait_for_keys(100);
//
// Ctrl-C stays a signal. Ctrl-Z is a key, since the screen is to be given back first (suspend()).
#pragma once

#include <signal.h>
#include <termios.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cli/top_screen.h"

namespace stepscope::cli {

// Whether standard output is a terminal that can place its cursor.
bool can_draw();
// What the user's locale says.
bool is_utf8_locale();

class TopTerminal {
 public:
  static Result<std::unique_ptr<TopTerminal>> open();
  TopTerminal(const TopTerminal&) = delete;
  TopTerminal& operator=(const TopTerminal&) = delete;
  ~TopTerminal();

  // As it is at the moment.
  TopSize size() const;
  // Writes the lines that have changed.
  void draw(const std::vector<TopLine>& lines);
  // Next time all lines.
  void forget_drawn();
  // What was typed; "" after the time, or after a signal.
  std::string wait_for_keys(int timeout_ms);
  // The shell's again, until it wants us back.
  void suspend();
  // The other end has hung up.
  bool is_gone() const { return is_gone_; }

 private:
  TopTerminal() = default;
  void enter();
  void leave();
  void write(std::string_view bytes);

  int keys_ = -1;  // where they come from; -1: nowhere
  bool owns_keys_ = false;
  bool has_modes_ = false;
  termios modes_before_{};
  struct sigaction resize_before_ {};
  bool has_color_ = false;
  bool is_gone_ = false;
  TopSize drawn_size_{0, 0};
  std::vector<TopLine> drawn_;
};

}  // namespace stepscope::cli
