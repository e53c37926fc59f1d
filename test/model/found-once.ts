import type { Step } from "./history.ts";

/** The shortest known history that once broke a property. */
export interface FoundOnce {
  readonly title: string;
  readonly scenario: string;
  readonly steps: readonly Step[];
}

const LISTED_NOW = { lagMs: 0, relatedLagMs: 0 } as const;
const INVOKED = {
  do: "invoke",
  actor: 0,
  reason: "watch",
  service: undefined,
  ...LISTED_NOW,
  fates: [],
} as const;
const SPEC = { ports: [8080], isMoved: false, ranges: [] } as const;

export const FOUND_ONCE: readonly FoundOnce[] = [
  {
    title: "an older list of as many nodes as there are takes the tags from a live node's instance",
    scenario: "tags",
    steps: [
      { do: "add node", node: 1, isSuccessor: false, afterMs: 0 },
      { ...INVOKED, afterMs: 0 },
      { do: "add node", node: 0, isSuccessor: false, afterMs: 0 },
      { do: "remove node", node: 1, afterMs: 0 },
      { ...INVOKED, afterMs: 0 },
    ],
  },
  {
    title: "a Service loses our annotation and is deleted while a load balancer is being created",
    scenario: "memory",
    steps: [
      { do: "create Service", service: 0, spec: SPEC, afterMs: 0 },
      { ...INVOKED, fates: [{ request: 3, fate: { kind: "killed", ms: 400 } }], afterMs: 0 },
      { do: "delete Service", service: 0, afterMs: 300 },
      { do: "drop annotation", service: 0, afterMs: 0 },
    ],
  },
  {
    title: "a Service loses our annotation and its type while a target group is being created",
    scenario: "network",
    steps: [
      { do: "create Service", service: 0, spec: SPEC, afterMs: 0 },
      { ...INVOKED, fates: [{ request: 4, fate: { kind: "lost", ms: 400 } }], afterMs: 0 },
      { do: "make ClusterIP", service: 0, dropAnnotation: false, afterMs: 300 },
      { do: "drop annotation", service: 0, afterMs: 0 },
    ],
  },
  {
    title: "an actor whose list is older marks a Service that another one has let go",
    scenario: "classic",
    steps: [
      { do: "create Service", service: 0, spec: SPEC, afterMs: 0 },
      { ...INVOKED, afterMs: 0 },
      { do: "add node", node: 0, isSuccessor: false, afterMs: 20_000 },
      { do: "make ClusterIP", service: 0, dropAnnotation: true, afterMs: 0 },
      { ...INVOKED, afterMs: 0 },
    ],
  },
];
