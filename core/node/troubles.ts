import type { ClusterEvent, Decision } from "#core/decision.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { retry } from "#core/node/decisions.ts";
import type { Node } from "#core/node/node.ts";

/** What keeps us from deciding on a node now: a code of the table below, and a sentence. */
export interface Trouble {
  readonly code: TroubleCode;
  readonly message: string;
}

export type TroubleCode = keyof typeof TROUBLES;

/** The trouble with an answer of the cloud that is no instance. */
export function troubleOf(answer: Exclude<InstanceAnswer, { readonly kind: "found" }>): Trouble {
  if (answer.kind === "not-found") return { code: "InstanceNotFound", message: answer.message };
  return { code: answer.code, message: answer.message };
}

/** Leaves the node as it is and comes back: the later the older the node is, which needs no memory of past tries. */
export function retryAfterTrouble(node: Node, trouble: Trouble, now: Date): Decision {
  const { fromSeconds, toSeconds, warns }: Handling = TROUBLES[trouble.code];
  const ageSeconds = ageInSeconds(node, now);
  const afterSeconds = Math.min(toSeconds, Math.max(fromSeconds, ageSeconds / AGE_DIVISOR));
  const isWarned = warns === "always" || (warns === "if-it-lasts" && ageSeconds >= LASTING_SECONDS);
  return retry(node, trouble, round(afterSeconds), isWarned ? [warningOf(trouble)] : []);
}

interface Handling {
  /** The wait grows with the node's age from here … */
  readonly fromSeconds: number;
  /** … to here. */
  readonly toSeconds: number;
  /** Whether the node gets a Warning event, for somebody to act on. */
  readonly warns: "always" | "if-it-lasts" | "never";
  /** The reason of that event, where the code alone would not say it. */
  readonly reason?: string;
}

/** Passes by itself within seconds; a cloud takes a moment to know its own new instances. */
const SOON = { fromSeconds: 0.5, toSeconds: 60, warns: "if-it-lasts" } satisfies Handling;
/** Only somebody's action mends it. */
const FAULT = { fromSeconds: 30, toSeconds: 600, warns: "always" } satisfies Handling;

const TROUBLES = {
  NoAnswer: { fromSeconds: 1, toSeconds: 1, warns: "never" },
  InstanceNotFound: SOON,
  InstanceTerminated: { ...FAULT, warns: "never" },
  Foreign: { ...FAULT, reason: "InstanceForeign" },
  Ambiguous: { ...FAULT, reason: "InstanceAmbiguous" },
  InvalidProviderID: FAULT,
  Denied: { ...FAULT, reason: "CloudAccessDenied" },
  Throttled: { fromSeconds: 3, toSeconds: 3, warns: "never" },
  Unavailable: { fromSeconds: 2, toSeconds: 2, warns: "never" },
  Aborted: { fromSeconds: 0.5, toSeconds: 0.5, warns: "never" },
  ProvidedNodeIPInvalid: FAULT,
  ProvidedNodeIPUnmatched: { ...SOON, warns: "always" },
  NoNodeAddress: SOON,
} as const satisfies Readonly<Record<string, Handling>>;

/** A wait of a quarter of the node's age grows by a quarter each time. */
const AGE_DIVISOR = 4;
/** A node that young may well be waiting for nothing but its cloud. */
const LASTING_SECONDS = 60;
/** What Kubernetes accepts as an Event's message. */
const MAX_EVENT_MESSAGE = 1_024;

/** 0 for a node whose creation is unreadable or in the future. */
function ageInSeconds(node: Node, now: Date): number {
  const age = (now.getTime() - Date.parse(node.metadata.creationTimestamp)) / 1_000;
  return Number.isNaN(age) ? 0 : Math.max(age, 0);
}

function round(seconds: number): number {
  return Math.round(seconds * 10) / 10;
}

function warningOf({ code, message }: Trouble): ClusterEvent {
  const { reason = code }: Handling = TROUBLES[code];
  return { type: "Warning", reason, code, message: message.slice(0, MAX_EVENT_MESSAGE).toWellFormed() };
}
