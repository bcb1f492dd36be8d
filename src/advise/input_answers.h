// The four questions of TensorFlow's guide on slow input pipelines, answered with this trace's
// figures: is data ready when it is asked for, is there a prefetch, is the host's CPU busy, what is
// slow.
#pragma once

#include <string>
#include <vector>

#include "trace/trace.h"

namespace stepscope {

// Empty where the trace has no tf.data pipeline.
std::vector<std::string> answer_input_questions(const Trace& trace);

}  // namespace stepscope
