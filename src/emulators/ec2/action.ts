import type { SecurityTokens } from "#emulators/ec2/credentials.ts";
import type { Caller } from "./credentials.ts";
import type { Fault } from "./fault.ts";
import type { Inventory } from "./inventory.ts";
import type { Parameters } from "./parameters.ts";
import type { XmlContent } from "./xml.ts";
import type { Zone } from "./zone.ts";

/** A successful answer: the content of its element, and the number of results. */
export interface Answer {
  readonly kind: "answer";
  readonly content: { readonly [name: string]: XmlContent };
  readonly results: number;
}

/** One call, with everything that an action may read. */
export interface Call {
  readonly parameters: Parameters;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly caller: Caller;
  readonly region: string;
  readonly zones: readonly Zone[];
  readonly inventory: Inventory;
  readonly tokens: SecurityTokens;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Computes the answer of an action; it changes only the session tokens. */
export type Action = (call: Call) => Answer | Fault;
