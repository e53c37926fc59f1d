import { counted } from "#cli/counted.ts";
import { jsonLine } from "#core/json-line.ts";
import { type Difference, type DifferenceCode, type Ignored, isIgnored } from "#core/shadow/difference.ts";
import { shown } from "#core/shown-text.ts";

/** Why a node was not compared. */
export type Uncompared =
  /** Gone before it could be. */
  | "gone"
  /** Initialized by serverless-ccm itself. */
  | "ours"
  /** The cloud could not be asked in time. */
  | "cloud"
  /** Only just initialized at the end. */
  | "unsettled";

/** Counts what was compared, and says each difference as it is found. */
export interface Tally {
  /** A node was compared, with these differences. */
  compared(differences: readonly Difference[]): void;
  uncompared(why: Uncompared): void;
  readonly nodes: number;
  /** That count. */
  readonly differences: number;
  /** What was compared and found, in lines for people. */
  summary(): readonly string[];
}

/** Characters of a value that is shown. */
const MAX_VALUE = 2_000;

/** Starts at nothing. It remembers numbers alone, however long it goes on. */
export function createTally(ignored: readonly Ignored[], write: (line: string) => void): Tally {
  const byCode = new Map<DifferenceCode, number>();
  const not = new Map<Uncompared, number>();
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
        write(lineOf(each));
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
      const found = differences === 0 ? "no difference" : `${counted(differences, "difference")} (${codes})`;
      const where = differing === 0 ? "" : ` on ${counted(differing, "node")}`;
      const left = passedOver === 0 ? "" : `; ${passedOver} that --ignore names`;
      return [
        `compared ${counted(nodes, "node")}: ${found}${where}${left}`,
        ...[...not].map(([why, count]) => `not compared: ${counted(count, "node")} ${WHY[why]}`),
      ];
    },
  };
}

const WHY: Readonly<Record<Uncompared, string>> = {
  gone: "that went before the other controller was done",
  ours: "that serverless-ccm itself initialized: it is at work here, too",
  cloud: "about which the cloud gave no answer in time",
  unsettled: "that had only just been initialized at the end",
};

function lineOf({ code, node, about, ours, theirs }: Difference): string {
  const subject = [shown(node), ...(about === undefined ? [] : [shown(about)])].join(" ");
  return `${code}  ${subject}\n    ours:   ${shownValue(ours)}\n    theirs: ${shownValue(theirs)}`;
}

function shownValue(value: unknown): string {
  return value === undefined ? "none" : shown(jsonLine(value), MAX_VALUE);
}
