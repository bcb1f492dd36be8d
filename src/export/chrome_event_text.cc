#include "export/chrome_event_text.h"

#include "trace/torch_scopes.h"

namespace stepscope {

std::string_view kineto_category(SliceKind kind) {
  switch (kind) {
    case SliceKind::kOperator:
      return "cpu_op";
    case SliceKind::kAnnotation:
    case SliceKind::kStep:
      return "user_annotation";
    case SliceKind::kPython:
      return "python_function";
    case SliceKind::kRuntime:
      return "cuda_runtime";
    case SliceKind::kKernel:
      return "kernel";
    case SliceKind::kMemcpy:
      return "gpu_memcpy";
    case SliceKind::kMemset:
      return "gpu_memset";
    case SliceKind::kDeviceAnnotation:
      return "gpu_user_annotation";
    case SliceKind::kSync:
      return "cuda_sync";
    case SliceKind::kOverhead:
      return "overhead";
    case SliceKind::kSpan:
      return "Trace";
    case SliceKind::kOther:
    case SliceKind::kInstant:
    case SliceKind::kCall:
      break;
  }
  return "";
}

ChromeEventText::ChromeEventText(const Trace& trace, ChromeJsonLayout layout, OutputFile& out)
    : TraceEventText(out),
      trace_(trace),
      layout_(layout),
      is_from_trace_events_(trace.format().ends_with("JSON")),
      adds_kineto_fields_(layout == ChromeJsonLayout::kKineto &&
                          trace.format() == kRecordingFormat),
      first_thread_(trace.processes().size()) {
  for (const Track& track : trace.tracks()) {
    const bool is_thread = track.kind == TrackKind::kThread || track.kind == TrackKind::kStream;
    const Track*& first = first_thread_[track.process];
    if (is_thread && first == nullptr) first = &track;
  }
}

void ChromeEventText::field_id(std::string_view name, const ForeignId& id) {
  if (id.text != kEmptyString) {
    field(name, string(id.text));
  } else {
    field_int(name, id.number);
  }
}

void ChromeEventText::thread(const Track& track) {
  field_id("pid", trace_.processes()[track.process].pid);
  field_id("tid", track.tid);
}

void ChromeEventText::process(uint32_t number) {
  field_id("pid", trace_.processes()[number].pid);
  if (first_thread_[number] != nullptr) field_id("tid", first_thread_[number]->tid);
}

bool ChromeEventText::has_foreign_category(const Label& label) const {
  return !is_from_trace_events_ && label.category != kEmptyString &&
         string(label.category) != kPhaseCategory &&  // no annotation of the user's
         !kineto_category(label.kind).empty() &&
         kineto_category(label.kind) != string(label.category);
}

void ChromeEventText::label(LabelId id) {
  const Label& label = trace_.labels()[id];
  const bool is_bare = label.category == kEmptyString;
  const std::string_view category =
      is_bare || has_foreign_category(label) ? kineto_category(label.kind) : string(label.category);
  if (!category.empty()) {
    field("cat", category);
  } else if (adds_kineto_fields_) {
    field("cat", "other");  // readers fail, or drop the event, where there is none
  }
  field("name", string(label.name));
}

}  // namespace stepscope
