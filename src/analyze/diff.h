// What got faster and what slower from one trace to another: of steps, phases, operators and
// functions, per step, with the noise between steps taken into account.
//
//   Result<Diff> diff = compare(before, after, {});
//   diff->table                       // the view `diff`
//   diff->step.is_certain()           // whether the difference is more than noise
//
// Of traces without steps the whole is compared: there is then nothing to tell noise by.
#pragma once

#include <cstdint>
#include <string>

#include "analyze/table.h"
#include "base/status.h"
#include "trace/trace.h"

namespace stepscope {

// A time in both traces: the mean over steps, and how far it may be off (standard error).
struct TimeChange {
  double before_ns = 0;
  double after_ns = 0;
  double before_error_ns = 0;
  double after_error_ns = 0;
  bool has_noise = false;  // more than one step in each: the errors mean something

  double change_ns() const { return after_ns - before_ns; }
  // Of what it was; 0 where it was nothing.
  double change_fraction() const { return before_ns > 0 ? change_ns() / before_ns : 0; }
  // More than the steps' own noise explains.
  bool is_certain() const;
  // The least that it grew by, of what it was, as far as noise lets one say. Below 0: it may have
  // shrunk.
  double certain_growth() const;
};

struct Diff {
  Table table{"diff"};
  TimeChange step;  // or of the whole, where either has no steps
};

// `options`: sort, limit, filter as for any view.
Result<Diff> compare(const Trace& before, const Trace& after, const TableOptions& options);

}  // namespace stepscope
