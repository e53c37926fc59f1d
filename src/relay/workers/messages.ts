import type { MetricObjectWithValues, MetricValue } from "prom-client";
import type { Cluster } from "#config/cluster.ts";
import type { StopsRead } from "#config/switch/stops.ts";
import type { ControllerName } from "#core/event.ts";
import type { ClusterState } from "#relay/cluster-state.ts";
import type { InvocationEnd, InvocationPermit, PermitRequest } from "#relay/delivery/invocation-limiter.ts";
import type { PlatformFailure, PlatformHealth } from "#relay/delivery/platform-health.ts";

/** The main thread's messages to a worker; plain data, because they are copied. */
export type ToWorker =
  /** The desired state of a cluster; undefined removes it. The answer is `settled` with the same generation. */
  | {
      readonly kind: "desired-state";
      readonly name: string;
      /** The index of the cluster in this worker, for `createHandledCluster`. */
      readonly index: number;
      readonly generation: number;
      readonly cluster: Cluster | undefined;
      /** Whether it was followed in another worker before, so that its start is not logged. */
      readonly isKnown: boolean;
    }
  /** What operators have stopped, as the main thread has read it. */
  | { readonly kind: "stops"; readonly read: StopsRead }
  /** The answer is `pong`. */
  | { readonly kind: "ping" }
  /** The answer is `metrics` with the same id. */
  | { readonly kind: "ask-metrics"; readonly id: number }
  /** Nothing new starts. The answer is `drained` when nothing is in flight. */
  | { readonly kind: "drain" }
  /** The controllers whose functions currently fail on the platform. */
  | { readonly kind: "platform"; readonly failing: readonly string[] }
  /** Ends the worker. */
  | { readonly kind: "close" }
  | LimiterToWorker;

/** A worker's messages to the main thread. */
export type FromWorker =
  /** The worker has started. */
  | { readonly kind: "ready" }
  | { readonly kind: "pong" }
  /** The desired state of that generation is reached, or was replaced. */
  | { readonly kind: "settled"; readonly name: string; readonly generation: number }
  /** Clusters whose status has changed, and clusters that are not followed any more. */
  | {
      readonly kind: "status";
      readonly changed: readonly ClusterState[];
      readonly gone: readonly string[];
    }
  /** Log lines, and the number of dropped ones. */
  | { readonly kind: "log"; readonly lines: readonly LogLine[]; readonly dropped: number }
  | { readonly kind: "metrics"; readonly id: number; readonly metrics: Metrics }
  | { readonly kind: "drained" }
  | HealthFromWorker
  | LimiterFromWorker;

/** A log line as plain data. */
export type LogLine = Readonly<Record<string, unknown>>;

/** The values of a metrics registry. */
export type Metrics = readonly MetricObjectWithValues<MetricValue<string>>[];

/** The data that every worker starts with. */
export interface WorkerStart {
  readonly id: number;
  /** For `createHandledCluster`. */
  readonly handledCluster: SharedArrayBuffer;
}

/**
 * A worker's request to the invocation limiter, which runs in the main thread. A ticket identifies a request
 * for a permit, and then that permit.
 */
export type LimiterFromWorker =
  | { readonly kind: "limiter-enter"; readonly ticket: number; readonly request: PermitRequest }
  /** The worker does not wait for the permit any more. */
  | { readonly kind: "limiter-forget"; readonly ticket: number }
  /** The permit was not used. */
  | { readonly kind: "limiter-leave"; readonly ticket: number }
  | { readonly kind: "limiter-ended"; readonly ticket: number; readonly end: InvocationEnd };

/** The invocation limiter's answers to a worker. */
export type LimiterToWorker =
  | ({ readonly kind: "limiter-permit"; readonly ticket: number } & Pick<
      InvocationPermit,
      "share" | "accountClusters"
    >)
  /** The spacing between batches of an account, sent when it changes. */
  | { readonly kind: "limiter-spacing"; readonly quotaKey: string; readonly spacingMs: number };

/** A worker's messages about the platform: all workers together detect whether it fails. */
type HealthFromWorker =
  | { readonly kind: "platform-failed"; readonly failure: PlatformFailure }
  | { readonly kind: "platform-answered"; readonly controller: ControllerName };

/** A worker's view of the platform's health, which the main thread determines. */
interface RemoteHealth extends PlatformHealth {
  /** Takes the controllers whose functions fail, from the main thread. */
  receive(failing: readonly ControllerName[]): void;
}

/** Creates the view; `send` sends a message to the main thread. */
export function createRemoteHealth(send: (message: HealthFromWorker) => void): RemoteHealth {
  let failing: ReadonlySet<ControllerName> = new Set();
  return {
    isFailing: (controller) => failing.has(controller),
    failed: (failure) => send({ kind: "platform-failed", failure }),
    answered: (controller) => send({ kind: "platform-answered", controller }),
    receive(controllers) {
      failing = new Set(controllers);
    },
  };
}

/** Log lines on their way to the main thread. */
interface LogBatches {
  add(line: LogLine): void;
  /** Sends all waiting lines now. */
  flush(): void;
  /** Sends all waiting lines and then accepts none. */
  close(): void;
}

/** How long a line waits for others. */
const GATHER_MS = 100;

/** Beyond this many lines, only their number is sent: a worker's log must not keep the main thread busy. */
const MAX_LINES = 500;

/** Creates a sender of lines in batches, at most ten batches a second. */
export function createLogBatches(
  send: (lines: readonly LogLine[], dropped: number) => void,
  maxLines = MAX_LINES,
): LogBatches {
  let lines: LogLine[] = [];
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (lines.length === 0 && dropped === 0) return;
    send(lines, dropped);
    lines = [];
    dropped = 0;
  }

  return {
    add(line) {
      if (isClosed) return;
      // The time is when the line was written, not when it arrives.
      if (lines.length < maxLines) lines.push({ time: new Date().toISOString(), ...line });
      else dropped += 1;
      timer ??= setTimeout(flush, GATHER_MS).unref();
    },
    flush,
    close() {
      flush();
      isClosed = true;
    },
  };
}
