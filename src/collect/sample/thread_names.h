// ThreadNames: what a Python program calls its threads (threading.Thread's name), by the ident that
// is the thread's pthread number. Cheap enough to be refreshed every second or so: where the names
// are is found once.
//
//   ThreadNames names(objects);
//   names.refresh();
//   names.find(thread.pthread);     // "DataLoader-0"; null: none that Python knows
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "collect/sample/remote_objects.h"

namespace stepscope::sample {

class ThreadNames {
 public:
  // Borrows it.
  explicit ThreadNames(RemoteObjects& objects) : objects_(objects) {}

  void refresh();
  const std::string* find(uint64_t pthread) const;
  size_t size() const { return names_.size(); }

 private:
  uint64_t find_threads(uint64_t interpreter);

  RemoteObjects& objects_;
  std::unordered_map<uint64_t, std::string> names_;
  std::unordered_map<uint64_t, uint64_t> threads_;  // threading._active by interpreter
};

}  // namespace stepscope::sample
