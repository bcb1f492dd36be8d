#include "serve/http_server.h"

#include <fcntl.h>
#include <httplib.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "export/output_file.h"
#include "serve/connection.h"
#include "serve/page.h"

namespace stepscope::serve {
namespace {

constexpr const char* kHost = "127.0.0.1";
constexpr std::string_view kApiPrefix = "/api/";
constexpr const char* kTokenHeader = "X-Stepscope-Token";
constexpr size_t kMaxConnections = 64;
constexpr size_t kMaxWaiting = 256;  // connections that are accepted and not yet served
constexpr int kBacklog = 1024;
constexpr size_t kMaxRequestsPerConnection = 10'000;
constexpr std::chrono::milliseconds kMaxIdle{2000};
constexpr size_t kLeastToCompress = 1024;
constexpr int kStatusForbidden = 403;

constexpr const char* kContentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string make_token() {
  static constexpr char kHex[] = "0123456789abcdef";
  std::array<uint8_t, 24> random;
  size_t filled = 0;
  while (filled < random.size()) {
    const ssize_t got = getrandom(random.data() + filled, random.size() - filled, 0);
    CHECK(got > 0 || errno == EINTR, "the system has no random numbers");
    if (got > 0) filled += static_cast<size_t>(got);
  }
  std::string token;
  for (const uint8_t byte : random) {
    token += kHex[byte >> 4];
    token += kHex[byte & 15];
  }
  return token;
}

// In a time that does not tell how much of it is right.
bool is_same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

// The threads that serve connections. Where all are busy connections wait, and where too many wait
// no more are accepted.
class ConnectionThreads final : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> task) override {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [&] { return tasks_.size() < kMaxWaiting || is_shut_down_; });
    tasks_.push_back(std::move(task));
    waiting_ = tasks_.size();
    if (idle_ < tasks_.size() && threads_.size() < kMaxConnections) {
      threads_.emplace_back([this] { run(); });
    } else {
      has_task_.notify_one();
    }
  }

  void shutdown() override {
    {
      const std::lock_guard lock(mutex_);
      is_shut_down_ = true;
    }
    has_task_.notify_all();
    has_room_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  bool has_waiting() const { return waiting_ > 0; }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      ++idle_;
      has_task_.wait(lock, [&] { return !tasks_.empty() || is_shut_down_; });
      --idle_;
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      waiting_ = tasks_.size();
      has_room_.notify_one();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable has_task_, has_room_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  std::atomic<size_t> waiting_ = 0;
  bool is_shut_down_ = false;
};

class ConnectionStream final : public httplib::Stream {
 public:
  explicit ConnectionStream(Connection& connection) : connection_(connection) {}

  bool is_readable() const override { return connection_.is_readable(); }
  bool is_writable() const override { return connection_.is_writable(); }
  ssize_t read(char* to, size_t size) override { return connection_.read(to, size); }
  ssize_t write(const char* from, size_t size) override { return connection_.write(from, size); }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip = kHost;
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    ip = kHost;
    port = 0;
  }
  socket_t socket() const override { return connection_.socket(); }

 private:
  Connection& connection_;
};

// What the request on this thread came with.
struct Exchange {
  Connection* connection = nullptr;
  bool accepts_gzip = false;
  bool must_close = false;
};
thread_local Exchange* current_exchange = nullptr;

}  // namespace

class HttpServer::Impl final : public httplib::Server {
 public:
  explicit Impl(Api& api) : api_(api), token_(make_token()) {
    set_socket_options([](socket_t socket) {
      // Not SO_REUSEPORT: two servers would share the port.
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    });
    set_tcp_nodelay(true);
    set_payload_max_length(Connection::kMaxRequestBytes);
    set_default_headers({{"Content-Security-Policy", kContentSecurityPolicy},
                         {"X-Content-Type-Options", "nosniff"},
                         {"Referrer-Policy", "no-referrer"},
                         {"Cross-Origin-Resource-Policy", "same-origin"},
                         {"Cross-Origin-Opener-Policy", "same-origin"},
                         {"Cache-Control", "no-store"}});
    new_task_queue = [this] { return threads_ = new ConnectionThreads; };
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      return check(request, response) ? HandlerResponse::Unhandled : HandlerResponse::Handled;
    });
    const auto handle = [this](const httplib::Request& request, httplib::Response& response) {
      answer(request, response);
    };
    Get(".*", handle);
    Post(".*", handle);
    set_exception_handler(
        [](const httplib::Request&, httplib::Response& response, const std::exception_ptr&) {
          refuse(response, kStatusFault, "out of memory");
        });
  }

  Status bind(int port) {
    errno = 0;
    if (port == 0) {
      port_ = bind_to_any_port(kHost);
    } else {
      port_ = bind_to_port(kHost, port) ? port : -1;
    }
    if (port_ <= 0) {
      const std::string what = port == 0 ? std::string(kHost) : "port " + std::to_string(port);
      return Status::error(what + ": " +
                           (errno != 0 ? std::strerror(errno) : "can not be listened on"));
    }
    // The library's own backlog is 5: a burst of connections would wait for a second.
    ::listen(svr_sock_, kBacklog);
    fcntl(svr_sock_, F_SETFD, FD_CLOEXEC);
    hosts_ = {kHost + (":" + std::to_string(port_)), "localhost:" + std::to_string(port_)};
    return {};
  }

  int port() const { return port_; }
  std::string url() const { return "http://" + hosts_.front() + "/#token=" + token_; }

  void serve() {
    if (!is_stopping_) listen_after_bind();
    is_done_ = true;
  }

  void stop_serving() {
    is_stopping_ = true;
    // The library forgets a stop() that comes before it runs.
    while (!is_done_ && !is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stop();
  }

 private:
  // Called by the library on one of the threads.
  bool process_and_close_socket(socket_t socket) override {
    Connection connection(socket);
    ConnectionStream stream(connection);
    const auto should_stop = [this] { return is_stopping_ || threads_->has_waiting(); };
    for (size_t i = 1; i <= kMaxRequestsPerConnection && !is_stopping_; ++i) {
      if (!connection.wait_for_request(kMaxIdle, should_stop)) break;
      Exchange exchange{.connection = &connection};
      current_exchange = &exchange;
      bool is_closed = false;
      const bool is_fine = process_request(
          stream, i == kMaxRequestsPerConnection, is_closed, [&](httplib::Request& request) {
            exchange.accepts_gzip =
                request.get_header_value("Accept-Encoding").find("gzip") != std::string::npos;
            // What the library would do by itself: brotli, slowly, and any number of ranges.
            request.headers.erase("Accept-Encoding");
            request.headers.erase("Range");
            request.ranges.clear();
          });
      current_exchange = nullptr;
      if (!is_fine || is_closed || exchange.must_close) break;
    }
    return true;
  }

  bool is_own_host(const httplib::Request& request, const char* header, std::string_view before,
                   bool is_needed) const {
    const size_t count = request.get_header_value_count(header);
    if (count == 0) return !is_needed;
    const std::string value = request.get_header_value(header);
    return count == 1 && value.starts_with(before) &&
           std::find(hosts_.begin(), hosts_.end(), value.substr(before.size())) != hosts_.end();
  }

  // False: it was answered with an error.
  bool check(const httplib::Request& request, httplib::Response& response) const {
    const bool has_body =
        request.has_header("Content-Length") || request.has_header("Transfer-Encoding");
    if (request.method != "GET" && request.method != "HEAD" && request.method != "POST") {
      return refuse(response, kStatusWrongMethod, "only GET and POST");
    }
    if (has_body && request.method != "POST") {
      return refuse(response, kStatusBadRequest, "only POST has a body");
    }
    if (!is_own_host(request, "Host", "", true)) {
      return refuse(response, kStatusForbidden, "Host is not this server");
    }
    if (!is_own_host(request, "Origin", "http://", false)) {
      return refuse(response, kStatusForbidden, "Origin is not this server");
    }
    if (request.path.starts_with(kApiPrefix) &&
        (request.get_header_value_count(kTokenHeader) != 1 ||
         !is_same(request.get_header_value(kTokenHeader), token_))) {
      return refuse(response, kStatusForbidden,
                    "no token, or a wrong one: open the address that stepscope view printed");
    }
    return true;
  }

  static bool refuse(httplib::Response& response, int status, std::string_view message) {
    const ApiAnswer error = ApiAnswer::error(status, message);
    response.status = error.status;
    response.set_content(error.body, error.type);
    // A body that no one reads must not be taken for the next request.
    response.set_header("Connection", "close");
    if (current_exchange != nullptr) current_exchange->must_close = true;
    return false;
  }

  void answer(const httplib::Request& request, httplib::Response& response) {
    if (request.path.starts_with(kApiPrefix)) {
      answer_api(request, response);
      return;
    }
    const std::string_view name = std::string_view(request.path).substr(1);
    for (const PageFile& file : page_files()) {
      if (file.name != (name.empty() ? "index.html" : name)) continue;
      send(response, kStatusFine, std::string(file.type), std::string(file.text), true);
      return;
    }
    refuse(response, kStatusNotFound, "there is nothing here");
  }

  void answer_api(const httplib::Request& request, httplib::Response& response) {
    ApiRequest asked;
    asked.path = request.path.substr(kApiPrefix.size());
    asked.parameters.assign(request.params.begin(), request.params.end());
    asked.has_body = request.method == "POST";
    asked.body = request.body;
    const Connection& connection = *current_exchange->connection;
    asked.should_stop = [&] { return is_stopping_ || connection.is_gone(); };
    ApiAnswer answer = api_.answer(asked);
    const bool is_text = answer.type != kBytesType;
    send(response, answer.status, answer.type, std::move(answer.body), is_text);
  }

  static void send(httplib::Response& response, int status, const std::string& type,
                   std::string body, bool can_compress) {
    response.status = status;
    if (can_compress && current_exchange->accepts_gzip && body.size() >= kLeastToCompress) {
      std::string compressed;
      if (make_gzip_compressor()->compress(body, true, compressed)) {
        body = std::move(compressed);
        response.set_header("Content-Encoding", "gzip");
      }
    }
    response.set_header("Content-Type", type);
    response.body = std::move(body);
  }

  Api& api_;
  const std::string token_;
  int port_ = 0;
  std::vector<std::string> hosts_;
  ConnectionThreads* threads_ = nullptr;  // the library owns it while it listens
  std::atomic<bool> is_stopping_ = false;
  std::atomic<bool> is_done_ = false;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::listen(Api& api, const HttpServerOptions& options) {
  auto impl = std::make_unique<Impl>(api);
  if (Status status = impl->bind(options.port); !status) return status;
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

int HttpServer::port() const { return impl_->port(); }
std::string HttpServer::url() const { return impl_->url(); }
void HttpServer::serve() { impl_->serve(); }
void HttpServer::stop() { impl_->stop_serving(); }

}  // namespace stepscope::serve
