import * as z from "zod";
import { EVENTS, type EventsOfReason } from "#core/event-catalog.ts";
import {
  FACTS,
  type Fact,
  type FactName,
  type FactsOf,
  listFactNames,
  type MessageTemplate,
  renderMessage,
} from "#core/message-template.ts";
import { TenantFact } from "#core/tenant-fact.ts";

/** A reason of the catalogue, with a placeholder for the object's kind if it contains one. */
export type ClusterEventReason = keyof typeof EVENTS;
/** A code of the Events with a given reason. */
export type CodeOf<Reason extends ClusterEventReason> = keyof (typeof EVENTS)[Reason]["says"] & string;

type SentenceOf<
  Reason extends ClusterEventReason,
  Code extends CodeOf<Reason>,
> = (typeof EVENTS)[Reason]["says"][Code] extends { readonly sentence: infer Sentence extends string }
  ? Sentence
  : never;

/** The catalogue's fields of an Event in a decision: its reason and code, and the facts of its sentence. */
export const catalogEventFields = {
  reason: z.enum(Object.keys(EVENTS) as [ClusterEventReason, ...ClusterEventReason[]]),
  code: z.string(),
  facts: z.partialRecord(
    z.enum(Object.keys(FACTS) as [FactName, ...FactName[]]),
    z.union([TenantFact, z.array(TenantFact).readonly()]),
  ),
};
/** An Event of the catalogue with its facts. */
export type CatalogEvent = {
  readonly [Key in keyof typeof catalogEventFields]: z.output<(typeof catalogEventFields)[Key]>;
};

/** Returns whether the catalogue contains an Event. */
export function isCatalogEvent({ reason, code }: Pick<CatalogEvent, "reason" | "code">): boolean {
  return Object.hasOwn(EVENTS[reason].says, code);
}

/** Returns whether one Event of this reason is enough for an object, whatever the code. */
export function isEmittedOnce(reason: ClusterEventReason): boolean {
  return "once" in EVENTS[reason];
}

/**
 * Returns how many Events of a reason a cluster gets in ten minutes on objects of a kind; undefined without
 * such a limit.
 */
export function limitOnKind(reason: ClusterEventReason, kind: string): number | undefined {
  const { atMost = {} }: EventsOfReason = EVENTS[reason];
  return Object.hasOwn(atMost, kind) ? atMost[kind] : undefined;
}

/** Builds an Event of the catalogue; facts that are undefined or that its sentence does not use are dropped. */
export function buildClusterEvent<Reason extends ClusterEventReason, Code extends CodeOf<Reason>>(
  reason: Reason,
  code: Code,
  facts: FactsOf<SentenceOf<Reason, Code>>,
): CatalogEvent {
  const names: readonly string[] = listFactNames(getMessageTemplate({ reason, code }));
  const kept = Object.entries<Fact | undefined>(facts).filter(
    ([name, fact]) => fact !== undefined && names.includes(name),
  );
  return { reason, code, facts: Object.fromEntries(kept) as CatalogEvent["facts"] };
}

/** Returns the Event as people read it. */
export function renderEvent({ reason, code, facts }: CatalogEvent): {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
} {
  return {
    type: EVENTS[reason].type,
    reason: renderMessage(reason, facts),
    message: renderMessage(getMessageTemplate({ reason, code }), facts),
  };
}

/** Returns whether the Event may be left out while other objects wait. */
export function isDispensable({ reason }: Pick<CatalogEvent, "reason">): boolean {
  const { type, always }: EventsOfReason = EVENTS[reason];
  return type === "Normal" && always === undefined;
}

function getMessageTemplate({ reason, code }: Pick<CatalogEvent, "reason" | "code">): string {
  if (!isCatalogEvent({ reason, code })) throw new Error(`there is no Event ${reason} with the code ${code}`);
  const says: Readonly<Record<string, MessageTemplate>> = EVENTS[reason].says;
  return (says[code] as MessageTemplate).sentence;
}
