// Colours by name: the same name has the same colour in every view, in every run and in both themes. A name picks a hue and one of three shades; the lightness is fixed
// per theme, so that the text on it (textOn) always has a contrast of at least 4.5.
import { theme } from "./theme";

export interface Palette {
  fills: string[];
  // The same as pixels of an ImageData, read as little-endian words.
  packed: Uint32Array;
  text: string;
}

const HUES = 24;
const SHADES = 3;

export function packRgb(red: number, green: number, blue: number): number {
  return (
    ((255 << 24) | (Math.round(blue) << 16) | (Math.round(green) << 8) | Math.round(red)) >>> 0
  );
}

// CSS's hsl() in figures: hue in degrees, the others 0..1.
export function packHsl(hue: number, saturation: number, lightness: number): number {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  const channel = (n: number) => {
    const k = (n + hue / 30) % 12;
    return 255 * (lightness - reach * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
  };
  return packRgb(channel(0), channel(8), channel(4));
}

// "#rrggbb" or "#rgb" as a pixel.
export function packHex(hex: string): number {
  const digits = hex.replace("#", "");
  const value = Number.parseInt(digits.length === 3 ? digits.replace(/./g, "$&$&") : digits, 16);
  return packRgb((value >> 16) & 255, (value >> 8) & 255, value & 255);
}

function paletteOf(lightness: number, saturation: number, spread: number, text: string): Palette {
  const fills: string[] = [];
  const packed = new Uint32Array(HUES * SHADES);
  for (let i = 0; i < HUES * SHADES; ++i) {
    const hue = (Math.floor(i / SHADES) * 360) / HUES;
    const light = lightness + ((i % SHADES) - 1) * spread;
    fills.push(`hsl(${hue} ${saturation}% ${light}%)`);
    packed[i] = packHsl(hue, saturation / 100, light / 100);
  }
  return { fills, packed, text };
}

const LIGHT = paletteOf(80, 48, 4, "#1b1f24");
const DARK = paletteOf(29, 36, 3, "#eceef1");

export function palette(): Palette {
  return theme.value === "dark" ? DARK : LIGHT;
}

export const COLORS = HUES * SHADES;

// FNV-1a over the name without its trailing number, so that "Linear: Linear_3" and "Linear: Linear_4", or batches and steps, look alike.
export function colorIndexOf(name: string): number {
  let end = name.length;
  while (end > 1 && isDigit(name.charCodeAt(end - 1))) --end;
  let hash = 0x811c9dc5;
  for (let i = 0; i < end; ++i) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  hash ^= hash >>> 15;
  return (hash >>> 0) % COLORS;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

export function colorOf(name: string): string {
  return palette().fills[colorIndexOf(name)] ?? "#888";
}

export function textOn(): string {
  return palette().text;
}

// Phases have fixed colours, as they are seen in many places.
const PHASE_HUES: Record<string, string> = {
  input: "#d97a2b",
  forward: "#3b7dd8",
  backward: "#7a5cc9",
  optimizer: "#2f9e6e",
  communication: "#c2478b",
  transfer: "#c2478b",
  waiting: "#e39fc2",
  copy: "#b39b1f",
  host: "#6f7b87",
  idle: "#b9c0c7",
  compute: "#3b7dd8",
  kernel: "#3b7dd8",
  memcpy: "#b39b1f",
  memset: "#8f8a2f",
  runtime: "#c2478b",
  cpu_exec: "#2f9e6e",
  other: "#8d96a0",
  other_work: "#c2478b",
};

export function phaseColor(phase: string): string {
  return PHASE_HUES[phase] ?? colorOf(phase);
}

// For curves: distinct on both grounds.
export const SERIES_COLORS = [
  "#3b7dd8",
  "#d97a2b",
  "#2f9e6e",
  "#c2478b",
  "#7a5cc9",
  "#b39b1f",
  "#c0504d",
  "#3aa6b9",
];
