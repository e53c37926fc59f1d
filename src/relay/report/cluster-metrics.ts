import { Gauge, type Registry } from "prom-client";
import { HELD_REASONS } from "#config/clusters-file.ts";
import type { Watch } from "#core/watch.ts";
import type { ControllerStatus } from "#relay/cluster-relay.ts";
import type { ClusterState } from "#relay/cluster-state.ts";
import type { MetricDefinition } from "#relay/report/metric.ts";

/** What the metrics of followed clusters need from the relay's registry. */
export interface ClusterMetricsOptions {
  readonly watches: readonly Watch[];
  readonly registers: Registry[];
  /** Records each metric for the reference. */
  readonly defined: (definition: MetricDefinition) => MetricDefinition;
  /** Returns the value of a label for a code from outside, of which there is a limited number. */
  readonly codes: (code: string) => string;
  readonly status: () => readonly ClusterState[];
}

/** Reads a gauge's values for one cluster. */
type GaugeReader = (
  status: ClusterState,
  set: (labels: Record<string, string>, value: number) => void,
) => void;

type AddGauge = (word: string, help: string, labelNames: readonly string[], read: GaugeReader) => void;

/** Adds the gauges of followed clusters and their controllers, read whenever the metrics are. */
export function addClusterMetrics(options: ClusterMetricsOptions): void {
  const { watches, registers, defined, status } = options;
  const addGauge: AddGauge = (word, help, labelNames, read) => {
    new Gauge({
      ...defined({ name: `serverless_ccm_${word}`, type: "gauge", help, labelNames }),
      registers,
      collect() {
        this.reset();
        for (const each of status()) read(each, (labels, value) => this.set(labels, value));
      },
    });
  };
  addStateGauges(addGauge);
  addControllerGauges(addGauge);
  for (const watch of watches) addWaitingGauge(watch, options);
  for (const watch of watches) addOrphansGauge(watch, options);
}

function addStateGauges(addGauge: AddGauge): void {
  addGauge(
    "cluster_ready",
    "1 while the cluster's lists are complete and its watches open.",
    ["cluster"],
    ({ name: cluster, ready }, set) => set({ cluster }, Number(ready)),
  );
  addGauge(
    "cluster_misconfigured",
    "1 while the cluster's entry or sign-in cannot be used as it is now.",
    ["cluster"],
    ({ name: cluster, configurationFault }, set) =>
      set({ cluster }, Number(configurationFault !== undefined)),
  );
  addGauge(
    "cluster_held",
    "1 while the cluster's entry is held because of another one: SameOwnership, SameName.",
    ["cluster", "reason"],
    ({ name: cluster, configurationFault }, set) => {
      const reason = HELD_REASONS.find((each) => each === configurationFault?.code);
      if (reason !== undefined) set({ cluster, reason }, 1);
    },
  );
  addGauge(
    "stopped",
    "1 while an operator has stopped this for the cluster; unproven: what is stopped is unreadable, and unproven deletions wait.",
    ["cluster", "what"],
    ({ name: cluster, stop: what }, set) => {
      if (what !== undefined) set({ cluster, what }, 1);
    },
  );
  addGauge(
    "cluster_limited",
    "1 while the limit of the cluster is in force.",
    ["cluster", "limit"],
    ({ name: cluster, limited }, set) => {
      for (const { limit } of limited) set({ cluster, limit }, 1);
    },
  );
}

function addControllerGauges(addGauge: AddGauge): void {
  const addControllerGauge = (word: string, help: string, read: (each: ControllerStatus) => number): void =>
    addGauge(word, help, ["cluster", "controller"], ({ name: cluster, controllers }, set) => {
      for (const each of controllers) set({ cluster, controller: each.name }, read(each));
    });
  addControllerGauge("objects", "Objects that the API server lists.", (each) => each.objects);
  addControllerGauge("pending_objects", "Objects that need work.", (each) => each.needed);
  addControllerGauge("in_flight_objects", "Objects in flight.", (each) => each.inFlight);
  addControllerGauge("in_flight_invocations", "Invocations in flight.", (each) => each.invocations);
}

/** Adds the gauge of a controller's waiting objects, if its watch names one. */
function addWaitingGauge(
  { name: controller, metrics: { waiting } = {} }: Watch,
  { registers, defined, codes, status }: ClusterMetricsOptions,
): void {
  if (waiting === undefined) return;
  new Gauge({
    ...defined({
      name: waiting.metric,
      type: "gauge",
      help: waiting.help,
      labelNames: ["cluster", "reason", "age"],
    }),
    registers,
    collect() {
      this.reset();
      // Different codes may map to one label value.
      for (const { name: cluster, controllers } of status())
        for (const { reason, age, count } of controllers.find(({ name }) => name === controller)?.waiting ??
          [])
          this.inc({ cluster, reason: codes(reason), age }, count);
    },
  });
}

/** Adds the gauge of a controller's orphans, if its watch names one. */
function addOrphansGauge(
  { name: controller, metrics: { orphans: counted } = {} }: Watch,
  { registers, defined, status }: ClusterMetricsOptions,
): void {
  if (counted === undefined) return;
  new Gauge({
    ...defined({ name: counted.metric, type: "gauge", help: counted.help, labelNames: ["cluster"] }),
    registers,
    collect() {
      this.reset();
      for (const { name: cluster, controllers } of status()) {
        const { orphans } = controllers.find(({ name }) => name === controller) ?? {};
        if (orphans !== undefined) this.set({ cluster }, orphans);
      }
    },
  });
}
