import type { MetricObjectWithValues, MetricValue } from "prom-client";
import type { Cluster } from "#config/cluster.ts";
import type { StopsRead } from "#config/switch/follow-stops.ts";
import type { FollowedCluster } from "#relay/followed-cluster.ts";
import type { GateFromWorker, GateToWorker } from "#relay/workers/gate-messages.ts";
import type { HealthFromWorker } from "#relay/workers/remote-health.ts";

/** What the main thread tells a worker; plain data, as it is copied. */
export type ToWorker =
  /** What a cluster is to be from now on; undefined where it is to be no more. Answered with `settled` of the same turn. */
  | {
      readonly kind: "want";
      readonly name: string;
      /** Of the cluster in this worker, for `createHandling`. */
      readonly index: number;
      readonly turn: number;
      readonly cluster: Cluster | undefined;
      /** That it comes is no news: it was followed before, in another worker. */
      readonly isKnown: boolean;
    }
  /** What operators have stopped, as the main thread has read it. */
  | { readonly kind: "stops"; readonly read: StopsRead }
  /** Answered with `pong`. */
  | { readonly kind: "ping" }
  /** Answered with `metrics` of the same id. */
  | { readonly kind: "ask-metrics"; readonly id: number }
  /** Nothing new starts; answered with `drained` when nothing is in flight. */
  | { readonly kind: "drain" }
  /** The controllers whose functions the platform does not run now. */
  | { readonly kind: "platform"; readonly failing: readonly string[] }
  /** The worker ends. */
  | { readonly kind: "close" }
  | GateToWorker;

/** What a worker tells the main thread. */
export type FromWorker =
  /** It has begun its work. */
  | { readonly kind: "ready" }
  | { readonly kind: "pong" }
  /** What was wanted in that turn is so, or was overtaken. */
  | { readonly kind: "settled"; readonly name: string; readonly turn: number }
  /** Clusters whose status is another one than the last that was told, and those that are not followed any more. */
  | {
      readonly kind: "status";
      readonly changed: readonly FollowedCluster[];
      readonly gone: readonly string[];
    }
  /** Lines for the log, and how many more there were. */
  | { readonly kind: "log"; readonly lines: readonly LogLine[]; readonly dropped: number }
  | { readonly kind: "metrics"; readonly id: number; readonly metrics: Metrics }
  | { readonly kind: "drained" }
  | HealthFromWorker
  | GateFromWorker;

/** A line of the log, as plain data. */
export type LogLine = Readonly<Record<string, unknown>>;

/** The values of a registry. */
export type Metrics = readonly MetricObjectWithValues<MetricValue<string>>[];

/** What every worker is started with. */
export interface WorkerStart {
  readonly id: number;
  /** For `createHandling`. */
  readonly handling: SharedArrayBuffer;
}
