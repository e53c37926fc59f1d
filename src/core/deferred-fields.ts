import * as z from "zod";
import { INSTANCE_ANNOTATION, LABEL_PAIRS, SHUTDOWN_TAINT, UNINITIALIZED_TAINT } from "#core/contracts.ts";
import { needsWork } from "#core/csr/conditions.ts";
import { CertificateSigningRequest } from "#core/csr/csr.ts";
import type { ApproveWrite, PatchOperation, PatchWrite } from "#core/decision.ts";
import type { FunctionIdentity } from "#core/identities.ts";
import { formatPointer, isSameJson } from "#core/json-patch.ts";
import { isReservedLabel } from "#core/node/labels.ts";
import { Node } from "#core/node/node.ts";

/** The labels and annotations that the cluster's cloud writes on nodes, as in `WatchContext`. */
export interface CloudKeys {
  readonly labelPrefixes: readonly string[];
  readonly nodeKeys?: readonly string[];
}

/** A deferred patch, and the object that the function was sent. */
export interface SentPatch {
  readonly write: PatchWrite | ApproveWrite;
  readonly object: unknown;
  readonly keys: CloudKeys;
}

/**
 * Returns the path of the first field, or value, that the identity may not write; undefined if it may write
 * all. These are the rules of `infra/admission`, for clusters without policies: change both together.
 */
export function findForeignField(identity: FunctionIdentity, sent: SentPatch): string | undefined {
  const isOwn = RULES[identity];
  const { patch } = sent.write;
  return patch.find((operation, place) => !isOwn?.(operation, { ...sent, place }))?.path;
}

interface ObjectPlace extends SentPatch {
  /** The index of the operation in the patch. */
  readonly place: number;
}

type Rule = (operation: PatchOperation, place: ObjectPlace) => boolean;

/** The identities for which relays write; any other identity may write nothing here. */
const RULES: Readonly<Partial<Record<FunctionIdentity, Rule>>> = {
  node: isOfInitialization,
  "node-lifecycle": isOfLifecycle,
  csr: isOfApproval,
};

const ADDRESSES = "/status/addresses";
const PROVIDER_ID = "/spec/providerID";
const TAINTS = "/spec/taints";
const LABELS = "/metadata/labels";
const ANNOTATIONS = "/metadata/annotations";
const CONDITIONS = "/status/conditions";

/** More than any node has. */
const MAX_ADDRESSES = 256;

function isOfInitialization(operation: PatchOperation, place: ObjectPlace): boolean {
  const { object, write } = place;
  const node = Node.safeParse(object).data;
  if (node === undefined || write.verb !== "patch") return false;
  const { path } = operation;
  if (write.subresource === "status")
    return operation.op === "add" && path === ADDRESSES && isListOfAtMost(operation.value, MAX_ADDRESSES);
  if (operation.op === "remove")
    return isTaintRemoval(path, place, (taint) => [test(`${taint}/key`, UNINITIALIZED_TAINT)]);
  if (path === PROVIDER_ID) return typeof operation.value === "string" && !node.spec.providerID;
  return (
    isEntry(operation, LABELS, place, (key) => isOwnLabel(key, place.keys)) ||
    isEntry(operation, ANNOTATIONS, place, (key) => isOwnAnnotation(key, node, place.keys))
  );
}

function isOfLifecycle(operation: PatchOperation, place: ObjectPlace): boolean {
  const { object, write } = place;
  const node = Node.safeParse(object).data;
  if (node === undefined || write.verb !== "patch" || write.subresource !== undefined) return false;
  const { path } = operation;
  const { key, effect } = SHUTDOWN_TAINT;
  if (operation.op === "remove")
    return isTaintRemoval(path, place, (taint) => [
      test(`${taint}/key`, key),
      test(`${taint}/effect`, effect),
    ]);
  if (path === `${TAINTS}/-`) return isSameJson(operation.value, SHUTDOWN_TAINT);
  // The whole list is written if none exists, and only on the node that was sent.
  return (
    path === TAINTS &&
    isSameJson(operation.value, [SHUTDOWN_TAINT]) &&
    (node.spec.taints ?? []).length === 0 &&
    isTested(write, test("/metadata/resourceVersion", node.metadata.resourceVersion))
  );
}

/** One decision, on a node's undecided request to the one signer. */
function isOfApproval(operation: PatchOperation, { object, write }: ObjectPlace): boolean {
  const csr = CertificateSigningRequest.safeParse(object).data;
  return (
    csr !== undefined &&
    needsWork(csr) &&
    write.verb === "approve" &&
    write.patch.length === 1 &&
    isTested(write, test(CONDITIONS, null)) &&
    operation.op === "add" &&
    operation.path === CONDITIONS &&
    Decided.safeParse(operation.value).success
  );
}

const Decided = z.tuple([
  z.strictObject({
    type: z.enum(["Approved", "Denied", "Failed"]),
    status: z.literal("True"),
    reason: z.string().min(1).max(128),
    message: z.string().max(8_192),
    lastUpdateTime: z.string().max(64),
  }),
]);

/**
 * By index, each after its test; the highest index is removed first, because a removal shifts the later ones.
 */
function isTaintRemoval(
  path: string,
  { write, place }: ObjectPlace,
  guard: (taint: string) => Test[],
): boolean {
  const index = parseTaintIndex(path);
  if (index === undefined || !guard(path).every((operation) => isTested(write, operation))) return false;
  return write.patch.slice(0, place).every((before) => {
    const earlier = parseTaintIndex(before.path);
    return before.op !== "remove" || (earlier !== undefined && earlier > index);
  });
}

function parseTaintIndex(path: string): number | undefined {
  const [, index] = /^\/spec\/taints\/(0|[1-9]\d{0,4})$/.exec(path) ?? [];
  return index === undefined ? undefined : Number(index);
}

/** An entry of the map at `path`, or the whole map if none existed. */
function isEntry(
  { path: at, value }: Extract<PatchOperation, { readonly op: "add" }>,
  path: string,
  { write }: ObjectPlace,
  isOwn: (key: string) => boolean,
): boolean {
  if (at === path) {
    const map = StringMap.safeParse(value).data;
    return map !== undefined && isTested(write, test(path, null)) && Object.keys(map).every(isOwn);
  }
  const key = parseMapKey(path, at);
  return key !== undefined && typeof value === "string" && isOwn(key);
}

const StringMap = z.record(z.string(), z.string());

/** The key of the map entry, if `at` names an entry of the map at `path`. */
function parseMapKey(path: string, at: string): string | undefined {
  const key = at
    .slice(path.length + 1)
    .replaceAll("~1", "/")
    .replaceAll("~0", "~");
  return at === `${path}${formatPointer(key)}` ? key : undefined;
}

const PAIRED: ReadonlySet<string> = new Set(LABEL_PAIRS.flatMap(({ beta, stable }) => [beta, stable]));

function isOwnLabel(key: string, { labelPrefixes }: CloudKeys): boolean {
  return PAIRED.has(key) || (!isReservedLabel(key) && labelPrefixes.some((prefix) => key.startsWith(prefix)));
}

/** Our annotation, or one of the cloud's that the node lacks. */
function isOwnAnnotation(key: string, { metadata }: Node, { nodeKeys = [] }: CloudKeys): boolean {
  if (key === INSTANCE_ANNOTATION) return true;
  const { annotations = {} } = metadata;
  const present = Object.hasOwn(annotations, key) ? annotations[key] : "";
  return nodeKeys.includes(key) && present === "";
}

interface Test {
  readonly path: string;
  readonly value: unknown;
}

function test(path: string, value: unknown): Test {
  return { path, value };
}

function isTested({ precondition }: PatchWrite | ApproveWrite, wanted: Test): boolean {
  return precondition.some(({ path, value }) => path === wanted.path && isSameJson(value, wanted.value));
}

function isListOfAtMost(value: unknown, length: number): boolean {
  return Array.isArray(value) && value.length <= length;
}
