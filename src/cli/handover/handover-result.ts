import { formatCounted } from "#cli/format-list.ts";
import { FIELD_MANAGER } from "#core/contracts.ts";
import type { Gap, Handover } from "#core/handover.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** To this controller, or back to the other one. */
export type Direction = "over" | "back";

/** Whether a hand-over reached its goal. */
export type HandoverResult = { readonly kind: "good" | "faults"; readonly message: string };

const MAX_MANAGERS = 10;

/** Formats what was seen, one line each. */
export function formatHandover(seen: Handover): readonly string[] {
  return [
    ...[...seen.initialized].slice(0, MAX_MANAGERS).map(([manager, { nodes }]) => {
      return `initialized by ${sanitizeText(manager)}: ${formatCounted(nodes, "node")}`;
    }),
    ...seen.gaps.map(formatGap),
    ...seen.stuckBefore.map(
      (node) => `note: ${sanitizeText(node)} waits as before, for its earlier controller`,
    ),
    ...(seen.waiting > 0
      ? [`note: ${formatCounted(seen.waiting, "node")} still waiting, not for long yet`]
      : []),
  ];
}

/**
 * Judges whether nodes were left without a controller, and whether the right one initializes them now. What
 * another one did before `settledMs` does not count, because the change may not have reached it.
 */
export function judgeHandover(
  direction: Direction,
  { gaps, initialized }: Handover,
  theirFlag: string,
  settledMs: number,
): HandoverResult {
  if (gaps.length > 0) {
    const whom =
      direction === "over"
        ? "see the relay's log and metrics"
        : `start the other controller with ${theirFlag}`;
    return {
      kind: "faults",
      message: `${formatCounted(gaps.length, "gap")} on nodes (above); ${whom}, or turn back: two active controllers are safe for nodes`,
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
  if (nodes > 0)
    return { kind: "good", message: `no gap; ${formatCounted(nodes, "node")} came up, by who should` };
  return {
    kind: "good",
    message: "no gap; no node joined meanwhile, so who initializes shows with the next one",
  };
}

function formatGap(gap: Gap): string {
  const node = sanitizeText(gap.node);
  switch (gap.code) {
    case "TaintedTooLong":
      return `${gap.code}  ${node} carried the uninitialized taint for ${gap.seconds} s`;
    case "WithoutAddress":
      return `${gap.code}  ${node} was initialized and had no address for ${gap.seconds} s`;
  }
}
