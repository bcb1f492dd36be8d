import { expect, test } from "vitest";
import type { SearchAnswer, Source } from "../source";
import { nameMatcher, Search } from "./search";

test("names match as the server matches them: cases ignored, patterns between slashes", () => {
  expect(nameMatcher("ADD")?.("aten::add_")).toBe(true);
  expect(nameMatcher("/add$/")?.("aten::add_")).toBe(false);
  expect(nameMatcher("")).toBeNull();
  expect(nameMatcher("/(/")).toBeNull();
});

function searchOf(starts: number[]) {
  const matches = starts.map((start_ns, slice) => ({
    slice,
    track: 0,
    start_ns,
    dur_ns: 1,
    depth: 0,
    name: "x",
  }));
  const source = {
    search: async (): Promise<SearchAnswer> => ({ total: starts.length, matches }),
  } as unknown as Source;
  return new Search(
    source,
    0,
    () => {},
    () => {},
  );
}

async function found(search: Search): Promise<void> {
  search.start("x", true);
  await new Promise((resolve) => setTimeout(resolve, 10));
}

test("the first step goes to what follows the window's begin, later ones around", async () => {
  const search = searchOf([10, 20, 30]);
  await found(search);
  expect(search.step(1, 15)?.slice).toBe(1);
  expect(search.step(1, 0)?.slice).toBe(2);
  expect(search.step(1, 0)?.slice).toBe(0);
  expect(search.step(-1, 0)?.slice).toBe(2);
});

test("the first step back goes to what is before the window", async () => {
  const search = searchOf([10, 20, 30]);
  await found(search);
  expect(search.step(-1, 25)?.slice).toBe(1);
});

test("nothing found is nothing to go to", async () => {
  const search = searchOf([]);
  await found(search);
  expect(search.step(1, 0)).toBeNull();
});
