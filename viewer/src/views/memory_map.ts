// The picture of memory over time × address: which addresses were used, with the gaps between them
// cut out, and where a rectangle stands.
export interface MemoryRectangles {
  address: readonly number[];
  bytes: readonly number[];
  begin_ns: readonly number[];
  end_ns: readonly number[];
  category: readonly string[];
  label: readonly string[];
}

export interface AddressMap {
  // Used parts of the address space, by address: where they begin, end, and stand with gaps cut out.
  begins: number[];
  ends: number[];
  offsets: number[];
  // Bytes from the first to the last, the gaps counted as `gap` each.
  length: number;
  gap: number;
}

// Parts closer than this share of all that is used are not cut apart.
const GAP_SHARE = 0.01;

export function mapAddresses(rectangles: MemoryRectangles): AddressMap {
  const order = rectangles.address.map((_, row) => row);
  order.sort((a, b) => rectangles.address[a]! - rectangles.address[b]!);
  const used = unionOf(rectangles, order, 0);
  const total = used.begins.reduce((sum, begin, part) => sum + used.ends[part]! - begin, 0);
  const { begins, ends } = unionOf(rectangles, order, total * GAP_SHARE);
  // Gaps are thin lines, and all of them together never more than a third of what is used.
  const gap = begins.length > 1 ? total * Math.min(0.01, 0.3 / (begins.length - 1)) : 0;
  const offsets: number[] = [];
  let length = 0;
  begins.forEach((begin, part) => {
    offsets.push(length);
    length += ends[part]! - begin + (part + 1 < begins.length ? gap : 0);
  });
  return { begins, ends, offsets, length, gap };
}

function unionOf(rectangles: MemoryRectangles, order: readonly number[], nearness: number) {
  const begins: number[] = [];
  const ends: number[] = [];
  for (const row of order) {
    const begin = rectangles.address[row]!;
    const end = begin + rectangles.bytes[row]!;
    const last = ends.length - 1;
    if (last >= 0 && begin <= ends[last]! + nearness) {
      ends[last] = Math.max(ends[last]!, end);
    } else {
      begins.push(begin);
      ends.push(end);
    }
  }
  return { begins, ends };
}

// Where an address stands, from 0 to map.length.
export function offsetOf(map: AddressMap, address: number): number {
  let part = 0;
  let over = map.begins.length;
  while (over - part > 1) {
    const middle = (part + over) >> 1;
    if (map.begins[middle]! <= address) part = middle;
    else over = middle;
  }
  return (map.offsets[part] ?? 0) + address - (map.begins[part] ?? 0);
}

export interface MapView {
  widthPx: number;
  heightPx: number;
  begin_ns: number;
  end_ns: number;
}

export interface PixelBox {
  x: number;
  y: number;
  width: number;
  height: number;
}

export function boxOf(
  rectangles: MemoryRectangles,
  map: AddressMap,
  view: MapView,
  row: number,
): PixelBox {
  const perNs = view.widthPx / Math.max(1, view.end_ns - view.begin_ns);
  const perByte = view.heightPx / Math.max(1, map.length);
  const height = rectangles.bytes[row]! * perByte;
  const bottom = offsetOf(map, rectangles.address[row]!) * perByte;
  return {
    x: (rectangles.begin_ns[row]! - view.begin_ns) * perNs,
    y: view.heightPx - bottom - height,
    width: (rectangles.end_ns[row]! - rectangles.begin_ns[row]!) * perNs,
    height,
  };
}

// The rectangle at a pixel, the smallest where several touch; -1 for none.
export function rectangleAt(
  rectangles: MemoryRectangles,
  map: AddressMap,
  view: MapView,
  x: number,
  y: number,
): number {
  let best = -1;
  for (let row = 0; row < rectangles.address.length; ++row) {
    const box = boxOf(rectangles, map, view, row);
    const isIn =
      x >= box.x &&
      x <= box.x + Math.max(1, box.width) &&
      y >= box.y &&
      y <= box.y + Math.max(1, box.height);
    if (isIn && (best < 0 || rectangles.bytes[row]! < rectangles.bytes[best]!)) best = row;
  }
  return best;
}
