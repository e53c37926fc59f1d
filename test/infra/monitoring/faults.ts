import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import type { Event } from "#core/event.ts";
import { answerWell, type MonitoredWorld } from "#test/infra/monitoring/record-series.ts";
import { INITIALIZED, TAINTED } from "#test/relay/fake-functions.ts";
import { buildReport } from "#test/relay/report-builders.ts";

/** A fault, and the complete list of alerts that must fire for it, by label. */
export interface MonitoredFault {
  readonly title: string;
  readonly happens: (world: MonitoredWorld) => void;
  readonly limits?: object;
  readonly fires: readonly (readonly [alert: string, labels: Readonly<Record<string, string>>])[];
}

const ONE = { cluster: "one" };

/** Every function reports a retry for every object. */
const retries =
  (code: string, throttled = 0) =>
  (event: Event): ReturnType<typeof answerWell> => {
    // The orphan audit has no retries here.
    if (event.controller === "service-lb-orphans") return answerWell(event);
    const report = buildReport(event, () => ({
      outcome: "retry",
      because: { code, message: code },
      afterSeconds: 20,
    }));
    const usage = { ...report.usage, cloud: { ...report.usage.cloud, throttled } };
    return { kind: "report", report: { ...report, usage } };
  };

const SERVICE = {
  metadata: { namespace: "default" },
  spec: { type: "LoadBalancer", ports: [{ port: 80, nodePort: 30_080, protocol: "TCP" }] },
  status: { loadBalancer: {} },
};
const UNREADY = {
  ...INITIALIZED,
  metadata: { annotations: { [INSTANCE_ANNOTATION]: "i-0123456789abcdef0" } },
  status: { ...INITIALIZED.status, conditions: [{ type: "Ready", status: "Unknown" }] },
};
const FOUGHT = {
  manager: "other-controller",
  time: "2026-01-01T00:00:01Z",
  fieldsV1: { "f:spec": { "f:taints": {} } },
};

const ORPHANS = {
  count: 1,
  named: [
    { kind: "load balancer", id: "lb", name: "lb", service: "default/gone", code: "ServiceGone" as const },
  ],
};

/** At least one fault for each alert, and one entry without a fault. */
export const MONITORED_FAULTS: readonly MonitoredFault[] = [
  {
    title: "a node that joins and comes up",
    happens: ({ nodes }) => void nodes.put("new", TAINTED),
    fires: [],
  },
  {
    title: "a relay that is gone",
    happens: ({ wrong }) => {
      wrong.gone = true;
    },
    fires: [["RelayGone", {}]],
  },
  {
    title: "an API server that refuses connections",
    happens({ nodes, services, wrong }) {
      wrong.apiServer = true;
      for (const each of [nodes, services]) each.breakWatches();
    },
    fires: [
      ["ClusterNotReady", ONE],
      ["LeaseNotRenewed", ONE],
    ],
  },
  {
    title: "an entry that cannot be used any more",
    happens: ({ relay }) =>
      relay.setConfigurationFault("one", { code: "Invalid", message: "server: Invalid URL" }),
    fires: [["ClusterMisconfigured", ONE]],
  },
  {
    title: "a replica that does not reach the Leases",
    happens({ wrong }) {
      wrong.cutOff = true;
    },
    fires: [["ReplicaCutOff", {}]],
  },
  {
    title: "a replica that is on the list, and does not run",
    happens({ wrong }) {
      wrong.unowned = 20;
    },
    fires: [["ClustersNotFollowed", {}]],
  },
  {
    title: "deletes with a forgotten stop",
    happens: ({ stops }) => stops.set({ stopped: [{ what: "deletes" }] }),
    fires: [["Stopped", { ...ONE, what: "deletes" }]],
  },
  {
    title: "an unreadable stop switch",
    happens: ({ stops }) => stops.set({ stopped: [], unreadable: { code: "Unreadable", message: "denied" } }),
    fires: [["StopSwitchUnreadable", { ...ONE, what: "unproven" }]],
  },
  {
    title: "a right to invoke that was taken away",
    happens: ({ wrong }) => {
      wrong.platform = true;
    },
    fires: [["PlatformUnreachable", {}]],
  },
  {
    title: "a function that the platform refuses to invoke",
    happens({ functions, nodes }) {
      functions.behave((event) =>
        event.controller === "cloud-node-controller"
          ? { kind: "failed", code: "Denied", message: "not authorized", settleMs: 0 }
          : answerWell(event),
      );
      nodes.put("new", TAINTED);
    },
    fires: [
      ["FunctionRefused", { function: "cloud-node-controller" }],
      ["NodesWait", { ...ONE, reason: "Denied" }],
      ["LeaseNotRenewed", ONE],
    ],
  },
  {
    title: "a platform that fails while the relay may handle events by itself",
    happens: ({ wrong }) => {
      wrong.fallback = true;
    },
    fires: [["PlatformFallback", { function: "cloud-node-controller" }]],
  },
  {
    title: "nodes without an instance",
    happens({ functions, nodes }) {
      functions.behave(retries("InstanceNotFound"));
      nodes.put("new", TAINTED);
    },
    fires: [["NodesWait", { ...ONE, reason: "InstanceNotFound" }]],
  },
  {
    title: "a Service whose load balancer cannot be made",
    happens({ functions, services }) {
      functions.behave(retries("LimitReached"));
      services.put("web", SERVICE);
    },
    fires: [["ServicesWait", { ...ONE, reason: "LimitReached" }]],
  },
  ...["BrakePulled", "StateMissing", "DeletionUnproven"].map(
    (reason): MonitoredFault => ({
      title: `nodes that are gone and stay for ${reason}`,
      happens({ functions, nodes }) {
        functions.behave(retries(reason));
        nodes.put("lost", UNREADY);
      },
      fires: [["DeletionHeldBack", { ...ONE, reason }]],
    }),
  ),
  ...["FleetBrakeEngaged", "FleetBrakeUnusable"].map(
    (reason): MonitoredFault => ({
      title: `nodes that are gone and stay for ${reason}`,
      happens({ functions, nodes }) {
        functions.behave(retries(reason));
        nodes.put("lost", UNREADY);
      },
      fires: [["FleetBrakeEngaged", { reason }]],
    }),
  ),
  {
    title: "more nodes than the cluster may have",
    limits: { objects: 100 },
    happens({ nodes }) {
      for (let node = 0; node < 150; node += 1) nodes.put(`node-${node}`, INITIALIZED);
    },
    fires: [["ClusterLimited", { ...ONE, limit: "objects" }]],
  },
  {
    title: "another client that restores the taint",
    happens({ functions, nodes }) {
      functions.behave((event) => {
        if (event.controller !== "cloud-node-controller") return answerWell(event);
        queueMicrotask(() => nodes.put("fought", { ...TAINTED, metadata: { managedFields: [FOUGHT] } }));
        return "work";
      });
      nodes.put("fought", TAINTED);
    },
    fires: [["WorkUndone", { ...ONE, controller: "cloud-node-controller" }]],
  },
  {
    title: "a cloud that throttles",
    happens({ functions, nodes }) {
      functions.behave(retries("Throttled", 3));
      nodes.put("new", TAINTED);
    },
    fires: [
      ["CloudThrottles", ONE],
      ["NodesWait", { ...ONE, reason: "Throttled" }],
    ],
  },
  {
    title: "nodes that the relay did not bring",
    happens: ({ wrong }) => {
      wrong.overdue = 3;
    },
    fires: [["SweepFindsGap", ONE]],
  },
  {
    title: "a Lease that the relay may not renew",
    happens: ({ wrong }) => {
      wrong.lease = true;
    },
    fires: [["LeaseNotRenewed", ONE]],
  },
  {
    title: "clusters that cannot be read",
    happens: ({ wrong }) => {
      wrong.home = true;
    },
    fires: [["ClustersUnreadable", {}]],
  },
  {
    title: "load balancers of a Service that is gone",
    happens: ({ functions }) =>
      functions.behave((event) =>
        event.controller === "service-lb-orphans"
          ? { kind: "report", report: buildReport(event, () => ({ orphans: ORPHANS })) }
          : answerWell(event),
      ),
    fires: [["LoadBalancersOrphaned", ONE]],
  },
  {
    title: "a relay whose thread is kept busy",
    happens: ({ wrong }) => {
      wrong.busy = true;
    },
    fires: [["RelayLags", {}]],
  },
  {
    title: "a worker that runs out of memory",
    happens: ({ workers }) => workers.died("memory"),
    fires: [["WorkersDie", { reason: "memory" }]],
  },
  {
    title: "a cluster that has ended its workers",
    happens: ({ wrong }) => {
      wrong.quarantined = true;
    },
    fires: [["ClusterQuarantined", ONE]],
  },
];
