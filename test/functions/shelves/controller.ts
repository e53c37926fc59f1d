import * as z from "zod";
import { buildClusterEvent } from "#core/cluster-events.ts";
import { listFaults } from "#core/config-errors.ts";
import type { Controller, DecisionContext, Subject } from "#core/controller.ts";
import type { CloudAction, ClusterWrite, Decision, Plan } from "#core/decision.ts";
import { change, leaveUnchanged, patchObject, planEach, retry, toReference } from "#core/decisions.ts";
import { add, test } from "#core/json-patch.ts";
import type { Resource } from "#core/resources/resource.ts";
import type { Shelf } from "#test/functions/shelves/cloud.ts";

export const CONFIG_MAPS: Resource = {
  apiVersion: "v1",
  kind: "ConfigMap",
  name: "configmaps",
  namespaced: true,
};

/** A ConfigMap that wants a shelf with its book on it. */
const Wish = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    uid: z.string(),
    resourceVersion: z.string(),
    creationTimestamp: z.string(),
    deletionTimestamp: z.string().optional(),
  }),
  data: z.record(z.string(), z.string()),
});
type Wish = z.output<typeof Wish>;

/** The part of the cloud's answer about a wish that this controller reads. */
type Answer = { readonly kind: "observed"; readonly state: unknown } | { readonly kind: "error" };

/** Where the numbers of shelves are reserved: one ConfigMap for all wishes. */
export const STATE = { namespace: "kube-system", name: "shelf-numbers" };

/**
 * A controller that wants all that the house can carry: numbers are reserved in shared state before anything
 * is rented, and a wish takes three rounds after that: rent, fill, and say so on the wish.
 */
export const shelfController: Controller<Wish, Answer> = {
  name: "shelf-controller",
  functionName: "shelf",
  eventSource: "shelf-controller",
  resource: CONFIG_MAPS,
  scope: "batch",
  related: [],
  parse(value) {
    const parsed = Wish.safeParse(value);
    if (parsed.success) return { kind: "object", object: parsed.data };
    return { kind: "malformed", faults: listFaults(parsed.error) };
  },
  snapshot: (wish) => wish,
  needsWork: ({ data }) => data["shelf"] === undefined,
  buildQuestion: ({ metadata }) => ({ capability: "shelves", ask: metadata.name }),
  getStateReference: () => ({ apiVersion: "v1", name: "configmaps", at: STATE }),
  decide(batch, context): Plan {
    const { numbers, version } = numbersOf(context);
    const missing = batch.filter(({ object }) => numbers[object.metadata.uid] === undefined);
    if (missing.length > 0) return reserve(missing, numbers, version);
    return planEach(
      batch.map((subject) => decideWish(subject, Number(numbers[subject.object.metadata.uid]))),
    );
  },
  applyResult(subject, { write, result }) {
    return write.on === "cloud"
      ? { ...subject, answer: { kind: "observed", state: result } }
      : folded(subject, write);
  },
};

function folded(subject: Subject<Wish, Answer>, write: ClusterWrite): Subject<Wish, Answer> {
  if (write.verb !== "patch") return subject;
  const shelf = write.patch.find(({ path }) => path === "/data/shelf");
  const text = shelf?.op === "add" ? String(shelf.value) : "";
  const { object } = subject;
  return { ...subject, object: { ...object, data: { ...object.data, shelf: text } } };
}

function reserve(
  missing: readonly Subject<Wish, Answer>[],
  numbers: Readonly<Record<string, string>>,
  version: { readonly uid: string; readonly resourceVersion: string } | undefined,
): Plan {
  const taken = Math.max(0, ...Object.values(numbers).map(Number));
  const added = missing.map(({ object }, index) => [object.metadata.uid, String(taken + index + 1)]);
  const body = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: STATE,
    data: { ...numbers, ...Object.fromEntries(added) },
  };
  const target = { on: "cluster", apiVersion: "v1", resource: "configmaps", ...STATE } as const;
  const because = { code: "Reserve", message: `${missing.length} numbers are reserved` };
  const write: ClusterWrite =
    version === undefined
      ? { ...target, verb: "create", body, precondition: { absent: true } }
      : { ...target, verb: "update", body, precondition: version };
  return { kind: "shared", because, write };
}

function decideWish({ object, answer }: Subject<Wish, Answer>, number: number): Decision {
  const reference = toReference(CONFIG_MAPS, object);
  const { name, uid, deletionTimestamp } = object.metadata;
  if (answer?.kind !== "observed") {
    return retry(reference, { code: "NoAnswer", message: "the cloud gave no answer" }, 1);
  }
  const shelf = answer.state as Shelf | null;
  const action = (named: string, parameters: Record<string, unknown>): CloudAction => ({
    on: "cloud",
    capability: "shelves",
    action: named,
    target: name,
    parameters,
    precondition: { uid, deleting: deletionTimestamp !== undefined },
  });
  const because = { code: "Shelved", message: `shelf ${number}` };
  const book = object.data["book"] ?? "";
  if (shelf === null) return changeOf(reference, action("rent", { number }), because);
  if (!shelf.books.includes(book)) return changeOf(reference, action("fill", { book }), because);
  if (object.data["shelf"] === String(shelf.number)) return leaveUnchanged(reference);
  const guard = { tests: [test("/data/book", book)], operations: [add("/data/shelf", String(shelf.number))] };
  return changeOf(reference, patchObject(CONFIG_MAPS, object, [guard]), because);
}

function changeOf(
  reference: ReturnType<typeof toReference>,
  write: CloudAction | ReturnType<typeof patchObject>,
  because: { readonly code: string; readonly message: string },
): Decision {
  const events = [buildClusterEvent("Synced", "Initialized", {})];
  return change(reference, [write], { because, events }) ?? leaveUnchanged(reference);
}

const State = z.object({
  metadata: z.object({ uid: z.string(), resourceVersion: z.string() }),
  data: z.record(z.string(), z.string()).prefault({}),
});

function numbersOf({ state }: DecisionContext): {
  readonly numbers: Readonly<Record<string, string>>;
  readonly version: { readonly uid: string; readonly resourceVersion: string } | undefined;
} {
  if (state?.kind !== "object") return { numbers: {}, version: undefined };
  const { metadata, data } = State.parse(state.object);
  const { uid, resourceVersion } = metadata;
  return { numbers: data, version: { uid, resourceVersion } };
}
