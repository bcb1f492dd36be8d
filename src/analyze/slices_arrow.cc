// The slices of a trace as Arrow batches, made as they are asked for.
#include "analyze/arrow_batch.h"
#include "analyze/self_time.h"
#include "analyze/table_arrow.h"
#include "trace/track_title.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace stepscope {
namespace {

// Texts with a number each, in order of first use.
class Dictionary {
 public:
  // The text's number, or nothing where the dictionary is full.
  std::optional<int32_t> add(std::string_view text) {
    const auto known = numbers_.find(std::string(text));
    if (known != numbers_.end()) return known->second;
    if (!text_.push(text)) return std::nullopt;
    const auto number = static_cast<int32_t>(numbers_.size());
    numbers_.emplace(text, number);
    return number;
  }

  std::shared_ptr<const ArrowColumnData> finish() const {
    return std::make_shared<const ArrowColumnData>(text_.finish(nullptr, 0));
  }

 private:
  std::unordered_map<std::string, int32_t> numbers_;
  ArrowText text_;
};

struct TextNumbers {
  std::vector<int32_t> numbers;  // by label, or by track
  std::shared_ptr<const ArrowColumnData> dictionary;
};

template <typename TextOf>
Status number_texts(size_t count, const TextOf& text_of, TextNumbers& out) {
  Dictionary dictionary;
  out.numbers.clear();
  for (size_t i = 0; i < count; ++i) {
    const auto number = dictionary.add(text_of(i));
    if (!number) return Status::error("the names are too long for an Arrow dictionary (2 GiB)");
    out.numbers.push_back(*number);
  }
  out.dictionary = dictionary.finish();
  return {};
}

class SliceSource : public ArrowSource {
 public:
  explicit SliceSource(std::shared_ptr<const Trace> trace) : trace_(std::move(trace)) {}

  std::vector<ArrowField> fields() override {
    return {{"id", "I", "", false, ""},         {"track_id", "I", "", false, ""},
            {"track", "i", "", false, "u"},     {"name", "i", "", false, "u"},
            {"category", "i", "", false, "u"},  {"kind", "i", "", false, "u"},
            {"start_ns", "l", "ns", false, ""}, {"dur_ns", "l", "ns", false, ""},
            {"self_ns", "l", "ns", false, ""},  {"parent_id", "I", "", true, ""},
            {"depth", "S", "", false, ""}};
  }

  Result<std::optional<std::vector<ArrowColumnData>>> next() override {
    const SliceColumns& slices = trace_->slices();
    if (next_row_ >= slices.size()) return std::optional<std::vector<ArrowColumnData>>();
    if (!is_prepared_) {
      if (Status status = prepare(); !status) return status;
    }
    const uint32_t begin = next_row_;
    const auto end =
        static_cast<uint32_t>(std::min<uint64_t>(slices.size(), begin + kArrowBatchRows));
    next_row_ = end;
    return std::optional(make_batch(begin, end));
  }

 private:
  // What all batches share. Self time needs a pass over all slices.
  Status prepare() {
    const Trace& trace = *trace_;
    const std::vector<Label>& labels = trace.labels().all();
    Status status = number_texts(
        labels.size(), [&](size_t i) { return trace.string(labels[i].name); }, names_);
    if (!status) return status;
    status = number_texts(
        labels.size(), [&](size_t i) { return trace.string(labels[i].category); }, categories_);
    if (!status) return status;
    status = number_texts(
        labels.size(), [&](size_t i) { return kind_name(labels[i].kind); }, kinds_);
    if (!status) return status;
    status = number_texts(
        trace.tracks().size(),
        [&](size_t i) { return track_title(trace, TrackId{static_cast<uint32_t>(i)}); }, tracks_);
    if (!status) return status;
    self_ns_ = build_self_ns(trace);
    is_prepared_ = true;
    return {};
  }

  template <typename Value, typename ValueOf>
  static ArrowColumnData make_column(uint32_t begin, uint32_t end, const ValueOf& value_of) {
    std::vector<Value> values(end - begin);
    for (uint32_t row = begin; row < end; ++row) values[row - begin] = value_of(row);
    ArrowColumnData data;
    data.length = end - begin;
    data.buffers = {nullptr, make_arrow_buffer(values)};
    return data;
  }

  template <typename IndexOf>
  static ArrowColumnData make_texts(uint32_t begin, uint32_t end, const TextNumbers& texts,
                                    const IndexOf& index_of) {
    ArrowColumnData data = make_column<int32_t>(
        begin, end, [&](uint32_t row) { return texts.numbers[index_of(row)]; });
    data.dictionary = texts.dictionary;
    return data;
  }

  std::vector<ArrowColumnData> make_batch(uint32_t begin, uint32_t end) {
    const SliceColumns& slices = trace_->slices();
    std::vector<uint32_t> track_of(end - begin);
    for (uint32_t row = begin; row < end;) {
      const TrackId id = trace_->find_track_of(SliceId{row});
      const Track& track = trace_->tracks()[index(id)];
      const uint32_t last = std::min(end, track.first_slice + track.slice_count);
      std::fill(track_of.begin() + (row - begin), track_of.begin() + (last - begin), index(id));
      row = std::max(last, row + 1);
    }
    const auto track = [&](uint32_t row) { return track_of[row - begin]; };
    const auto label = [&](uint32_t row) { return index(slices.label[row]); };
    std::vector<ArrowColumnData> batch;
    batch.push_back(make_column<uint32_t>(begin, end, [](uint32_t row) { return row; }));
    batch.push_back(make_column<uint32_t>(begin, end, track));
    batch.push_back(make_texts(begin, end, tracks_, track));
    batch.push_back(make_texts(begin, end, names_, label));
    batch.push_back(make_texts(begin, end, categories_, label));
    batch.push_back(make_texts(begin, end, kinds_, label));
    batch.push_back(make_column<int64_t>(
        begin, end, [&](uint32_t row) { return slices.start_ns[row] - trace_->begin_ns(); }));
    batch.push_back(
        make_column<int64_t>(begin, end, [&](uint32_t row) { return slices.dur_ns[row]; }));
    batch.push_back(make_column<int64_t>(begin, end, [&](uint32_t row) { return self_ns_[row]; }));
    ArrowValidity has_parent(end - begin);
    for (uint32_t row = begin; row < end; ++row) has_parent.push(slices.parent[row] != kNoSlice);
    batch.push_back(
        make_column<uint32_t>(begin, end, [&](uint32_t row) { return index(slices.parent[row]); }));
    batch.back().buffers[0] = has_parent.finish();
    batch.back().null_count = has_parent.null_count();
    batch.push_back(
        make_column<uint16_t>(begin, end, [&](uint32_t row) { return slices.depth[row]; }));
    return batch;
  }

  std::shared_ptr<const Trace> trace_;
  uint32_t next_row_ = 0;
  bool is_prepared_ = false;
  TextNumbers names_, categories_, kinds_, tracks_;
  std::vector<int64_t> self_ns_;
};

}  // namespace

void export_slices(std::shared_ptr<const Trace> trace, ArrowArrayStream* out) {
  make_arrow_stream(std::make_unique<SliceSource>(std::move(trace)), out);
}

}  // namespace stepscope
