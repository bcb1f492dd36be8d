import { expect, test } from "vitest";
import { EmbeddedSource, keyOf, unpack } from "./embedded_source";
import { decodeTiles } from "./timeline/tile";

// A tile of slices at depth 0: [slice, label, number, begin, end] each.
function tileOf(
  track: number,
  level: number,
  index: number,
  items: number[][],
): Uint8Array<ArrayBuffer> {
  const count = items.length;
  const bytes = 32 + count * 20 + Math.ceil(count / 2) * 4;
  const view = new DataView(new ArrayBuffer(bytes));
  [0x4c495453, track, level, index, 0, count, bytes, 0].forEach((word, i) =>
    view.setUint32(i * 4, word, true),
  );
  items.forEach((item, i) =>
    item.forEach((value, column) => {
      const at = 32 + (column * count + i) * 4;
      if (column < 3) view.setUint32(at, value, true);
      else view.setFloat32(at, value, true);
    }),
  );
  return new Uint8Array(view.buffer);
}

const text = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const BLOCKS: [object, Uint8Array<ArrayBuffer>][] = [
  [{ kind: "answer", path: "runs", parameters: {} }, text({ runs: [{ id: 0, span_ns: 1024 }], can: { sql: true } })],
  [{ kind: "answer", path: "table", parameters: { run: "0", limit: "0", view: "x" } }, text({ view: "x" })],
  [{ kind: "answer", path: "job", parameters: { limit: "0", view: "ranks" } }, text({ view: "ranks" })],
  [{ kind: "labels", run: 0 }, text({ labels: [{ id: 5, name: "Conv", category: "c", kind: "operator" }] })],
  [{ kind: "tiles", run: 0, level: 0, tiles: [3, [0]] }, tileOf(3, 0, 0, [[7, 5, 1, 1, 2], [8, 5, 4, 9, 9.5]])],
  [{ kind: "tiles", run: 0, level: 1, tiles: [3, [1]] }, tileOf(3, 1, 1, [])],
  [{ kind: "slices", run: 0, first: 8, last: 8 }, text([{ id: 8, name: "Conv" }])],
]; // prettier-ignore

async function packed(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
  const all = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(String.fromCharCode(...all));
}

function sourceOf(left_out: string[] = []): EmbeddedSource {
  const index = { left_out, blocks: BLOCKS.map(([entry]) => entry) };
  const read = async (name: string) => {
    const bytes = name === "index" ? text(index) : BLOCKS[Number(name)]![1];
    return unpack(await packed(bytes));
  };
  return new EmbeddedSource(read);
}

test("a question is the same in whatever order, and without what has no value", () => {
  expect(keyOf("t", { b: 1, a: true, c: "", d: undefined })).toBe(keyOf("t", { a: "1", b: "1" }));
  expect(keyOf("t", { a: 1 })).not.toBe(keyOf("t", { a: 2 }));
});

test("answers are those that are stored; others say where they are to be had", async () => {
  const source = sourceOf();
  expect(await source.table(0, "x", { limit: 0 })).toEqual({ view: "x" });
  await expect(source.table(0, "y")).rejects.toThrow("not in the file");
  await expect(source.sql(0, "SELECT 1")).rejects.toThrow("stepscope view");
  await expect(source.diff(0, 1)).rejects.toThrow("stepscope view");
  expect((await source.runs()).can).toEqual({});
});

test("the job is that of all runs in the file, whichever is shown", async () => {
  const source = sourceOf();
  for (const run of [0, 7])
    expect(await source.job("ranks", { run, limit: 0, waiting: true })).toEqual({ view: "ranks" });
  await expect(source.job("groups", { run: 0 })).rejects.toThrow("not in the file");
});

test("a tile that is not there is answered with the one that covers it, once", async () => {
  const places = decodeTiles(await sourceOf().tiles(0, 2, "3.0,3.1,3.2,4.0"));
  expect(places.map(({ level, index }) => [level, index])).toEqual([
    [0, 0],
    [1, 1],
  ]);
});

test("a slice has its details, else what its tile knows, else an error", async () => {
  const source = sourceOf();
  expect((await source.slice(0, 8)).remark).toBeUndefined();
  const known = await source.slice(0, 7);
  expect(known).toMatchObject({ name: "Conv", start_ns: 2, dur_ns: 2, track: 3, self_ns: null });
  expect(known.remark).toContain("not in the file");
  await expect(source.slice(0, 9)).rejects.toThrow("not in the file");
});

test("a search looks at names in tiles, and says whether there may be more", async () => {
  const found = await sourceOf(["something"]).search(0, "conv", 1);
  expect(found).toMatchObject({ total: 2, is_partial: true });
  expect(found.matches.map(({ slice }) => slice)).toEqual([7]);
  expect(await sourceOf().search(0, "/^x/", 9)).toMatchObject({ total: 0, is_partial: false });
});
