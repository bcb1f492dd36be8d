// A uPlot in a component: as wide as its place, in the colours of the theme.
import { useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { theme } from "../theme";
import { useWidth } from "../flame/flame";

export interface CurveProps {
  data: uPlot.AlignedData;
  // Without width, height and the axes' colours. Must not change unless the plot does.
  options: Omit<uPlot.Options, "width" | "height">;
  heightPx: number;
  label: string;
}

export function Curve({ data, options, heightPx, label }: CurveProps) {
  const place = useRef<HTMLDivElement>(null);
  const widthPx = useWidth(place);
  const isDark = theme.value === "dark";
  useLayoutEffect(() => {
    if (widthPx === 0) return;
    const plot = new uPlot(
      { ...themed(options), width: widthPx, height: heightPx },
      data,
      place.current!,
    );
    return () => plot.destroy();
  }, [data, options, widthPx, heightPx, isDark]);
  return <div class="curve" ref={place} role="img" aria-label={label} />;
}

function themed(options: CurveProps["options"]): CurveProps["options"] {
  const style = getComputedStyle(document.documentElement);
  const stroke = style.getPropertyValue("--quiet");
  const grid = { stroke: style.getPropertyValue("--line"), width: 1 };
  const axes = (options.axes ?? [{}, {}]).map((axis) => ({ stroke, grid, ticks: grid, ...axis }));
  return { ...options, axes };
}
