#include "serve/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace stepscope::serve {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBetweenQuestions{50};

// Whether the event came in that time.
bool wait_for(int socket, short event, milliseconds time) {
  pollfd poll_for{socket, event, 0};
  int ready = 0;
  do {
    ready = poll(&poll_for, 1, static_cast<int>(std::max<int64_t>(time.count(), 0)));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

}  // namespace

Connection::~Connection() {
  // What the client has sent and no one has read would turn into a reset that may overtake the
  // answer.
  shutdown(socket_, SHUT_WR);
  for (int i = 0; i < 16 && recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT) > 0; ++i) {
  }
  close(socket_);
}

bool Connection::wait_for_request(milliseconds idle, const std::function<bool()>& should_stop) {
  const Clock::time_point until = Clock::now() + idle;
  while (begin_ == end_) {
    const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now());
    if (left.count() <= 0) return false;
    if (wait_for(socket_, POLLIN, std::min(left, kBetweenQuestions))) break;
    if (should_stop()) return false;
  }
  request_bytes_ = 0;
  read_by_ = Clock::now() + kMaxReadTime;
  return true;
}

ssize_t Connection::read(char* to, size_t size) {
  if (begin_ == end_) {
    const auto left = std::chrono::duration_cast<milliseconds>(read_by_ - Clock::now());
    if (left.count() <= 0 || !wait_for(socket_, POLLIN, left)) return -1;
    ssize_t received = 0;
    do {
      received = recv(socket_, buffer_.data(), buffer_.size(), 0);
    } while (received < 0 && errno == EINTR);
    if (received <= 0) return received;
    begin_ = 0;
    end_ = static_cast<size_t>(received);
  }
  const size_t count = std::min(size, end_ - begin_);
  request_bytes_ += count;
  if (request_bytes_ > kMaxRequestBytes) return -1;
  std::memcpy(to, buffer_.data() + begin_, count);
  begin_ += count;
  return static_cast<ssize_t>(count);
}

ssize_t Connection::write(const char* from, size_t size) {
  if (!wait_for(socket_, POLLOUT, kMaxWriteStall)) return -1;
  ssize_t sent = 0;
  do {
    sent = send(socket_, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

bool Connection::is_readable() const {
  return begin_ < end_ || wait_for(socket_, POLLIN, kMaxReadTime);
}
bool Connection::is_writable() const { return wait_for(socket_, POLLOUT, kMaxWriteStall); }

bool Connection::is_gone() const {
  char byte = 0;
  const ssize_t received = recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return received == 0 || (received < 0 && errno != EAGAIN && errno != EINTR);
}

}  // namespace stepscope::serve
