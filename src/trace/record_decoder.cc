#include "trace/record_decoder.h"

#include <algorithm>
#include <bit>
#include <string>

namespace stepscope {
namespace {

using format::BlockView;
using format::Column;
using format::Record;
using format::RecordKind;

// What a track or a label takes in memory, in slices.
constexpr uint64_t kTrackWeight = 16;

}  // namespace

Status RecordDecoder::read(const BlockView& block, format::ColumnDecoder& decoder) {
  std::vector<uint32_t> lower, upper;
  if (Status status = decoder.decode_rows(block, Column::kTicks, lower); !status) return status;
  if (Status status = decoder.decode_rows(block, Column::kPayload, upper); !status) return status;
  const auto first_tick = decoder.decode_one<uint64_t>(block, Column::kFirstTick);
  if (!first_tick) return first_tick.status();
  const uint32_t stream = block.header().stream;
  // A block that does not say its track: the recorder's threads are then tracks of the same number.
  Result<uint32_t> track = stream;
  if (block.has(Column::kTrack)) track = decoder.decode_one<uint32_t>(block, Column::kTrack);
  if (!track) return track.status();
  Result<uint32_t> context = 0u;
  if (block.has(Column::kContext)) context = decoder.decode_one<uint32_t>(block, Column::kContext);
  if (!context) return context.status();
  Result<uint64_t> dropped = uint64_t{0};
  if (block.has(Column::kDropped)) dropped = decoder.decode_one<uint64_t>(block, Column::kDropped);
  if (!dropped) return dropped.status();
  if (builder_.slice_count() + uint64_t{block.rows()} >= TraceBuilder::kMaxSlices) {
    return Status::error("more slices than 32 bits can count");
  }

  Thread& thread = threads_[stream];
  thread.track = definitions_.track(*track);
  thread.tick = *first_tick;
  const int64_t first_ns = clock_.to_ns(*first_tick);
  if (!thread.has_begun) thread.step_from_ns = first_ns;
  thread.has_begun = true;
  enter(thread, *context);
  if (*dropped > 0) count_dropped(thread, *dropped, first_ns);

  std::vector<uint64_t> words(lower.size());
  for (size_t i = 0; i < words.size(); ++i) words[i] = format::join_halves(lower[i], upper[i]);
  read_words(thread, words);
  return {};
}

void RecordDecoder::lose(uint32_t stream) {
  const auto it = threads_.find(stream);
  if (it == threads_.end()) return;
  Thread& thread = it->second;
  count_dropped(thread, 0, clock_.to_ns(thread.tick));
}

void RecordDecoder::read_words(Thread& thread, std::span<const uint64_t> words) {
  uint64_t cut = 0;
  for (size_t i = 0; i < words.size();) {
    const uint64_t word = words[i];
    const size_t following = format::following_words(word);
    if (following > words.size() - i - 1) {
      ++cut;
      break;
    }
    const uint64_t first_word = following > 0 ? words[i + 1] : 0;
    i += 1 + following;
    if (word == 0) continue;
    builder_.stats().add(Stat::kEventsRead);
    const Record record = format::unpack_record(word);
    thread.tick += record.ticks_delta;
    if (record.kind == RecordKind::kClockSync) thread.tick = first_word;
    read_record(thread, record, first_word);
  }
  builder_.stats().add(Stat::kEventsSkipped, cut);
}

void RecordDecoder::read_record(Thread& thread, const Record& record, uint64_t word) {
  const int64_t now_ns = clock_.to_ns(thread.tick);
  last_ns_ = has_time_ ? std::max(last_ns_, now_ns) : now_ns;
  has_time_ = true;
  switch (record.kind) {
    case RecordKind::kBegin:
      return begin(thread, definitions_.label(LabelId{record.value}), now_ns);
    case RecordKind::kEnd:
      return end(thread, record.value, now_ns);
    case RecordKind::kInstant:
      builder_.add_slice(current(thread).track, now_ns, 0,
                         definitions_.label(LabelId{record.value}));
      return;
    case RecordKind::kCounterI64:
    case RecordKind::kCounterF64: {
      const double value = record.kind == RecordKind::kCounterF64
                               ? std::bit_cast<double>(word)
                               : static_cast<double>(static_cast<int64_t>(word));
      TrackId counter{record.value};
      definitions_.translate(std::span(&counter, 1));
      builder_.add_counter_value(counter, now_ns, value);
      return;
    }
    case RecordKind::kClockSync:
      return;
    case RecordKind::kContext:
      return enter(thread, record.value);
    case RecordKind::kThreadName:
      builder_.track(thread.track).name = definitions_.string(StringId{record.value});
      return;
    case RecordKind::kStep:
      return end_step(thread, record.value, now_ns);
    case RecordKind::kDropped:
      return count_dropped(thread, record.value, now_ns);
    case RecordKind::kExtended:
      return;  // no subtype is known yet
    default:
      builder_.stats().add(Stat::kEventsSkipped);
  }
}

void RecordDecoder::enter(Thread& thread, uint32_t id) {
  const auto known = thread.contexts.find(id);
  if (known != thread.contexts.end()) {
    thread.context = &known->second;
    return;
  }
  if (id != 0 && !budget_.take(1, kTrackWeight)) return enter(thread, 0);
  Context& context = thread.contexts[id];
  thread.context = &context;
  context.track = thread.track;
  if (id == 0) return;
  Track track = builder_.track(thread.track);
  std::string name(builder_.strings().view(track.name));
  name += name.empty() ? "context " : ", context ";
  name += std::to_string(id);
  track.name = builder_.string(name);
  context.track = builder_.add_track(track);
}

// Losses are noted per thread and reach a context when it is next used: there may be many contexts.
RecordDecoder::Context& RecordDecoder::current(Thread& thread) {
  Context& context = *thread.context;
  if (context.losses_seen != thread.losses) {
    context.losses_seen = thread.losses;
    context.untrusted = context.open.size();
  }
  return context;
}

void RecordDecoder::begin(Thread& thread, LabelId label, int64_t now_ns) {
  Context& context = current(thread);
  context.open.push_back({builder_.add_slice(context.track, now_ns, 0, label), label});
  ++context.open_by_label[index(label)];
}

void RecordDecoder::end(Thread& thread, uint32_t label_plus_1, int64_t now_ns) {
  Context& context = current(thread);
  if (label_plus_1 != 0) {
    const LabelId label = definitions_.label(LabelId{label_plus_1 - 1});
    const auto open = context.open_by_label.find(index(label));
    if (open == context.open_by_label.end() || open->second == 0) {
      builder_.stats().add(Stat::kEndsWithoutBegin);
      return;
    }
    size_t at = context.open.size() - 1;
    while (context.open[at].label != label) --at;
    close_down_to(context, at, now_ns, 1);
  } else if (context.open.size() > context.untrusted) {
    close_down_to(context, context.open.size() - 1, now_ns, 1);
  } else {
    close_down_to(context, 0, thread.lost_at_ns, 0);
    builder_.stats().add(Stat::kEndsWithoutBegin);
  }
}

void RecordDecoder::close_down_to(Context& context, size_t keep, int64_t now_ns,
                                  size_t closed_well) {
  const size_t count = context.open.size() - keep;
  for (size_t at = keep; at < context.open.size(); ++at) {
    const SliceRef slice = context.open[at].slice;
    builder_.set_dur_ns(slice, now_ns - builder_.start_ns(slice));
    --context.open_by_label[index(context.open[at].label)];
  }
  builder_.stats().add(Stat::kBeginsWithoutEnd, count - std::min(count, closed_well));
  context.open.resize(keep);
  context.untrusted = std::min(context.untrusted, keep);
}

void RecordDecoder::end_step(Thread& thread, uint32_t number, int64_t now_ns) {
  // Steps lie on a track of their own: one ends in the middle of the calls that are open around it.
  if (!thread.has_steps) {
    Track track = builder_.track(thread.track);
    track.kind = TrackKind::kAsync;
    track.name = builder_.string("steps");
    thread.step_track = builder_.add_track(track);
    thread.has_steps = true;
  }
  const bool names_it = budget_.take(1, kTrackWeight).ok();
  const std::string name = names_it ? "step " + std::to_string(number) : "step";
  builder_.add_slice(thread.step_track, thread.step_from_ns, now_ns - thread.step_from_ns,
                     builder_.label(name, "step", SliceKind::kStep));
  thread.step_from_ns = now_ns;
}

void RecordDecoder::count_dropped(Thread& thread, uint64_t records, int64_t now_ns) {
  builder_.stats().add(Stat::kRecordsDropped, records);
  ++thread.losses;
  thread.lost_at_ns = now_ns;
}

void RecordDecoder::finish() {
  for (auto& [stream, thread] : threads_) {
    for (auto& [id, context] : thread.contexts) close_down_to(context, 0, last_ns_, 0);
  }
}

}  // namespace stepscope
