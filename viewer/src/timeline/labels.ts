// Names of what is drawn: asked for when first seen, kept by number. The columns are plain arrays, so that drawing looks things up without making anything.
import { colorIndexOf } from "../color";
import { shortName } from "../flame/layout";
import type { LabelInfo } from "../source";

const LIMIT_PER_REQUEST = 1000;

export class Labels {
  // By label. The colour is -1 until the name is known.
  colors = new Int16Array(1024).fill(-1);
  // 1 where a search is on and the name does not match.
  isDimmed = new Uint8Array(1024);
  private infos: (LabelInfo | undefined)[] = [];
  // As they stand in a slice: of a Python call the function comes first.
  private shortNames: (string | undefined)[] = [];
  private widths = new Float32Array(1024);
  private shortened = new Map<number, string>();
  private wanted = new Set<number>();
  private asked = new Set<number>();
  private matches: ((name: string) => boolean) | null = null;

  constructor(
    private readonly ask: (ids: number[]) => Promise<LabelInfo[]>,
    private readonly onArrive: () => void,
    private readonly onError: (error: unknown) => void,
  ) {}

  infoOf(label: number): LabelInfo | undefined {
    return this.infos[label];
  }

  nameOf(label: number): string {
    return this.infos[label]?.name ?? "";
  }

  // The colour of a label, or -1; those not known are asked for at the next flush.
  colorOf(label: number): number {
    const color = label < this.colors.length ? this.colors[label]! : -1;
    if (color < 0 && !this.asked.has(label)) this.wanted.add(label);
    return color;
  }

  flush(): void {
    if (this.wanted.size === 0) return;
    const ids = [...this.wanted].slice(0, LIMIT_PER_REQUEST);
    for (const id of ids) {
      this.wanted.delete(id);
      this.asked.add(id);
    }
    this.ask(ids).then((labels) => {
      for (const label of labels) this.add(label);
      this.onArrive();
    }, this.onError);
  }

  add(label: LabelInfo): void {
    this.grow(label.id + 1);
    this.infos[label.id] = label;
    this.shortNames[label.id] = shortName(label.name);
    this.colors[label.id] = colorIndexOf(label.name);
    this.isDimmed[label.id] = this.matches && !this.matches(label.name) ? 1 : 0;
  }

  // What does not match is drawn without colour; null ends that.
  highlight(matches: ((name: string) => boolean) | null): void {
    this.matches = matches;
    this.infos.forEach((info, id) => {
      if (info) this.isDimmed[id] = matches && !matches(info.name) ? 1 : 0;
    });
  }

  // The name as far as it fits, or "". Measured once per label, cut once per label and length.
  fittingName(label: number, width: number, measure: (text: string) => number): string {
    const name = this.shortNames[label];
    if (name === undefined || name === "") return "";
    let full = this.widths[label]!;
    if (full === 0) {
      full = measure(name);
      this.widths[label] = full;
    }
    if (full <= width) return name;
    const letters = Math.floor((width / full) * name.length) - 1;
    if (letters < 2) return "";
    const key = label * 4096 + Math.min(letters, 4095);
    let text = this.shortened.get(key);
    if (text === undefined) {
      if (this.shortened.size > 20000) this.shortened.clear();
      text = `${name.slice(0, letters)}…`;
      this.shortened.set(key, text);
    }
    return text;
  }

  // After a change of font.
  forgetWidths(): void {
    this.widths.fill(0);
    this.shortened.clear();
  }

  private grow(size: number): void {
    if (size <= this.colors.length) return;
    const room = Math.max(size, this.colors.length * 2);
    const colors = new Int16Array(room).fill(-1);
    colors.set(this.colors);
    this.colors = colors;
    const dimmed = new Uint8Array(room);
    dimmed.set(this.isDimmed);
    this.isDimmed = dimmed;
    const widths = new Float32Array(room);
    widths.set(this.widths);
    this.widths = widths;
  }
}
