// fp64-compute: a model is trained in double precision, which takes twice the time and memory.
//
// Where shapes were recorded operators say their types. Without, the loss tells: backward() begins
// with a gradient of 1 of the loss's own type, one number, for which 8 bytes are taken. Where
// nothing on the way back changes the type, all of the model is of it.
#include <array>
#include <string_view>

#include "advise/finding_text.h"
#include "advise/recording_cost.h"
#include "advise/rules.h"

namespace stepscope {
namespace fp64_compute {

constexpr int64_t kOverheadNs = 3000;  // of an operator, whatever its type
constexpr double kSaved = 0.5;

// Work that is no faster with shorter numbers.
bool is_random(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames = {
      "aten::normal_", "aten::uniform_", "aten::bernoulli_", "aten::random_", "aten::randperm"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

struct Doubles {
  int64_t ns = 0;  // in operators on them, without what these cost on any type
  uint64_t operators = 0;
  SliceId longest = kNoSlice;
  int64_t longest_ns = -1;

  void note(SliceId slice, int64_t dur_ns) {
    if (dur_ns <= longest_ns) return;
    longest_ns = dur_ns;
    longest = slice;
  }
};

bool is_with_doubles(std::string_view types_json) {
  return types_json.starts_with("[\"double\"") ||
         types_json.find(",\"double\"") != types_json.npos ||
         types_json.find(", \"double\"") != types_json.npos;
}

// By the types that operators say. The first level that says any holds the ones in it.
Doubles find_by_types(const Case& c, const ArgColumn& types) {
  const SliceColumns& slices = c.trace.slices();
  Doubles doubles;
  int64_t covered_until_ns = INT64_MIN;
  const Track& track = c.trace.tracks()[index(*c.thread->track())];
  for (size_t i = 0; i < types.rows.size(); ++i) {
    const SliceId row = types.rows[i];
    if (index(row) < track.first_slice || index(row) >= track.first_slice + track.slice_count) {
      continue;
    }
    const int64_t start_ns = slices.start_ns[index(row)];
    if (start_ns < covered_until_ns || !c.times.contains(start_ns)) continue;
    if (is_random(c.trace.slice_name(row))) continue;
    if (!is_with_doubles(c.trace.string(types.string(i)))) continue;
    covered_until_ns = slices.end_ns(index(row));
    doubles.ns += std::max<int64_t>(0, slices.dur_ns[index(row)] - kOverheadNs);
    ++doubles.operators;
    doubles.note(row, slices.dur_ns[index(row)]);
  }
  return doubles;
}

// Whether all losses of the steps are doubles.
bool is_loss_double(const Case& c) {
  const SliceColumns& slices = c.trace.slices();
  const AllocationColumns& allocations = c.trace.allocations();
  uint64_t of_eight = 0, others = 0;
  for (size_t i = 0; i < allocations.time_ns.size(); ++i) {
    if (allocations.bytes[i] <= 0 || !c.times.contains(allocations.time_ns[i])) continue;
    bool is_first_gradient = false;
    for (SliceId at = allocations.slice[i]; at != kNoSlice; at = slices.parent[index(at)]) {
      const LabelId label = slices.label[index(at)];
      const TrainingRole role = c.thread->role(label);
      if (role == TrainingRole::kBackwardNode) break;
      if (c.trace.slice_name(at) == "aten::ones_like") is_first_gradient = true;
      if (role == TrainingRole::kBackwardCall) {
        if (is_first_gradient) ++(allocations.bytes[i] == 8 ? of_eight : others);
        break;
      }
      if (c.trace.labels()[label].kind == SliceKind::kOperator || is_first_gradient) continue;
      break;
    }
  }
  return of_eight > 0 && others == 0;
}

bool changes_type(std::string_view name) { return name.find("ToCopyBackward") != name.npos; }

Doubles find_by_loss(const Case& c) {
  Doubles doubles;
  for (uint32_t i = 0; i < c.trace.labels().size(); ++i) {
    if (c.work->of(LabelId{i}).calls > 0 &&
        changes_type(c.trace.string(c.trace.labels()[LabelId{i}].name))) {
      return doubles;
    }
  }
  if (!is_loss_double(c)) return doubles;
  const int64_t cost_ns = RecordingCost(c.trace).of(SliceKind::kOperator) + kOverheadNs;
  for (uint32_t i = 0; i < c.trace.labels().size(); ++i) {
    const Label& label = c.trace.labels()[LabelId{i}];
    if (label.kind != SliceKind::kOperator || is_random(c.trace.string(label.name))) continue;
    const LabelWork& work = c.work->of(LabelId{i}, Part::kRest);
    const int64_t ns = work.self_ns - static_cast<int64_t>(work.calls) * cost_ns;
    if (work.calls == 0 || ns <= 0) continue;
    doubles.ns += ns;
    doubles.operators += work.calls;
    doubles.note(work.longest, work.longest_ns);
  }
  return doubles;
}

}  // namespace fp64_compute

void check_fp64_compute(const Case& c, Findings& found) {
  using namespace fp64_compute;
  if (!c.has_steps() || !c.work || !c.thread->track()) return;
  const ArgColumn* types = c.trace.find_args("Input type", ArgType::kJson);
  const bool has_types = types != nullptr && !types->rows.empty();
  const Doubles doubles = has_types ? find_by_types(c, *types) : find_by_loss(c);
  const double share = kSaved * c.share(doubles.ns);
  if (share < kWarningAtStake) return;

  Finding finding;
  finding.id = "fp64-compute";
  finding.at_stake_fraction = share;
  finding.title =
      in_percent(c.share(doubles.ns)) + " of each step computes in double precision (float64)";
  finding.figures = {
      {"in float64 per step", static_cast<double>(c.per_step(doubles.ns)), Unit::kNs},
      {"operators per step",
       static_cast<double>(doubles.operators) / static_cast<double>(c.steps()), Unit::kCount}};
  finding.slices = {doubles.longest};
  finding.fix =
      "Make the model and its data float32: NumPy's arrays are float64 unless told otherwise.";
  finding.code = "x = torch.from_numpy(array).float()\nmodel = model.float()";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
