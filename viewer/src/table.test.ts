import { expect, test } from "vitest";
import { compareCells, csvOf, matcherOf, orderRows } from "./table";

const table = {
  view: "operators",
  columns: [
    { name: "name", unit: "" },
    { name: "self_ns", unit: "ns" },
  ],
  rows: [
    ["aten::add", 5],
    ["aten::mul", null],
    ["aten::add_", 9],
  ],
};

test("rows are sorted by the column that is asked for, missing values last when descending", () => {
  expect(orderRows(table, "-self_ns", "")).toEqual([2, 0, 1]);
  expect(orderRows(table, "+self_ns", "")).toEqual([1, 0, 2]);
  expect(orderRows(table, "", "")).toEqual([0, 1, 2]);
});

test("a filter is words that must all be there, or a pattern", () => {
  expect(orderRows(table, "", "ADD")).toEqual([0, 2]);
  expect(orderRows(table, "", "/add$/")).toEqual([0]);
  expect(matcherOf("a b")("xb ya")).toBe(true);
  expect(matcherOf("a b")("a")).toBe(false);
  expect(matcherOf("/(/")("(")).toBe(false);
});

test("texts and numbers are compared as what they are", () => {
  expect(compareCells(10, 9)).toBeGreaterThan(0);
  expect(compareCells("10", "9")).toBeLessThan(0);
});

test("rows are copied as CSV with plain figures", () => {
  const odd = {
    ...table,
    rows: [
      ['say "a,b"', 5],
      ["two\nlines", null],
    ],
  };
  expect(csvOf(odd, [1, 0], [0, 1])).toBe('name,self_ns\n"two\nlines",\n"say ""a,b""",5\n');
});
