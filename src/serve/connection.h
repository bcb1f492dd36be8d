// Connection: one client's socket, with limits that a slow or endless client can not stretch: a
// request is read within so many seconds and bytes in all, not per read.
//
//   Connection connection(socket);
//   if (connection.wait_for_request(2s, [&] { return is_stopping; })) …
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>

namespace stepscope::serve {

class Connection {
 public:
  static constexpr std::chrono::seconds kMaxReadTime{5};
  static constexpr std::chrono::seconds kMaxWriteStall{5};
  static constexpr size_t kMaxRequestBytes = 64 << 10;

  explicit Connection(int socket) : socket_(socket) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();  // closes the socket

  int socket() const { return socket_; }
  // Whether the first bytes of a request came in that time. `should_stop` is asked now and then.
  bool wait_for_request(std::chrono::milliseconds idle, const std::function<bool()>& should_stop);
  // As read(2): 0 at the end, -1 where the limits are passed.
  ssize_t read(char* to, size_t size);
  ssize_t write(const char* from, size_t size);
  bool is_readable() const;
  bool is_writable() const;
  // The client has closed it.
  bool is_gone() const;

 private:
  using Clock = std::chrono::steady_clock;

  int socket_;
  std::array<char, 16 << 10> buffer_;
  size_t begin_ = 0, end_ = 0;  // of what was received and not yet read
  size_t request_bytes_ = 0;
  Clock::time_point read_by_;
};

}  // namespace stepscope::serve
