"""No PyTorch: near points are looked for by comparing each point with each other.

Expected: python-hotspot. Fixed: points are put into the squares of a grid first.
"""

import argparse
import collections
import random
import time

RADIUS = 0.02


def near_pairs(points):
    found = 0
    for i in range(len(points)):
        x, y = points[i]
        for j in range(i):
            dx, dy = points[j][0] - x, points[j][1] - y
            if dx * dx + dy * dy < RADIUS * RADIUS:
                found += 1
    return found


def near_pairs_on_grid(points):
    squares = collections.defaultdict(list)
    found = 0
    for x, y in points:
        column, row = int(x / RADIUS), int(y / RADIUS)
        for near_column in (column - 1, column, column + 1):
            for near_row in (row - 1, row, row + 1):
                for other_x, other_y in squares.get((near_column, near_row), ()):
                    dx, dy = other_x - x, other_y - y
                    if dx * dx + dy * dy < RADIUS * RADIUS:
                        found += 1
        squares[column, row].append((x, y))
    return found


def move(points, draw):
    return [((x + draw.gauss(0, 0.01)) % 1, (y + draw.gauss(0, 0.01)) % 1) for x, y in points]


def simulate(steps, count_pairs):
    draw = random.Random(0)
    points = [(draw.random(), draw.random()) for _ in range(700)]
    begin = time.perf_counter()
    for _ in range(steps):
        points = move(points, draw)
        count_pairs(points)
    return (time.perf_counter() - begin) / steps


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    seconds = simulate(60, near_pairs_on_grid if args.fixed else near_pairs)
    print(f"step: {seconds * 1000:.2f} ms")
