#include "serve/html_tiles.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "analyze/timeline_tiles.h"
#include "serve/json_writer.h"

namespace stepscope::serve {
namespace {

// Asked for at once, and packed together.
constexpr size_t kTilesPerRequest = 16;
constexpr size_t kBatchBytes = size_t{1} << 20;
constexpr size_t kLabelsPerRequest = 1'000;
// Times in a tile are fractions of buckets in 24 bits. Down to this level tiles are refined for the
// sake of exact times alone.
constexpr uint32_t kExactLevel = 5;
// With less room than this it is over.
constexpr uint64_t kLeastRoom = 2'000;

// A track, and the tiles of the next level that are worth having.
struct Front {
  size_t run = 0;
  uint32_t track = 0;
  int64_t time_ns = 0;
  std::vector<uint64_t> wanted = {0};
  std::vector<uint64_t> next;
  bool is_cut = false;
};

struct TileText {
  Front* front = nullptr;
  uint64_t index = 0;
  std::string bytes;
};

uint32_t read_word(std::string_view bytes, size_t at) {
  uint32_t word = 0;
  if (at + sizeof(word) <= bytes.size()) std::memcpy(&word, bytes.data() + at, sizeof(word));
  return word;
}

float read_float(std::string_view bytes, size_t at) {
  const uint32_t word = read_word(bytes, at);
  float value = 0;
  std::memcpy(&value, &word, sizeof(value));
  return value;
}

struct TileHead {
  bool is_counter = false;
  uint32_t count = 0;
  uint32_t bytes = 0;
};

TileHead read_head(std::string_view bytes) {
  return {read_word(bytes, 16) == 1, read_word(bytes, 20), read_word(bytes, 24)};
}

// Whether it holds what only finer tiles show.
bool is_merged(std::string_view tile) {
  const TileHead head = read_head(tile);
  const size_t column = size_t{head.count} * 4;
  for (uint32_t i = 0; i < head.count; ++i) {
    const size_t at = kTileHeaderBytes + size_t{i} * 4;
    if (head.is_counter) {
      if (read_float(tile, at + column) != read_float(tile, at + 2 * column)) return true;
    } else if (read_word(tile, at + 2 * column) > 1) {
      return true;
    }
  }
  return false;
}

class TileExport {
 public:
  TileExport(Api& api, const std::vector<const Trace*>& runs, HtmlFile& file, uint64_t to_leave)
      : api_(api), runs_(runs), file_(file), to_leave_(to_leave), known_labels_(runs.size()) {
    for (size_t run = 0; run < runs.size(); ++run) add_fronts(run);
    std::stable_sort(fronts_.begin(), fronts_.end(),
                     [](const Front& a, const Front& b) { return a.time_ns > b.time_ns; });
  }

  HtmlTilesResult write(const std::function<void(double)>& progress) {
    const uint64_t room = room_left();
    for (uint32_t level = 0; has_wanted() && room_left() >= kLeastRoom && file_.ok(); ++level) {
      for (size_t run = 0; run < runs_.size(); ++run) {
        for (Front& front : fronts_) {
          if (front.run == run) write_front(front, level);
          if (progress) progress(1 - static_cast<double>(room_left()) / static_cast<double>(room));
        }
        flush(run, level);
      }
      for (Front& front : fronts_) front.wanted = std::exchange(front.next, {});
    }
    HtmlTilesResult result{fronts_.size(), 0};
    for (const Front& front : fronts_) {
      if (front.is_cut || !front.wanted.empty()) ++result.cut_tracks;
    }
    return result;
  }

 private:
  void add_fronts(size_t run) {
    if (runs_[run] == nullptr) return;
    const Trace& trace = *runs_[run];
    known_labels_[run].assign(trace.labels().size(), false);
    for (uint32_t id = 0; id < trace.tracks().size(); ++id) {
      const Track& track = trace.tracks()[id];
      if (track.slice_count == 0 && track.value_count == 0) continue;
      Front front{.run = run, .track = id};
      double time_ns = 0;
      for (uint32_t i = track.first_slice; i < track.first_slice + track.slice_count; ++i) {
        if (trace.slices().depth[i] == 0) {
          time_ns += static_cast<double>(trace.slices().dur_ns[i]);
        }
      }
      front.time_ns = static_cast<int64_t>(std::min(time_ns, 9e18));
      fronts_.push_back(std::move(front));
    }
  }

  uint64_t room_left() const {
    return file_.bytes_left() > to_leave_ ? file_.bytes_left() - to_leave_ : 0;
  }

  bool has_wanted() const {
    return std::any_of(fronts_.begin(), fronts_.end(),
                       [](const Front& front) { return !front.wanted.empty(); });
  }

  void write_front(Front& front, uint32_t level) {
    for (size_t at = 0; at < front.wanted.size(); at += kTilesPerRequest) {
      if (room_left() < kLeastRoom) {
        front.is_cut = true;
        return;
      }
      const size_t end = std::min(at + kTilesPerRequest, front.wanted.size());
      ask(front, level, at, end);
    }
  }

  // Tiles [begin, end) of those wanted. Too much for one answer: half by half.
  void ask(Front& front, uint32_t level, size_t begin, size_t end) {
    std::string want;
    for (size_t i = begin; i < end; ++i) {
      if (!want.empty()) want += ',';
      want += std::to_string(front.track) + '.' + std::to_string(front.wanted[i]);
    }
    ApiRequest request;
    request.path = "tiles";
    request.parameters = {{"run", std::to_string(front.run)},
                          {"level", std::to_string(level)},
                          {"want", std::move(want)}};
    const ApiAnswer answer = api_.answer(request);
    if (answer.status != kStatusFine) {
      if (end - begin == 1) {
        front.is_cut = true;
      } else {
        ask(front, level, begin, begin + (end - begin) / 2);
        ask(front, level, begin + (end - begin) / 2, end);
      }
      return;
    }
    take(front, level, begin, answer.body);
  }

  void take(Front& front, uint32_t level, size_t begin, std::string_view body) {
    for (size_t i = begin; !body.empty(); ++i) {
      const size_t bytes = read_head(body).bytes;
      batch_.push_back({&front, front.wanted[i], std::string(body.substr(0, bytes))});
      batch_bytes_ += bytes;
      body.remove_prefix(bytes);
      if (batch_bytes_ >= kBatchBytes) flush(front.run, level);
    }
  }

  void flush(size_t run, uint32_t level) {
    write_tiles(run, level, 0, batch_.size());
    batch_.clear();
    batch_bytes_ = 0;
  }

  // What does not fit as a whole is tried in halves; one that does not fit is left out.
  void write_tiles(size_t run, uint32_t level, size_t begin, size_t end) {
    if (begin == end) return;
    if (add_blocks(run, level, begin, end)) {
      for (size_t i = begin; i < end; ++i) refine(run, level, batch_[i]);
    } else if (end - begin == 1 || room_left() < kLeastRoom) {
      for (size_t i = begin; i < end; ++i) batch_[i].front->is_cut = true;
    } else {
      write_tiles(run, level, begin, begin + (end - begin) / 2);
      write_tiles(run, level, begin + (end - begin) / 2, end);
    }
  }

  void refine(size_t run, uint32_t level, const TileText& tile) {
    if (level >= TimelineTiles::of(*runs_[run])->last_level()) return;
    const bool is_inexact = level < kExactLevel && read_head(tile.bytes).count > 0;
    if (!is_inexact && !is_merged(tile.bytes)) return;
    tile.front->next.push_back(2 * tile.index);
    tile.front->next.push_back(2 * tile.index + 1);
  }

  bool add_blocks(size_t run, uint32_t level, size_t begin, size_t end) {
    std::string bytes;
    std::set<uint32_t> labels;
    for (size_t i = begin; i < end; ++i) {
      bytes += batch_[i].bytes;
      gather_labels(run, batch_[i].bytes, labels);
    }
    std::vector<HtmlBlock> blocks = pack_labels(run, labels);
    blocks.push_back(HtmlFile::pack(make_entry(run, level, begin, end), bytes));
    uint64_t needed = 0;
    for (const HtmlBlock& block : blocks) needed += block.bytes();
    if (needed > room_left()) return false;
    for (const HtmlBlock& block : blocks) {
      if (!file_.add(block)) return false;
    }
    for (const uint32_t label : labels) known_labels_[run][label] = true;
    return true;
  }

  void gather_labels(size_t run, std::string_view tile, std::set<uint32_t>& labels) const {
    const TileHead head = read_head(tile);
    if (head.is_counter) return;
    for (uint32_t i = 0; i < head.count; ++i) {
      const uint32_t label = read_word(tile, kTileHeaderBytes + (size_t{head.count} + i) * 4);
      if (label < known_labels_[run].size() && !known_labels_[run][label]) labels.insert(label);
    }
  }

  std::vector<HtmlBlock> pack_labels(size_t run, const std::set<uint32_t>& labels) {
    std::vector<HtmlBlock> blocks;
    std::string ids;
    size_t count = 0;
    for (auto it = labels.begin(); it != labels.end();) {
      ids += (ids.empty() ? "" : ",") + std::to_string(*it);
      if (++it != labels.end() && ++count < kLabelsPerRequest) continue;
      ApiRequest request;
      request.path = "labels";
      request.parameters = {{"run", std::to_string(run)}, {"ids", std::exchange(ids, {})}};
      count = 0;
      blocks.push_back(
          HtmlFile::pack("{\"kind\": \"labels\", \"run\": " + std::to_string(run) + "}",
                         api_.answer(request).body));
    }
    return blocks;
  }

  // "tiles" is [track, [index, …], track, …].
  std::string make_entry(size_t run, uint32_t level, size_t begin, size_t end) const {
    JsonWriter json;
    json.begin_object();
    json.field("kind", "tiles");
    json.field("run", run);
    json.field("level", level);
    json.key("tiles").begin_array();
    for (size_t i = begin; i < end; ++i) {
      if (i == begin || batch_[i].front != batch_[i - 1].front) {
        if (i > begin) json.end_array();
        json.value(batch_[i].front->track);
        json.begin_array();
      }
      json.value(batch_[i].index);
    }
    json.end_array();
    json.end_array();
    json.end_object();
    return std::move(json).text();
  }

  Api& api_;
  const std::vector<const Trace*>& runs_;
  HtmlFile& file_;
  const uint64_t to_leave_;
  std::vector<Front> fronts_;
  std::vector<TileText> batch_;  // of one run and one level
  size_t batch_bytes_ = 0;
  std::vector<std::vector<bool>> known_labels_;  // by run and label: in the file
};

}  // namespace

HtmlTilesResult add_tiles(Api& api, const std::vector<const Trace*>& runs, HtmlFile& file,
                          uint64_t bytes_to_leave,
                          const std::function<void(double fraction)>& progress) {
  return TileExport(api, runs, file, bytes_to_leave).write(progress);
}

}  // namespace stepscope::serve
