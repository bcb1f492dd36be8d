// Whether any thread holds Python's global lock, ten times a second, as a counter of the recording:
// what runs without it is no Python code, whatever function it was called from (NumPy, PyTorch).
#pragma once

namespace stepscope {

// With the GIL held. Nothing where this interpreter is not known.
void watch_global_lock();

}  // namespace stepscope
