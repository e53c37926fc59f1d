import type { Answer, Call, ServiceName } from "./call.ts";
import type { XmlElement } from "./xml.ts";

/** What mends may look up: moto itself, as it is. */
export interface Behind {
  /** Asks moto, in the region of the call that is being answered; what it holds is in the result. Rejects where moto answers with a fault. */
  ask(service: ServiceName, operation: string, form?: Readonly<Record<string, string>>): Promise<XmlElement>;
}

/** Sends the call, or a changed one, on towards moto. */
export type Next = (call: Call) => Promise<Answer>;

/** Answers a call as AWS documents it where moto would not. */
export type Mend = (call: Call, next: Next, behind: Behind) => Promise<Answer>;

/** Mends by operation, such as `elbv2:CreateListener`; `forget` where they keep something, and `kept` where that is what moto does not. */
export interface Mends {
  readonly byOperation: Readonly<Record<string, Mend>>;
  forget?(): void;
  readonly kept?: readonly Kept[];
}

/** Something that is remembered of what was changed. */
export type Kept = Map<string, unknown> | Set<unknown>;

/** Saves what is kept; what it returns sets it back. */
export function saveKept(all: readonly Kept[]): () => void {
  const copies = all.map((kept) => structuredClone(kept));
  return () => {
    for (const [index, kept] of all.entries()) setBack(kept, structuredClone(copies[index]));
  };
}

function setBack(kept: Kept, copy: Kept | undefined): void {
  kept.clear();
  if (kept instanceof Set && copy instanceof Set) for (const each of copy) kept.add(each);
  if (kept instanceof Map && copy instanceof Map) for (const [key, value] of copy) kept.set(key, value);
}

/** A form's list, such as `Names.member.1`. */
export function listForm(prefix: string, values: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(values.map((value, index) => [`${prefix}.${index + 1}`, value]));
}

/** An EC2 filter, as the first of a form. */
export function filterForm(name: string, values: readonly string[]): Readonly<Record<string, string>> {
  return { "Filter.1.Name": name, ...listForm("Filter.1.Value", values) };
}
