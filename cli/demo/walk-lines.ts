import { styleText } from "node:util";
import type { Walk } from "#cli/demo/walk.ts";
import type { Decision } from "#core/decision.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import type { Report } from "#core/report.ts";

/** What a reader wants to know of a node's way: how it came, the four values where they were overheard, and how it is now. */
export function walkLines(before: Node, walk: Walk | undefined, after: Node): string[] {
  return [
    ...section("it joins", [before.metadata.name, taintsOf(before), addressesOf(before.status.addresses)]),
    ...(walk === undefined ? [] : valueLines(walk)),
    ...section("it is now", [
      `provider ID ${after.spec.providerID ?? "none"}`,
      taintsOf(after),
      addressesOf(after.status.addresses),
      `labels ${Object.keys(after.metadata.labels ?? {}).join(", ")}`,
    ]),
  ];
}

function valueLines({ event, answers, decisions, report }: Walk): string[] {
  const what = `${event.controller} is to look at ${event.objects.length} node, because of a ${event.reason}`;
  return [
    ...section("event", [what]),
    ...section("instance", answers.flatMap(answerLines)),
    ...section("decision", decisions.flatMap(decisionLines)),
    ...section("report", reportLines(report)),
  ];
}

type Write = Extract<Decision, { readonly kind: "change" }>["writes"][number];

const INDENT = 12;
const MAX_CHARACTERS = 160;

/** Colours are left out where the output is no terminal, and with NO_COLOR. */
function section(name: string, lines: readonly string[]): string[] {
  return lines.map((line, index) => {
    const heading = index === 0 ? styleText("cyan", name.padEnd(INDENT)) : " ".repeat(INDENT);
    const room = MAX_CHARACTERS - INDENT;
    return `  ${heading}${line.length > room ? `${line.slice(0, room - 1)}…` : line}`;
  });
}

function taintsOf({ spec }: Node): string {
  const keys = (spec.taints ?? []).map(({ key }) => key);
  return keys.length === 0 ? "no taint" : `tainted ${keys.join(", ")}`;
}

function addressesOf(addresses: Node["status"]["addresses"]): string {
  const all = (addresses ?? []).map(({ type, address }) => `${type} ${address}`);
  return all.length === 0 ? "no address" : all.join(", ");
}

function answerLines(answer: InstanceAnswer): string[] {
  if (answer.kind !== "found") return [answer.message];
  const { id, type, zone, region, state, network, addresses } = answer.instance;
  return [`${id}, ${type} in ${zone || region}, ${state}, of ${network}`, addressesOf(addresses)];
}

function decisionLines(decision: Decision): string[] {
  const { code, message } = decision.because;
  const heading = `${styleText("green", decision.kind)}, ${code}: ${message}`;
  if (decision.kind !== "change") return [heading];
  return [heading, ...decision.writes.map(writeLine)];
}

function writeLine(write: Write): string {
  if (write.on === "cloud") return `${write.capability}: ${write.action}`;
  if (write.verb !== "patch") return `${write.verb} ${write.resource}`;
  const where = write.subresource === undefined ? write.resource : `${write.resource}/${write.subresource}`;
  const paths = Map.groupBy(write.patch, ({ op, path }) => `${op} ${path.replace(MEMBER, "$1")}`);
  const what = [...paths].map(([each, { length }]) => (length === 1 ? each : `${each} (${length})`));
  return `patch ${where}: ${what.join(", ")}`;
}

/** Labels and annotations are counted, not named. */
const MEMBER = /^(\/metadata\/(labels|annotations))\/.*/;

function reportLines({ objects, durations, usage }: Report): string[] {
  const outcomes = objects.map(({ outcome }) => styleText("green", outcome)).join(", ");
  const calls = Object.entries(usage.cloud.calls).map(([operation, count]) => `${count} ${operation}`);
  const times = `${Math.round(durations.totalMs)} ms, ${Math.round(durations.cloudMs)} of them for the cloud`;
  return [`${outcomes}; ${usage.cluster.writes} writes; ${calls.join(", ")}; ${times}`];
}
