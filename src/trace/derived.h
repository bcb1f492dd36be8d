// Derived: what analyses worked out about a trace and others will want again (which launch started
// which kernel, where the steps are, a view that the overview shows too). Made once, kept with the
// trace, never changed. A trace that is read by several threads may have one made twice; the first
// then stays.
//
//   auto launches = trace.derived().get<Launches>("launches", [&] { return build(trace); });
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <typeinfo>
#include <unordered_map>
#include <utility>

namespace stepscope {

class Derived {
 public:
  // The value of that name, made by `make` if there is none yet. One name stands for one thing:
  // what `make` gives may depend on nothing but the trace and the name.
  template <typename T, typename Make>
  std::shared_ptr<const T> get(std::string_view name, Make&& make) {
    std::string key = std::string(name) + ' ' + typeid(T).name();
    {
      const std::lock_guard lock(mutex_);
      const auto it = values_.find(key);
      if (it != values_.end()) return std::static_pointer_cast<const T>(it->second);
    }
    // Unlocked: making one may need others.
    auto value = std::make_shared<const T>(make());
    const std::lock_guard lock(mutex_);
    const auto it = values_.try_emplace(std::move(key), value).first;
    return std::static_pointer_cast<const T>(it->second);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const void>> values_;  // shared with their users
};

}  // namespace stepscope
