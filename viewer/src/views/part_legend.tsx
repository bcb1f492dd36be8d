// What colours of stacked bars mean, with the figures of the bar that is looked at, or of all in the mean.
import { phaseColor } from "../color";
import { textOfFraction, textOfNs } from "../format";

export function PartLegend(props: {
  title: string;
  total_ns: number;
  parts: string[];
  values: number[];
  remark?: string;
}) {
  return (
    <ul class="legend">
      <li>
        <strong>{props.title}</strong> {textOfNs(Math.round(props.total_ns))}
      </li>
      {props.parts.map((part, index) => {
        const value = props.values[index] ?? 0;
        return (
          <li key={part}>
            <span class="swatch" style={{ background: phaseColor(part) }} />{" "}
            {part.replaceAll("_", " ")} {textOfNs(Math.round(value))}{" "}
            <span class="quiet">{textOfFraction(value / (props.total_ns || 1))}</span>
          </li>
        );
      })}
      {props.remark && <li class="worse">{props.remark}</li>}
    </ul>
  );
}
