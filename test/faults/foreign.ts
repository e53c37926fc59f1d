import type { JoiningNode, JoiningNodeOptions } from "#emulators/harness/joining-node.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";

/** Writes of others on a node, which we must not lose. */
export interface ForeignMarks {
  readonly taints: readonly { readonly key: string; readonly effect: string; readonly value?: string }[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Each node's marks from its registration on, in addition to those of a row. */
export const USUAL_MARKS: ForeignMarks = {
  taints: [{ key: "node.cilium.io/agent-not-ready", effect: "NoSchedule", value: "true" }],
  labels: { "example.com/team": "payments" },
  annotations: { "example.com/note": "written by another" },
};

/** How nodes of a row differ from the default ones. */
export interface NodeDifference extends Partial<JoiningNodeOptions> {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Added to the status of the kubelet's registration. */
  readonly status?: Readonly<Record<string, unknown>>;
}

/** Builds the Node object that its kubelet registers, and its foreign marks. */
export function buildMarkedNode(
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
  const node = buildJoiningNode({ providerID, ...options, name, taints: marks.taints, labels: marks.labels });
  return {
    marks,
    node: {
      ...node,
      metadata: { ...node.metadata, annotations: { ...node.metadata.annotations, ...marks.annotations } },
      status: { ...node.status, ...status },
    },
  };
}

/** The fields of a node that are read here. */
export interface ObservedNode {
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

/** Returns descriptions of the marks that a node has lost. */
export function listLostMarks({ metadata, spec }: ObservedNode, marks: ForeignMarks): readonly string[] {
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
