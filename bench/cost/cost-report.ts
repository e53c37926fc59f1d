import type { Bill, NodesCost, StockCost } from "#bench/cost/bill.ts";
import type { Measured } from "#bench/cost/measured.ts";
import type { Prices } from "#bench/cost/prices.ts";
import { formatTable } from "#cli/demo/table.ts";

/** Formats the bill as text for people, ending with a line break. */
export function formatCostReport(bill: Bill, measured: Measured, prices: Prices): string {
  const parts = [
    formatHeading(bill, prices),
    formatNodesTable(bill),
    formatMonthTable(bill),
    formatObservingTable(bill),
    formatNotes(bill, measured),
  ];
  return `${parts.join("\n\n").replaceAll(/ +$/gm, "")}\n`;
}

function formatHeading({ workload, month }: Bill, prices: Prices): string {
  const { nodesPerDay, clusters, nodesPerCluster, architecture } = workload;
  const where = `${prices.region}, ${architecture}, prices of ${findOldestDay(prices)} or later, in US dollars`;
  const days = `${formatCount(nodesPerDay)} nodes a day (${formatCount(Math.round(month.nodes))} a month)`;
  return `${days}, ${formatCount(clusters)} clusters of ${formatCount(nodesPerCluster)} nodes\n${where}`;
}

/** Returns the oldest day on which a price was read. */
function findOldestDay({ lambda, fargate, logs }: Prices): string {
  const groups = [lambda.arm64, lambda.x86_64, fargate.arm64, fargate.x86_64, logs];
  const days = groups.flatMap((group) => Object.values(group).map(({ read }) => read));
  // Dates in ISO's form sort as text.
  return days.toSorted()[0] ?? "";
}

function formatNodesTable({ millionNodes, millionNodesOtherwise }: Bill): string {
  const row = (name: string, cost: NodesCost): string[] => [
    name,
    formatDollars(cost.initializeUsd),
    formatDollars(cost.secondLookUsd),
    formatDollars(cost.logsUsd),
    formatDollars(cost.totalUsd),
  ];
  const asked = formatNodesCost(millionNodes);
  const others = millionNodesOtherwise.filter((cost) => formatNodesCost(cost) !== asked);
  return formatTable([
    ["a million nodes initialized", "initialize", "second look", "logs", "total"],
    row(asked, millionNodes),
    ...others.map((cost) => row(formatNodesCost(cost), cost)),
  ]);
}

function formatNodesCost({ nodesPerInvocation, coldShare }: NodesCost): string {
  const cold = coldShare === 1 ? "all cold" : `${formatCount(coldShare * 100)} % cold`;
  return `${formatCount(nodesPerInvocation)} to an invocation, ${cold}`;
}

function formatMonthTable({ idleCluster, month, stock, workload }: Bill): string {
  const { joining, standing, relay } = month;
  const share = relay.usd / workload.clusters;
  const ours = (name: string, usd: number): string[] => [`  ${name}`, formatDollars(usd), "", ""];
  const all = (name: string, { onePodEachUsd, twoPodsEachUsd }: StockCost): string[] => [
    name,
    formatDollars(month.totalUsd),
    formatDollars(onePodEachUsd),
    formatDollars(twoPodsEachUsd),
  ];
  const { clusterUsd } = stock.reserved;
  return formatTable([
    ["a month", "serverless-ccm", "stock, 1 pod each", "stock, 2 pods each"],
    [
      "an idle cluster",
      formatDollars(idleCluster.totalUsd + share),
      formatDollars(clusterUsd),
      formatDollars(2 * clusterUsd),
    ],
    ours("functions, for existing nodes", idleCluster.computeUsd),
    ours("logs", idleCluster.logsUsd),
    ours("share of the relay", share),
    all("all clusters", stock.reserved),
    ours("functions, for the nodes that join", joining.computeUsd),
    ours("functions, for existing nodes", standing.computeUsd),
    ours("logs", joining.logsUsd + standing.logsUsd),
    ours(formatRelayName(relay), relay.usd),
    all("all clusters, stock pods by measured use", stock.used),
  ]);
}

function formatObservingTable({ observing: { functionLogsUsd, relayLogsUsd, metrics } }: Bill): string {
  const row = (name: string, usd: number): string[] => [name, formatDollars(usd)];
  const ofMetrics =
    metrics === undefined
      ? []
      : [
          row(`${formatCount(metrics.series)} series, scraped every 30 s`, metrics.samplesUsd),
          row(
            `  or ${formatCount(metrics.fleet.series)}, with --metrics-detail fleet`,
            metrics.fleet.samplesUsd,
          ),
          row("metrics and alarms of CloudWatch", metrics.cloudWatchUsd),
        ];
  return formatTable([
    ["logs and metrics of all clusters, a month", "serverless-ccm"],
    row("logs of functions, as above", functionLogsUsd),
    row("logs of the relay, if they are kept as well", relayLogsUsd),
    ...ofMetrics,
  ]);
}

function formatRelayName({ count, size }: Bill["month"]["relay"]): string {
  const each = `${size.vcpu} vCPU, ${size.gb} GB`;
  return count === 1 ? `relay, ${each}` : `${formatCount(count)} relays, ${each} each`;
}

function formatNotes({ stock, workload }: Bill, measured: Measured): string {
  const { memoryMB } = measured.function;
  const { reserved, used } = stock;
  return [
    `Functions have ${memoryMB} MB; their time was measured on ${measured.date} on ${measured.machine},`,
    `with CPU time scaled to Lambda's share of a vCPU. Nodes join ${formatCount(workload.nodesPerInvocation)} at a time; each is resynced once soon after,`,
    "alone, and every 5 minutes with the others of its cluster. The relay is reserved by the task, stock pods by",
    `their chart's ${reserved.vcpu} vCPU and the ${measured.stock.memoryMiB} MiB that one used; it used ${formatShare(used.vcpu)} vCPU.`,
    "On AWS serverless-ccm needs no stock pod beside it. On a cloud whose load balancers or routes it does not serve",
    "(README.md), a stock pod continues for these, at its own cost.",
    "Not included: work on Services, tags and deletions, comparisons of routes (docs/how-to/routes-on-aws.md), data transfer,",
    "NAT gateways, log storage, EventBridge, control planes, free tiers.",
  ].join("\n");
}

/**
 * Formats dollars: with cents below 100, whole above, and never 0 for a positive amount. Half a cent rounds
 * up.
 */
export function formatDollars(usd: number): string {
  if (usd === 0) return "0";
  if (usd < 0.005) return "<0.01";
  if (usd < 99.995) return usd.toFixed(2);
  return Math.round(usd).toLocaleString("en-US");
}

/** Formats a count with thousands separators, and a decimal only if it has one. */
export function formatCount(count: number): string {
  return count.toLocaleString("en-US", { maximumFractionDigits: 1 });
}

/** Formats a small share with two significant digits. */
export function formatShare(share: number): string {
  return share.toLocaleString("en-US", { maximumSignificantDigits: 2 });
}
