import { markdownTable } from "#bench/report/markdown-table.ts";
import { formatCount, formatNumber } from "#bench/report/numbers.ts";
import type { Phase, ServicesMeasurement, ServicesResults, Spread } from "#bench/services/measurement.ts";

/** The measurements as a page of Markdown; ends with a line break. */
export function servicesPage({ measurements }: ServicesResults): string {
  const columns = ["", ...measurements.map(({ contender }) => contender)];
  const row = (title: string, cell: (measurement: ServicesMeasurement) => string): string[] => [
    title,
    ...measurements.map(cell),
  ];
  const rows = [
    row("Services made at once, nodes there", ({ services, nodes }) => `${services} × ${nodes}`),
    row("until all have a host name", ({ created }) => secondsOf(created.seconds)),
    row("half of them", ({ created }) => secondsOf(created.p50Seconds)),
    ...rowsOf("made", ({ created }) => created),
    row("half of the Services deleted: until they are gone", ({ deleted }) => secondsOf(deleted.seconds)),
    ...rowsOf("deleted", ({ deleted }) => deleted),
    row("nodes that join the other half: until all are targets", ({ joining }) => secondsOf(joining.seconds)),
    ...delaysOf("from a node's joining to its being a target of a group", ({ joining }) => joining),
    ...rowsOf("joining", ({ joining }) => joining),
    row("one node excluded by its label: until no group sends to it", ({ excluding }) =>
      secondsOf(excluding.seconds),
    ),
    ...delaysOf("from the label to a group's not sending to it", ({ excluding }) => excluding),
    ...rowsOf("excluding", ({ excluding }) => excluding),
    row("load balancers and target groups left over", ({ orphans }) => formatCount(orphans)),
    row("memory at most", ({ peakMemoryMiB }) => `${formatNumber(peakMemoryMiB)} MiB`),
    row("CPU", ({ cpuSeconds }) => `${formatNumber(cpuSeconds)} s`),
  ];
  return `${HEAD}${markdownTable(columns, rows)}\n\n## Calls by operation\n\n${measurements.map(callsOf).join("\n\n")}\n`;

  function delaysOf(what: string, spread: (measurement: ServicesMeasurement) => Spread): string[][] {
    return [
      row(`${what}: half`, (each) => secondsOf(spread(each).p50Seconds)),
      row(`${what}: 99 of 100`, (each) => secondsOf(spread(each).p99Seconds)),
    ];
  }

  function rowsOf(what: string, phase: (measurement: ServicesMeasurement) => Phase): string[][] {
    return [
      row(`calls of the cloud (${what})`, (each) => formatCount(sumOf(phase(each)))),
      row(`of them throttled (${what})`, (each) => formatCount(phase(each).throttled)),
    ];
  }
}

const HEAD = `# Services and their load balancers

Network load balancers with two ports each, on a real kube-apiserver and on moto behind a proxy that answers as AWS documents it,
takes 60 ms longer a call, has the quotas of AWS as far as they are published (ten times as many where it says raised), and was given
250 rules of a security group: AWS's 60 are enough for 29 such Services, whoever makes them. What is not AWS here: a load balancer is active
at once, moto works one call at a time, and that bounds everybody. Made by \`node bench/services.ts\`.

`;

function secondsOf(seconds: number | undefined): string {
  return seconds === undefined ? "not in time" : `${formatNumber(seconds)} s`;
}

function sumOf({ calls }: Phase): number {
  return Object.values(calls).reduce((sum, count) => sum + count, 0);
}

function callsOf({ contender, created, deleted, joining, excluding }: ServicesMeasurement): string {
  const phases = [created, deleted, joining, excluding];
  const names = [...new Set(phases.flatMap(({ calls }) => Object.keys(calls)))].sort();
  const rows = names.map((name) => [name, ...phases.map(({ calls }) => formatCount(calls[name] ?? 0))]);
  return `${contender}:\n\n${markdownTable(["", "made", "deleted", "joining", "excluding"], rows)}`;
}
