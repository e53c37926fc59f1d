import type { Step } from "#test/fuzz/steps.ts";

/** The reduced steps of a defect that was found earlier. */
export interface OnceBroken {
  readonly title: string;
  /** The seed of all other randomness in the world, if it matters. */
  readonly chance?: number;
  readonly steps: readonly Step[];
}

/** These run with every test run, even if new kinds of steps change the meaning of a seed. */
export const ONCE_BROKEN: readonly OnceBroken[] = [
  {
    title: "the machine that has a node's name by now is stopped, and starts again",
    steps: [
      { do: "join", slot: 0, visibleAfterMs: 0, providerID: false, pinned: true, taints: [] },
      { do: "takeOver", slot: 0 },
      { do: "instance", slot: 1, becomes: "stopped" },
      { do: "wait", ms: 31_000 },
    ],
  },
  {
    title: "the kubelet of the machine that has a node's name by now says that it is not ready",
    steps: [
      { do: "join", slot: 0, visibleAfterMs: 0, providerID: true, pinned: true, taints: [] },
      { do: "wait", ms: 31_000 },
      { do: "takeOver", slot: 0 },
      { do: "ready", slot: 0, status: "False" },
    ],
  },
  {
    title: "who has a node's name by now cannot be told, as the cloud refuses to say",
    steps: [
      { do: "join", slot: 0, visibleAfterMs: 0, providerID: true, pinned: true, taints: [] },
      { do: "wait", ms: 31_000 },
      { do: "takeOver", slot: 0 },
      { do: "ready", slot: 0, status: "False" },
      // The end of the instance has been reported by now.
      { do: "wait", ms: 20 },
      { do: "wait", ms: 20 },
      { do: "cloudFails", how: "denied", times: 1 },
      { do: "wait", ms: 31_000 },
    ],
  },
  {
    title:
      "the cloud forgets a terminated instance while its node is being deleted, and the brake counts the next one",
    steps: [
      { do: "join", slot: 0, visibleAfterMs: 0, providerID: true, pinned: true, taints: [] },
      { do: "join", slot: 1, visibleAfterMs: 0, providerID: true, pinned: true, taints: [] },
      { do: "join", slot: 2, visibleAfterMs: 0, providerID: true, pinned: true, taints: [] },
      { do: "join", slot: 3, visibleAfterMs: 0, providerID: true, pinned: true, taints: [] },
      { do: "wait", ms: 31_000 },
      { do: "instance", slot: 0, becomes: "terminated" },
      { do: "ready", slot: 0, status: "Unknown" },
      // The deletion has been announced by now, but not sent.
      { do: "wait", ms: 60 },
      { do: "wait", ms: 20 },
      { do: "vanish", slot: 0 },
      { do: "wait", ms: 5_000 },
      { do: "vanish", slot: 1 },
    ],
  },
  {
    title:
      "an instance that the cloud showed late is hidden again, and its node goes after the time of grace",
    chance: 26,
    steps: [
      { do: "join", slot: 9, visibleAfterMs: 0, providerID: false, pinned: true, taints: [] },
      { do: "join", slot: 2, visibleAfterMs: 0, providerID: false, pinned: false, taints: [] },
      { do: "join", slot: 6, visibleAfterMs: 0, providerID: true, pinned: false, taints: [] },
      { do: "join", slot: 8, visibleAfterMs: 20_000, providerID: true, pinned: true, taints: [] },
      { do: "wait", ms: 31_000 },
      { do: "ready", slot: 3, status: "Unknown" },
      { do: "hide", slot: 8, forMs: 600_000 },
      { do: "wait", ms: 31_000 },
      { do: "wait", ms: 31_000 },
    ],
  },
];
