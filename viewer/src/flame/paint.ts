// The colours of a flame graph: by name, or by how much of the time a node has more or less than in
// the other run.

import { colorOf, textOn } from "../color";
import { theme } from "../theme";
import type { Paint } from "./draw";
import { largestChange, shortName } from "./layout";
import type { FlameTree } from "./tree";
import { changeOfShare, nameOf } from "./tree";

export function paintOf(
  tree: FlameTree,
  root: number,
  found: Set<number> | null,
  focused: number,
): Paint {
  const isDark = theme.value === "dark";
  const ground = isDark ? "hsl(215 8% 30%)" : "hsl(215 12% 88%)";
  const largest = tree.otherNs ? largestChange(tree, root) : 0;
  const byName = new Map<number, string>();
  const fill = (node: number) => {
    if (tree.otherNs) {
      return changeColor(largest > 0 ? changeOfShare(tree, node) / largest : 0, isDark);
    }
    const label = tree.label[node]!;
    let color = byName.get(label);
    if (color === undefined) {
      color = node === 0 ? ground : colorOf(nameOf(tree, node));
      byName.set(label, color);
    }
    return color;
  };
  return {
    fill,
    text: () => textOn(),
    label: (node) => shortName(nameOf(tree, node)),
    background: isDark ? "#16191d" : "#ffffff",
    outline: isDark ? "#ffffff" : "#000000",
    found,
    focused,
  };
}

// -1 is blue (less than before), 0 grey, 1 red. The root makes small changes visible.
export function changeColor(change: number, isDark: boolean): string {
  const strength = Math.sqrt(Math.min(1, Math.abs(change)));
  const hue = change > 0 ? 4 : 215;
  const saturation = Math.round(strength * (isDark ? 55 : 80));
  const lightness = Math.round(isDark ? 30 + strength * 5 : 90 - strength * 20);
  return `hsl(${hue} ${saturation}% ${lightness}%)`;
}
