// Several objectives: which points dominate which. Smaller values are better.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trainlab {

// The rows `which` of a table [n, width], one after the other.
std::vector<double> rows_at(std::span<const double> table, std::size_t width, std::span<const std::uint32_t> which);

// Not worse in any objective and better in one.
bool dominates(std::span<const double> a, std::span<const double> b);

// Sorts points [n, objectives] into fronts until `enough` points are placed: the first front holds the points that no
// other point dominates, the next front those that only points of the first dominate, and so on. Each front is in order
// of index. O(n log n) for each front of two objectives, O(n²) otherwise.
std::vector<std::vector<std::uint32_t>> pareto_fronts(std::span<const double> points, std::size_t objectives,
                                                      std::size_t enough);

// Crowding distance of each point of a front (Deb et al. 2002, section III-B): infinite at the ends.
std::vector<double> crowding(std::span<const double> points, std::size_t objectives,
                             std::span<const std::uint32_t> front);

// The volume that points [n, objectives] dominate below a reference point; points that are not below it add nothing.
// Two objectives: O(n log n); more: by slices, exponential in their number, for small n.
double hypervolume(std::vector<std::vector<double>> points, std::span<const double> reference);

// Chooses, one after the other, the `count` of these finite points [n, objectives] that together dominate the largest
// volume below the reference point; none of the points dominates another (Bader and Zitzler 2011; never worse than 1 −
// 1/e of the best choice).
std::vector<std::uint32_t> most_volume(std::span<const double> points, std::span<const double> reference,
                                       std::size_t count);

// The volume that each of the points [n, objectives] adds to the volume that all dominate; 0 for dominated points.
std::vector<double> volume_shares(std::span<const double> points, std::span<const double> reference);

}  // namespace trainlab
