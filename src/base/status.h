// Status and Result<T>: how a function says that the input or the system is at fault. No exception
// crosses a layer. A message reads "<what>: <why>", e.g. "trace.json: no such file"; front ends put
// "stepscope: " before it, or raise TraceError with it.
//
//   Result<Trace> load(const std::string& path);
//   auto trace = load(path);
//   if (!trace) return trace.status();
//   use(*trace);
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/check.h"

namespace stepscope {

class [[nodiscard]] Status {
 public:
  static Status error(std::string message) { return Status(std::move(message)); }

  Status() = default;  // ok

  bool ok() const { return !failed_; }
  explicit operator bool() const { return ok(); }
  const std::string& message() const { return message_; }

 private:
  explicit Status(std::string message) : message_(std::move(message)), failed_(true) {}

  std::string message_;
  bool failed_ = false;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit by design
    CHECK(!status_.ok(), "a Result without a value needs an error");
  }

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status& status() const { return status_; }

  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace stepscope
