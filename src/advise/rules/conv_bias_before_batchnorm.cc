// conv-bias-before-batchnorm: a convolution adds a bias that the batch norm after it subtracts
// again with the mean.
//
// Told from the backward pass, which needs no shapes: the node of a batch norm, then that of a
// convolution, after which two gradients go to parameters: of a weight and of a bias.
#include <array>
#include <string_view>
#include <vector>

#include "advise/finding_text.h"
#include "advise/rules.h"

namespace stepscope {
namespace conv_bias_before_batchnorm {

// The bias's gradient is a sum over the output: one pass through memory, where the batch norm's
// node makes about five. An estimate: what it really takes differs much between shapes.
constexpr double kOfBatchNorm = 0.2;
constexpr std::string_view kNodePrefix = "autograd::engine::evaluate_function: ";

enum class Node : uint8_t { kNone, kOther, kAccumulate, kConvolution, kBatchNorm };

Node kind_of(std::string_view name) {
  if (!name.starts_with(kNodePrefix)) return Node::kNone;
  name.remove_prefix(kNodePrefix.size());
  if (name.ends_with("AccumulateGrad")) return Node::kAccumulate;
  if (name.find("BatchNormBackward") != name.npos) return Node::kBatchNorm;
  if (name.find("ConvolutionBackward") != name.npos) return Node::kConvolution;
  return Node::kOther;
}

struct Pairs {
  uint64_t with_bias = 0;
  uint64_t batch_norms = 0;
  int64_t batch_norm_ns = 0;  // backward nodes of all batch norms
  SliceId example = kNoSlice;
};

Pairs find_pairs(const Case& c) {
  std::vector<Node> kinds;
  for (const Label& label : c.trace.labels().all()) {
    kinds.push_back(kind_of(c.trace.string(label.name)));
  }
  const SliceColumns& slices = c.trace.slices();
  Pairs pairs;
  for (const Track& track : c.trace.tracks()) {
    if (track.kind != TrackKind::kThread) continue;
    Node before = Node::kOther;
    SliceId convolution = kNoSlice;  // one after a batch norm
    uint64_t gradients = 0;          // that followed it
    for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
      const Node node = kinds[index(slices.label[row])];
      if (node == Node::kNone || !c.times.contains(slices.start_ns[row])) continue;
      if (node == Node::kAccumulate) {
        if (convolution != kNoSlice && ++gradients == 2) {
          ++pairs.with_bias;
          pairs.example = convolution;
        }
        continue;
      }
      if (node == Node::kBatchNorm) {
        ++pairs.batch_norms;
        pairs.batch_norm_ns += slices.dur_ns[row];
      }
      convolution =
          node == Node::kConvolution && before == Node::kBatchNorm ? SliceId{row} : kNoSlice;
      gradients = 0;
      before = node;
    }
  }
  return pairs;
}

}  // namespace conv_bias_before_batchnorm

void check_conv_bias_before_batchnorm(const Case& c, Findings& found) {
  using namespace conv_bias_before_batchnorm;
  if (!c.has_steps()) return;
  const Pairs pairs = find_pairs(c);
  if (pairs.with_bias == 0) return;
  const double of_all =
      static_cast<double>(pairs.with_bias) / static_cast<double>(pairs.batch_norms);
  const double share = kOfBatchNorm * of_all * c.share(pairs.batch_norm_ns);

  Finding finding;
  finding.id = "conv-bias-before-batchnorm";
  finding.at_stake_fraction = share;
  finding.is_note = true;  // hardly anything on a CPU, more elsewhere; and it costs nothing to mend
  const double per_step = static_cast<double>(pairs.with_bias) / static_cast<double>(c.steps());
  finding.title = in_percent(share) +
                  " of each step adds biases in convolutions that batch norms take away again";
  finding.figures = {{"such convolutions per step", per_step, Unit::kCount}};
  finding.slices = {pairs.example};
  finding.fix = "A convolution before a batch norm needs no bias: the batch norm has one.";
  finding.code = "nn.Conv2d(..., bias=False), nn.BatchNorm2d(...)";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
