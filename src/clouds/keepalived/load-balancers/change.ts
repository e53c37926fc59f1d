import * as z from "zod";
import { buildAddressSet, buildInnerRange, findFreeAddress } from "#clouds/addresses/ranges.ts";
import {
  buildData,
  type Entry,
  findHolder,
  isAnnounceable,
  type VipAssignments,
} from "#clouds/keepalived/load-balancers/vip-assignments.ts";
import { canonicalizeIp, formatIp, parseCidr } from "#core/cidr.ts";

/** Assigns an address to a Service: the requested one, else one of the pool. */
export const Assignment = z.strictObject({
  kind: z.literal("assign"),
  uid: z.string(),
  namespace: z.string(),
  name: z.string(),
  /** In canonical form. */
  ip: z.string().optional(),
  forwardMethod: z.string().optional(),
});
export type Assignment = z.output<typeof Assignment>;

/** A change of the assignments. */
export type Change =
  | Assignment
  | { readonly kind: "release"; readonly uid: string }
  /** Sets or removes the orphan mark of an entry. */
  | { readonly kind: "mark"; readonly uid: string; readonly text: string | undefined };

/** The result of a change: the new assignments, or the same object if nothing changed. */
export type ChangeResult =
  | { readonly kind: "done"; readonly ledger: VipAssignments; readonly entry: Entry | null }
  | { readonly kind: "in-use"; readonly holder: Entry }
  | { readonly kind: "exhausted" };

/** Applies one change. Pure, so that it can be repeated on a newer version of the ConfigMap. */
export function applyChange(assignments: VipAssignments, change: Change, serviceCIDR: string): ChangeResult {
  switch (change.kind) {
    case "assign":
      return assignAddress(assignments, change, serviceCIDR);
    case "release":
      return releaseAddress(assignments, change.uid);
    case "mark":
      return markEntry(assignments, change.uid, change.text);
  }
}

/** Finds the lowest free address of the network; undefined if none is free. */
export function findLowestFreeAddress(
  { entries }: Pick<VipAssignments, "entries">,
  serviceCIDR: string,
): string | undefined {
  const cidr = parseCidr(serviceCIDR);
  const used = buildAddressSet(entries.map(({ ip }) => ip));
  const free = cidr === undefined ? undefined : findFreeAddress([buildInnerRange(cidr)], used);
  return free === undefined ? undefined : formatIp(free);
}

function assignAddress(
  assignments: VipAssignments,
  { uid, namespace, name, ip, forwardMethod }: Assignment,
  cidr: string,
): ChangeResult {
  const before = assignments.entries.find((entry) => entry.uid === uid);
  const entries = assignments.entries.filter(
    (entry) => entry === before || !isServiceEntry({ uid, namespace, name }, entry),
  );
  const holder = findHolder({ entries }, ip ?? before?.ip ?? "");
  const isOthers = holder !== undefined && holder.uid !== uid;
  if (ip !== undefined && isOthers) return { kind: "in-use", holder };
  const kept = before !== undefined && !isOthers && isAnnounceable(before.ip) ? before.ip : undefined;
  // An equal address in another spelling stays as written.
  const address = ip === undefined || canonicalizeIp(kept ?? "") === ip ? (kept ?? ip) : ip;
  const assigned = address ?? findLowestFreeAddress({ entries }, cidr);
  if (assigned === undefined) return { kind: "exhausted" };
  const entry: Entry = {
    ...{ uid, ip: assigned, serviceNamespace: namespace, serviceName: name },
    ...(forwardMethod ? { forwardMethod } : {}),
  };
  const after =
    before === undefined ? [...entries, entry] : entries.map((each) => (each === before ? entry : each));
  return { kind: "done", entry, ledger: { ...assignments, entries: after, data: buildData(after) } };
}

/**
 * A Service has one entry, and each name has one Service: the entry of an earlier Service with that name has
 * no owner.
 */
function isServiceEntry(
  { uid, namespace, name }: Pick<Assignment, "uid" | "namespace" | "name">,
  entry: Entry,
): boolean {
  return entry.uid === uid || (entry.serviceNamespace === namespace && entry.serviceName === name);
}

function releaseAddress(assignments: VipAssignments, uid: string): ChangeResult {
  const released = assignments.entries.filter((entry) => entry.uid === uid);
  if (released.length === 0) return { kind: "done", ledger: assignments, entry: null };
  const entries = assignments.entries.filter((entry) => entry.uid !== uid);
  const remainingData = buildData(entries);
  // Only these keys are removed; data of others stays.
  const data = { ...assignments.data };
  for (const { ip } of released) {
    const nextValue = Object.hasOwn(remainingData, ip) ? remainingData[ip] : undefined;
    if (nextValue === undefined) delete data[ip];
    else data[ip] = nextValue;
  }
  return { kind: "done", entry: null, ledger: { ...assignments, entries, data } };
}

/** Marks an existing entry; the marks of others are not rewritten. */
function markEntry(assignments: VipAssignments, uid: string, text: string | undefined): ChangeResult {
  const entry = assignments.entries.find((each) => each.uid === uid) ?? null;
  const { [uid]: _, ...others } = assignments.marks;
  const marks = text === undefined ? others : { ...others, [uid]: text };
  return { kind: "done", entry, ledger: { ...assignments, marks } };
}
