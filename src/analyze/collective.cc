#include "analyze/collective.h"

#include <array>
#include <string>
#include <utility>

namespace stepscope {
namespace {

constexpr std::array<std::string_view, kCollectiveTypes> kCollectiveNames = {
    "other",  "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce",
    "gather", "scatter",    "send",       "recv",           "send_recv",  "barrier"};

// By parts of names without case and "_". The first that is in the name wins, so that
// "allreduce" is not taken for "reduce".
constexpr std::pair<std::string_view, CollectiveType> kNameParts[] = {
    {"allreduce", CollectiveType::kAllReduce},
    {"allgather", CollectiveType::kAllGather},
    {"reducescatter", CollectiveType::kReduceScatter},
    {"alltoall", CollectiveType::kAllToAll},
    {"all2all", CollectiveType::kAllToAll},
    {"barrier", CollectiveType::kBarrier},
    {"broadcast", CollectiveType::kBroadcast},
    {"sendrecv", CollectiveType::kSendReceive},
    {"collectivepermute", CollectiveType::kSendReceive},
    {"gather", CollectiveType::kGather},
    {"scatter", CollectiveType::kScatter},
    {"reduce", CollectiveType::kReduce},
    {"send", CollectiveType::kSend},
    {"recv", CollectiveType::kReceive},
    {"receive", CollectiveType::kReceive},
};

constexpr std::pair<std::string_view, int64_t> kElementBytes[] = {
    {"float", 4},       {"f32", 4},      {"float32", 4},    {"double", 8},
    {"f64", 8},         {"float64", 8},  {"half", 2},       {"f16", 2},
    {"float16", 2},     {"c10half", 2},  {"bfloat16", 2},   {"bf16", 2},
    {"c10bfloat16", 2}, {"char", 1},     {"signedchar", 1}, {"unsignedchar", 1},
    {"byte", 1},        {"int8", 1},     {"uint8", 1},      {"bool", 1},
    {"u8", 1},          {"i8", 1},       {"short", 2},      {"int16", 2},
    {"int", 4},         {"int32", 4},    {"long", 8},       {"int64", 8},
    {"longint", 8},     {"u32", 4},      {"u64", 8},        {"float8e4m3fn", 1},
    {"float8e5m2", 1},  {"longlong", 8},
};

// Small letters and digits only; names of files may be long, of these they are not.
std::string plain_name(std::string_view name) {
  constexpr size_t kLongest = 256;
  std::string text;
  for (const char c : name.substr(0, kLongest)) {
    if (c >= 'A' && c <= 'Z') text += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) text += c;
  }
  return text;
}

}  // namespace

std::string_view collective_name(CollectiveType type) {
  const auto at = static_cast<size_t>(type);
  return at < kCollectiveNames.size() ? kCollectiveNames[at] : kCollectiveNames[0];
}

CollectiveType find_collective_type(std::string_view name) {
  // What follows the parenthesis are the types of a kernel's arguments.
  const std::string text = plain_name(name.substr(0, name.find('(')));
  for (const auto& [part, type] : kNameParts) {
    if (text.find(part) != text.npos) return type;
  }
  return CollectiveType::kOther;
}

bool ends_together(CollectiveType type) {
  return type == CollectiveType::kAllReduce || type == CollectiveType::kAllGather ||
         type == CollectiveType::kReduceScatter || type == CollectiveType::kAllToAll ||
         type == CollectiveType::kBarrier;
}

bool is_point_to_point(CollectiveType type) {
  return type == CollectiveType::kSend || type == CollectiveType::kReceive;
}

double bus_factor(CollectiveType type, int64_t ranks) {
  if (ranks < 2) return 1;
  const auto n = static_cast<double>(ranks);
  switch (type) {
    case CollectiveType::kAllReduce:
      return 2 * (n - 1) / n;
    case CollectiveType::kAllGather:
    case CollectiveType::kReduceScatter:
    case CollectiveType::kAllToAll:
      return (n - 1) / n;
    default:
      return 1;
  }
}

int64_t dtype_bytes(std::string_view type_name) {
  const std::string text = plain_name(type_name);
  for (const auto& [name, bytes] : kElementBytes) {
    if (text == name) return bytes;
  }
  return 0;
}

}  // namespace stepscope
