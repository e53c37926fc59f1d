import { styleText } from "node:util";
import type { ReachFlags } from "#cli/clusters/reach-cluster.ts";
import { readStopStatus, stopStatusLines } from "#cli/deletion/stop-status.ts";
import type { StopSwitchFlags } from "#cli/deletion/stop-switch.ts";
import { type DryDecision, decideDry } from "#cli/explain/decide-dry.ts";
import { buildExplanation, type Explanation, hasHeldWrite } from "#cli/explain/explanation.ts";
import { findCluster, parseSubject } from "#cli/explain/find-cluster.ts";
import { readNode } from "#cli/explain/name-hint.ts";
import { explainService } from "#cli/explain/service/explain-service.ts";
import { formatServiceExplanation } from "#cli/explain/service/lines.ts";
import { formatList } from "#cli/format-list.ts";
import type { Environment } from "#clouds/provider.ts";
import { loadCloud } from "#clouds/providers.ts";
import type { InstanceAnswer, VisibilityProbe } from "#core/instance.ts";
import { formatJsonLine } from "#core/log-text.ts";
import type { Node, NodeAddress } from "#core/node/node.ts";
import { findReadyCondition } from "#core/node-lifecycle/needs-work.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { createClusterObjects } from "#functions/parts/cluster-objects.ts";

/** The flags of `explain`. */
export interface ExplainFlags extends ReachFlags, StopSwitchFlags {
  readonly json?: boolean | undefined;
}

/** The time limit of the whole command; a function has 30 seconds. */
const TIMEOUT_MS = 120_000;

/**
 * Explains what a node or a Service waits for, who is responsible, and what would be done; rejects if it is
 * not found. Without a cluster's name it searches the cluster that has the object.
 */
export async function explain(
  what: readonly string[],
  flags: ExplainFlags,
  write: (line: string) => void,
  environment: Environment = process.env,
): Promise<void> {
  const explained = parseSubject(what);
  const reached = await findCluster(explained, flags, write, environment);
  const { cluster } = reached;
  try {
    const stops = await readStopStatus(cluster.name, flags, environment);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const objects = createClusterObjects(() => reached.api("service"));
    const cloud = await loadCloud(cluster.cloud, { clusterName: cluster.name, objects });
    const tell = <Explanation>(
      explanation: Explanation,
      lines: (of: Explanation) => readonly string[],
    ): void => {
      if (flags.json === true) write(formatJsonLine(explanation));
      else for (const line of lines(explanation)) write(line);
    };
    try {
      if (explained.kind === "service") {
        tell(await explainService(reached, cloud, explained.name, signal, stops), formatServiceExplanation);
      } else {
        const node = await readNode(reached, explained.name, signal);
        const explanation = buildExplanation(
          cluster.name,
          node,
          await decideDry(reached, cloud, node),
          stops,
        );
        tell(explanation, (of) => formatExplanation(of, new Date()));
      }
    } finally {
      await cloud.close();
    }
  } finally {
    await reached.close();
  }
}

/** Formats an explanation for people, line by line. A tenant's text is cut and made safe for terminals. */
function formatExplanation(explanation: Explanation, now: Date): readonly string[] {
  const { stops, node, taints, cloud, decisions, advice } = explanation;
  const stopped = stopStatusLines(stops);
  return [
    ...(stopped.length === 0 ? [] : formatSection("stopped", stopped)),
    ...formatSection("node", formatNode(node, now)),
    ...formatSection(
      "taints",
      taints.length === 0
        ? ["none"]
        : taints.map(
            ({ key, effect, owner, means }) => `${sanitize(key)}:${sanitize(effect)}  ${owner}: ${means}`,
          ),
    ),
    ...formatSection(
      "cloud",
      cloud === undefined
        ? ["was not asked: no controller needs it for this node"]
        : formatCloudAnswer(cloud),
    ),
    ...decisions.flatMap((decision) => formatSection(decision.controller, formatDecision(decision))),
    ...formatSection(
      "what to do",
      advice.map((each) => sanitize(each, MAX_SENTENCE)),
    ),
  ];
}

const MAX_SENTENCE = 1_000;

const MAX_NAME = 253;

function sanitize(written: string, maxCharacters = MAX_NAME): string {
  return sanitizeText(written, maxCharacters);
}

function formatSection(name: string, lines: readonly string[]): string[] {
  return [styleText("bold", name), ...lines.map((line) => `  ${line}`)];
}

function formatNode(node: Node, now: Date): string[] {
  const { metadata, spec, status } = node;
  const ready = findReadyCondition(node);
  const reason = ready?.reason ? ` (${sanitize(ready.reason)})` : "";
  return [
    `${sanitize(metadata.name)}, ${formatAge(metadata.creationTimestamp, now)}`,
    `Ready: ${sanitize(ready?.status ?? "not reported", 32)}${reason}`,
    `provider ID: ${spec.providerID ? sanitize(spec.providerID) : "none"}`,
    `addresses: ${formatAddresses(status.addresses)}`,
    ...(metadata.deletionTimestamp === undefined ? [] : ["it is being deleted"]),
  ];
}

function formatAge(createdAt: string, now: Date): string {
  const seconds = Math.floor((now.getTime() - Date.parse(createdAt)) / 1_000);
  if (Number.isNaN(seconds)) return "of unknown age";
  if (seconds < 120) return `${Math.max(0, seconds)} s old`;
  return seconds < 7_200 ? `${Math.floor(seconds / 60)} min old` : `${Math.floor(seconds / 3_600)} h old`;
}

const MAX_ADDRESSES = 8;

function formatAddresses(addresses: readonly NodeAddress[] = []): string {
  return formatList(
    addresses.map(({ type, address }) => `${sanitize(type, 64)} ${sanitize(address)}`),
    MAX_ADDRESSES,
  );
}

function formatCloudAnswer(answer: InstanceAnswer): string[] {
  switch (answer.kind) {
    case "found": {
      const { id, type, zone, state, account, network, addresses } = answer.instance;
      return [
        `instance ${sanitize(id)}, ${state}`,
        `${
          [type, zone]
            .filter(Boolean)
            .map((each) => sanitize(each))
            .join(" in ") || "of unknown type"
        }, of ${sanitize(account)}/${sanitize(network)}`,
        `addresses: ${formatAddresses(addresses)}`,
        ...(answer.takenOverBy === undefined
          ? []
          : [`its name is that of instance ${sanitize(answer.takenOverBy)} now`]),
      ];
    }
    case "not-found":
      return [
        `no instance: ${sanitize(answer.message, MAX_SENTENCE)}`,
        answer.control === undefined
          ? "no other instance of the cluster was seen in the same query"
          : `instance ${sanitize(answer.control.id)} was seen in the same query, ${formatPlace(answer.control)}`,
      ];
    case "error":
      return [`${answer.code}: ${sanitize(answer.message, MAX_SENTENCE)}`];
  }
}

/** Formats where the cloud was asked. The decision says whether the node was seen there. */
function formatPlace({ account, network, region }: VisibilityProbe): string {
  const place = [account, network, region].filter((part) => part !== undefined && part !== "");
  return place.length === 0
    ? "in an unknown place"
    : `in ${place.map((part) => sanitize(part ?? "")).join("/")}`;
}

function formatDecision({ report }: DryDecision): string[] {
  const {
    because,
    decision,
    afterSeconds,
    warnings = decision?.kind === "change" ? decision.warnings : [],
  } = report;
  const why = decision?.because ?? because;
  const wait = afterSeconds === undefined ? "" : `, and checks again after ${afterSeconds} s`;
  return [
    hasHeldWrite(report) ? sanitize(because.message, MAX_SENTENCE) : `writes nothing${wait}`,
    `because ${sanitize(why.code, 64)}: ${sanitize(why.message, MAX_SENTENCE)}`,
    ...warnings.map(
      ({ code, message }) => `warning ${sanitize(code, 64)}: ${sanitize(message, MAX_SENTENCE)}`,
    ),
  ];
}
