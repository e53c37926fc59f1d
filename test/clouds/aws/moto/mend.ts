import type { Answer, Call, ServiceName } from "./call.ts";
import type { XmlElement } from "./xml.ts";

/** What mends may read: moto itself, without mends. */
export interface Behind {
  /**
   * Asks moto in the region of the current call, and returns the result. Rejects if moto answers with a
   * fault.
   */
  ask(service: ServiceName, operation: string, form?: Readonly<Record<string, string>>): Promise<XmlElement>;
}

/** Sends the call, or a changed one, on towards moto. */
export type Next = (call: Call) => Promise<Answer>;

/** Answers a call as AWS documents it, where moto would not. */
export type Mend = (call: Call, next: Next, behind: Behind) => Promise<Answer>;

/**
 * Mends by operation, such as `elbv2:CreateListener`. Mends with state have `forget`, and `kept` for state
 * that moto lacks.
 */
export interface Mends {
  readonly byOperation: Readonly<Record<string, Mend>>;
  forget?(): void;
  readonly kept?: readonly Kept[];
}

/** A mend's memory of changes. */
export type Kept = Map<string, unknown> | Set<unknown>;

/** Saves the kept state; the returned function restores it. */
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

/** Builds a form's list, such as `Names.member.1`. */
export function listForm(prefix: string, values: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(values.map((value, index) => [`${prefix}.${index + 1}`, value]));
}

/** Builds an EC2 filter, as the first of a form. */
export function buildFilterForm(name: string, values: readonly string[]): Readonly<Record<string, string>> {
  return { "Filter.1.Name": name, ...listForm("Filter.1.Value", values) };
}
