#include "collect/python/code_labels.h"

#include <unistd.h>

#include <string>
#include <string_view>

#include "collect/recorder/recorder.h"
#include "collect/stepscope/record.h"

namespace stepscope {

std::array<CodeLabels::Entry, CodeLabels::kEntries> CodeLabels::entries_;

namespace {

// What hangs on a code object while it lives.
struct Extra {
  CodeLabels::Entry entry;
  uint32_t generation = 0;  // of the filter that decided it
};

CodeFilter g_filter;
std::string g_own_folder;
uint32_t g_generation = 0;
Py_ssize_t g_extra_index = -1;
void (*g_on_new_code)(const PyCodeObject*) = nullptr;

#if PY_VERSION_HEX >= 0x030C0000
Py_ssize_t request_extra_index(freefunc free) {
  return PyUnstable_Eval_RequestCodeExtraIndex(free);
}
int get_extra(PyObject* code, void** extra) {
  return PyUnstable_Code_GetExtra(code, g_extra_index, extra);
}
int set_extra(PyObject* code, void* extra) {
  return PyUnstable_Code_SetExtra(code, g_extra_index, extra);
}
#else
Py_ssize_t request_extra_index(freefunc free) { return _PyEval_RequestCodeExtraIndex(free); }
int get_extra(PyObject* code, void** extra) { return _PyCode_GetExtra(code, g_extra_index, extra); }
int set_extra(PyObject* code, void* extra) { return _PyCode_SetExtra(code, g_extra_index, extra); }
#endif

std::string_view utf8_of(PyObject* text) {
  Py_ssize_t bytes = 0;
  const char* utf8 = text == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(text, &bytes);
  if (utf8 == nullptr) {
    PyErr_Clear();  // a lone surrogate in a file's name
    return "?";
  }
  return {utf8, static_cast<size_t>(bytes)};
}

bool is_ours(std::string_view file) {
  return !g_own_folder.empty() && file.starts_with(g_own_folder);
}

CodeLabels::Mark mark_of(const PyCodeObject* code, std::string_view file, std::string_view name) {
  using Mark = CodeLabels::Mark;
  if (is_ours(file) || !g_filter.takes(file, name)) return Mark::kLeftOut;
  if (name == "Thread._bootstrap" && file.ends_with("threading.py")) return Mark::kThread;
  constexpr int kGenerators = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  return (code->co_flags & kGenerators) != 0 ? Mark::kGenerator : Mark::kPlain;
}

// The table of names may be full for a moment, until the drain has written it: without its name a
// function would be lost from the counts, and this happens once per function. A drain that cannot
// write (a full disk) is waited for once, not at each call.
uint32_t label_of(const std::string& name) {
  constexpr int kTries = 100;
  constexpr useconds_t kPauseUs = 200;
  static bool is_worth_waiting = true;
  for (int i = 0;; ++i) {
    const uint32_t label = Recorder::definitions().label(name, "python_function", STEPSCOPE_PYTHON);
    if (label != 0 || !is_worth_waiting || i == kTries) {
      is_worth_waiting = label != 0;
      return label;
    }
    ::usleep(kPauseUs);
  }
}

// Without a label it is asked for again.
bool is_final(const CodeLabels::Entry& entry) {
  return entry.label != 0 || entry.mark == CodeLabels::Mark::kLeftOut;
}

}  // namespace

Status CodeLabels::start(CodeFilter filter, std::string own_folder,
                         void (*on_new_code)(const PyCodeObject*)) {
  if (g_extra_index < 0) g_extra_index = request_extra_index(&CodeLabels::forget);
  if (g_extra_index < 0) {
    return Status::error("too many tools keep data on code objects (co_extra is full)");
  }
  g_filter = std::move(filter);
  g_own_folder = std::move(own_folder);
  g_on_new_code = on_new_code;
  ++g_generation;
  entries_.fill({});
  return {};
}

std::string CodeLabels::name_of(const PyCodeObject* code) {
  std::string name(utf8_of(code->co_filename));
  name += '(' + std::to_string(code->co_firstlineno) + "): ";
  name += utf8_of(code->co_qualname);
  return name;
}

CodeLabels::Entry CodeLabels::learn(const PyCodeObject* code) {
  // An exception may be on its way through the frame that asks.
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  auto* object = reinterpret_cast<PyObject*>(const_cast<PyCodeObject*>(code));
  void* found = nullptr;
  Extra* extra = get_extra(object, &found) == 0 ? static_cast<Extra*>(found) : nullptr;
  Entry entry{code, 0, Mark::kLeftOut};
  if (extra != nullptr && extra->generation == g_generation) {
    entry = extra->entry;
  } else {
    entry.mark = mark_of(code, utf8_of(code->co_filename), utf8_of(code->co_qualname));
    if (entry.mark != Mark::kLeftOut) entry.label = label_of(name_of(code));
    if (g_on_new_code != nullptr) g_on_new_code(code);
    if (extra == nullptr) {
      extra = new Extra;
      if (set_extra(object, extra) != 0) {
        delete extra;
        extra = nullptr;
        PyErr_Clear();
      }
    }
    if (extra != nullptr) *extra = {entry, is_final(entry) ? g_generation : 0};
  }
  if (extra != nullptr && is_final(entry)) entries_[place(code)] = entry;
  PyErr_Restore(type, value, traceback);
  return entry;
}

void CodeLabels::forget(void* pointer) {
  auto* extra = static_cast<Extra*>(pointer);
  if (extra == nullptr) return;
  Entry& entry = entries_[place(extra->entry.code)];
  if (entry.code == extra->entry.code) entry = {};
  delete extra;
}

}  // namespace stepscope
