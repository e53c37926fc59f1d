import { sanitizeText } from "#core/sanitize-text.ts";
import type { TenantFact } from "#core/tenant-fact.ts";

/** A fixed sentence with placeholders for facts, such as `{manager}`, and when it is used. */
export interface MessageTemplate {
  readonly sentence: string;
  readonly when: string;
}

/** The facts that sentences can contain: the meaning of each, and the maximum characters shown. */
export const FACTS = {
  kind: { what: "the kind of the object", maxCharacters: 64 },
  manager: { what: "the field manager in the node's `managedFields`", maxCharacters: 128 },
  node: { what: "the name of the node", maxCharacters: 253 },
  request: { what: "the name of the CertificateSigningRequest", maxCharacters: 253 },
  names: { what: "names and addresses that the request asks for", maxCharacters: 500 },
  usages: { what: "usages that the request asks for", maxCharacters: 256 },
  providerID: { what: "the node's provider ID", maxCharacters: 253 },
  successor: {
    what: "the id of an instance of the cluster that has the node's name by now",
    maxCharacters: 128,
  },
  instance: { what: "the id of the node's own instance", maxCharacters: 128 },
  field: { what: "the field or annotation of the Service", maxCharacters: 128 },
  value: { what: "what the Service says there", maxCharacters: 128 },
  allowed: { what: "what it may say, in the controller's own words", maxCharacters: 300 },
  networks: { what: "the pod CIDRs of the node", maxCharacters: 128 },
  routes: { what: "how many nodes of the cluster have their routes", maxCharacters: 16 },
  words: { what: "what the cluster's API server answered, in its words", maxCharacters: 600 },
} as const;
export type FactName = keyof typeof FACTS;

/** One fact, or a list of them. */
export type Fact = TenantFact | readonly TenantFact[];

/** The facts of a sentence, by the names of its placeholders. A Service's issue may have no value. */
export type FactsOf<Sentence extends string> = {
  readonly [Name in NamesIn<Sentence>]: Name extends "value" ? Fact | undefined : Fact;
};

type NamesIn<Sentence extends string> = Sentence extends `${string}{${infer Name}}${infer Rest}`
  ? (Name & FactName) | NamesIn<Rest>
  : never;

/** Returns the names of the placeholders in a sentence, in order. */
export function listFactNames(sentence: string): FactName[] {
  return [...sentence.matchAll(PLACEHOLDER)].map(([, name]) => name as FactName);
}

/**
 * Returns the sentence with its facts, each truncated and sanitized. Without a value it says that the field is
 * invalid, or does not mention the value; without allowed values it does not mention them.
 */
export function renderMessage(sentence: string, facts: Readonly<Partial<Record<FactName, Fact>>>): string {
  const { value, allowed = "" } = facts;
  const withValue =
    value === undefined
      ? sentence.replace(' ("{value}")', "").replace(' is "{value}"', " is invalid")
      : sentence;
  const complete = allowed === "" ? withValue.replace("; allowed: {allowed}", "") : withValue;
  return complete.replaceAll(PLACEHOLDER, (_, name: FactName) => {
    return sanitizeText([facts[name] ?? []].flat().join(", "), FACTS[name].maxCharacters);
  });
}

const PLACEHOLDER = /\{(\w+)\}/g;
