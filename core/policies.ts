import * as z from "zod";
import type { ClusterWrite, Decision, PatchOperation, TestOperation, Write } from "#core/decision.ts";
import { keyOfName, NODES } from "#core/resources/resource.ts";

/** Policies only tighten what is decided. */
export const Policies = z.strictObject({
  dryRun: z.boolean().prefault(false),
  /** Write labels of nodes, but neither addresses nor taints nor provider IDs. */
  labelsOnly: z.boolean().prefault(false),
});
export type Policies = z.output<typeof Policies>;

/** A policy takes from a decision and never adds to it. */
export type Policy = (decision: Decision) => Decision;

/** The decision as the policies leave it; with both, a dry run says what of labels-only would be written. */
export function applyPolicies(decision: Decision, policies: Readonly<Policies>): Decision {
  const narrowed = policies.labelsOnly ? labelsOnly(decision) : decision;
  return policies.dryRun ? dryRun(narrowed) : narrowed;
}

/** Writes nothing, Events included, and says what would be written. */
export const dryRun: Policy = (decision) => {
  switch (decision.kind) {
    case "unchanged":
    case "skip":
      return decision;
    case "retry":
      return { ...decision, events: [] };
    case "change": {
      const joined = decision.writes.map(sentenceOf).join(decision.independent ? "; and " : "; then ");
      const message = `would ${joined}`;
      return { kind: "skip", object: decision.object, because: { code: "DryRun", message } };
    }
  }
};

/** Writes labels of nodes and nothing else: neither addresses nor provider IDs nor annotations, and no taint goes. */
export const labelsOnly: Policy = (decision) => {
  if (decision.kind !== "change") return decision;
  const { object, because, warnings, independent } = decision;
  const [first, ...rest] = labelsOnlyOfWrites(decision.writes);
  if (first === undefined) {
    const message = `labels alone may be written, and none are left: ${because.message}`;
    return { kind: "skip", object, because: { code: "LabelsOnly", message } };
  }
  const message = `labels alone: ${because.message}`;
  return {
    kind: "change",
    object,
    because: { code: "LabelsOnly", message },
    writes: [first, ...rest],
    ...(independent === undefined ? {} : { independent }),
    events: [],
    warnings,
  };
};

/** What of the writes is on labels of nodes. */
export function labelsOnlyOfWrites(writes: readonly Write[]): Write[] {
  return writes.flatMap(labelsOf);
}

const LABELS = "/metadata/labels";

function labelsOf(write: Write): Write[] {
  if (write.on !== "cluster" || write.verb !== "patch") return [];
  // One on a Service says with its annotation where the address is, and is no use without it.
  if (write.resource !== NODES.name) return [];
  const [first, ...rest] = write.patch.filter(isOnLabels);
  if (first === undefined) return [];
  const [uid, ...tests] = write.precondition;
  return [{ ...write, precondition: [uid, ...tests.filter(isOnLabels)], patch: [first, ...rest] }];
}

function isOnLabels({ path }: TestOperation | PatchOperation): boolean {
  return path === LABELS || path.startsWith(`${LABELS}/`);
}

function sentenceOf(write: Write): string {
  if (write.on === "cloud") {
    return `${write.action} of ${write.capability} ${write.target} ${JSON.stringify(write.parameters)}`;
  }
  const sentence = `${write.verb} ${targetOf(write)} ${keyOfName(write)}`;
  switch (write.verb) {
    case "patch":
    case "approve":
      return `${sentence}: ${write.patch.map(operationOf).join(", ")}`;
    case "create":
    case "update":
      return `${sentence}: ${JSON.stringify(write.body)}`;
    case "delete":
      return sentence;
  }
}

function targetOf(write: ClusterWrite): string {
  const subresource = "subresource" in write ? write.subresource : undefined;
  return subresource === undefined ? write.resource : `${write.resource}/${subresource}`;
}

function operationOf(operation: PatchOperation): string {
  switch (operation.op) {
    case "add":
      return `add ${operation.path} ${JSON.stringify(operation.value)}`;
    case "remove":
      return `remove ${operation.path}`;
  }
}
