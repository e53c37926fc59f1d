import { formatCounted } from "#cli/format-list.ts";
import {
  type Difference,
  type DifferenceCode,
  type IgnoredDifference,
  isIgnored,
} from "#core/handover-check/compare.ts";
import { formatJsonLine } from "#core/log-text.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** Why a node was not compared. */
export type SkipReason =
  /** The node disappeared first. */
  | "gone"
  /** Initialized by serverless-ccm itself. */
  | "ours"
  /** The cloud did not answer in time. */
  | "cloud"
  /** Initialized just before the end. */
  | "unsettled";

/** Counts what was compared, and prints each difference when it is found. */
export interface Tally {
  /** Records a compared node with its differences. */
  compared(differences: readonly Difference[]): void;
  uncompared(why: SkipReason): void;
  readonly nodes: number;
  /** The number of differences. */
  readonly differences: number;
  /** Returns the summary as lines for people. */
  summary(): readonly string[];
}

/** The character limit of a shown value. */
const MAX_VALUE = 2_000;

/** Creates an empty tally, which stores only numbers, however long it runs. */
export function createTally(ignored: readonly IgnoredDifference[], write: (line: string) => void): Tally {
  const byCode = new Map<DifferenceCode, number>();
  const not = new Map<SkipReason, number>();
  let [nodes, differing, differences, passedOver] = [0, 0, 0, 0];
  return {
    compared(found) {
      nodes += 1;
      const counting = found.filter((each) => !isIgnored(each, ignored));
      passedOver += found.length - counting.length;
      differences += counting.length;
      if (counting.length > 0) differing += 1;
      for (const each of counting) {
        byCode.set(each.code, (byCode.get(each.code) ?? 0) + 1);
        write(formatDifference(each));
      }
    },
    uncompared(why) {
      not.set(why, (not.get(why) ?? 0) + 1);
    },
    get nodes() {
      return nodes;
    },
    get differences() {
      return differences;
    },
    summary() {
      const codes = [...byCode].map(([code, count]) => `${code} ${count}`).join(", ");
      const found =
        differences === 0 ? "no difference" : `${formatCounted(differences, "difference")} (${codes})`;
      const where = differing === 0 ? "" : ` on ${formatCounted(differing, "node")}`;
      const left = passedOver === 0 ? "" : `; ${passedOver} that --ignore names`;
      return [
        `compared ${formatCounted(nodes, "node")}: ${found}${where}${left}`,
        ...[...not].map(([why, count]) => `not compared: ${formatCounted(count, "node")} ${WHY[why]}`),
      ];
    },
  };
}

const WHY: Readonly<Record<SkipReason, string>> = {
  gone: "that went before the other controller was done",
  ours: "that serverless-ccm itself initialized: it is active here, too",
  cloud: "about which the cloud gave no answer in time",
  unsettled: "that had only just been initialized at the end",
};

function formatDifference({ code, node, about, ours, theirs }: Difference): string {
  const subject = [sanitizeText(node), ...(about === undefined ? [] : [sanitizeText(about)])].join(" ");
  return `${code}  ${subject}\n    ours:   ${formatValue(ours)}\n    theirs: ${formatValue(theirs)}`;
}

function formatValue(value: unknown): string {
  return value === undefined ? "none" : sanitizeText(formatJsonLine(value), MAX_VALUE);
}
