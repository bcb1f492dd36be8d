// CodeLabels: the label of each code object that runs, found by its address in a few instructions.
//
//   const CodeLabels::Entry& entry = CodeLabels::find(code);   // with the GIL
//   if (entry.mark == CodeLabels::Mark::kPlain) append_record(RecordKind::kBegin, entry.label);
//
// No reference is taken to the code. It tells us when it dies (co_extra has a destructor), and is
// forgotten, so that another one at the same address is not taken for it.
//
// Direct-mapped, as intern_cache.h is, but one for all threads: the GIL guards it.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <Python.h>

#include "base/status.h"
#include "collect/code_filter.h"

namespace stepscope {

class CodeLabels {
 public:
  enum class Mark : uint32_t {
    kNone,       // an empty place
    kPlain,      // recorded
    kGenerator,  // recorded, but for the short frame that makes the generator
    kThread,     // threading.Thread._bootstrap: tells a thread's name
    kLeftOut,    // by the filter, or ours
  };
  struct Entry {
    const PyCodeObject* code = nullptr;
    uint32_t label = 0;
    Mark mark = Mark::kNone;
  };

  // Forgets what earlier filters decided. `on_new_code` is called with each code object that is met
  // from now on. With the GIL.
  static Status start(CodeFilter filter, std::string own_folder,
                      void (*on_new_code)(const PyCodeObject*));

  static Entry find(const PyCodeObject* code) {
    const Entry& entry = entries_[place(code)];
    if (entry.code == code) [[likely]] {
      return entry;
    }
    return learn(code);
  }

  // The name of a function in a trace: FILE(LINE): QUALNAME.
  static std::string name_of(const PyCodeObject* code);

 private:
  static constexpr size_t kEntries = 8192;

  static size_t place(const void* code) {
    const uint64_t mixed = (reinterpret_cast<uintptr_t>(code) >> 4) * 0x9E3779B97F4A7C15u;
    return static_cast<size_t>(mixed >> (64 - std::bit_width(kEntries - 1)));
  }
  static Entry learn(const PyCodeObject* code);
  static void forget(void* extra);

  static std::array<Entry, kEntries> entries_;
};

}  // namespace stepscope
