import { Gauge, type Registry } from "prom-client";
import type { InvocationLimiterStatus } from "#relay/delivery/create-invocation-limiter.ts";
import type { MetricDefinition } from "#relay/report/metric.ts";

/**
 * Adds metrics about the process's invocation limiter, read whenever the metrics are; `defined` records each
 * for the reference.
 */
export function addLimiterMetrics(
  registers: Registry[],
  status: () => InvocationLimiterStatus,
  defined: (definition: MetricDefinition) => MetricDefinition,
): void {
  new Gauge({
    ...defined({
      name: "serverless_ccm_cluster_slowed",
      type: "gauge",
      help: "1 while the cluster has one invocation at a time, as they are slow or fail.",
      labelNames: ["cluster"],
    }),
    registers,
    collect() {
      this.reset();
      for (const cluster of status().slowedClusters) this.set({ cluster }, 1);
    },
  });
  new Gauge({
    ...defined({
      name: "serverless_ccm_platform_open",
      type: "gauge",
      help: "1 while the function is not invoked but on trial, as the platform refuses or cannot be reached; by controller.",
      labelNames: ["function"],
    }),
    registers,
    collect() {
      this.reset();
      for (const [name, { open }] of Object.entries(status().functions))
        this.set({ function: name }, Number(open));
    },
  });
  new Gauge({
    ...defined({
      name: "serverless_ccm_waiting_invocations",
      type: "gauge",
      help: "Controllers of clusters that wait for leave to invoke.",
      labelNames: [],
    }),
    registers,
    collect() {
      this.set(status().waiting);
    },
  });
}
