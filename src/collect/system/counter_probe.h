// CounterProbe: a counter that another part of the program knows how to read, recorded together
// with the system's counters, by the drain.
//
//   static constexpr CounterProbe kProbe = {"queue", "", "count", [] { return 3.0; }};
//   set_counter_probe(&kProbe);
#pragma once

namespace stepscope {

struct CounterProbe {
  const char* name;
  const char* series;
  const char* unit;
  double (*read)();  // on the drain's thread; NaN: nothing to tell
};

// There is one. It must live as long as the process; null takes it away.
void set_counter_probe(const CounterProbe* probe);
const CounterProbe* counter_probe();

}  // namespace stepscope
