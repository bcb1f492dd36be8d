// ChromeEventText: TraceEventText that knows the trace: what an event says of its thread, process
// and label.
//
//   ChromeEventText to(trace, ChromeJsonLayout::kKineto, out);
//   to.begin_event("X");
//   to.label(slices.label[row]);     // "cat" and "name"
//   to.thread(track);                // "pid" and "tid"
#pragma once

#include <string_view>
#include <vector>

#include "export/chrome_json.h"
#include "export/trace_event_text.h"
#include "trace/trace.h"

namespace stepscope {

// The category that Kineto gives to a kind, for slices whose source had none.
std::string_view kineto_category(SliceKind kind);

class ChromeEventText : public TraceEventText {
 public:
  ChromeEventText(const Trace& trace, ChromeJsonLayout layout, OutputFile& out);

  const Trace& trace() const { return trace_; }
  std::string_view string(StringId id) const { return trace_.string(id); }
  bool is_kineto() const { return layout_ == ChromeJsonLayout::kKineto; }
  // The trace came from such a file: it is written as it was.
  bool is_from_trace_events() const { return is_from_trace_events_; }
  // What Kineto's readers look for, and a recording has not by itself.
  bool adds_kineto_fields() const { return adds_kineto_fields_; }

  // Fields "pid" and "tid".
  void thread(const Track& track);
  // A reader makes a track of every thread id that it meets. So what belongs to a process, and not
  // to a thread, goes under the id of the process's first thread.
  void process(uint32_t number);
  // Fields "cat" and "name".
  void label(LabelId id);
  // Whether readers know the kind by another category than the trace's own. Where the trace was
  // such a file, its categories are as good as ever.
  bool has_foreign_category(const Label& label) const;

 private:
  void field_id(std::string_view name, const ForeignId& id);

  const Trace& trace_;
  const ChromeJsonLayout layout_;
  const bool is_from_trace_events_;
  const bool adds_kineto_fields_;
  std::vector<const Track*> first_thread_;  // by process; null: it has none
};

}  // namespace stepscope
