// Findings as cards: what is wrong, what it costs, where, what to change, and the slices that show it.
import { useEffect, useRef } from "preact/hooks";
import { textOfFraction, textOfValue } from "../format";
import type { Finding } from "../source";
import { hrefOfSlice, stateOf } from "../state";

const wanted = stateOf("finding");

export function Findings({ findings }: { findings: Finding[] }) {
  if (findings.length === 0) return <p class="quiet">No findings.</p>;
  return (
    <div class="findings">
      {findings.map((finding) => (
        <Card key={`${finding.id} ${finding.where}`} finding={finding} />
      ))}
    </div>
  );
}

function Card({ finding }: { finding: Finding }) {
  const place = useRef<HTMLElement>(null);
  const isWanted = wanted.value === finding.id;
  useEffect(() => {
    if (isWanted) place.current?.scrollIntoView({ block: "nearest" });
  }, [isWanted]);
  return (
    <article
      ref={place}
      class={`finding ${finding.severity}${isWanted ? " wanted" : ""}`}
      aria-label={finding.title}
    >
      <h3>
        <span class="severity">{finding.severity}</span> {finding.title}
      </h3>
      <p class="finding-facts">
        {finding.at_stake_fraction > 0 && (
          <span>
            <strong>{textOfFraction(finding.at_stake_fraction)}</strong> at stake
          </span>
        )}
        {finding.where !== "" && <code>{finding.where}</code>}
        <span class="quiet">{finding.id}</span>
      </p>
      {finding.fix !== "" && <p>{finding.fix}</p>}
      {finding.code !== "" && <pre>{finding.code}</pre>}
      <p class="finding-facts quiet">
        {finding.evidence.figures.map((figure) => (
          <span key={figure.name}>
            {figure.name} {textOfValue(figure.value, figure.unit)}
          </span>
        ))}
        <Evidence slices={finding.evidence.slices} />
      </p>
    </article>
  );
}

function Evidence({ slices }: { slices: number[] }) {
  const [first, ...others] = slices;
  if (first === undefined) return null;
  return (
    <span class="evidence">
      <a class="button" href={hrefOfSlice(first)}>
        Show on the timeline
      </a>
      {others.map((slice, index) => (
        <a
          key={slice}
          href={hrefOfSlice(slice)}
          aria-label={`Show place ${index + 2} on the timeline`}
        >
          {index + 2}
        </a>
      ))}
    </span>
  );
}
