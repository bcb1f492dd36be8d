#include "collect/python/code_labels.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collect/python/label_interning.h"
#include "collect/stepscope/record.h"

namespace stepscope {

std::array<CodeLabels::Entry, CodeLabels::kEntries> CodeLabels::entries_;
std::array<bool, CodeLabels::kTinyEntries> CodeLabels::may_be_marked_;

namespace {

// What hangs on a code object while it lives.
struct Extra {
  CodeLabels::Entry entry;
  uint32_t generation = 0;  // of the filter that decided it; 0: none has
  std::unique_ptr<CodeMark> mark;
};

CodeLabels::Options g_options;
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

// Never destroyed: code dies after static objects.
std::vector<PyCodeObject*>& marked() {
  static auto* const code = new std::vector<PyCodeObject*>;
  return *code;
}

bool make_extra_index(freefunc forget) {
  if (g_extra_index < 0) g_extra_index = request_extra_index(forget);
  return g_extra_index >= 0;
}
Status co_extra_is_full() {
  return Status::error("too many tools keep data on code objects (co_extra is full)");
}

Extra* find_extra(const PyCodeObject* code) {
  void* found = nullptr;
  auto* object = reinterpret_cast<PyObject*>(const_cast<PyCodeObject*>(code));
  return get_extra(object, &found) == 0 ? static_cast<Extra*>(found) : nullptr;
}

// Null, and no exception, where there is no memory.
Extra* make_extra(const PyCodeObject* code) {
  auto extra = std::make_unique<Extra>();
  extra->entry.code = code;
  auto* object = reinterpret_cast<PyObject*>(const_cast<PyCodeObject*>(code));
  if (set_extra(object, extra.get()) == 0) return extra.release();
  PyErr_Clear();
  return nullptr;
}

bool is_ours(std::string_view file) {
  return !g_options.own_folder.empty() && file.starts_with(g_options.own_folder);
}

CodeLabels::Mark mark_of(const PyCodeObject* code, std::string_view file, std::string_view name) {
  using Mark = CodeLabels::Mark;
  if (g_options.marks_only || is_ours(file) || !g_options.filter.takes(file, name)) {
    return Mark::kLeftOut;
  }
  if (name == "Thread._bootstrap" && file.ends_with("threading.py")) return Mark::kThread;
  constexpr int kGenerators = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  return (code->co_flags & kGenerators) != 0 ? Mark::kGenerator : Mark::kPlain;
}

// What the tracer that runs decides. Whether it is final: without a label it is asked for again.
bool decide(const PyCodeObject* code, CodeLabels::Entry& entry) {
  using Mark = CodeLabels::Mark;
  entry.mark = mark_of(code, utf8_of(code->co_filename), utf8_of(code->co_qualname));
  if (entry.mark == Mark::kLeftOut) return true;
  entry.label = intern_label(CodeLabels::name_of(code), "python_function", STEPSCOPE_PYTHON);
  return entry.label != 0;
}

bool decide_marked(CodeMark& mark, CodeLabels::Entry& entry) {
  mark.function_label = entry.label;
  entry.label = 0;
  entry.mark = CodeLabels::Mark::kMarked;
  if (mark.name.empty()) return true;
  mark.label = intern_label(mark.name, mark.category, mark.kind);
  return mark.label != 0;
}

}  // namespace

Status CodeLabels::start(Options options, void (*on_new_code)(const PyCodeObject*)) {
  if (!make_extra_index(&CodeLabels::forget)) return co_extra_is_full();
  g_options = std::move(options);
  g_on_new_code = on_new_code;
  ++g_generation;
  entries_.fill({});
  return {};
}

Status CodeLabels::mark(PyCodeObject* code, CodeMark mark) {
  if (!make_extra_index(&CodeLabels::forget)) return co_extra_is_full();
  Extra* extra = find_extra(code);
  if (extra == nullptr) extra = make_extra(code);
  if (extra == nullptr) return Status::error("no memory");
  if (extra->mark == nullptr) {
    extra->mark = std::make_unique<CodeMark>();
    marked().push_back(code);
    may_be_marked_[tiny_place(code)] = true;
  }
  *extra->mark = std::move(mark);
  extra->generation = 0;
  if (Entry& entry = entries_[place(code)]; entry.code == code) entry = {};
  return {};
}

const CodeMark* CodeLabels::find_mark(const PyCodeObject* code) {
  const Extra* extra = find_extra(code);
  return extra == nullptr ? nullptr : extra->mark.get();
}

const std::vector<PyCodeObject*>& CodeLabels::marked_code() { return marked(); }

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
  Extra* extra = find_extra(code);
  Entry entry{code, 0, Mark::kLeftOut};
  bool is_final = true;
  if (extra != nullptr && extra->generation == g_generation) {
    entry = extra->entry;
  } else {
    is_final = decide(code, entry);
    if (g_on_new_code != nullptr) g_on_new_code(code);
    if (extra == nullptr) extra = make_extra(code);
    if (extra != nullptr && extra->mark != nullptr) {
      is_final = decide_marked(*extra->mark, entry) && is_final;
    }
    if (extra != nullptr) {
      extra->entry = entry;
      extra->generation = is_final ? g_generation : 0;
    }
  }
  if (extra != nullptr && is_final) entries_[place(code)] = entry;
  PyErr_Restore(type, value, traceback);
  return entry;
}

void CodeLabels::forget(void* pointer) {
  const std::unique_ptr<Extra> extra(static_cast<Extra*>(pointer));
  if (extra == nullptr) return;
  const PyCodeObject* code = extra->entry.code;
  if (Entry& entry = entries_[place(code)]; entry.code == code) entry = {};
  if (extra->mark != nullptr) std::erase(marked(), code);
}

}  // namespace stepscope
