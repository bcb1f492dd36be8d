#include "collect/sample/native_function.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace stepscope::sample {
namespace {

using namespace std::string_view_literals;

// "name", "name.cold", "name.part.0", "name.lto_priv.0.cold".
bool is_function(std::string_view name, std::string_view wanted) {
  return name.starts_with(wanted) && (name.size() == wanted.size() || name[wanted.size()] == '.');
}

bool is_any_of(std::string_view name, const auto& wanted) {
  return std::any_of(wanted.begin(), wanted.end(),
                     [name](std::string_view one) { return is_function(name, one); });
}

constexpr std::array kEvalCallers = {
    "_PyEval_Vector"sv,
    "_PyEval_EvalFrame"sv,
    "_PyEval_EvalCode"sv,
    "_PyEval_EvalCodeWithName"sv,
    "PyEval_EvalCode"sv,
    "PyEval_EvalCodeEx"sv,
    "PyEval_EvalFrame"sv,
    "PyEval_EvalFrameEx"sv,
    "_PyFunction_Vectorcall"sv,
    "function_code_fastcall"sv,
    "gen_send_ex"sv,
    "gen_send_ex2"sv,
    "gen_iternext"sv,
    "_gen_throw"sv,
};

constexpr std::array kThreadStarts = {
    "_start"sv,
    "__libc_start_main"sv,
    "__libc_start_main_impl"sv,
    "__libc_start_call_main"sv,
    "clone"sv,
    "clone3"sv,
    "__clone"sv,
    "__clone3"sv,
    "start_thread"sv,
    "thread_start"sv,
    "call_init"sv,
};

// What users know by its name is shown though it is part of the interpreter: functions of builtin
// modules, and what takes long in itself.
constexpr std::array kShownPrefixes = {
    "builtin_"sv,      "time_"sv,
    "os_"sv,           "posix_"sv,
    "sys_"sv,          "gc_"sv,
    "thread_"sv,       "lock_"sv,
    "rlock_"sv,        "sre_"sv,
    "unicode_"sv,      "bytes_"sv,
    "list_sort"sv,     "marshal_"sv,
    "_io_"sv,          "signal_"sv,
    "faulthandler_"sv, "long_pow"sv,
    "k_mul"sv,         "x_mul"sv,
    "x_divrem"sv,      "PyThread_acquire_lock"sv,
    "imp_"sv,          "_imp_"sv,
    "itertools_"sv,    "functools_"sv,
    "_functools_"sv,   "deque_"sv,
    "pysleep"sv,
};
// Of these: not the wrappers that only take arguments apart, and not a thread's first function.
constexpr std::array kHidden = {"thread_run"sv, "builtin_eval"sv, "builtin_exec"sv,
                                "builtin___build_class__"sv};

constexpr std::array kMains = {"main"sv, "Py_BytesMain"sv, "Py_Main"sv, "Py_RunMain"sv};

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

NativeRole find_native_role(const NativeFunction& function, bool is_interpreter) {
  const std::string_view name = function.name;
  if (function.has_name && is_any_of(name, kThreadStarts)) return NativeRole::kThreadStart;
  if (is_interpreter) {
    if (!function.has_name) return NativeRole::kInterpreter;
    if (is_function(name, "_PyEval_EvalFrameDefault")) return NativeRole::kEval;
    if (is_any_of(name, kEvalCallers)) return NativeRole::kEvalCaller;
    if (is_any_of(name, kHidden)) return NativeRole::kInterpreter;
    const bool is_shown = std::any_of(kShownPrefixes.begin(), kShownPrefixes.end(),
                                      [name](auto prefix) { return name.starts_with(prefix); });
    return is_shown ? NativeRole::kCode : NativeRole::kInterpreter;
  }
  const std::string_view file = file_name(function.module);
  // The small program around libpython.
  if (file.starts_with("python") && is_any_of(name, kMains)) return NativeRole::kThreadStart;
  const bool is_libc = file.starts_with("libc.so") || file.starts_with("libc-") ||
                       file.starts_with("libpthread") || file.starts_with("ld-");
  if (is_libc && !function.has_name) return NativeRole::kThreadStart;
  return NativeRole::kCode;
}

}  // namespace stepscope::sample
