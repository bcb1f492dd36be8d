#include "trace/allocation_lifetimes.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/flat_map.h"
#include "base/saturating.h"

namespace stepscope {
namespace {

constexpr int16_t kCpu = 0;  // of c10::DeviceType

class Pairing {
 public:
  explicit Pairing(const Trace& trace) : trace_(trace), columns_(trace.allocations()) {}

  AllocationLifetimes build() {
    // A row number has 32 bits; a trace of more would be beyond any memory.
    const size_t rows = std::min<size_t>(columns_.time_ns.size(), kNoAllocation);
    find_devices(rows);
    result_.taken.assign(rows, kNoLifetime);
    result_.freed.assign(rows, kNoLifetime);
    for (uint32_t row = 0; row < rows; ++row) {
      const uint32_t space = space_of(row);
      if (columns_.bytes[row] > 0) take(row, space);
      if (columns_.bytes[row] < 0) give_back(row, space);
    }
    add_what_stayed();
    return std::move(result_);
  }

 private:
  struct Space {
    FlatMap by_address;                                           // to the open lifetime
    std::unordered_map<int64_t, std::vector<uint32_t>> by_bytes;  // those without an address
    int64_t before_bytes = -1;  // held before the first event, as its total tells; -1: not told
    int64_t freed_before_bytes = 0;  // of these, what was given back
  };

  AllocationDevice device_at(size_t row) const {
    return {columns_.device_type[row], columns_.device_id[row]};
  }

  void find_devices(size_t rows) {
    std::vector<AllocationDevice>& devices = result_.devices;
    for (size_t row = 0; row < rows; ++row) {
      if (devices.empty() || devices.back() != device_at(row)) devices.push_back(device_at(row));
    }
    std::sort(devices.begin(), devices.end());
    devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  }

  uint32_t space_of(uint32_t row) {
    const uint32_t process = trace_.tracks()[index(columns_.track[row])].process;
    const AllocationDevice device = device_at(row);
    const auto key = std::tuple(process, device);
    if (last_space_ != UINT32_MAX && key == last_key_) return last_space_;
    const auto [at, is_new] =
        space_ids_.try_emplace(key, static_cast<uint32_t>(result_.spaces.size()));
    if (is_new) {
      const auto place = std::lower_bound(result_.devices.begin(), result_.devices.end(), device);
      result_.spaces.push_back({process, static_cast<uint32_t>(place - result_.devices.begin())});
      spaces_.emplace_back();
      const int64_t total_bytes = columns_.total_allocated_bytes[row];
      if (total_bytes >= 0 && device.type != kCpu) {
        spaces_.back().before_bytes = subtract_saturating(total_bytes, columns_.bytes[row]);
      }
    }
    last_key_ = key;
    return last_space_ = at->second;
  }

  uint32_t add(const Lifetime& lifetime) {
    result_.lifetimes.push_back(lifetime);
    return static_cast<uint32_t>(result_.lifetimes.size() - 1);
  }

  void end(uint32_t lifetime, uint32_t row) {
    result_.lifetimes[lifetime].end_ns = columns_.time_ns[row];
    result_.lifetimes[lifetime].freed_row = row;
    result_.freed[row] = lifetime;
  }

  void take(uint32_t row, uint32_t space_id) {
    Space& space = spaces_[space_id];
    const uint64_t address = columns_.address[row];
    const int64_t bytes = columns_.bytes[row];
    const uint32_t lifetime = add(
        {.begin_ns = columns_.time_ns[row], .bytes = bytes, .taken_row = row, .space = space_id});
    result_.taken[row] = lifetime;
    if (address == 0) {
      space.by_bytes[bytes].push_back(lifetime);
      return;
    }
    uint32_t& open = space.by_address.try_emplace(address, kNoLifetime).value;
    if (open != kNoLifetime) {
      ++result_.unseen_frees;
      end(open, row);
    }
    open = lifetime;
  }

  void give_back(uint32_t row, uint32_t space_id) {
    Space& space = spaces_[space_id];
    const uint64_t address = columns_.address[row];
    const int64_t bytes = subtract_saturating(0, columns_.bytes[row]);
    if (address == 0) {
      const auto at = space.by_bytes.find(bytes);
      if (at != space.by_bytes.end() && !at->second.empty()) {
        end(at->second.back(), row);
        at->second.pop_back();
        return;
      }
    } else {
      uint32_t& open = space.by_address.try_emplace(address, kNoLifetime).value;
      if (open != kNoLifetime) {
        end(open, row);
        open = kNoLifetime;
        return;
      }
    }
    space.freed_before_bytes = add_saturating(space.freed_before_bytes, bytes);
    end(add({.begin_ns = trace_.begin_ns(), .bytes = bytes, .space = space_id}), row);
  }

  void add_what_stayed() {
    for (uint32_t id = 0; id < spaces_.size(); ++id) {
      const int64_t bytes =
          subtract_saturating(spaces_[id].before_bytes, spaces_[id].freed_before_bytes);
      if (bytes > 0) add({.begin_ns = trace_.begin_ns(), .bytes = bytes, .space = id});
    }
  }

  const Trace& trace_;
  const AllocationColumns& columns_;
  AllocationLifetimes result_;
  std::vector<Space> spaces_;
  std::map<std::tuple<uint32_t, AllocationDevice>, uint32_t> space_ids_;
  std::tuple<uint32_t, AllocationDevice> last_key_;
  uint32_t last_space_ = UINT32_MAX;
};

}  // namespace

AllocationLifetimes AllocationLifetimes::build(const Trace& trace) {
  return Pairing(trace).build();
}

}  // namespace stepscope
