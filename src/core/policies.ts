import * as z from "zod";
import type { ClusterWrite, Decision, PatchOperation, TestOperation, Write } from "#core/decision.ts";
import { formatObjectKey, NODES } from "#core/resources/resource.ts";

/** The policies of a cluster, which only restrict decisions. */
export const Policies = z.strictObject({
  dryRun: z.boolean().prefault(false),
  /** Write labels of nodes, but no addresses, taints or provider IDs. */
  labelsOnly: z.boolean().prefault(false),
});
export type Policies = z.output<typeof Policies>;

/** Returns a decision with parts removed; a policy never adds anything. */
export type Policy = (decision: Decision) => Decision;

/** Returns the decision under the policies; with both, a dry run reports what labels-only would write. */
export function applyPolicies(decision: Decision, policies: Readonly<Policies>): Decision {
  const narrowed = policies.labelsOnly ? applyLabelsOnly(decision) : decision;
  return policies.dryRun ? applyDryRun(narrowed) : narrowed;
}

/** Writes nothing, not even Events, and reports what would be written. */
export const applyDryRun: Policy = (decision) => {
  switch (decision.kind) {
    case "unchanged":
    case "skip":
      return decision;
    case "retry":
      return { ...decision, events: [] };
    case "change": {
      const joined = decision.writes.map(describeWrite).join(decision.independent ? "; and " : "; then ");
      const message = `would ${joined}`;
      return { kind: "skip", object: decision.object, because: { code: "DryRun", message } };
    }
  }
};

/** Writes only labels of nodes: no addresses, provider IDs or annotations, and no taint is removed. */
export const applyLabelsOnly: Policy = (decision) => {
  if (decision.kind !== "change") return decision;
  const { object, because, warnings, independent } = decision;
  const [first, ...rest] = selectLabelWrites(decision.writes);
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

/** Returns the parts of writes that concern labels of nodes. */
export function selectLabelWrites(writes: readonly Write[]): Write[] {
  return writes.flatMap(splitLabelWrite);
}

const LABELS = "/metadata/labels";

function splitLabelWrite(write: Write): Write[] {
  if (write.on !== "cluster" || write.verb !== "patch") return [];
  // A label on a Service has its address in an annotation, and is useless without it.
  if (write.resource !== NODES.name) return [];
  const [first, ...rest] = write.patch.filter(isOnLabels);
  if (first === undefined) return [];
  const [uid, ...tests] = write.precondition;
  return [{ ...write, precondition: [uid, ...tests.filter(isOnLabels)], patch: [first, ...rest] }];
}

function isOnLabels({ path }: TestOperation | PatchOperation): boolean {
  return path === LABELS || path.startsWith(`${LABELS}/`);
}

function describeWrite(write: Write): string {
  if (write.on === "cloud") {
    return `${write.action} of ${write.capability} ${write.target} ${JSON.stringify(write.parameters)}`;
  }
  const sentence = `${write.verb} ${formatResource(write)} ${formatObjectKey(write)}`;
  switch (write.verb) {
    case "patch":
    case "approve":
      return `${sentence}: ${write.patch.map(formatOperation).join(", ")}`;
    case "create":
    case "update":
      return `${sentence}: ${JSON.stringify(write.body)}`;
    case "delete":
      return sentence;
  }
}

function formatResource(write: ClusterWrite): string {
  const subresource = "subresource" in write ? write.subresource : undefined;
  return subresource === undefined ? write.resource : `${write.resource}/${subresource}`;
}

function formatOperation(operation: PatchOperation): string {
  switch (operation.op) {
    case "add":
      return `add ${operation.path} ${JSON.stringify(operation.value)}`;
    case "remove":
      return `remove ${operation.path}`;
  }
}
