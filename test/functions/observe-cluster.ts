import type { Cloud } from "#clouds/cloud.ts";
import { Cluster } from "#config/cluster.ts";
import type { Controller } from "#core/controller.ts";
import type { Report } from "#core/report.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import {
  acceptsAll,
  createRecordingTransport,
  type SentRequest,
} from "#test/functions/recording-transport.ts";

/** A cloud on its fake that counts requests. */
export interface CloudUnderTest {
  readonly cloud: Cloud;
  /** Requests that reached the cloud. */
  calls(): number;
  close(): Promise<void>;
}

const BORN = Date.parse("2026-01-01T00:00:00Z");
const AGES_SECONDS = [0, 1, 30, 59, 60, 300, 3_000, 30_000];
const entry = Cluster.parse({
  name: "tenant-a",
  server: "https://127.0.0.1:6443",
  cloud: { provider: "memory", instancesFile: "instances.json" },
});

/** Returns what a cluster sees of one object at several ages: the writes, and the time of the next resync. */
export async function observeCluster(
  controller: Controller,
  object: unknown,
  made: CloudUnderTest,
  difference: Record<string, unknown> = {},
) {
  const sent: SentRequest[] = [];
  let nowMs = BORN;
  const invoked = createControllerFunction(controller, {
    clusters: async () => entry,
    cloud: async () => made.cloud,
    api: async () => createRecordingTransport(acceptsAll, sent),
    now: () => new Date(nowMs),
  });
  const looks: unknown[] = [];
  const codes = new Set<string>();
  for (const ageSeconds of AGES_SECONDS) {
    nowMs = BORN + ageSeconds * 1_000;
    const event = {
      version: 1,
      id: "event-1",
      cluster: entry.name,
      clusterHash: entry.hash,
      controller: controller.name,
      reason: "watch",
      budget: { share: 1 },
      objects: [object],
      ...difference,
    };
    const before = made.calls();
    const report: Report = await invoked(JSON.parse(JSON.stringify(event)), {
      awsRequestId: "request-1",
      getRemainingTimeInMillis: () => 60_000,
    });
    const [first] = report.objects;
    codes.add(first?.because.code ?? "none");
    const { outcome, afterSeconds } = first ?? {};
    looks.push({ ageSeconds, outcome, afterSeconds, calls: made.calls() - before, sent: sent.splice(0) });
  }
  return { codes: [...codes], looks };
}
