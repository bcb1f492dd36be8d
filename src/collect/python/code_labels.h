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
#include <string>
#include <vector>

#include <Python.h>

#include "base/status.h"
#include "collect/code_filter.h"
#include "collect/python/code_mark.h"

namespace stepscope {

class CodeLabels {
 public:
  enum class Mark : uint32_t {
    kNone,       // an empty place
    kPlain,      // recorded
    kGenerator,  // recorded, but for the short frame that makes the generator
    kThread,     // threading.Thread._bootstrap: tells a thread's name
    kMarked,     // has a CodeMark; its label is 0, so that it leaves the common path: open_marks.h
    kLeftOut,    // by the filter, or ours
  };
  struct Entry {
    const PyCodeObject* code = nullptr;
    uint32_t label = 0;
    Mark mark = Mark::kNone;
  };

  struct Options {
    CodeFilter filter;
    std::string own_folder;
    bool marks_only = false;  // all code is left out, but what is marked
  };

  // Forgets what earlier filters decided. `on_new_code` is called with each code object that is met
  // from now on. With the GIL.
  static Status start(Options options, void (*on_new_code)(const PyCodeObject*));

  static Entry find(const PyCodeObject* code) {
    const Entry& entry = entries_[place(code)];
    if (entry.code == code) [[likely]] {
      return entry;
    }
    return learn(code);
  }

  // From its next call on. Whatever mark it had before is gone.
  static Status mark(PyCodeObject* code, CodeMark mark);
  // Of code that find() has called kMarked. It may die with the next Python object that does.
  static const CodeMark* find_mark(const PyCodeObject* code);
  // False for most of the code that is not marked, without looking at it.
  static bool may_be_marked(const PyCodeObject* code) { return may_be_marked_[tiny_place(code)]; }
  static const std::vector<PyCodeObject*>& marked_code();

  // The name of a function in a trace: FILE(LINE): QUALNAME.
  static std::string name_of(const PyCodeObject* code);

 private:
  static constexpr size_t kEntries = 8192;

  static constexpr size_t kTinyEntries = 256;

  static uint64_t mix(const void* code) {
    return (reinterpret_cast<uintptr_t>(code) >> 4) * 0x9E3779B97F4A7C15u;
  }
  static size_t place(const void* code) {
    return static_cast<size_t>(mix(code) >> (64 - std::bit_width(kEntries - 1)));
  }
  static size_t tiny_place(const void* code) {
    return static_cast<size_t>(mix(code) >> (64 - std::bit_width(kTinyEntries - 1)));
  }
  static Entry learn(const PyCodeObject* code);
  static void forget(void* extra);

  static std::array<Entry, kEntries> entries_;
  static std::array<bool, kTinyEntries> may_be_marked_;
};

}  // namespace stepscope
