import type { Contender } from "#bench/contenders/contender.ts";
import { createFloorContender } from "#bench/contenders/floor.ts";
import { lambda, lambda8 } from "#bench/contenders/lambda.ts";
import { run } from "#bench/contenders/run.ts";
import { createStockContender } from "#bench/contenders/stock.ts";
import type { Arrival, ContenderName, Row } from "#bench/measurement.ts";

/** A row with its contenders, and why others are absent. */
export interface PlannedRow {
  readonly row: Row;
  readonly contenders: readonly ContenderName[];
  /** Repetitions of slow contenders, which get fewer. */
  readonly fewer?: Partial<Record<ContenderName, number>>;
  /** Which contender it leaves out, and why. */
  readonly note?: string;
}

/** Each contender by name. */
export const CONTENDER_BY_NAME: Readonly<Record<ContenderName, Contender>> = {
  floor: createFloorContender("floor", false),
  "floor-with-events": createFloorContender("floor-with-events", true),
  "stock-defaults": createStockContender("stock-defaults", "defaults (1 worker, 20 requests a second)", []),
  "stock-tuned": createStockContender("stock-tuned", "50 workers, limits of the API client lifted", [
    "--concurrent-node-syncs=50",
    "--kube-api-qps=10000",
    "--kube-api-burst=10000",
  ]),
  run,
  lambda,
  "lambda-8": lambda8,
};

const AT_ONCE: Arrival = { kind: "at-once" };
const THERE: Arrival = { kind: "there" };
/** 2,000 nodes a minute: the highest rate published for a managed service. */
const RATE: Arrival = { kind: "rate", nodesPerSecond: 33 };

const ALL = ["floor", "floor-with-events", "stock-defaults", "stock-tuned", "run", "lambda"] as const;
const WITHOUT_EVENTS = "The floor with Events is left out: ours drops most of them in a burst.";

/** The rows in the order of their runs. */
export const ROWS: readonly PlannedRow[] = [
  { row: createRow(100, true, AT_ONCE), contenders: ALL },
  { row: createRow(1_000, true, AT_ONCE), contenders: ALL },
  {
    row: createRow(1_000, true, THERE),
    contenders: ["floor", "stock-tuned", "run", "lambda"],
    note: `The stock controller's defaults are left out: its queue is the same as with nodes that come while it watches. ${WITHOUT_EVENTS}`,
  },
  {
    row: createRow(500, false, AT_ONCE),
    contenders: ["floor", "stock-defaults", "stock-tuned", "run", "lambda"],
    fewer: { "stock-defaults": 1 },
    note: `The stock controller's defaults run once: about two minutes a run. ${WITHOUT_EVENTS}`,
  },
  {
    row: createRow(2_000, true, RATE),
    contenders: ["floor-with-events", "stock-tuned", "run", "lambda"],
    note: "The stock controller's defaults are left out: they cannot keep up, and 2,000 nodes would take six minutes a run. The floor without Events is left out: ours writes one for each node here.",
  },
  {
    row: createRow(5_000, true, AT_ONCE),
    contenders: ["floor", "stock-tuned", "run", "lambda"],
    note: `The stock controller's defaults are left out: a quarter of an hour a run, at the pace of the row of 1,000. ${WITHOUT_EVENTS}`,
  },
  {
    row: { ...createRow(1_000, true, AT_ONCE), id: "announced-1000-at-once", announcedSeconds: 20 },
    contenders: ["floor", "stock-tuned", "run", "lambda", "lambda-8"],
    note: "With announcements, NodeClaims name the machines 20 s before their nodes register. Only ours reads them. The stock controller's defaults and the floor with Events are left out.",
  },
  {
    row: { ...createRow(2_000, true, RATE), id: "announced-33-per-second", announcedSeconds: 20 },
    contenders: ["floor-with-events", "stock-tuned", "run", "lambda", "lambda-8"],
    note: "The stock controller's defaults and the floor without Events are left out, as at this rate without announcements.",
  },
];

function createRow(nodes: number, providerIds: boolean, arrival: Arrival): Row {
  const arrivalId = arrival.kind === "rate" ? `at-${arrival.nodesPerSecond}-per-second` : arrival.kind;
  return { id: `${nodes}-${arrivalId}${providerIds ? "" : "-without-ids"}`, nodes, providerIds, arrival };
}
