import type { Bill, NodesCost, StockCost } from "#cli/cost/bill.ts";
import { countOf, dollars, shareOf } from "#cli/cost/dollars.ts";
import type { Measured } from "#cli/cost/measured.ts";
import type { Prices } from "#cli/cost/prices.ts";
import { formatTable } from "#cli/demo/table.ts";

/** The bill as text for people, ending with a line break. */
export function costReport(bill: Bill, measured: Measured, prices: Prices): string {
  const parts = [
    heading(bill, prices),
    nodesTable(bill),
    monthTable(bill),
    observingTable(bill),
    notes(bill, measured),
  ];
  return `${parts.join("\n\n").replaceAll(/ +$/gm, "")}\n`;
}

function heading({ workload, month }: Bill, prices: Prices): string {
  const { nodesPerDay, clusters, nodesPerCluster, architecture } = workload;
  const where = `${prices.region}, ${architecture}, prices of ${oldest(prices)} or later, in US dollars`;
  const days = `${countOf(nodesPerDay)} nodes a day (${countOf(Math.round(month.nodes))} a month)`;
  return `${days}, ${countOf(clusters)} clusters of ${countOf(nodesPerCluster)} nodes\n${where}`;
}

/** The day on which the oldest of the prices was read. */
function oldest({ lambda, fargate, logs }: Prices): string {
  const groups = [lambda.arm64, lambda.x86_64, fargate.arm64, fargate.x86_64, logs];
  const days = groups.flatMap((group) => Object.values(group).map(({ read }) => read));
  // Dates in ISO's form sort as text.
  return days.toSorted()[0] ?? "";
}

function nodesTable({ millionNodes, millionNodesOtherwise }: Bill): string {
  const row = (name: string, cost: NodesCost): string[] => [
    name,
    dollars(cost.initializeUsd),
    dollars(cost.secondLookUsd),
    dollars(cost.logsUsd),
    dollars(cost.totalUsd),
  ];
  const asked = nameOf(millionNodes);
  const others = millionNodesOtherwise.filter((cost) => nameOf(cost) !== asked);
  return formatTable([
    ["a million nodes initialized", "initialize", "second look", "logs", "total"],
    row(asked, millionNodes),
    ...others.map((cost) => row(nameOf(cost), cost)),
  ]);
}

function nameOf({ nodesPerInvocation, coldShare }: NodesCost): string {
  const cold = coldShare === 1 ? "all cold" : `${countOf(coldShare * 100)} % cold`;
  return `${countOf(nodesPerInvocation)} to an invocation, ${cold}`;
}

function monthTable({ idleCluster, month, stock, workload }: Bill): string {
  const { joining, standing, relay } = month;
  const share = relay.usd / workload.clusters;
  const ours = (name: string, usd: number): string[] => [`  ${name}`, dollars(usd), "", ""];
  const all = (name: string, { onePodEachUsd, twoPodsEachUsd }: StockCost): string[] => [
    name,
    dollars(month.totalUsd),
    dollars(onePodEachUsd),
    dollars(twoPodsEachUsd),
  ];
  const { clusterUsd } = stock.reserved;
  return formatTable([
    ["a month", "serverless-ccm", "stock, 1 pod each", "stock, 2 pods each"],
    ["an idle cluster", dollars(idleCluster.totalUsd + share), dollars(clusterUsd), dollars(2 * clusterUsd)],
    ours("functions, for the nodes that are there", idleCluster.computeUsd),
    ours("logs", idleCluster.logsUsd),
    ours("share of the relay", share),
    all("all clusters", stock.reserved),
    ours("functions, for the nodes that join", joining.computeUsd),
    ours("functions, for the nodes that are there", standing.computeUsd),
    ours("logs", joining.logsUsd + standing.logsUsd),
    ours(relayName(relay), relay.usd),
    all("all clusters, stock pods by what they use", stock.used),
  ]);
}

function observingTable({ observing: { functionLogsUsd, relayLogsUsd, metrics } }: Bill): string {
  const row = (name: string, usd: number): string[] => [name, dollars(usd)];
  const ofMetrics =
    metrics === undefined
      ? []
      : [
          row(`${countOf(metrics.series)} series, scraped every 30 s`, metrics.samplesUsd),
          row(`  or ${countOf(metrics.fleet.series)}, with --metrics-detail fleet`, metrics.fleet.samplesUsd),
          row("metrics and alarms of CloudWatch", metrics.cloudWatchUsd),
        ];
  return formatTable([
    ["logs and metrics of all clusters, a month", "serverless-ccm"],
    row("logs of functions, as above", functionLogsUsd),
    row("logs of the relay, where they are kept as well", relayLogsUsd),
    ...ofMetrics,
  ]);
}

function relayName({ count, size }: Bill["month"]["relay"]): string {
  const each = `${size.vcpu} vCPU, ${size.gb} GB`;
  return count === 1 ? `relay, ${each}` : `${countOf(count)} relays, ${each} each`;
}

function notes({ stock, workload }: Bill, measured: Measured): string {
  const { memoryMB } = measured.function;
  const { reserved, used } = stock;
  return [
    `Functions have ${memoryMB} MB; what they take was measured on ${measured.date} on ${measured.machine},`,
    `CPU time stretched to what Lambda gives. Nodes join ${countOf(workload.nodesPerInvocation)} at a time; each is looked at once more soon after,`,
    "alone, and every 5 minutes with the others of its cluster. The relay is reserved by the task, stock pods by",
    `their chart's ${reserved.vcpu} vCPU and the ${measured.stock.memoryMiB} MiB that one used; it used ${shareOf(used.vcpu)} vCPU.`,
    "On AWS no stock pod is needed beside serverless-ccm. On a cloud whose load balancers or routes it does not do",
    "(README.md) a stock pod goes on for these, and is paid for as well.",
    "Not in it: work on Services, tags and deletions, comparisons of routes (docs/how-to/routes-on-aws.md), data transfer,",
    "NAT gateways, log storage, EventBridge, control planes, free tiers.",
  ].join("\n");
}
