// How sure a share is that was estimated from samples: Wilson's interval, which stays within 0..1
// and holds for shares near 0 and for few samples, where the usual one does not.
//
//   const ShareInterval interval = share_interval_95(0.8, 10);   // 0.4902 .. 0.9433
#pragma once

#include <algorithm>
#include <cmath>

namespace stepscope {

struct ShareInterval {
  double low = 0;
  double high = 1;
};

// Of samples that do not depend on each other. Where they have weights, `samples` is the number of
// equal ones that would be as sure: the square of the sum by the sum of the squares.
inline ShareInterval share_interval_95(double share, double samples) {
  if (!(samples > 0)) return {};
  constexpr double kZ = 1.959963984540054;  // 95 % of a normal distribution
  constexpr double kZSquared = kZ * kZ;
  share = std::clamp(share, 0.0, 1.0);
  const double scale = 1 / (1 + kZSquared / samples);
  const double centre = (share + kZSquared / (2 * samples)) * scale;
  const double half =
      kZ * scale * std::sqrt(share * (1 - share) / samples + kZSquared / (4 * samples * samples));
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

}  // namespace stepscope
