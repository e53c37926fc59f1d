import * as z from "zod";
import { Observation } from "#core/capability.ts";
import { type ConfigError, listFaults } from "#core/config-errors.ts";
import type { Controller, Subject } from "#core/controller.ts";
import type { Decision, Plan } from "#core/decision.ts";
import { CONTROLLER_SETTINGS } from "#core/descriptors.ts";
import { Event } from "#core/event.ts";
import { InstanceAnswer } from "#core/instance.ts";
import { applyPolicies } from "#core/policies.ts";
import { DEFAULT_SETTINGS, type Settings } from "#core/settings.ts";
import { applyStop } from "#core/stop.ts";
import type { ApiObject, ParsedObject } from "#core/watch.ts";

/** The cluster configuration in a document; missing values have their defaults. */
const DecideSettings = z.strictObject({
  /** A cluster's `cloud:`, whose content depends on the cloud. */
  cloud: z.looseObject({ provider: z.string().min(1) }).default(DEFAULT_SETTINGS.cloud),
  ...CONTROLLER_SETTINGS,
});

/**
 * An event with the cloud's answers, in the order of its objects: instances, or observations of another
 * capability. With `settings` alone it is decided as before the cloud is asked.
 */
export const EventWithAnswers = z
  .strictObject({
    event: Event,
    instances: z.array(InstanceAnswer).optional(),
    answers: z.array(Observation).optional(),
    settings: DecideSettings.optional(),
  })
  .superRefine(({ event, instances, answers, settings }, context) => {
    const refuse = (key: string, message: string): void =>
      context.addIssue({ code: "custom", message, path: [key] });
    const given = answers ?? instances;
    if (answers !== undefined && instances !== undefined)
      refuse("answers", "instances are given, too: one of the two");
    else if (given === undefined ? settings === undefined : given.length !== event.objects.length)
      refuse(answers === undefined ? "instances" : "answers", ONE_FOR_EACH);
  });
export type EventWithAnswers = z.output<typeof EventWithAnswers>;

const ONE_FOR_EACH = "one answer for each of the event's objects, in their order";

/** An event's object that its controller cannot parse; `index` is its position in the event. */
export type MalformedObject = Extract<ParsedObject<ApiObject>, { readonly kind: "malformed" }> & {
  readonly index: number;
};

/** The decisions on an event, in the order of its objects; or all errors of the document. */
export type DecidedEvent =
  | { readonly kind: "decided"; readonly decisions: readonly (Decision | MalformedObject)[] }
  /** One write comes before all decisions. */
  | { readonly kind: "shared"; readonly plan: Extract<Plan, { readonly kind: "shared" }> }
  | { readonly kind: "rejected"; readonly faults: readonly ConfigError[] };

/** Decides on an event, with or without the cloud's answers, given as text. Never throws. */
export function decideEvent(
  value: unknown,
  now: Date,
  findController: (name: string) => Controller | undefined,
): DecidedEvent {
  const document = parseDocument(value);
  return document.kind === "rejected" ? document : decideDocument(document, now, findController);
}

/** Decides on a parsed document; its controller must be loaded for the cloud of its settings. */
export function decideDocument(
  { event, answers, settings }: DecideDocument,
  now: Date,
  findController: (name: string) => Controller | undefined,
): DecidedEvent {
  const controller = findController(event.controller);
  if (controller === undefined) {
    return { kind: "rejected", faults: [{ path: "controller", message: "no controller has this name" }] };
  }
  const parsed = event.objects.map((object) => controller.parse(object));
  const subjects = parsed.flatMap((each, index): Subject[] =>
    each.kind === "malformed"
      ? []
      : [
          {
            object: each.object,
            answer: answers[index],
            hint: event.hints?.[each.object.metadata.uid],
          },
        ],
  );
  const plan = controller.decide(subjects, {
    reason: event.reason,
    now,
    related: event.related ?? {},
    settings,
    stop: event.stop,
  });
  if (plan.kind === "shared") return { kind: "shared", plan };
  const policies = { dryRun: event.dryRun === true, labelsOnly: false };
  const decided = plan.decisions.map((decision) => applyStop(applyPolicies(decision, policies), event.stop));
  const decisions = parsed.flatMap((each, index): readonly (Decision | MalformedObject)[] =>
    each.kind === "malformed" ? [{ ...each, index }] : decided.splice(0, 1),
  );
  return { kind: "decided", decisions };
}

/** An event with the facts for its decision. */
export interface DecideDocument {
  readonly kind: "document";
  readonly event: Event;
  /** In the order of the event's objects; empty if the cloud was not asked. */
  readonly answers: readonly (InstanceAnswer | Observation)[];
  readonly settings: Settings;
}

/** Parses an event, or an event with answers and settings; returns all errors. */
export function parseDocument(
  value: unknown,
): DecideDocument | Extract<DecidedEvent, { readonly kind: "rejected" }> {
  if (typeof value === "object" && value !== null && "event" in value) {
    const parsed = EventWithAnswers.safeParse(value);
    if (!parsed.success) return { kind: "rejected", faults: listFaults(parsed.error) };
    const { event, instances, answers = instances ?? [], settings } = parsed.data;
    return { kind: "document", event, answers, settings: getSettings(event, settings) };
  }
  const parsed = parseEvent(value);
  if (parsed.kind === "rejected") return parsed;
  return { kind: "document", event: parsed.event, answers: [], settings: getSettings(parsed.event) };
}

function getSettings({ cluster }: Event, given: Omit<Settings, "cluster"> = DEFAULT_SETTINGS): Settings {
  return { ...given, cluster };
}

/** An event, or all its errors; its objects are parsed later, one by one. */
type ParsedEvent =
  | { readonly kind: "event"; readonly event: Event }
  | { readonly kind: "rejected"; readonly faults: readonly ConfigError[] };

/** Parses an event of this build's version; never throws. */
export function parseEvent(value: unknown): ParsedEvent {
  const parsed = Event.safeParse(value);
  if (parsed.success) return { kind: "event", event: parsed.data };
  return { kind: "rejected", faults: listFaults(parsed.error) };
}
