// Canvases in device pixels, their font, and the theme's colours as drawing needs them.
import { packHex, palette } from "../color";
import type { OverlayInks } from "./overlay";
import type { Inks } from "./pixels";

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif";

export function fitCanvas(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
  ratio: number,
): void {
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
}

export function setFont(context: CanvasRenderingContext2D, ratio: number): void {
  context.font = `${11 * ratio}px ${FONT}`;
}

// The theme's colours as they are now.
export function readInks(element: HTMLElement): {
  inks: Inks;
  overlay: OverlayInks;
  silhouette: string;
} {
  const style = getComputedStyle(element);
  const ink = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    inks: {
      ground: packHex(ink("ground")),
      dim: packHex(ink("dim")),
      curve: packHex(ink("curve")),
      curveFill: packHex(ink("curve-fill")),
      fills: palette().packed,
    },
    overlay: {
      text: ink("text"),
      quiet: ink("quiet"),
      line: ink("line"),
      accent: ink("accent"),
      accentGround: ink("accent-ground"),
      ground: ink("ground"),
      raised: ink("raised"),
      warning: ink("mark"),
    },
    silhouette: ink("silhouette"),
  };
}
