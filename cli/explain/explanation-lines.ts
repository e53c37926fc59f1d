import { styleText } from "node:util";
import type { DryDecision } from "#cli/explain/decide-dry.ts";
import { type Explanation, wouldWrite } from "#cli/explain/explanation.ts";
import { someOf } from "#cli/some-of.ts";
import { stopStatusLines } from "#cli/stop-status.ts";
import type { InstanceAnswer, PositiveControl } from "#core/instance.ts";
import type { Node, NodeAddress } from "#core/node/node.ts";
import { readyCondition } from "#core/node-lifecycle/needs-work.ts";
import { shown } from "#core/shown-text.ts";

/** An explanation for people, line by line; what the tenant wrote is cut and acts on no terminal. */
export function explanationLines(explanation: Explanation, now: Date): readonly string[] {
  const { stops, node, taints, cloud, decisions, advice } = explanation;
  const stopped = stopStatusLines(stops);
  return [
    ...(stopped.length === 0 ? [] : section("stopped", stopped)),
    ...section("node", nodeLines(node, now)),
    ...section(
      "taints",
      taints.length === 0
        ? ["none"]
        : taints.map(({ key, effect, owner, means }) => `${text(key)}:${text(effect)}  ${owner}: ${means}`),
    ),
    ...section(
      "cloud",
      cloud === undefined ? ["was not asked: no controller needs it for this node"] : cloudLines(cloud),
    ),
    ...decisions.flatMap((decision) => section(decision.controller, decisionLines(decision))),
    ...section(
      "what to do",
      advice.map((each) => text(each, MAX_SENTENCE)),
    ),
  ];
}

const MAX_SENTENCE = 1_000;
const MAX_NAME = 253;

function text(written: string, maxCharacters = MAX_NAME): string {
  return shown(written, maxCharacters);
}

function section(name: string, lines: readonly string[]): string[] {
  return [styleText("bold", name), ...lines.map((line) => `  ${line}`)];
}

function nodeLines(node: Node, now: Date): string[] {
  const { metadata, spec, status } = node;
  const ready = readyCondition(node);
  const reason = ready?.reason ? ` (${text(ready.reason)})` : "";
  return [
    `${text(metadata.name)}, ${ageOf(metadata.creationTimestamp, now)}`,
    `Ready: ${text(ready?.status ?? "not reported", 32)}${reason}`,
    `provider ID: ${spec.providerID ? text(spec.providerID) : "none"}`,
    `addresses: ${addressesOf(status.addresses)}`,
    ...(metadata.deletionTimestamp === undefined ? [] : ["it is being deleted"]),
  ];
}

function ageOf(createdAt: string, now: Date): string {
  const seconds = Math.floor((now.getTime() - Date.parse(createdAt)) / 1_000);
  if (Number.isNaN(seconds)) return "of unknown age";
  if (seconds < 120) return `${Math.max(0, seconds)} s old`;
  return seconds < 7_200 ? `${Math.floor(seconds / 60)} min old` : `${Math.floor(seconds / 3_600)} h old`;
}

const MAX_ADDRESSES = 8;

function addressesOf(addresses: readonly NodeAddress[] = []): string {
  return someOf(
    addresses.map(({ type, address }) => `${text(type, 64)} ${text(address)}`),
    MAX_ADDRESSES,
  );
}

function cloudLines(answer: InstanceAnswer): string[] {
  switch (answer.kind) {
    case "found": {
      const { id, type, zone, state, account, network, addresses } = answer.instance;
      return [
        `instance ${text(id)}, ${state}`,
        `${
          [type, zone]
            .filter(Boolean)
            .map((each) => text(each))
            .join(" in ") || "of unknown type"
        }, of ${text(account)}/${text(network)}`,
        `addresses: ${addressesOf(addresses)}`,
        ...(answer.takenOverBy === undefined
          ? []
          : [`its name is that of instance ${text(answer.takenOverBy)} by now`]),
      ];
    }
    case "not-found":
      return [
        `no instance: ${text(answer.message, MAX_SENTENCE)}`,
        answer.control === undefined
          ? "no other instance of the cluster was seen by the same look"
          : `instance ${text(answer.control.id)} was seen by the same look, ${placeLine(answer.control)}`,
      ];
    case "error":
      return [`${answer.code}: ${text(answer.message, MAX_SENTENCE)}`];
  }
}

/** Where it was looked; whether that is where the node was seen, the decision says. */
function placeLine({ account, network, region }: PositiveControl): string {
  const place = [account, network, region].filter((part) => part !== undefined && part !== "");
  return place.length === 0 ? "in an unknown place" : `in ${place.map((part) => text(part ?? "")).join("/")}`;
}

function decisionLines({ report }: DryDecision): string[] {
  const {
    because,
    decision,
    afterSeconds,
    warnings = decision?.kind === "change" ? decision.warnings : [],
  } = report;
  const why = decision?.because ?? because;
  const wait = afterSeconds === undefined ? "" : `, and looks again after ${afterSeconds} s`;
  return [
    wouldWrite(report) ? text(because.message, MAX_SENTENCE) : `writes nothing${wait}`,
    `because ${text(why.code, 64)}: ${text(why.message, MAX_SENTENCE)}`,
    ...warnings.map(({ code, message }) => `warning ${text(code, 64)}: ${text(message, MAX_SENTENCE)}`),
  ];
}
