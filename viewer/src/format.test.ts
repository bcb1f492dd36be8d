import { expect, test } from "vitest";
import { textOfBytes, textOfFraction, textOfNs, textOfValue, titleOfColumn } from "./format";

test("durations have four digits and the unit that fits", () => {
  expect(textOfNs(999)).toBe("999 ns");
  expect(textOfNs(1234)).toBe("1.234 us");
  expect(textOfNs(12_300_000)).toBe("12.30 ms");
  expect(textOfNs(999_960)).toBe("1.000 ms");
  expect(textOfNs(6_404_257_925)).toBe("6.404 s");
  expect(textOfNs(-1_500_000)).toBe("-1.500 ms");
  expect(textOfNs(700e9)).toBe("11.7 min");
  expect(textOfNs(7384e9)).toBe("2 h 03 min");
});

test("sizes are binary", () => {
  expect(textOfBytes(1023)).toBe("1023 B");
  expect(textOfBytes(56_771_672)).toBe("54.1 MiB");
  expect(textOfBytes(1024 * 1024 - 1)).toBe("1.00 MiB");
});

test("fractions are percent with one digit, and small ones are not zero", () => {
  expect(textOfFraction(0.334)).toBe("33.4%");
  expect(textOfFraction(0.0001)).toBe("<0.1%");
  expect(textOfFraction(0)).toBe("0%");
});

test("a cell is shown by its column's unit", () => {
  expect(textOfValue(1151458, "count")).toBe("1,151,458");
  expect(textOfValue(null, "ns")).toBe("");
  expect(textOfValue(true, "")).toBe("yes");
  expect(textOfValue(17, "")).toBe("17");
});

test("a column's head leaves the unit out", () => {
  expect(titleOfColumn("self_host_ns", "ns")).toBe("self host");
  expect(titleOfColumn("busy_fraction", "fraction")).toBe("busy %");
  expect(titleOfColumn("fraction", "fraction")).toBe("share");
  expect(titleOfColumn("dur_ns", "ns")).toBe("duration");
});

test("what lies between two texts is rounded to the even one, as the command does", () => {
  expect(textOfBytes(5.125 * 1024)).toBe("5.12 KiB");
  expect(textOfBytes(5.375 * 1024)).toBe("5.38 KiB");
  expect(textOfBytes(-5.125 * 1024)).toBe("-5.12 KiB");
  expect(textOfBytes(5.126 * 1024)).toBe("5.13 KiB");
  expect(textOfNs(12_345_000)).toBe("12.35 ms");
});
