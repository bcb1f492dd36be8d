import { expect, test } from "vitest";
import { patternOf } from "./tf_data";

test("a stage is found with the numbers of its instances", () => {
  const pattern = patternOf("Iterator::Root::Zip[0]::Interleave::TFRecord");
  const expression = new RegExp(pattern.slice(1, -1));
  expect(expression.test("Iterator::Root::Zip[0]::Interleave[3]::TFRecord")).toBe(true);
  expect(expression.test("Iterator::Root::Zip[0]::Interleave::TFRecord")).toBe(true);
  expect(expression.test("Iterator::Root::Zip[1]::Interleave[3]::TFRecord")).toBe(false);
  expect(expression.test("Iterator::Root::Zip[0]::Interleave[3]::TFRecord::Map")).toBe(false);
});
