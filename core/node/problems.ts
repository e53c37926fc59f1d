import type { ClusterEvent, Decision } from "#core/decision.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { retry } from "#core/node/decisions.ts";
import type { Node } from "#core/node/node.ts";

/** What keeps us from deciding on a node now: a code of the table below, and a sentence. */
export interface Problem {
  readonly code: ProblemCode;
  readonly message: string;
}

export type ProblemCode = keyof typeof PROBLEMS;

/** The problem with an answer of the cloud that is no instance. */
export function problemOf(answer: Exclude<InstanceAnswer, { readonly kind: "found" }>): Problem {
  if (answer.kind === "not-found") return { code: "InstanceNotFound", message: answer.message };
  return { code: answer.code, message: answer.message };
}

/** Leaves the node as it is and comes back: the later the older the node is, which needs no memory of past tries. */
export function retryAfterProblem(node: Node, problem: Problem, now: Date): Decision {
  const { warning }: Handling = PROBLEMS[problem.code];
  const isWarned = warning?.from === "at-once" || ageInSeconds(node, now) >= LASTING_SECONDS;
  const events = warning !== undefined && isWarned ? [eventOf(problem.code, warning)] : [];
  return retry(node, problem, waitSeconds(node, problem, now), events);
}

interface Handling {
  /** The wait grows with the node's age from here … */
  readonly fromSeconds: number;
  /** … to here. */
  readonly toSeconds: number;
  /** The Warning event on the node, for somebody to act on; none where absent. */
  readonly warning?: Warning;
}

/**
 * A sentence per code that says what is wrong and who can mend it. It is fixed, because whoever can read Events in the
 * cluster need not be let in on what else is in the cloud account: a problem's own message may name it, and goes to the
 * report and the log alone.
 */
interface Warning {
  readonly from: "at-once" | "when-it-lasts";
  readonly message: string;
  /** Reason and code, where the problem's own code would not do. */
  readonly reason?: string;
  readonly code?: string;
}

/** Passes by itself within seconds; a cloud takes a moment to know its own new instances, and longer to show their tags. */
const SOON = { fromSeconds: 0.5, toSeconds: 60 } satisfies Handling;
/** Only somebody's action mends it. */
const FAULT = { fromSeconds: 30, toSeconds: 600 } satisfies Handling;

/**
 * Of an instance that is somebody else's, of one that may not be seen and of one that does not exist the same is said, at the
 * same times: a node may name any instance, and who writes nodes must not find out by it which there are.
 */
const NO_INSTANCE: Warning = {
  from: "when-it-lasts",
  code: "InstanceNotFound",
  reason: "InstanceNotFound",
  message:
    "No instance of the cloud is known to be both this node's and this cluster's. If the node's name or provider ID is wrong, delete the node and let its kubelet register again; else ask whoever runs the cloud controller, whose log says more.",
};

const PROBLEMS = {
  NoAnswer: { fromSeconds: 1, toSeconds: 1 },
  InstanceNotFound: { ...SOON, warning: NO_INSTANCE },
  InstanceTerminated: FAULT,
  Foreign: { ...SOON, warning: NO_INSTANCE },
  Ambiguous: {
    ...FAULT,
    warning: {
      from: "at-once",
      reason: "InstanceAmbiguous",
      message:
        "The node's name or address fits more than one instance of this cluster. Start its kubelet with --provider-id, or give the node the name that the cloud has for its instance.",
    },
  },
  ForeignProviderID: {
    ...FAULT,
    warning: {
      from: "at-once",
      message:
        "The node's provider ID is another cloud's, and the node waits for this one. If it is that cloud's, its own controller has to initialize it; else delete the node and start its kubelet with the right --provider-id, or none.",
    },
  },
  InvalidProviderID: {
    ...FAULT,
    warning: {
      from: "at-once",
      message:
        "The node's provider ID does not name an instance. Delete the node and start its kubelet with the right --provider-id, or none.",
    },
  },
  Denied: { ...SOON, warning: NO_INSTANCE },
  Throttled: { fromSeconds: 3, toSeconds: 3 },
  Unavailable: { fromSeconds: 2, toSeconds: 2 },
  Aborted: { fromSeconds: 0.5, toSeconds: 0.5 },
  ProvidedNodeIPInvalid: {
    ...FAULT,
    warning: {
      from: "at-once",
      message:
        "The annotation alpha.kubernetes.io/provided-node-ip is neither an IP address nor a pair of one IPv4 and one IPv6 address. Correct the kubelet's --node-ip.",
    },
  },
  ProvidedNodeIPUnmatched: {
    ...SOON,
    warning: {
      from: "at-once",
      message:
        "The annotation alpha.kubernetes.io/provided-node-ip names an address that the node's instance does not have. Correct the kubelet's --node-ip, or give the instance the address.",
    },
  },
  NoNodeAddress: {
    ...SOON,
    warning: {
      from: "when-it-lasts",
      message:
        "The cloud knows neither an InternalIP nor an ExternalIP of the node's instance. Give the instance an address of a family that is configured for the cluster.",
    },
  },
} as const satisfies Readonly<Record<string, Handling>>;

/** A wait of a quarter of the node's age grows by a quarter each time. */
const AGE_DIVISOR = 4;
/** A node that young may well be waiting for nothing but its cloud. */
const LASTING_SECONDS = 60;
/** 0 for a node whose creation is unreadable or in the future. */
function ageInSeconds(node: Node, now: Date): number {
  const age = (now.getTime() - Date.parse(node.metadata.creationTimestamp)) / 1_000;
  return Number.isNaN(age) ? 0 : Math.max(age, 0);
}

function round(seconds: number): number {
  return Math.round(seconds * 10) / 10;
}

function waitSeconds(node: Node, { code }: Problem, now: Date): number {
  const { fromSeconds, toSeconds }: Handling = PROBLEMS[code];
  return round(Math.min(toSeconds, Math.max(fromSeconds, ageInSeconds(node, now) / AGE_DIVISOR)));
}

function eventOf(
  troubleCode: ProblemCode,
  { message, code = troubleCode, reason = code }: Warning,
): ClusterEvent {
  return { type: "Warning", reason, code, message };
}
