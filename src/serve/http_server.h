// HttpServer: the API and the page over HTTP, for one user on this machine (docs/viewer.md, "Who
// may ask"). Listens on 127.0.0.1 alone; every request of the API needs the token.
//
//   auto server = HttpServer::listen(api, {.port = 0});
//   if (!server) return server.status();      // "port 80: Permission denied"
//   print((*server)->url());                  // http://127.0.0.1:40123/#token=…
//   (*server)->serve();                       // until another thread calls stop()
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "serve/api.h"

namespace stepscope::serve {

struct HttpServerOptions {
  int port = 0;  // 0: one that is free
};

class HttpServer {
 public:
  // `api` must outlive the server.
  static Result<std::unique_ptr<HttpServer>> listen(Api& api, const HttpServerOptions& options);

  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  int port() const;
  std::string url() const;
  void serve();
  // From any thread. What is being made for clients is given up where it can be.
  void stop();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace stepscope::serve
