// CallProfile: what a `.prof` holds, as it holds it: the dictionary of Python's pstats, from which
// nothing is rounded and whose order is kept.
//
//   {(file, line, name): (primitive calls, calls, self, total, {caller: (calls, …)}), …}
//
// Files are decoded into one and encoded from one; stepscope.pstats works on it. Views and other
// formats go through a Trace.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/ids.h"
#include "trace/string_pool.h"

namespace stepscope {

struct CallFigures {
  int64_t calls = 0;
  int64_t primitive_calls = 0;
  double self_s = 0;
  double total_s = 0;
};

class CallProfile {
 public:
  // (file, line, name). Text is UTF-8 in which surrogates may stand alone, as Python has them.
  struct Function {
    StringId file = kEmptyString;
    StringId name = kEmptyString;
    int64_t line = 0;
    friend bool operator==(const Function&, const Function&) = default;
  };
  struct Caller {
    uint32_t function = 0;
    bool has_times = true;  // false: the file has a number of calls only (the module profile)
    CallFigures figures;
  };
  struct Entry {
    uint32_t function = 0;
    CallFigures figures;
    std::vector<Caller> callers;
  };

  // The same function gives the same number. A function need have no entry: it may be a caller
  // only.
  uint32_t add_function(std::string_view file, int64_t line, std::string_view name) {
    return add_function({strings_.intern(file), strings_.intern(name), line});
  }
  uint32_t add_function(const Function& function);
  // The entry of a function, made where there is none: at the end. Valid until the next one is
  // made.
  Entry& add_entry(uint32_t function);
  const Entry* find_entry(uint32_t function) const {
    const uint32_t at = entry_of_[function];
    return at == kNone ? nullptr : &entries_[at];
  }

  StringPool& strings() { return strings_; }
  std::string_view string(StringId id) const { return strings_.view(id); }
  std::span<const Function> functions() const { return functions_; }
  std::span<const Entry> entries() const { return entries_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Hash {
    size_t operator()(const Function& function) const;
  };

  StringPool strings_;
  std::vector<Function> functions_;
  std::unordered_map<Function, uint32_t, Hash> functions_by_key_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> entry_of_;  // by function
};

}  // namespace stepscope
