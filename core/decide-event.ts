import * as z from "zod";
import type { ApiObject, Controller, Parsed, Subject } from "#core/controller.ts";
import type { Decision, Plan } from "#core/decision.ts";
import { Event } from "#core/event.ts";
import { parseEvent } from "#core/event-door.ts";
import { type Fault, faultsOf } from "#core/faults.ts";
import { InstanceAnswer } from "#core/instance.ts";
import { applyPolicies } from "#core/policies.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";

/** An event with the cloud's answers beside it, in the order of its objects. */
export const EventWithInstances = z
  .strictObject({ event: Event, instances: z.array(InstanceAnswer) })
  .refine(({ event, instances }) => instances.length === event.objects.length, {
    message: "one answer for each of the event's objects, in their order",
    path: ["instances"],
  });
export type EventWithInstances = z.output<typeof EventWithInstances>;

/** An object of an event that is not what its controller is about; `index` is its place there. */
export type MalformedObject = Extract<Parsed<ApiObject>, { readonly kind: "malformed" }> & {
  readonly index: number;
};

/** What is to be done about an event, in the order of its objects; or all that is wrong with the document. */
export type DecidedEvent =
  | { readonly kind: "decided"; readonly decisions: readonly (Decision | MalformedObject)[] }
  /** One write comes before all decisions. */
  | { readonly kind: "shared"; readonly plan: Extract<Plan, { readonly kind: "shared" }> }
  | { readonly kind: "rejected"; readonly faults: readonly Fault[] };

/** The core as a filter: an event, or an event with the cloud's answers, to decisions by its controller. Never throws. */
export function decideEvent(
  value: unknown,
  now: Date,
  findController: (name: string) => Controller | undefined,
): DecidedEvent {
  const document = parseDocument(value);
  if (document.kind === "rejected") return document;
  const { event, instances } = document;
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
            answer: instances[index],
            hint: event.hints?.[each.object.metadata.uid],
          },
        ],
  );
  const plan = controller.decide(subjects, {
    reason: event.reason,
    now,
    related: event.related ?? {},
    settings: DEFAULT_SETTINGS,
  });
  if (plan.kind === "shared") return { kind: "shared", plan };
  const policies = { dryRun: event.dryRun === true, labelsOnly: false };
  const decided = plan.decisions.map((decision) => applyPolicies(decision, policies));
  const decisions = parsed.flatMap((each, index): readonly (Decision | MalformedObject)[] =>
    each.kind === "malformed" ? [{ ...each, index }] : decided.splice(0, 1),
  );
  return { kind: "decided", decisions };
}

type Document =
  | { readonly kind: "document"; readonly event: Event; readonly instances: readonly InstanceAnswer[] }
  | { readonly kind: "rejected"; readonly faults: readonly Fault[] };

function parseDocument(value: unknown): Document {
  if (typeof value === "object" && value !== null && "event" in value) {
    const parsed = EventWithInstances.safeParse(value);
    if (parsed.success) return { kind: "document", ...parsed.data };
    return { kind: "rejected", faults: faultsOf(parsed.error) };
  }
  const parsed = parseEvent(value);
  return parsed.kind === "event" ? { kind: "document", event: parsed.event, instances: [] } : parsed;
}
