import type { JoiningNode, JoiningNodeOptions } from "#emulators/harness/joining-node.ts";
import { joiningNode } from "#emulators/harness/joining-node.ts";

/** What others wrote on a node, which nothing of ours may lose. */
export interface ForeignMarks {
  readonly taints: readonly { readonly key: string; readonly effect: string; readonly value?: string }[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** What each node carries from its registration on, beside what a row adds. */
export const USUAL_MARKS: ForeignMarks = {
  taints: [{ key: "node.cilium.io/agent-not-ready", effect: "NoSchedule", value: "true" }],
  labels: { "example.com/team": "payments" },
  annotations: { "example.com/note": "written by another" },
};

/** Where nodes of a row differ from the usual ones. */
export interface NodeDifference extends Partial<JoiningNodeOptions> {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Added to the status that a kubelet registers with. */
  readonly status?: Readonly<Record<string, unknown>>;
}

/** The Node object that its kubelet registers, and what of it is others'. */
export function markedNode(
  name: string,
  providerID: string,
  difference: NodeDifference = {},
): { readonly node: JoiningNode; readonly marks: ForeignMarks } {
  const { annotations, status, ...options } = difference;
  const marks: ForeignMarks = {
    taints: [...USUAL_MARKS.taints, ...(options.taints ?? [])],
    labels: { ...USUAL_MARKS.labels, ...options.labels },
    annotations: { ...USUAL_MARKS.annotations, ...annotations },
  };
  const node = joiningNode({ providerID, ...options, name, taints: marks.taints, labels: marks.labels });
  return {
    marks,
    node: {
      ...node,
      metadata: { ...node.metadata, annotations: { ...node.metadata.annotations, ...marks.annotations } },
      status: { ...node.status, ...status },
    },
  };
}

/** A node as the API server tells it, as far as it is looked at here. */
export interface SeenNode {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly providerID?: string;
    readonly taints?: readonly { readonly key: string; readonly effect: string; readonly value?: string }[];
  };
  readonly status: { readonly addresses?: readonly { readonly type: string; readonly address: string }[] };
}

/** The marks that a node has lost, in words. */
export function lostMarks({ metadata, spec }: SeenNode, marks: ForeignMarks): readonly string[] {
  const taints = (spec.taints ?? []).map(wordsOf);
  return [
    ...marks.taints.map(wordsOf).filter((taint) => !taints.includes(taint)),
    ...differing("label", metadata.labels, marks.labels),
    ...differing("annotation", metadata.annotations, marks.annotations),
  ].map((what) => `${metadata.name} lost ${what.slice(0, 120)}`);
}

function wordsOf({ key, value, effect }: ForeignMarks["taints"][number]): string {
  return `the taint ${key}=${value ?? ""}:${effect}`;
}

function differing(
  what: string,
  seen: Readonly<Record<string, string>> = {},
  wanted: Readonly<Record<string, string>>,
): readonly string[] {
  return Object.entries(wanted)
    .filter(([key, value]) => seen[key] !== value)
    .map(([key]) => `the ${what} ${key}`);
}
