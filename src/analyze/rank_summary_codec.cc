// The bytes of a RankSummary, little-endian:
//
//   "SSRANK1\n"  u32 CRC-32C of all that follows
//   then the members in the order of the struct: numbers as they are, a text as u32 length and
//   bytes, a list as u32 count and its items.
#include <bit>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "analyze/rank_summary.h"
#include "base/bytes.h"
#include "base/crc32c.h"

namespace stepscope {
namespace {

constexpr std::string_view kMagic = "SSRANK1\n";

class Encoder {
 public:
  template <typename T>
  void number(T value) {
    append_le(bytes, value);
  }
  void flag(bool value) { number<uint8_t>(value ? 1 : 0); }
  void real(double value) { number(std::bit_cast<uint64_t>(value)); }
  void text(std::string_view value) {
    number(static_cast<uint32_t>(value.size()));
    bytes.insert(bytes.end(), value.begin(), value.end());
  }
  template <typename T, typename Each>
  void list(const std::vector<T>& items, Each&& each) {
    number(static_cast<uint32_t>(items.size()));
    for (const T& item : items) each(item);
  }

  std::vector<uint8_t> bytes;
};

// Every count is checked against what is left before anything is taken for it.
class Decoder {
 public:
  explicit Decoder(std::span<const uint8_t> bytes) : in_(bytes) {}

  bool failed() const { return failed_ || in_.failed(); }
  bool is_at_end() const { return in_.remaining() == 0; }

  template <typename T>
  void number(T& value) {
    value = in_.read<T>();
  }
  void flag(bool& value) {
    const auto byte = in_.read<uint8_t>();
    value = byte != 0;
    if (byte > 1) failed_ = true;
  }
  void real(double& value) { value = std::bit_cast<double>(in_.read<uint64_t>()); }
  void text(std::string& value) {
    const auto size = in_.read<uint32_t>();
    const auto from = in_.take(size);
    value.assign(from.begin(), from.end());
  }
  // `least`: the bytes that an item takes at least.
  template <typename T, typename Each>
  void list(std::vector<T>& items, size_t least, Each&& each) {
    const auto count = in_.read<uint32_t>();
    if (failed() || count > in_.remaining() / least) {
      failed_ = true;
      return;
    }
    items.reserve(count);
    for (uint32_t i = 0; i < count && !failed(); ++i) each(items.emplace_back());
  }
  template <typename Enum>
  void choice(Enum& value, uint8_t count) {
    const auto byte = in_.read<uint8_t>();
    if (byte >= count) failed_ = true;
    value = static_cast<Enum>(byte);
  }

 private:
  ByteReader in_;
  bool failed_ = false;
};

void encode_work(Encoder& out, const std::vector<RankWork>& list) {
  out.list(list, [&](const RankWork& work) {
    out.text(work.name);
    out.number(work.calls);
    out.number(work.total_ns);
  });
}

void decode_work(Decoder& in, std::vector<RankWork>& list) {
  in.list(list, 20, [&](RankWork& work) {
    in.text(work.name);
    in.number(work.calls);
    in.number(work.total_ns);
  });
}

void encode_steps(Encoder& out, const RankSummary& summary) {
  out.list(summary.steps, [&](const RankStep& step) {
    out.number(step.number);
    out.number(step.span.begin_ns);
    out.number(step.span.end_ns);
    for (const int64_t ns :
         {step.compute_ns, step.communication_ns, step.overlap_ns, step.copy_ns, step.idle_ns}) {
      out.number(ns);
    }
    for (const int64_t ns : step.phases) out.number(ns);
    out.flag(step.is_steady);
  });
}

void decode_steps(Decoder& in, RankSummary& summary) {
  in.list(summary.steps, 8 * (8 + kPhases) + 1, [&](RankStep& step) {
    in.number(step.number);
    in.number(step.span.begin_ns);
    in.number(step.span.end_ns);
    for (int64_t* ns : {&step.compute_ns, &step.communication_ns, &step.overlap_ns, &step.copy_ns,
                        &step.idle_ns}) {
      in.number(*ns);
    }
    for (int64_t& ns : step.phases) in.number(ns);
    in.flag(step.is_steady);
  });
}

// Times that a sum of a job's could run over with are not a trace's: TraceBuilder bounds these.
constexpr int64_t kMostNs = int64_t{1} << 62;
bool is_time(int64_t ns) { return ns > -kMostNs && ns < kMostNs; }
constexpr int64_t kMostStepNs = int64_t{1} << 56;
bool is_length(int64_t ns) { return ns >= -kMostStepNs && ns <= kMostStepNs; }

bool is_sound(const RankStep& step) {
  bool sound = is_time(step.span.begin_ns) && is_time(step.span.end_ns) &&
               step.span.end_ns >= step.span.begin_ns &&
               is_length(step.span.end_ns - step.span.begin_ns);
  for (const int64_t ns :
       {step.compute_ns, step.communication_ns, step.overlap_ns, step.copy_ns, step.idle_ns}) {
    sound = sound && is_length(ns);
  }
  for (const int64_t ns : step.phases) sound = sound && is_length(ns);
  return sound;
}

bool is_sound(const CollectiveCall& call, const RankSummary& summary) {
  return call.shape < summary.shapes.size() && call.step >= -1 &&
         call.step < static_cast<int64_t>(summary.steps.size()) && is_time(call.start_ns) &&
         is_time(call.end_ns) && call.end_ns >= call.start_ns &&
         is_length(call.end_ns - call.start_ns) && call.exposed_from_ns >= call.start_ns &&
         call.exposed_from_ns <= call.end_ns && call.exposed_ns >= 0 &&
         call.exposed_ns <= call.end_ns - call.start_ns;
}

// What the rest of the program takes for granted.
bool is_sound(const RankSummary& summary) {
  constexpr int64_t kLargestWorld = 10'000'000;
  if (summary.rank < -1 || summary.rank > kLargestWorld) return false;
  if (summary.world_size < 0 || summary.world_size > kLargestWorld) return false;
  for (const RankStep& step : summary.steps) {
    if (!is_sound(step)) return false;
  }
  for (const CollectiveShape& shape : summary.shapes) {
    if (shape.group >= summary.groups.size()) return false;
  }
  for (const CollectiveCall& call : summary.calls) {
    if (!is_sound(call, summary)) return false;
  }
  for (const auto* list : {&summary.kernels, &summary.operators, &summary.functions}) {
    for (const RankWork& work : *list) {
      if (!is_length(work.total_ns) || work.calls > (uint64_t{1} << 48)) return false;
    }
  }
  return true;
}

}  // namespace

std::vector<uint8_t> encode_summary(const RankSummary& summary) {
  Encoder out;
  out.text(summary.source);
  out.number(summary.rank);
  out.number(summary.world_size);
  out.number(static_cast<uint8_t>(summary.rank_origin));
  for (const bool value :
       {summary.has_device, summary.has_steps, summary.is_training, summary.is_truncated}) {
    out.flag(value);
  }
  out.real(summary.clock_mhz);
  encode_steps(out, summary);
  out.list(summary.groups, [&](const ProcessGroup& group) {
    out.text(group.name);
    out.text(group.description);
    out.list(group.ranks, [&](int32_t rank) { out.number(rank); });
    out.number(group.size);
  });
  out.list(summary.shapes, [&](const CollectiveShape& shape) {
    out.number(static_cast<uint8_t>(shape.type));
    out.number(shape.group);
    out.number(shape.bytes);
    out.text(shape.dtype);
  });
  out.list(summary.calls, [&](const CollectiveCall& call) {
    out.number(call.shape);
    out.number(call.step);
    for (const int64_t value :
         {call.sequence, call.start_ns, call.end_ns, call.exposed_from_ns, call.exposed_ns}) {
      out.number(value);
    }
  });
  out.number(summary.calls_left_out);
  encode_work(out, summary.kernels);
  encode_work(out, summary.operators);
  encode_work(out, summary.functions);
  out.list(summary.notes, [&](const std::string& note) { out.text(note); });

  std::vector<uint8_t> bytes(kMagic.begin(), kMagic.end());
  append_le(bytes, crc32c(out.bytes));
  bytes.insert(bytes.end(), out.bytes.begin(), out.bytes.end());
  return bytes;
}

Result<RankSummary> decode_summary(std::span<const uint8_t> bytes) {
  constexpr size_t kHead = kMagic.size() + 4;
  if (bytes.size() < kHead || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    return Status::error("not the summary of a rank (of this version of stepscope)");
  }
  const std::span<const uint8_t> body = bytes.subspan(kHead);
  if (load_le<uint32_t>(bytes.data() + kMagic.size()) != crc32c(body)) {
    return Status::error("the summary of a rank is damaged (its checksum is wrong)");
  }
  RankSummary summary;
  Decoder in(body);
  in.text(summary.source);
  in.number(summary.rank);
  in.number(summary.world_size);
  in.choice(summary.rank_origin, 5);
  for (bool* value :
       {&summary.has_device, &summary.has_steps, &summary.is_training, &summary.is_truncated}) {
    in.flag(*value);
  }
  in.real(summary.clock_mhz);
  decode_steps(in, summary);
  in.list(summary.groups, 20, [&](ProcessGroup& group) {
    in.text(group.name);
    in.text(group.description);
    in.list(group.ranks, 4, [&](int32_t& rank) { in.number(rank); });
    in.number(group.size);
  });
  in.list(summary.shapes, 17, [&](CollectiveShape& shape) {
    in.choice(shape.type, kCollectiveTypes);
    in.number(shape.group);
    in.number(shape.bytes);
    in.text(shape.dtype);
  });
  in.list(summary.calls, 48, [&](CollectiveCall& call) {
    in.number(call.shape);
    in.number(call.step);
    for (int64_t* value :
         {&call.sequence, &call.start_ns, &call.end_ns, &call.exposed_from_ns, &call.exposed_ns}) {
      in.number(*value);
    }
  });
  in.number(summary.calls_left_out);
  decode_work(in, summary.kernels);
  decode_work(in, summary.operators);
  decode_work(in, summary.functions);
  in.list(summary.notes, 4, [&](std::string& note) { in.text(note); });
  if (in.failed() || !in.is_at_end() || !is_sound(summary)) {
    return Status::error("the summary of a rank makes no sense");
  }
  return summary;
}

}  // namespace stepscope
