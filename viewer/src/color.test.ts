import { expect, test } from "vitest";
import { chooseTheme } from "./theme";
import { colorIndexOf, packHex, packHsl, packRgb, palette } from "./color";

test("a name has one colour, and numbers at its end do not change it", () => {
  expect(colorIndexOf("ProfilerStep#12")).toBe(colorIndexOf("ProfilerStep#7"));
  expect(colorIndexOf("aten::add")).not.toBe(colorIndexOf("aten::conv2d"));
});

test("pixels are what CSS would show", () => {
  expect(packHex("#abc")).toBe(packHex("#aabbcc"));
  expect(packHsl(0, 1, 0.5)).toBe(packRgb(255, 0, 0));
  expect(packHsl(120, 1, 0.25)).toBe(packRgb(0, 128, 0));
  expect(packHsl(210, 0.5, 0.4)).toBe(packHex("#336699"));
});

// WCAG's relative luminance of a packed pixel.
function luminance(pixel: number): number {
  const channel = (shift: number) => {
    const value = ((pixel >> shift) & 255) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(0) + 0.7152 * channel(8) + 0.0722 * channel(16);
}

test.each(["light", "dark"] as const)("text on every colour can be read: %s", (choice) => {
  chooseTheme(choice);
  const text = luminance(packHex(palette().text));
  for (const fill of palette().packed) {
    const [high, low] = [Math.max(text, luminance(fill)), Math.min(text, luminance(fill))];
    expect((high! + 0.05) / (low! + 0.05)).toBeGreaterThanOrEqual(4.5);
  }
});
