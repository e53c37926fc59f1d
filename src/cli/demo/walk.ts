import { styleText } from "node:util";
import type { Cloud } from "#clouds/cloud.ts";
import type { Decision } from "#core/decision.ts";
import type { Event } from "#core/event.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { decideNode } from "#core/node/decide.ts";
import type { Node } from "#core/node/node.ts";
import { parseNode } from "#core/node/snapshot.ts";
import type { Report } from "#core/report.ts";

/** The four values of one batch, as they pass through a function. */
export interface Walk {
  readonly event: Event;
  readonly answers: readonly InstanceAnswer[];
  readonly decisions: readonly Decision[];
  readonly report: Report;
}

/** Wraps a cloud and records every answer until it is taken. */
export function recordAnswers(cloud: Cloud): {
  readonly cloud: Cloud;
  readonly take: () => readonly InstanceAnswer[];
} {
  let heard: InstanceAnswer[] = [];
  return {
    cloud: {
      ...cloud,
      async instances(nodes, call) {
        const result = await cloud.instances(nodes, call);
        heard.push(...result.answers);
        return result;
      },
    },
    take: () => {
      const taken = heard;
      heard = [];
      return taken;
    },
  };
}

/**
 * Builds the walk of a batch from its recorded event, answers and report; decisions are a pure function of
 * the first two.
 */
export function buildWalk(event: Event, answers: readonly InstanceAnswer[], report: Report): Walk {
  const decisions = event.objects.flatMap((object, index) => {
    const parsed = parseNode(object);
    const context = { reason: event.reason, now: new Date() };
    return parsed.kind === "object" ? [decideNode(parsed.object, answers[index], context)] : [];
  });
  return { event, answers, decisions, report };
}

/**
 * Formats a node's way for a reader: how it registered, the four values if they were recorded, and how it is
 * now.
 */
export function formatWalk(before: Node, walk: Walk | undefined, after: Node): string[] {
  return [
    ...formatSection("it joins", [
      before.metadata.name,
      formatTaints(before),
      formatAddresses(before.status.addresses),
    ]),
    ...(walk === undefined ? [] : formatValues(walk)),
    ...formatSection("it is now", [
      `provider ID ${after.spec.providerID ?? "none"}`,
      formatTaints(after),
      formatAddresses(after.status.addresses),
      `labels ${Object.keys(after.metadata.labels ?? {}).join(", ")}`,
    ]),
  ];
}

function formatValues({ event, answers, decisions, report }: Walk): string[] {
  const what = `${event.controller} is to look at ${event.objects.length} node, because of a ${event.reason}`;
  return [
    ...formatSection("event", [what]),
    ...formatSection("instance", answers.flatMap(answerLines)),
    ...formatSection("decision", decisions.flatMap(formatDecision)),
    ...formatSection("report", reportLines(report)),
  ];
}

type Write = Extract<Decision, { readonly kind: "change" }>["writes"][number];

const INDENT = 12;

const MAX_CHARACTERS = 160;

/** Formats a section; without colours if the output is no terminal or NO_COLOR is set. */
function formatSection(name: string, lines: readonly string[]): string[] {
  return lines.map((line, index) => {
    const heading = index === 0 ? styleText("cyan", name.padEnd(INDENT)) : " ".repeat(INDENT);
    const room = MAX_CHARACTERS - INDENT;
    return `  ${heading}${line.length > room ? `${line.slice(0, room - 1)}…` : line}`;
  });
}

function formatTaints({ spec }: Node): string {
  const keys = (spec.taints ?? []).map(({ key }) => key);
  return keys.length === 0 ? "no taint" : `tainted ${keys.join(", ")}`;
}

function formatAddresses(addresses: Node["status"]["addresses"]): string {
  const all = (addresses ?? []).map(({ type, address }) => `${type} ${address}`);
  return all.length === 0 ? "no address" : all.join(", ");
}

function answerLines(answer: InstanceAnswer): string[] {
  if (answer.kind !== "found") return [answer.message];
  const { id, type, zone, region, state, network, addresses } = answer.instance;
  return [`${id}, ${type} in ${zone || region}, ${state}, of ${network}`, formatAddresses(addresses)];
}

function formatDecision(decision: Decision): string[] {
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
