import { formatMarkdownTable } from "#bench/report/markdown-table.ts";
import { formatCount, formatNumber } from "#bench/report/numbers.ts";
import type { Phase, ServicesMeasurement, ServicesResults, Spread } from "#bench/services/measurement.ts";

/** Renders the measurements as a page of Markdown; ends with a line break. */
export function formatServices({ measurements }: ServicesResults): string {
  const columns = ["", ...measurements.map(({ contender }) => contender)];
  const row = (title: string, cell: (measurement: ServicesMeasurement) => string): string[] => [
    title,
    ...measurements.map(cell),
  ];
  const rows = [
    row("Services made at once, nodes there", ({ services, nodes }) => `${services} × ${nodes}`),
    row("until all have a host name", ({ created }) => formatSeconds(created.seconds)),
    row("half of them", ({ created }) => formatSeconds(created.p50Seconds)),
    ...rowsOf("made", ({ created }) => created),
    row("half of the Services deleted: until they are gone", ({ deleted }) => formatSeconds(deleted.seconds)),
    ...rowsOf("deleted", ({ deleted }) => deleted),
    row("nodes that join the other half: until all are targets", ({ joining }) =>
      formatSeconds(joining.seconds),
    ),
    ...delaysOf("from a node's joining to its being a target of a group", ({ joining }) => joining),
    ...rowsOf("joining", ({ joining }) => joining),
    row("one node excluded by its label: until no group sends to it", ({ excluding }) =>
      formatSeconds(excluding.seconds),
    ),
    ...delaysOf("from the label to a group's not sending to it", ({ excluding }) => excluding),
    ...rowsOf("excluding", ({ excluding }) => excluding),
    row("load balancers and target groups left over", ({ orphans }) => formatCount(orphans)),
    row("memory at most", ({ peakMemoryMiB }) => `${formatNumber(peakMemoryMiB)} MiB`),
    row("CPU", ({ cpuSeconds }) => `${formatNumber(cpuSeconds)} s`),
  ];
  return `${HEAD}${formatMarkdownTable(columns, rows)}\n\n## Calls by operation\n\n${measurements.map(formatCalls).join("\n\n")}\n`;

  function delaysOf(what: string, spread: (measurement: ServicesMeasurement) => Spread): string[][] {
    return [
      row(`${what}: half`, (each) => formatSeconds(spread(each).p50Seconds)),
      row(`${what}: 99 of 100`, (each) => formatSeconds(spread(each).p99Seconds)),
    ];
  }

  function rowsOf(what: string, phase: (measurement: ServicesMeasurement) => Phase): string[][] {
    return [
      row(`calls of the cloud (${what})`, (each) => formatCount(sumCalls(phase(each)))),
      row(`of them throttled (${what})`, (each) => formatCount(phase(each).throttled)),
    ];
  }
}

const HEAD = `# Services and their load balancers

For readers who compare the load balancers of Services with the stock controller's. \`node bench/services.ts\` writes
this page.

Network load balancers with two ports each, on a real kube-apiserver, and on moto behind a proxy that

- answers as AWS documents it, and takes 60 ms longer for a call;
- has AWS's quotas as far as they are published (ten times as many for \`run-raised-quotas\`);
- allows 250 rules of a security group: AWS's 60 are enough for 29 such Services, with any controller.

Two things differ from AWS: a load balancer is active at once, and moto works one call at a time, which limits every
contender.

`;

function formatSeconds(seconds: number | undefined): string {
  return seconds === undefined ? "not in time" : `${formatNumber(seconds)} s`;
}

function sumCalls({ calls }: Phase): number {
  return Object.values(calls).reduce((sum, count) => sum + count, 0);
}

function formatCalls({ contender, created, deleted, joining, excluding }: ServicesMeasurement): string {
  const phases = [created, deleted, joining, excluding];
  const names = [...new Set(phases.flatMap(({ calls }) => Object.keys(calls)))].sort();
  const rows = names.map((name) => [name, ...phases.map(({ calls }) => formatCount(calls[name] ?? 0))]);
  return `${contender}:\n\n${formatMarkdownTable(["", "made", "deleted", "joining", "excluding"], rows)}`;
}
