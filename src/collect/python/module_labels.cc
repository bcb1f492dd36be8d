#include "collect/python/module_labels.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "collect/python/label_interning.h"
#include "collect/stepscope/record.h"

namespace stepscope {
namespace {

using Address = const PyObject*;

struct Known {
  Address model = nullptr;        // that it is named after
  std::string path;               // in it; empty: it is the model
  uint32_t label = 0;             // 0: not called so far
  uint32_t searches_in_vain = 0;  // below it, of modules that are called within it
};

struct Modules {
  std::unordered_map<Address, Known> known;
  std::unordered_map<Address, Address> by_watch;  // weak reference, which is ours -> module
  std::vector<PyObject*> spent_watches;
};
Modules& modules() {
  static auto* const instance = new Modules;  // modules die after static objects
  return *instance;
}

Known* find_known(Address module) {
  const auto it = modules().known.find(module);
  return it == modules().known.end() ? nullptr : &it->second;
}

// Called by a weak reference whose module dies.
PyObject* forget(PyObject*, PyObject* watch) {
  const auto it = modules().by_watch.find(watch);
  if (it != modules().by_watch.end()) {
    modules().known.erase(it->second);
    modules().by_watch.erase(it);
    modules().spent_watches.push_back(watch);  // whoever calls this may still use it
  }
  Py_RETURN_NONE;
}

PyMethodDef g_forget = {"forget_module", forget, METH_O, nullptr};

bool watch(PyObject* module) {
  static PyObject* const callback = PyCFunction_New(&g_forget, nullptr);
  PyObject* watch = callback == nullptr ? nullptr : PyWeakref_NewRef(module, callback);
  if (watch == nullptr) {
    PyErr_Clear();
    return false;
  }
  modules().by_watch.emplace(watch, module);
  return true;
}

void drop_spent_watches() {
  for (PyObject* watch : std::exchange(modules().spent_watches, {})) Py_DECREF(watch);
}

std::string_view class_of(PyObject* module) {
  const std::string_view name = Py_TYPE(module)->tp_name;
  return name.substr(name.rfind('.') + 1);
}

std::string_view text_of(PyObject* text) {
  Py_ssize_t bytes = 0;
  const char* utf8 = PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &bytes) : nullptr;
  if (utf8 == nullptr) {
    PyErr_Clear();
    return "?";
  }
  return {utf8, static_cast<size_t>(bytes)};
}

// Its dictionary of modules, or null. New reference.
PyObject* find_children(PyObject* module) {
  PyObject* attributes = PyObject_GenericGetDict(module, nullptr);
  PyObject* children =
      attributes == nullptr ? nullptr : PyDict_GetItemString(attributes, "_modules");
  children = children != nullptr && PyDict_Check(children) ? Py_NewRef(children) : nullptr;
  Py_XDECREF(attributes);
  PyErr_Clear();
  return children;
}

struct Found {
  PyObject* module;  // a reference of ours: what is called meanwhile may remove it from the model
  std::string path;
};

// A model and all that is below it, each once, by its first path: named_modules().
class Tree {
 public:
  Tree(PyObject* model, std::string path) {
    waiting_.push_back({Py_NewRef(model), std::move(path)});
    while (!waiting_.empty()) {
      Found next = std::move(waiting_.back());
      waiting_.pop_back();
      if (!seen_.insert(next.module).second) {
        Py_DECREF(next.module);
        continue;
      }
      add_children(next);
      found_.push_back(std::move(next));
    }
  }
  ~Tree() {
    for (const Found& found : found_) Py_DECREF(found.module);
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  const std::vector<Found>& all() const { return found_; }
  bool holds(Address module) const { return seen_.contains(module); }

 private:
  void add_children(const Found& parent) {
    PyObject* children = find_children(parent.module);
    if (children == nullptr) return;
    const std::string prefix = parent.path.empty() ? "" : parent.path + ".";
    const auto first = static_cast<ptrdiff_t>(waiting_.size());
    Py_ssize_t at = 0;
    PyObject *name, *child;
    while (PyDict_Next(children, &at, &name, &child) != 0) {
      if (child == Py_None) continue;
      waiting_.push_back({Py_NewRef(child), prefix + std::string(text_of(name))});
    }
    std::reverse(waiting_.begin() + first, waiting_.end());
    Py_DECREF(children);
  }

  std::vector<Found> waiting_;
  std::vector<Found> found_;
  std::unordered_set<Address> seen_;
};

// Whether a module that is known is to be named anew, being in `tree`.
bool loses_name(const Known& known, Address name_giver, const Tree& tree) {
  if (known.model == name_giver) return false;
  return tree.holds(known.model) || find_known(known.model) == nullptr;
}

void name_all_below(PyObject* model) {
  const Known* known = find_known(model);
  const Address name_giver = known != nullptr ? known->model : model;
  const Tree tree(model, known != nullptr ? known->path : "");
  for (const Found& found : tree.all()) {
    known = find_known(found.module);
    if (known != nullptr && !loses_name(*known, name_giver, tree)) continue;
    if (known == nullptr && !watch(found.module)) continue;
    modules().known[found.module] = {name_giver, found.path};
  }
}

// A search in vain costs as much as the model is large: after a few of them only every second,
// fourth, eighth … module is searched for.
bool is_worth_searching(Address model) {
  const Known* known = find_known(model);
  return known != nullptr && std::popcount(known->searches_in_vain) <= 1;
}

void name(PyObject* module, PyObject* outermost) {
  drop_spent_watches();
  if (outermost != nullptr && outermost != module) {
    if (is_worth_searching(outermost)) name_all_below(outermost);
    if (find_known(module) != nullptr) return;
    if (Known* model = find_known(outermost); model != nullptr) ++model->searches_in_vain;
  }
  name_all_below(module);
}

uint32_t make_label(PyObject* module, const Known& known) {
  std::string text = "nn.Module: ";
  if (!known.path.empty()) text += known.path + " (";
  text += class_of(module);
  if (!known.path.empty()) text += ')';
  return intern_label(text, "nn_module", STEPSCOPE_PYTHON);
}

}  // namespace

bool ModuleLabels::is_module(PyObject* object) {
  PyObject* children = find_children(object);
  Py_XDECREF(children);
  return children != nullptr;
}

uint32_t ModuleLabels::find(PyObject* module, PyObject* outermost) {
  Known* known = find_known(module);
  if (known != nullptr && known->label != 0) [[likely]] {
    return known->label;
  }
  // An exception may be on its way through the frame that asks.
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (known == nullptr) name(module, outermost);
  known = find_known(module);
  if (known != nullptr) known->label = make_label(module, *known);
  PyErr_Restore(type, value, traceback);
  return known == nullptr ? 0 : known->label;
}

}  // namespace stepscope
