/** The scenarios of a count: each with its number of nodes, and with or without a provider ID. */
export const SCENARIOS = {
  there: { title: "300 that exist when the relay lists", nodes: 300, providerIds: true },
  atOnce: { title: "300 registered at once", nodes: 300, providerIds: true },
  oneByOne: { title: "30, each after the previous one is up", nodes: 30, providerIds: true },
  withoutIds: { title: "100 that exist, without provider ID", nodes: 100, providerIds: false },
} as const;
export type Scenario = keyof typeof SCENARIOS;

/** One counted cost: its usual value in each scenario, and its maximum. */
export interface Cost {
  readonly title: string;
  readonly usual: Readonly<Record<Scenario, number>>;
  /** Default: a quarter more than usual, for bytes, which differ by some percent from run to run. */
  readonly atMost?: Readonly<Record<Scenario, number>>;
  /** Default: half of the usual. With less, the table is out of date, or the counted work was not done. */
  readonly atLeast?: Readonly<Record<Scenario, number>>;
}

/** Bytes are per node; everything else is per scenario. */
export const COSTS = {
  invocations: {
    title: "invocations",
    usual: { there: 3, atOnce: 7, oneByOne: 30, withoutIds: 1 },
    // Batches of 100 existing nodes. For joining nodes, one batch in flight for each of four permits, and
    // then those that have gathered.
    atMost: { there: 4, atOnce: 20, oneByOne: 30, withoutIds: 2 },
    atLeast: { there: 3, atOnce: 3, oneByOne: 30, withoutIds: 1 },
  },
  ec2Calls: {
    title: "calls to EC2",
    usual: { there: 4, atOnce: 8, oneByOne: 31, withoutIds: 2 },
    // One for each invocation, and one for the IDs of zones.
    atMost: { there: 5, atOnce: 21, oneByOne: 31, withoutIds: 3 },
    atLeast: { there: 3, atOnce: 3, oneByOne: 30, withoutIds: 1 },
  },
  nodeWrites: {
    title: "writes of nodes",
    usual: { there: 600, atOnce: 600, oneByOne: 60, withoutIds: 200 },
    atMost: { there: 630, atOnce: 630, oneByOne: 63, withoutIds: 210 },
    atLeast: { there: 600, atOnce: 600, oneByOne: 60, withoutIds: 200 },
  },
  nodeReads: {
    title: "reads of single nodes",
    usual: { there: 0, atOnce: 0, oneByOne: 0, withoutIds: 0 },
    atMost: { there: 15, atOnce: 15, oneByOne: 1, withoutIds: 5 },
  },
  eventWrites: {
    title: "Events",
    // Of the existing nodes, only the last batch has no other batch waiting behind it.
    usual: { there: 100, atOnce: 100, oneByOne: 30, withoutIds: 100 },
    atMost: { there: 200, atOnce: 300, oneByOne: 30, withoutIds: 100 },
    // Best effort: a slow API server has fewer of them.
    atLeast: { there: 1, atOnce: 1, oneByOne: 1, withoutIds: 1 },
  },
  lists: {
    title: "lists",
    usual: { there: 1, atOnce: 1, oneByOne: 1, withoutIds: 1 },
    atMost: { there: 1, atOnce: 1, oneByOne: 1, withoutIds: 1 },
  },
  functionsConnections: {
    title: "connections of the functions to the API server",
    usual: { there: 1, atOnce: 1, oneByOne: 1, withoutIds: 1 },
    atMost: { there: 1, atOnce: 1, oneByOne: 1, withoutIds: 1 },
  },
  relayConnections: {
    title: "connections of the relay to the API server",
    usual: { there: 1, atOnce: 1, oneByOne: 1, withoutIds: 1 },
    atMost: { there: 1, atOnce: 1, oneByOne: 1, withoutIds: 1 },
  },
  ec2Connections: {
    title: "connections to EC2",
    usual: { there: 3, atOnce: 3, oneByOne: 1, withoutIds: 1 },
    // As many as invocations in flight.
    atMost: { there: 4, atOnce: 4, oneByOne: 2, withoutIds: 2 },
  },
  functionsUpBytes: {
    title: "bytes a node from the functions to the API server",
    usual: { there: 2610, atOnce: 2610, oneByOne: 2680, withoutIds: 2770 },
  },
  functionsDownBytes: {
    title: "bytes a node from the API server to the functions",
    usual: { there: 4220, atOnce: 4210, oneByOne: 4330, withoutIds: 4230 },
  },
  relayUpBytes: {
    title: "bytes a node from the relay to the API server",
    usual: { there: 8, atOnce: 8, oneByOne: 67, withoutIds: 22 },
    // A watch that the server ends is opened again, which is about 1 here.
    atMost: { there: 25, atOnce: 25, oneByOne: 150, withoutIds: 50 },
  },
  relayDownBytes: {
    title: "bytes a node from the API server to the relay",
    usual: { there: 8280, atOnce: 8340, oneByOne: 8380, withoutIds: 8140 },
  },
  ec2UpBytes: {
    title: "bytes a node to EC2",
    usual: { there: 47, atOnce: 58, oneByOne: 924, withoutIds: 72 },
    // Mostly a fixed part of each call: 20 calls for 300 nodes make 97.
    atMost: { there: 60, atOnce: 120, oneByOne: 1155, withoutIds: 120 },
  },
  ec2DownBytes: {
    title: "bytes a node from EC2",
    usual: { there: 1800, atOnce: 1810, oneByOne: 2250, withoutIds: 1800 },
  },
} satisfies Readonly<Record<string, Cost>>;
export type Costs = Readonly<Record<keyof typeof COSTS, number>>;

/** Returns the maximum of a count. */
export function getUpperBound(cost: Cost, scenario: Scenario): number {
  return cost.atMost?.[scenario] ?? Math.ceil(cost.usual[scenario] * 1.25);
}

/** Returns the minimum of a count. */
export function getLowerBound(cost: Cost, scenario: Scenario): number {
  return cost.atLeast?.[scenario] ?? Math.floor(cost.usual[scenario] / 2);
}

/** Returns the table of all costs in Markdown, as in the documentation. */
export function formatCosts(): readonly string[] {
  const scenarios = Object.keys(SCENARIOS) as Scenario[];
  const titles = scenarios.map((scenario) => SCENARIOS[scenario].title);
  const rows = Object.values(COSTS).map((cost: Cost) => [
    cost.title,
    ...scenarios.map((each) => cell(cost, each)),
  ]);
  return [["", ...titles], ["---", ...titles.map(() => "---:")], ...rows].map(
    (cells) => `| ${cells.join(" | ")} |`,
  );
}

function cell(cost: Cost, scenario: Scenario): string {
  return `${cost.usual[scenario]} (${getUpperBound(cost, scenario)})`;
}
