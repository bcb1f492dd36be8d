#include "collect/python/cprofile/profile_clock.h"

#include <cmath>

#include "base/tick_clock.h"

namespace stepscope::cprofile {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;

void raise_too_large() {
  PyErr_SetString(PyExc_OverflowError, "timestamp too large to convert to 64-bit nanoseconds");
}

bool read_units(PyObject* value, int64_t& units) {
  if (!PyLong_Check(value)) {
    PyErr_Format(PyExc_TypeError, "expect int, got %s", Py_TYPE(value)->tp_name);
    return false;
  }
  units = PyLong_AsLongLong(value);
  return units != -1 || PyErr_Occurred() == nullptr;
}

bool read_seconds(PyObject* value, int64_t& ns) {
  if (PyFloat_Check(value)) {
    const double seconds = PyFloat_AS_DOUBLE(value);
    if (std::isnan(seconds)) {
      PyErr_SetString(PyExc_ValueError, "Invalid value NaN (not a number)");
      return false;
    }
    const double exact_ns = std::floor(seconds * static_cast<double>(kNsPerSecond));
    constexpr double kLimit = 9223372036854775808.0;  // 2^63
    if (!(exact_ns >= -kLimit && exact_ns < kLimit)) {
      raise_too_large();
      return false;
    }
    ns = static_cast<int64_t>(exact_ns);
    return true;
  }
  const int64_t seconds = PyLong_AsLongLong(value);
  if (seconds == -1 && PyErr_Occurred() != nullptr) return false;
  if (__builtin_mul_overflow(seconds, kNsPerSecond, &ns)) {
    raise_too_large();
    return false;
  }
  return true;
}

}  // namespace

uint64_t read_user_timer(PyObject* timer, bool in_units) {
  int64_t result = 0;
  PyObject* value = PyObject_CallNoArgs(timer);
  const bool is_read =
      value != nullptr && (in_units ? read_units(value, result) : read_seconds(value, result));
  Py_XDECREF(value);
  if (is_read) return static_cast<uint64_t>(result);
  PyErr_WriteUnraisable(timer);
  return 0;
}

double measure_seconds_per_tick() {
  static const uint64_t first_rate = measure_ticks_per_second();
  static const ClockReading first = read_clocks(first_rate);
  static double settled = 0;
  if (settled != 0) return settled;
  const ClockReading now = read_clocks(first_rate);
  const int64_t span_ns = now.monotonic_ns - first.monotonic_ns;
  // Below that the first measurement is the better one.
  if (!kTicksAreCounter || span_ns < 2'000'000) return 1.0 / static_cast<double>(first_rate);
  const double seconds_per_tick = static_cast<double>(span_ns) / static_cast<double>(kNsPerSecond) /
                                  static_cast<double>(now.ticks - first.ticks);
  if (span_ns >= kNsPerSecond) settled = seconds_per_tick;
  return seconds_per_tick;
}

}  // namespace stepscope::cprofile
