#include "trace/record_decoder.h"

#include <algorithm>
#include <bit>
#include <string>

#include "format/pool_layout.h"
#include "trace/torch_scopes.h"

namespace stepscope {
namespace {

using format::BlockView;
using format::Column;
using format::ExtendedRecord;
using format::Record;
using format::RecordKind;

// What a track or a label takes in memory, in slices.
constexpr uint64_t kTrackWeight = 16;
// Words of one thread; more than a century of them, and sums of such numbers do not wrap.
constexpr uint64_t kMaxWords = uint64_t{1} << 60;
// How far out a slice may lie that ends while others in it go on. Each such end costs that much.
constexpr size_t kMaxCrossing = 64;

}  // namespace

Status RecordDecoder::read(const BlockView& block, format::ColumnDecoder& decoder, Gap gap) {
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
  Result<uint64_t> first_word = thread.next_word;
  if (block.has(Column::kFirstWord)) {
    first_word = decoder.decode_one<uint64_t>(block, Column::kFirstWord);
  }
  if (!first_word) return first_word.status();
  if (*first_word > kMaxWords) return Status::error("begins after more words than there can be");

  const int64_t first_ns = clock_.to_ns(*first_tick);
  const auto seen = find_words_seen(thread, *first_word, first_ns, gap);
  if (!seen || *seen > lower.size() || (*seen == lower.size() && *seen > 0)) return {};
  thread.next_word = *first_word + lower.size();
  thread.track = definitions_.track(*track);
  thread.tick = *first_tick;
  if (!thread.has_begun) thread.begin_ns = thread.step_from_ns = first_ns;
  thread.has_begun = true;
  enter(thread, *context);
  if (*dropped > 0 && *seen == 0) count_dropped(thread, *dropped, first_ns);

  std::vector<uint64_t> words(lower.size());
  for (size_t i = 0; i < words.size(); ++i) words[i] = format::join_halves(lower[i], upper[i]);
  read_words(thread, words, *seen);
  return {};
}

std::optional<uint64_t> RecordDecoder::find_words_seen(Thread& thread, uint64_t first_word,
                                                       int64_t first_ns, Gap gap) {
  if (thread.is_left_out) return std::nullopt;
  if (first_word <= thread.next_word) return thread.next_word - first_word;
  const uint64_t missing = first_word - thread.next_word;
  if (!thread.has_begun && thread.losses == 0 && begins_late_) {
    builder_.stats().add(Stat::kRecordsExpired, missing);
    thread.begins_late = true;
  } else if (gap == Gap::kNotYet) {
    thread.is_left_out = true;
    return std::nullopt;
  } else {
    builder_.stats().add(Stat::kRecordsLost, missing);
    count_dropped(thread, 0, first_ns);
  }
  return 0;
}

void RecordDecoder::lose(uint32_t stream) {
  Thread& thread = threads_[stream];
  count_dropped(thread, 0, clock_.to_ns(thread.tick));
}

void RecordDecoder::read_words(Thread& thread, std::span<const uint64_t> words, uint64_t seen) {
  uint64_t cut = 0;
  for (size_t i = 0; i < words.size();) {
    const uint64_t word = words[i];
    const size_t following = format::following_words(word);
    if (following > words.size() - i - 1) {
      ++cut;
      break;
    }
    const auto record_words = words.subspan(i + 1, following);
    const bool is_new = i >= seen;
    i += 1 + following;
    if (word == 0) continue;
    const Record record = format::unpack_record(word);
    thread.tick += record.ticks_delta;
    if (record.kind == RecordKind::kClockSync) thread.tick = record_words[0];
    if (is_new) {
      builder_.stats().add(Stat::kEventsRead);
      read_record(thread, record, record_words);
    } else {
      // What was seen before only leads to the time and the context of what was not.
      if (record.kind == RecordKind::kContext) enter(thread, record.value);
      cut += i > seen;  // the two copies do not agree where this record ends
    }
  }
  builder_.stats().add(Stat::kEventsSkipped, cut);
}

void RecordDecoder::read_record(Thread& thread, const Record& record,
                                std::span<const uint64_t> words) {
  const int64_t now_ns = clock_.to_ns(thread.tick);
  last_ns_ = has_time_ ? std::max(last_ns_, now_ns) : now_ns;
  has_time_ = true;
  switch (record.kind) {
    case RecordKind::kBegin:
      return begin(thread, definitions_.label(LabelId{record.value}), now_ns);
    case RecordKind::kEnd:
      return end(thread, record.value, now_ns);
    case RecordKind::kInstant:
      return add_instant(thread, definitions_.label(LabelId{record.value}), now_ns);
    case RecordKind::kCounterI64:
    case RecordKind::kCounterF64: {
      const double value = record.kind == RecordKind::kCounterF64
                               ? std::bit_cast<double>(words[0])
                               : static_cast<double>(static_cast<int64_t>(words[0]));
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
      return read_extended(thread, format::extended_subtype(record.value), words, now_ns);
    default:
      builder_.stats().add(Stat::kEventsSkipped);
  }
}

void RecordDecoder::read_extended(Thread& thread, uint32_t subtype, std::span<const uint64_t> words,
                                  int64_t now_ns) {
  const auto type = static_cast<ExtendedRecord>(subtype);
  const auto needs = [&](size_t count) {
    const bool has_them = words.size() >= count;
    if (!has_them) builder_.stats().add(Stat::kEventsSkipped);
    return has_them;
  };
  Context& context = current(thread);
  const SliceRef innermost = context.open.empty() ? kNoSliceRef : context.open.back().slice;
  switch (type) {
    case ExtendedRecord::kAllocate:
    case ExtendedRecord::kFree:
      if (needs(3)) add_memory(context.track, type == ExtendedRecord::kFree, words, now_ns);
      return;
    case ExtendedRecord::kFlowBegin:
      if (needs(1)) flows_.begin(words[0], innermost, now_ns);
      return;
    case ExtendedRecord::kFlowEnd:
      if (needs(1)) flows_.end(words[0], innermost, now_ns);
      return;
    case ExtendedRecord::kLeftOut:
      if (needs(1)) builder_.stats().add(Stat::kCallsLeftOut, words[0]);
      return;
    case ExtendedRecord::kOperator:
    case ExtendedRecord::kInputs:
      if (thread.just_opened == kNoSliceRef) {
        builder_.stats().add(Stat::kEventsSkipped);
      } else if (type == ExtendedRecord::kOperator) {
        details_.add_operator(thread.just_opened, words);
      } else {
        details_.add_inputs(thread.just_opened, words);
      }
      return;
    case ExtendedRecord::kAsyncBegin:
      if (needs(2)) {
        const LabelId label = definitions_.label(LabelId{static_cast<uint32_t>(words[1])});
        const SliceRef slice = builder_.add_slice(context.track, now_ns, 0, label);
        async_.begin(words[0], now_ns, slice, context.track);
      }
      return;
    case ExtendedRecord::kAsyncEnd:
      if (needs(1)) async_.end(words[0], now_ns);
      return;
  }
  // From a newer version.
}

void RecordDecoder::add_memory(TrackId track, bool is_free, std::span<const uint64_t> words,
                               int64_t now_ns) {
  const bool has_totals = words.size() >= 5;
  if (words[1] > INT64_MAX) {
    builder_.stats().add(Stat::kValuesSkipped);
    return;
  }
  const auto bytes = static_cast<int64_t>(words[1]);
  builder_.add_allocation(
      track, {.time_ns = now_ns,
              .address = words[0],
              .bytes = is_free ? -bytes : bytes,
              .device_type = static_cast<int16_t>(words[2] >> 32),
              .device_id = static_cast<int16_t>(words[2]),
              .total_allocated_bytes = has_totals ? static_cast<int64_t>(words[3]) : -1,
              .total_reserved_bytes = has_totals ? static_cast<int64_t>(words[4]) : -1});
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

void RecordDecoder::add_instant(Thread& thread, LabelId id, int64_t now_ns) {
  builder_.add_slice(current(thread).track, now_ns, 0, id);
  const Label& label = builder_.labels()[id];
  if (builder_.strings().view(label.category) != format::kOtherProfilersCategory) return;
  // Whatever users look at, they are told, once for each name.
  const std::string sentence = std::string(builder_.strings().view(label.name)) +
                               " ran as well (concurrent-profilers): each slows the program for "
                               "the other, and times contain both";
  note_once(sentence);
}

void RecordDecoder::note_once(const std::string& sentence) {
  const std::vector<std::string>& notes = builder_.stats().notes();
  if (std::find(notes.begin(), notes.end(), sentence) == notes.end()) {
    builder_.stats().note(sentence);
  }
}

void RecordDecoder::begin(Thread& thread, LabelId label, int64_t now_ns) {
  Context& context = current(thread);
  thread.just_opened = builder_.add_slice(context.track, now_ns, 0, label);
  context.open.push_back({thread.just_opened, label});
}

bool RecordDecoder::has_open(Context& context, LabelId label) {
  for (; context.indexed < context.open.size(); ++context.indexed) {
    ++context.open_by_label[index(context.open[context.indexed].label)];
  }
  const auto open = context.open_by_label.find(index(label));
  return open != context.open_by_label.end() && open->second > 0;
}

void RecordDecoder::end(Thread& thread, uint32_t label_plus_1, int64_t now_ns) {
  Context& context = current(thread);
  thread.just_opened = kNoSliceRef;
  if (label_plus_1 != 0) {
    const LabelId label = definitions_.label(LabelId{label_plus_1 - 1});
    const bool is_innermost = !context.open.empty() && context.open.back().label == label;
    if (!is_innermost && !has_open(context, label)) {
      return end_without_begin(thread, label, now_ns);
    }
    size_t at = context.open.size() - 1;
    while (context.open[at].label != label) --at;
    const std::vector<Open> crossing = find_crossing(context, at);
    const size_t unclosed = close_down_to(context, at, now_ns) - 1 - crossing.size();
    context.open.insert(context.open.end(), crossing.begin(), crossing.end());
    builder_.stats().add(Stat::kBeginsWithoutEnd, unclosed);
  } else if (context.open.size() > context.untrusted) {
    close_down_to(context, context.open.size() - 1, now_ns);
  } else {
    const size_t unclosed = close_down_to(context, 0, thread.lost_at_ns);
    builder_.stats().add(Stat::kBeginsWithoutEnd, unclosed);
    const bool has_expired = thread.begins_late && context.losses_seen == 0;
    builder_.stats().add(has_expired ? Stat::kBeginsExpired : Stat::kEndsWithoutBegin);
  }
}

std::vector<RecordDecoder::Open> RecordDecoder::find_crossing(const Context& context,
                                                              size_t ended) const {
  std::vector<Open> crossing;
  if (context.open.size() - ended > kMaxCrossing) return crossing;
  const auto is_user_scope = [&](LabelId label) {
    return builder_.strings().view(builder_.labels()[label].category) == kUserScopeCategory;
  };
  const bool is_scope = is_user_scope(context.open[ended].label);
  // What was opened before a loss may have ended meanwhile.
  for (size_t at = std::max(ended + 1, context.untrusted); at < context.open.size(); ++at) {
    if (is_scope || is_user_scope(context.open[at].label)) crossing.push_back(context.open[at]);
  }
  return crossing;
}

// Where the thread's older records have expired, what ends now was open when they ended.
void RecordDecoder::end_without_begin(Thread& thread, LabelId label, int64_t now_ns) {
  const Context& context = *thread.context;
  if (!thread.begins_late || !context.open.empty() || context.losses_seen != 0) {
    builder_.stats().add(Stat::kEndsWithoutBegin);
    return;
  }
  builder_.add_slice(context.track, thread.begin_ns, now_ns - thread.begin_ns, label);
  builder_.stats().add(Stat::kBeginsExpired);
}

size_t RecordDecoder::close_down_to(Context& context, size_t keep, int64_t now_ns) {
  const size_t count = context.open.size() - keep;
  for (size_t at = keep; at < context.open.size(); ++at) {
    const SliceRef slice = context.open[at].slice;
    builder_.set_dur_ns(slice, now_ns - builder_.start_ns(slice));
    if (at < context.indexed) --context.open_by_label[index(context.open[at].label)];
  }
  context.open.resize(keep);
  context.indexed = std::min(context.indexed, keep);
  context.untrusted = std::min(context.untrusted, keep);
  return count;
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
  thread.just_opened = kNoSliceRef;
}

void RecordDecoder::finish() {
  for (auto& [stream, thread] : threads_) {
    for (auto& [id, context] : thread.contexts) {
      builder_.stats().add(Stat::kSlicesOpenAtEnd, close_down_to(context, 0, last_ns_));
    }
  }
  for (const Label& label : builder_.labels().all()) {
    if (builder_.strings().view(label.category) != kSamplingCategory) continue;
    note_once(
        "PyTorch's operators and scopes were recorded only now and then (sampling): the view "
        "operators has estimates of the whole, others what was seen");
    break;
  }
  async_.finish(builder_, last_ns_);
  details_.finish();
  flows_.finish(builder_);
}

}  // namespace stepscope
