// The program that a generated trace pretends to have profiled: layers drawn once, each a tree of
// operators with the kernels they launch. generate_kineto.cc runs it step after step.
//
//   Random random(seed);
//   Model model(100, random);
//   for (const Layer& layer : model.layers()) run(layer.forward);
#pragma once

#include "kernel_names.h"
#include "operators.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::bench {

// splitmix64: the standard library's distributions differ between implementations.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  uint64_t below(uint64_t n) { return next() % n; }
  // Sum of uniforms: near enough to a normal, and the same on every machine.
  int64_t lognormal_ns(double median_ns, double sigma) {
    const double normal = (uniform() + uniform() + uniform() + uniform() - 2.0) * std::sqrt(3.0);
    return std::max<int64_t>(1, std::llround(median_ns * std::exp(sigma * normal)));
  }
  size_t zipf(size_t n) {  // P(k) ~ 1/(k+1), by inverting its continuous counterpart
    const double k = std::exp(uniform() * std::log(static_cast<double>(n) + 1.0)) - 1.0;
    return std::min(n - 1, static_cast<size_t>(k));
  }

 private:
  uint64_t state_;
};

struct Launch {
  Family family = Family::kNone;
  const std::string* kernel = nullptr;
  double median_ns = 0;
  std::string args;  // what does not change from step to step
  uint64_t bytes = 0;
};

struct Op {
  std::string name;
  std::string shapes;  // Concrete Inputs .. Input Dims, or empty
  Launch launch;
  std::vector<Op> children;
  double overhead_ns = 0;
};

struct Layer {
  Op forward;
  Op backward;  // "evaluate_function: XBackward0", or no name
  bool has_weight = false;
  std::string module;
};

class Model {
 public:
  Model(size_t layer_count, Random& random) : random_(random) {
    for (size_t i = 0; i < layer_count; ++i) layers_.push_back(draw_layer(i));
    for (std::string_view text : kOptimizerOps) optimizer_.push_back(parse(text));
  }
  const std::vector<Layer>& layers() const { return layers_; }
  const std::vector<Op>& optimizer() const { return optimizer_; }
  // An operator from text like kLayers'.
  Op parse(std::string_view text) { return parse_one(text); }

 private:
  Layer draw_layer(size_t index) {
    constexpr size_t kWritten = std::size(kLayers), kPlain = std::size(kPlainOps);
    const size_t pick = random_.zipf(kWritten + kPlain);
    Layer layer;
    std::string node, children;
    if (pick < kWritten) {
      layer.forward = parse(kLayers[pick].forward);
      layer.has_weight = kLayers[pick].has_weight;
      node = kLayers[pick].backward_name;
      children = kLayers[pick].backward_children;
    } else {
      const std::string name(kPlainOps[pick - kWritten]);
      layer.forward = parse("aten::" + name + "!e");
      node = name + "Backward0";
      node[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(node[0])));
      children = "aten::" + name + "_backward!e(aten::empty)";
    }
    layer.backward = parse("autograd::engine::evaluate_function: " + node + "(" + node +
                           (children.empty() ? "" : "(" + children + ")") + ")");
    layer.module = layer.forward.name.substr(6) + "_" + std::to_string(index);
    return layer;
  }

  // name[!family][(op,op...)], taken off the front of `text`.
  Op parse_one(std::string_view& text) {
    Op op;
    const size_t end = std::min(text.find_first_of("!(),"), text.size());
    op.name = text.substr(0, end);
    text.remove_prefix(end);
    op.overhead_ns = 1500 + 9000 * random_.uniform() * random_.uniform();
    const bool view =
        op.name.find("as_strided") != op.name.npos || op.name.find("evaluate") != op.name.npos;
    if (!view && random_.uniform() < 0.27) op.shapes = draw_shapes();
    if (text.starts_with('!')) {
      op.launch = draw_launch(static_cast<Family>(text[1]));
      text.remove_prefix(2);
    }
    if (text.starts_with('(')) {
      do {
        text.remove_prefix(1);
        op.children.push_back(parse_one(text));
      } while (text.starts_with(','));
      text.remove_prefix(1);
    }
    return op;
  }

  std::string draw_shapes() {
    static constexpr int kSizes[] = {8,   16,   32,   64,   77,   128,  512,
                                     768, 1024, 2048, 3072, 4096, 50257};
    std::string concrete, types, strides, dims;
    const size_t inputs = 1 + random_.below(3);
    for (size_t i = 0; i < inputs; ++i) {
      const char* comma = i ? ", " : "";
      const bool scalar = i > 0 && random_.uniform() < 0.4;
      concrete +=
          comma + std::string(scalar ? (random_.uniform() < 0.5 ? "\"1\"" : "\"False\"") : "\"\"");
      types += comma + std::string(scalar                    ? "\"Scalar\""
                                   : random_.uniform() < 0.7 ? "\"c10::BFloat16\""
                                                             : "\"float\"");
      std::string size, stride;
      int64_t step = 1;
      for (size_t d = scalar ? 0 : 1 + random_.below(4); d > 0; --d) {
        const int n = kSizes[random_.zipf(std::size(kSizes))];
        size = std::to_string(n) + (size.empty() ? "" : ", ") + size;
        stride = std::to_string(step) + (stride.empty() ? "" : ", ") + stride;
        step *= n;
      }
      dims += comma + ("[" + size + "]");
      strides += comma + ("[" + stride + "]");
    }
    return "\"Concrete Inputs\": [" + concrete + "], \"Input type\": [" + types +
           "], \"Input Strides\": [" + strides + "], \"Input Dims\": [" + dims + "], ";
  }

  Launch draw_launch(Family family) {
    Launch launch;
    launch.family = family;
    std::vector<std::string>& names = names_[family];
    if (names.empty()) names = build_kernel_names(family);
    launch.kernel = &names[random_.zipf(names.size())];
    launch.median_ns = 3500 * std::exp(4.5 * random_.uniform() * random_.uniform());
    launch.bytes = (1 + random_.below(4096)) * 4096;
    const unsigned block = 32u << random_.below(6),
                   grid = 1 + static_cast<unsigned>(random_.below(4000));
    const double blocks = grid / 108.0, warps = blocks * block / 32.0;
    char text[512];
    std::snprintf(
        text, sizeof text,
        "      \"registers per thread\": %u,      \"shared memory\": %u,      \"blocks per SM\": "
        "%f,"
        "      \"warps per SM\": %f,      \"grid\": [%u, %u, 1],      \"block\": [%u, 1, 1],"
        "      \"est. achieved occupancy %%\": %u",
        16 + 8 * static_cast<unsigned>(random_.below(30)),
        1024 * static_cast<unsigned>(random_.zipf(97)), blocks, warps, grid,
        1 + static_cast<unsigned>(random_.zipf(16)), block,
        std::min(100u, static_cast<unsigned>(warps * 100 / 64)));
    launch.args = text;
    return launch;
  }

  Random& random_;
  std::map<Family, std::vector<std::string>> names_;
  std::vector<Layer> layers_;
  std::vector<Op> optimizer_;
};

}  // namespace stepscope::bench
