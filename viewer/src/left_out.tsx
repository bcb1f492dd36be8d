// What an exported page lacks, said at its top.
import { source, useAnswer } from "./answer";

export function LeftOut() {
  const answer = useAnswer(() => source.leftOut(), []);
  const lines = answer.data ?? [];
  if (lines.length === 0) return null;
  return (
    <details class="left-out">
      <summary>
        Not all is in this file: <code>stepscope view</code> shows what was left out.
      </summary>
      <ul>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </details>
  );
}
