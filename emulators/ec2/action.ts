import type { Caller } from "./credentials.ts";
import type { Fault } from "./fault.ts";
import type { Inventory } from "./inventory.ts";
import type { Parameters } from "./parameters.ts";
import type { SecurityTokens } from "./security-tokens.ts";
import type { XmlContent } from "./xml.ts";
import type { Zone } from "./zone.ts";

/** A successful answer: what is in its element, and how many things it tells of. */
export interface Answer {
  readonly kind: "answer";
  readonly content: { readonly [name: string]: XmlContent };
  readonly results: number;
}

/** One call, with all that an action may look at. */
export interface Call {
  readonly parameters: Parameters;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly caller: Caller;
  readonly region: string;
  readonly zones: readonly Zone[];
  /** Whether a placement names its zone's id, as newer API versions of EC2's do. */
  readonly placementZoneId: boolean;
  readonly inventory: Inventory;
  readonly tokens: SecurityTokens;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** An action computes its answer; it changes nothing but the tokens handed out. */
export type Action = (call: Call) => Answer | Fault;
