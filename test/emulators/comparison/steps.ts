import fc from "fast-check";

/** The compared resources, by their plural. */
export const RESOURCE_NAMES = [
  "nodes",
  "services",
  "events",
  "configmaps",
  "leases",
  "certificatesigningrequests",
  "nodeclaims",
] as const;
export type ResourceName = (typeof RESOURCE_NAMES)[number];

/** Few names, so that steps meet the objects of others. */
export const NAMES = ["first", "second", "third"] as const;

const resource = fc.constantFrom(...RESOURCE_NAMES, "nodes", "services");
const name = fc.constantFrom(...NAMES);
const accept = fc.constantFrom(
  "json",
  "json",
  "json",
  "any",
  "partial",
  "partial-list",
  "table",
  "yaml-only",
);
const dryRun = fc.constantFrom("", "", "", "", "All", "Some");

/** What the compared steps are, as data; a step names an object, and each server has its own of that name. */
const STEPS = {
  create: fc.record({
    resource,
    name,
    accept,
    dryRun,
    fault: fc.constantFrom(
      ...Array.from({ length: 8 }, () => "none" as const),
      "bad-name",
      "no-name",
      "generate-name",
      "versioned",
      "other-kind",
      "other-namespace",
      "bad-label",
      "bad-label-value",
      "no-json",
      "empty",
      "list",
      "null-metadata",
      "bare",
      "absent-namespace",
      "bad-annotation",
      "own-fields",
    ),
  }),
  get: fc.record({ resource, name, accept, subresource: fc.constantFrom("", "", "", "/status", "/scale") }),
  list: fc.record({
    resource,
    accept,
    limit: fc.constantFrom("", "", "1", "2", "0", "x"),
    continues: fc.constantFrom("", "", "last", "text"),
    labels: fc.constantFrom(
      "",
      "",
      "",
      "tier=a",
      "tier!=a",
      "tier in (a,b)",
      "!tier",
      "tier",
      "a b",
      "tier==",
    ),
    fields: fc.constantFrom("", "", "", "metadata.name=first", "metadata.name!=first", "spec.unknown=1", "x"),
    version: fc.constantFrom("", "", "0", "last", "future", "text"),
    match: fc.constantFrom("", "", "", "Exact", "NotOlderThan", "Other"),
    everywhere: fc.boolean(),
  }),
  update: fc.record({
    resource,
    name,
    accept,
    dryRun,
    version: fc.constantFrom("current", "current", "stale", "none", "text"),
    uid: fc.constantFrom("same", "same", "same", "other", "none"),
    fault: fc.constantFrom(
      "none",
      "none",
      "none",
      "none",
      "other-name",
      "no-name",
      "other-kind",
      "no-json",
      "finalizer",
    ),
    subresource: fc.constantFrom("", "", "/status"),
  }),
  patch: fc.record({
    resource,
    name,
    accept,
    dryRun,
    subresource: fc.constantFrom("", "", "/status", "/approval"),
    type: fc.constantFrom("json", "json", "merge", "merge", "strategic", "plain", "none"),
    change: fc.constantFrom(
      "label",
      "label",
      "no-label",
      "bad-label",
      "finalizer",
      "no-finalizer",
      "status",
      "version",
      "old-version",
      "uid",
      "name",
      "nothing",
      "failed-test",
      "wrong-form",
      "no-json",
    ),
  }),
  delete: fc.record({
    resource,
    name,
    accept,
    dryRun,
    uid: fc.constantFrom("", "", "same", "other"),
    version: fc.constantFrom("", "", "current", "stale"),
    body: fc.constantFrom("options", "options", "options", "no-json", "propagation", "bad-propagation"),
  }),
  odd: fc.record({
    request: fc.constantFrom(
      "wrong-method",
      "put-collection",
      "unknown-resource",
      "unknown-group",
      "unknown-path",
      "unknown-subresource",
      "too-large",
      "long-name",
      "discovery-core",
      "discovery-groups",
      "discovery-group",
      "discovery-group-version",
      "version",
      "self-subject",
      "self-access",
      "self-rules",
      "self-access-without-spec",
    ),
    resource,
  }),
} as const;

/** A step by its kind. */
export type Step = {
  [Kind in keyof typeof STEPS]: { readonly kind: Kind } & ((typeof STEPS)[Kind] extends fc.Arbitrary<
    infer Made
  >
    ? Readonly<Made>
    : never);
}[keyof typeof STEPS];

/** How often each kind of step is taken. */
const WEIGHTS: Readonly<Record<keyof typeof STEPS, number>> = {
  create: 6,
  get: 2,
  list: 4,
  update: 3,
  patch: 6,
  delete: 3,
  odd: 2,
};

/** Returns random steps, equal for equal seeds. */
export function sampleSteps(seed: number, count: number): readonly Step[] {
  const kinds = Object.entries(STEPS).map(([kind, arbitrary]) => ({
    weight: WEIGHTS[kind as keyof typeof STEPS],
    arbitrary: (arbitrary as fc.Arbitrary<object>).map((fields) => ({ kind, ...fields }) as Step),
  }));
  return fc.sample(fc.oneof(...kinds), { seed, numRuns: count });
}
