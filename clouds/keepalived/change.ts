import * as z from "zod";
import { addressSet, firstFree, innerRangeOf } from "#clouds/addresses/ranges.ts";
import { dataOf, type Entry, holderOf, isTold, type Ledger } from "#clouds/keepalived/ledger.ts";
import { canonicalIp, formatIp, parseCidr } from "#core/cidr.ts";

/** An address for a Service: the one that it asks for, else one of the pool. */
export const Assignment = z.strictObject({
  kind: z.literal("assign"),
  uid: z.string(),
  namespace: z.string(),
  name: z.string(),
  /** Canonical. */
  ip: z.string().optional(),
  forwardMethod: z.string().optional(),
});
export type Assignment = z.output<typeof Assignment>;

/** What is done to a ledger. */
export type Change =
  | Assignment
  | { readonly kind: "release"; readonly uid: string }
  /** An entry whose Service has gone is marked so, or is not any more. */
  | { readonly kind: "mark"; readonly uid: string; readonly text: string | undefined };

/** What came of a change: the ledger as it is after, the same one where nothing had to be changed. */
export type Changed =
  | { readonly kind: "done"; readonly ledger: Ledger; readonly entry: Entry | null }
  | { readonly kind: "in-use"; readonly holder: Entry }
  | { readonly kind: "exhausted" };

/** Makes one change. Pure, so that it can be decided again on what somebody else has written meanwhile. */
export function changed(ledger: Ledger, change: Change, serviceCIDR: string): Changed {
  switch (change.kind) {
    case "assign":
      return assigned(ledger, change, serviceCIDR);
    case "release":
      return released(ledger, change.uid);
    case "mark":
      return marked(ledger, change.uid, change.text);
  }
}

/** The lowest address of the network that nobody has; undefined where there is none. */
export function freeAddress({ entries }: Pick<Ledger, "entries">, serviceCIDR: string): string | undefined {
  const cidr = parseCidr(serviceCIDR);
  const used = addressSet(entries.map(({ ip }) => ip));
  const free = cidr === undefined ? undefined : firstFree([innerRangeOf(cidr)], used);
  return free === undefined ? undefined : formatIp(free);
}

function assigned(
  ledger: Ledger,
  { uid, namespace, name, ip, forwardMethod }: Assignment,
  cidr: string,
): Changed {
  const before = ledger.entries.find((entry) => entry.uid === uid);
  const entries = ledger.entries.filter(
    (entry) => entry === before || !isOf({ uid, namespace, name }, entry),
  );
  const holder = holderOf({ entries }, ip ?? before?.ip ?? "");
  const isOthers = holder !== undefined && holder.uid !== uid;
  if (ip !== undefined && isOthers) return { kind: "in-use", holder };
  const kept = before !== undefined && !isOthers && isTold(before.ip) ? before.ip : undefined;
  // One that stands there in another spelling stays as it is written.
  const address = ip === undefined || canonicalIp(kept ?? "") === ip ? (kept ?? ip) : ip;
  const given = address ?? freeAddress({ entries }, cidr);
  if (given === undefined) return { kind: "exhausted" };
  const entry: Entry = {
    ...{ uid, ip: given, serviceNamespace: namespace, serviceName: name },
    ...(forwardMethod ? { forwardMethod } : {}),
  };
  const after =
    before === undefined ? [...entries, entry] : entries.map((each) => (each === before ? entry : each));
  return { kind: "done", entry, ledger: { ...ledger, entries: after, data: dataOf(after) } };
}

/** A Service has one line, and there is one Service of a name: what an earlier one of the same had is nobody's any more. */
function isOf(
  { uid, namespace, name }: Pick<Assignment, "uid" | "namespace" | "name">,
  entry: Entry,
): boolean {
  return entry.uid === uid || (entry.serviceNamespace === namespace && entry.serviceName === name);
}

function released(ledger: Ledger, uid: string): Changed {
  const gone = ledger.entries.filter((entry) => entry.uid === uid);
  if (gone.length === 0) return { kind: "done", ledger, entry: null };
  const entries = ledger.entries.filter((entry) => entry.uid !== uid);
  const told = dataOf(entries);
  // Only these keys go; what others have of the data stays as it is.
  const data = { ...ledger.data };
  for (const { ip } of gone) {
    const heir = Object.hasOwn(told, ip) ? told[ip] : undefined;
    if (heir === undefined) delete data[ip];
    else data[ip] = heir;
  }
  return { kind: "done", entry: null, ledger: { ...ledger, entries, data } };
}

/** One that is there; marks of others are not written again. */
function marked(ledger: Ledger, uid: string, text: string | undefined): Changed {
  const entry = ledger.entries.find((each) => each.uid === uid) ?? null;
  const { [uid]: _, ...others } = ledger.marks;
  const marks = text === undefined ? others : { ...others, [uid]: text };
  return { kind: "done", entry, ledger: { ...ledger, marks } };
}
