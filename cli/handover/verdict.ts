import { counted } from "#cli/counted.ts";
import { FIELD_MANAGER } from "#core/contracts.ts";
import type { Gap, Handover } from "#core/handover.ts";
import { shown } from "#core/shown-text.ts";

/** To this controller, or back to the other one. */
export type Direction = "over" | "back";

/** Whether a hand-over did what it was to do. */
export type Verdict = { readonly kind: "good" | "faults"; readonly message: string };

const MAX_MANAGERS = 10;

/** What was seen, a line each. */
export function linesOfHandover(seen: Handover): readonly string[] {
  return [
    ...[...seen.initialized].slice(0, MAX_MANAGERS).map(([manager, { nodes }]) => {
      return `initialized by ${shown(manager)}: ${counted(nodes, "node")}`;
    }),
    ...seen.gaps.map(lineOfGap),
    ...seen.stuckBefore.map((node) => `note: ${shown(node)} waits as it did before, for whoever had it`),
    ...(seen.waiting > 0 ? [`note: ${counted(seen.waiting, "node")} still waiting, not for long yet`] : []),
  ];
}

/**
 * Whether nodes were left alone, and whether who initializes them now is who should: whoever it was before `settledMs` may have been
 * just about to be told.
 */
export function verdictOn(
  direction: Direction,
  { gaps, initialized }: Handover,
  theirFlag: string,
  settledMs: number,
): Verdict {
  if (gaps.length > 0) {
    const whom =
      direction === "over"
        ? "see the relay's log and metrics"
        : `start the other controller with ${theirFlag}`;
    return {
      kind: "faults",
      message: `${counted(gaps.length, "gap")} on nodes (above); ${whom}, or turn back: both at work on nodes is safe`,
    };
  }
  const should = [...initialized].filter(
    ([manager]) => (manager === FIELD_MANAGER) === (direction === "over"),
  );
  const shouldNot = [...initialized].filter((each) => !should.includes(each));
  if (shouldNot.some(([, { lastMs }]) => lastMs >= settledMs)) {
    const what =
      direction === "over"
        ? `the other controller still initializes nodes: restart it with ${theirFlag}`
        : "serverless-ccm still initializes nodes: see that its relay and functions have read the change";
    return { kind: "faults", message: `${what}, and run this again` };
  }
  const nodes = should.reduce((sum, [, each]) => sum + each.nodes, 0);
  if (nodes > 0) return { kind: "good", message: `no gap; ${counted(nodes, "node")} came up, by who should` };
  return {
    kind: "good",
    message: "no gap; no node joined meanwhile, so who initializes shows with the next one",
  };
}

function lineOfGap(gap: Gap): string {
  const node = shown(gap.node);
  switch (gap.code) {
    case "TaintedTooLong":
      return `${gap.code}  ${node} carried the uninitialized taint for ${gap.seconds} s`;
    case "WithoutAddress":
      return `${gap.code}  ${node} was initialized and had no address for ${gap.seconds} s`;
  }
}
