import { expect, test } from "vitest";
import { fragmentOf, parseFragment, parseRange, textOfRange } from "./state";

test("a fragment is read back as it was written", () => {
  const values = new Map([
    ["token", "a1b2"],
    ["view", "timeline"],
    ["q", "aten::add & <b>=#%"],
    ["operators.sort", "-self_host_ns"],
  ]);
  expect(parseFragment(fragmentOf(values))).toEqual(values);
});

test("names of operators stay readable in a link", () => {
  expect(fragmentOf(new Map([["q", "aten::add"]]))).toBe("#q=aten::add");
});

test("a range is two whole numbers in order", () => {
  expect(parseRange("5-10")).toEqual({ begin_ns: 5, end_ns: 10 });
  expect(parseRange("-5-10")).toEqual({ begin_ns: -5, end_ns: 10 });
  expect(parseRange("10-5")).toBeNull();
  expect(parseRange("5")).toBeNull();
  expect(parseRange("1e3-2e3")).toBeNull();
  expect(parseRange(textOfRange({ begin_ns: 1.4, end_ns: 7.6 }))).toEqual({
    begin_ns: 1,
    end_ns: 8,
  });
});
