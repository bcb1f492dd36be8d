#include "collect/sample/thread_names.h"

namespace stepscope::sample {
namespace {

constexpr size_t kMaxNamedThreads = 10'000;
constexpr size_t kMaxCharacters = 200;

}  // namespace

uint64_t ThreadNames::find_threads(uint64_t interpreter) {
  if (const auto known = threads_.find(interpreter); known != threads_.end()) {
    return known->second;
  }
  const uint64_t module = objects_.find_module(interpreter, "threading");
  const uint64_t threads = objects_.find_in_module(module, "_active");
  if (threads != 0) threads_.emplace(interpreter, threads);
  return threads;
}

void ThreadNames::refresh() {
  std::unordered_map<uint64_t, std::string> names;
  for (const uint64_t interpreter : objects_.find_interpreters()) {
    const auto threads = objects_.read_dict(find_threads(interpreter), kMaxNamedThreads).entries;
    // None at all: it is another dict by now.
    if (threads.empty()) threads_.erase(interpreter);
    for (const auto& [key, thread] : threads) {
      const auto ident = objects_.read_unsigned(key);
      const auto name =
          objects_.read_text(objects_.find_attribute(thread, "_name"), kMaxCharacters);
      if (ident && name && !name->utf8.empty()) names[*ident] = name->utf8;
    }
  }
  names_ = std::move(names);
}

const std::string* ThreadNames::find(uint64_t pthread) const {
  const auto found = names_.find(pthread);
  return found == names_.end() ? nullptr : &found->second;
}

}  // namespace stepscope::sample
