// A trace with something in every table, and the comparison of two traces in all that they hold.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "trace/trace_builder.h"

namespace stepscope {

// `scale` slices per track. The same seed gives the same trace.
inline Trace make_full_trace(int scale, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
  TraceBuilder builder;
  builder.set_format("Kineto JSON");
  builder.set_source("somewhere.json");
  builder.set_clock_base_ns(1'700'000'000'000'000'000);
  builder.add_metadata("host", "a machine", false);
  builder.add_metadata("distributedInfo", R"({"rank": 3})", true);
  builder.add_metadata("empty", "", false);
  Device device{.id = 2, .name = builder.string("A100"), .total_memory_bytes = int64_t{80} << 30};
  device.sm_count = 108;
  device.shared_memory_per_sm = 167'936;
  builder.add_device(device);
  builder.add_device({.id = -1});

  std::vector<TrackId> tracks = {builder.add_thread({1}, {11}), builder.add_thread({1}, {12})};
  tracks.push_back(builder.add_thread({0, builder.string("Traces")}, {0, builder.string("x")}));
  builder.process(0).name = builder.string("python");
  builder.process(0).labels = builder.string("CPU");
  builder.process(1).sort_index = -5;
  builder.process(1).has_sort_index = true;
  builder.track(tracks[1]).kind = TrackKind::kStream;
  builder.track(tracks[1]).device = 3;
  builder.track(tracks[1]).stream = 7;
  builder.track(tracks[1]).name = builder.string("stream 7");
  builder.track(tracks[1]).sort_index = int64_t{1} << 40;
  builder.track(tracks[1]).has_sort_index = true;
  builder.add_thread({1}, {99});  // without slices

  std::vector<LabelId> labels;
  for (int i = 0; i < 20; ++i) {
    labels.push_back(builder.label("op " + std::to_string(i), i % 3 == 0 ? "" : "cpu_op",
                                   static_cast<SliceKind>(i % kSliceKindCount)));
  }
  const ArgColumnRef id = builder.arg_column("External id", ArgType::kInt);
  const ArgColumnRef big = builder.arg_column("address", ArgType::kInt);
  const ArgColumnRef flops = builder.arg_column("flops", ArgType::kDouble);
  const ArgColumnRef dtype = builder.arg_column("dtype", ArgType::kString);
  const ArgColumnRef dims = builder.arg_column("Input Dims", ArgType::kJson);
  const ArgColumnRef flag = builder.arg_column("requires grad", ArgType::kBool);
  const ArgColumnRef mixed = builder.arg_column("flops", ArgType::kString);
  std::vector<SliceRef> slices;
  for (const TrackId track : tracks) {
    int64_t now_ns = 1'000'000;
    for (int i = 0; i < scale; ++i) {
      now_ns += below(10'000);
      const int64_t dur_ns = below(100) == 0 ? 5'000'000'000 + below(1000) : below(20'000);
      const SliceRef slice = builder.add_slice(track, now_ns, dur_ns, labels[random() % 20]);
      slices.push_back(slice);
      builder.add_int(id, slice, 1000 + i);
      if (below(3) == 0) builder.add_int(big, slice, static_cast<int64_t>(random()));
      if (below(3) == 0) builder.add_double(flops, slice, std::ldexp(double(below(1000)), -5));
      if (below(2) == 0)
        builder.add_string(dtype, slice, builder.string("float" + std::to_string(below(4))));
      if (below(2) == 0)
        builder.add_string(dims, slice, builder.string("[[" + std::to_string(below(50)) + "]]"));
      if (below(4) == 0) builder.add_int(flag, slice, below(2));
      if (below(50) == 0) builder.add_string(mixed, slice, builder.string("unknown"));
    }
  }
  if (!slices.empty()) {
    builder.add_double(flops, slices[0], std::numeric_limits<double>::quiet_NaN());
    builder.add_double(flops, slices[0], -0.0);
    for (int i = 0; i < scale; ++i) {
      const SliceRef from = slices[random() % slices.size()];
      const SliceRef to = slices[random() % slices.size()];
      builder.add_flow(from, to, builder.start_ns(from) + below(3), builder.start_ns(to), random(),
                       labels[random() % 3]);
    }
  }
  for (int c = 0; c < 2; ++c) {
    const TrackId counter =
        builder.add_counter({1}, builder.string("memory"), builder.string(std::to_string(c)));
    if (c == 0) builder.track(counter).unit = builder.string("bytes/s");
    for (int i = 0; i < scale; ++i) {
      builder.add_counter_value(counter, 1'000'000 + 1000 * i,
                                c == 0 ? double(below(1 << 30)) : 0.1 * i);
    }
  }
  std::vector<StackId> stacks = {kNoStack};
  for (int i = 0; i < 30 && scale > 0; ++i) {
    const FrameId frame =
        builder.add_frame({builder.string("f" + std::to_string(below(9))), builder.string("a.py"),
                           static_cast<int32_t>(below(5)) - 1});
    stacks.push_back(builder.add_stack({stacks[random() % stacks.size()], frame, i % 4}));
    builder.add_call_edge(i == 0 ? kNoFrame : FrameId{0}, frame, random(), 1, below(1000),
                          below(5000));
  }
  for (int i = 0; i < scale; ++i) {
    builder.add_sample(tracks[random() % tracks.size()], below(1'000'000'000),
                       stacks[random() % stacks.size()], below(10'000'000),
                       i % 3 == 0 ? kNoCpuNs : 1000 * i, static_cast<uint8_t>(i % 4), 1 + i % 5);
    builder.add_allocation(tracks[random() % 2],
                           {.time_ns = 1'000'000 + below(10'000) * scale,
                            .address = random(),
                            .bytes = below(2000) - 1000,
                            .device_type = static_cast<int16_t>(below(3)),
                            .device_id = static_cast<int16_t>(below(3) - 1),
                            .total_allocated_bytes = below(1 << 20),
                            .total_reserved_bytes = i % 2 == 0 ? -1 : below(1 << 20)});
  }
  builder.stats().add(Stat::kEventsRead, 12'345);
  builder.stats().add(Stat::kEventsSkipped, 3);
  builder.stats().note("byte 17: control character in a name; event skipped");
  return std::move(builder).finish();
}

inline void expect_same_args(const Trace& a, const Trace& b) {
  ASSERT_EQ(a.args().size(), b.args().size());
  for (const ArgColumn& column : a.args()) {
    const ArgColumn* other = b.find_args(a.string(column.key), column.type);
    ASSERT_NE(other, nullptr) << a.string(column.key);
    ASSERT_EQ(column.rows, other->rows) << a.string(column.key);
    for (size_t i = 0; i < column.rows.size(); ++i) {
      if (column.type == ArgType::kDouble) {
        ASSERT_EQ(std::bit_cast<uint64_t>(column.doubles[i]),
                  std::bit_cast<uint64_t>(other->doubles[i]));
      } else if (column.type == ArgType::kString || column.type == ArgType::kJson) {
        ASSERT_EQ(a.string(column.string(i)), b.string(other->string(i)));
      } else {
        ASSERT_EQ(column.ints[i], other->ints[i]);
      }
    }
  }
}

inline void expect_same_tables(const Trace& a, const Trace& b) {
  ASSERT_EQ(a.strings().size(), b.strings().size());
  for (uint32_t i = 0; i < a.strings().size(); ++i) {
    ASSERT_EQ(a.string(StringId{i}), b.string(StringId{i}));
  }
  ASSERT_EQ(a.labels().all(), b.labels().all());
  ASSERT_EQ(a.processes().size(), b.processes().size());
  for (size_t i = 0; i < a.processes().size(); ++i) {
    const Process &p = a.processes()[i], &q = b.processes()[i];
    EXPECT_TRUE(p.pid == q.pid && p.name == q.name && p.labels == q.labels &&
                p.sort_index == q.sort_index && p.has_sort_index == q.has_sort_index)
        << i;
  }
  ASSERT_EQ(a.tracks().size(), b.tracks().size());
  for (size_t i = 0; i < a.tracks().size(); ++i) {
    const Track &t = a.tracks()[i], &u = b.tracks()[i];
    EXPECT_TRUE(t.kind == u.kind && t.process == u.process && t.tid == u.tid && t.name == u.name &&
                t.series == u.series && t.unit == u.unit && t.device == u.device &&
                t.stream == u.stream && t.sort_index == u.sort_index &&
                t.has_sort_index == u.has_sort_index && t.first_slice == u.first_slice &&
                t.slice_count == u.slice_count && t.first_value == u.first_value &&
                t.value_count == u.value_count)
        << i;
  }
  ASSERT_EQ(a.devices().size(), b.devices().size());
  for (size_t i = 0; i < a.devices().size(); ++i) {
    EXPECT_EQ(a.devices()[i].id, b.devices()[i].id);
    EXPECT_EQ(a.devices()[i].name, b.devices()[i].name);
    EXPECT_EQ(a.devices()[i].total_memory_bytes, b.devices()[i].total_memory_bytes);
    EXPECT_EQ(a.devices()[i].sm_count, b.devices()[i].sm_count);
    EXPECT_EQ(a.devices()[i].shared_memory_per_sm, b.devices()[i].shared_memory_per_sm);
  }
  ASSERT_EQ(a.metadata().size(), b.metadata().size());
  for (size_t i = 0; i < a.metadata().size(); ++i) {
    EXPECT_EQ(a.string(a.metadata()[i].key), b.string(b.metadata()[i].key));
    EXPECT_EQ(a.string(a.metadata()[i].value), b.string(b.metadata()[i].value));
    EXPECT_EQ(a.metadata()[i].is_json, b.metadata()[i].is_json);
  }
}

inline void expect_same_trace(const Trace& a, const Trace& b) {
  expect_same_tables(a, b);
  ASSERT_EQ(a.slices().start_ns, b.slices().start_ns);
  ASSERT_EQ(a.slices().label, b.slices().label);
  ASSERT_EQ(a.slices().parent, b.slices().parent);
  ASSERT_EQ(a.slices().depth, b.slices().depth);
  for (uint32_t row = 0; row < a.slices().size(); ++row) {
    ASSERT_EQ(a.slices().dur_ns[row], b.slices().dur_ns[row]);
  }
  expect_same_args(a, b);
  EXPECT_EQ(a.counters().time_ns, b.counters().time_ns);
  EXPECT_EQ(a.counters().value, b.counters().value);
  EXPECT_EQ(a.flows().from, b.flows().from);
  EXPECT_EQ(a.flows().to, b.flows().to);
  EXPECT_EQ(a.flows().from_ns, b.flows().from_ns);
  EXPECT_EQ(a.flows().to_ns, b.flows().to_ns);
  EXPECT_EQ(a.flows().label, b.flows().label);
  EXPECT_EQ(a.flows().id, b.flows().id);
  EXPECT_TRUE(
      std::equal(a.frames().begin(), a.frames().end(), b.frames().begin(), b.frames().end()));
  EXPECT_TRUE(
      std::equal(a.stacks().begin(), a.stacks().end(), b.stacks().begin(), b.stacks().end()));
  EXPECT_EQ(a.samples().time_ns, b.samples().time_ns);
  EXPECT_EQ(a.samples().track, b.samples().track);
  EXPECT_EQ(a.samples().stack, b.samples().stack);
  EXPECT_EQ(a.samples().weight_ns, b.samples().weight_ns);
  EXPECT_EQ(a.samples().cpu_ns, b.samples().cpu_ns);
  EXPECT_EQ(a.samples().flags, b.samples().flags);
  EXPECT_EQ(a.samples().count, b.samples().count);
  EXPECT_EQ(a.call_edges().caller, b.call_edges().caller);
  EXPECT_EQ(a.call_edges().callee, b.call_edges().callee);
  EXPECT_EQ(a.call_edges().calls, b.call_edges().calls);
  EXPECT_EQ(a.call_edges().primitive_calls, b.call_edges().primitive_calls);
  EXPECT_EQ(a.call_edges().self_ns, b.call_edges().self_ns);
  EXPECT_EQ(a.call_edges().total_ns, b.call_edges().total_ns);
  EXPECT_EQ(a.allocations().time_ns, b.allocations().time_ns);
  EXPECT_EQ(a.allocations().track, b.allocations().track);
  EXPECT_EQ(a.allocations().slice, b.allocations().slice);
  EXPECT_EQ(a.allocations().address, b.allocations().address);
  EXPECT_EQ(a.allocations().bytes, b.allocations().bytes);
  EXPECT_EQ(a.allocations().device_type, b.allocations().device_type);
  EXPECT_EQ(a.allocations().device_id, b.allocations().device_id);
  EXPECT_EQ(a.allocations().total_allocated_bytes, b.allocations().total_allocated_bytes);
  EXPECT_EQ(a.allocations().total_reserved_bytes, b.allocations().total_reserved_bytes);
  for (int i = 0; i < kStatCount; ++i) {
    EXPECT_EQ(a.stats().get(static_cast<Stat>(i)), b.stats().get(static_cast<Stat>(i)))
        << stat_name(static_cast<Stat>(i));
  }
  EXPECT_EQ(a.stats().notes(), b.stats().notes());
  EXPECT_EQ(a.format(), b.format());
  EXPECT_EQ(a.clock_base_ns(), b.clock_base_ns());
  EXPECT_EQ(a.begin_ns(), b.begin_ns());
  EXPECT_EQ(a.end_ns(), b.end_ns());
}

}  // namespace stepscope
