import { LOAD_BALANCER_ANNOTATION, LOAD_BALANCER_FINALIZER } from "#core/contracts.ts";
import type { PatchWrite } from "#core/decision.ts";
import { patchObject } from "#core/decisions.ts";
import { add, type Edit, NO_EDIT, pointer, remove, setEntries, test } from "#core/json-patch.ts";
import { SERVICES } from "#core/resources/resource.ts";
import { type Claimant, type Claimed, endClaim, restClaim, takeClaim } from "#core/service/claims.ts";
import {
  blankMark,
  isGivenUp,
  isSameMark,
  type Mark,
  markOf,
  NO_TARGETS,
  readNoNodeSince,
  UNKNOWN_TARGETS,
  writtenMark,
} from "#core/service/mark.ts";
import type { ServiceEdit } from "#core/service/model.ts";
import {
  asksForLoadBalancer,
  hasFinalizer,
  hashOfIngress,
  hasLostType,
  ingressOf,
  isOfOurClass,
} from "#core/service/needs-work.ts";
import type { Ingress, Service } from "#core/service/service.ts";

const FINALIZERS = "/metadata/finalizers";
const ANNOTATIONS = "/metadata/annotations";
const ANNOTATION = `${ANNOTATIONS}${pointer(LOAD_BALANCER_ANNOTATION)}`;
const LABELS = "/metadata/labels";
const STATUS = "/status/loadBalancer";
const LOAD_BALANCER_IP = "/spec/loadBalancerIP";

/** What our annotation is to say of a Service, beside whose it is. */
export type MarkFacts = Omit<Mark, "version" | "uid">;

/**
 * Takes a Service on: the finalizer, and in our annotation that something is under way. It comes before the first change of the
 * cloud; undefined where both stand there.
 */
export function claim(
  service: Service,
  facts: MarkFacts,
  claimant: Claimant,
  isCreating = false,
): PatchWrite | undefined {
  const making = takeClaim(claimedBefore(service), claimant, isCreating);
  const mark = setMark(service, applying(service, { ...facts, making }));
  return patch(service, [asWanted(service), addFinalizer(service), mark]);
}

/** Says that something is under way, and that this actor waits for it: none of its requests is on its way any more. */
export function rest(service: Service, facts: MarkFacts, claimant: Claimant): PatchWrite | undefined {
  const before = markOf(service);
  const making = restClaim(before, claimant);
  const isResting = before?.state === "applying" && before.making === making;
  const mark = isResting ? NO_EDIT : setMark(service, applying(service, { ...facts, making }));
  return patch(service, [asWanted(service), addFinalizer(service), mark]);
}

/**
 * Claims a Service that has come to be of another type: were it to become one with a load balancer again, what this actor has sent may
 * still arrive. One that is being deleted never does.
 */
export function claimLeaving(service: Service, claimant: Claimant): PatchWrite | undefined {
  if (!hasLostType(service)) return undefined;
  const before: Mark = markOf(service) ?? { ...blankMark(service), state: "applying" };
  const { version: _, uid: __, ...facts } = before;
  const making = takeClaim(before, claimant, false);
  return patch(service, [asItIs(service), asHeld(service), setMark(service, { ...facts, making })]);
}

/** The same where nothing but targets is changed: all else stays as it was applied, and need not be looked at for these. */
export function claimTargets(service: Service, facts: MarkFacts, claimant: Claimant): PatchWrite | undefined {
  const { seen, desired } = appliedBefore(service);
  const making = takeClaim(claimedBefore(service), claimant, false);
  const targets = targetsWhileClaimed(service, facts);
  const mark = setMark(service, { ...facts, seen, desired, targets, making });
  return patch(service, [asWanted(service), addFinalizer(service), mark]);
}

/**
 * Records in our annotation which targets a load balancer has while something else that its Service asks for is refused. What was applied,
 * and what is under way, stays recorded as it is.
 */
export function recordTargets(
  service: Service,
  facts: MarkFacts,
  claimant: Claimant,
): PatchWrite | undefined {
  const before = markOf(service);
  const isUnderWay = before?.state === "applying";
  const making = isUnderWay ? restClaim(before, claimant) : endClaim(before, claimant);
  return patch(service, [asWanted(service), addFinalizer(service), setTargets(service, facts, making)]);
}

/** Claims a Service before targets are changed in that case. */
export function claimTargetsOnly(
  service: Service,
  facts: MarkFacts,
  claimant: Claimant,
): PatchWrite | undefined {
  const making = takeClaim(claimedBefore(service), claimant, false);
  const mark = setTargets(service, { ...facts, targets: UNKNOWN_TARGETS }, making);
  return patch(service, [asWanted(service), addFinalizer(service), mark]);
}

/** Says since when the API server has listed no node to send to, or that the targets are not known; all else stays as it was said. */
export function recordNoNode(
  service: Service,
  targets: string,
  facts: Omit<MarkFacts, "targets">,
): PatchWrite | undefined {
  return patch(service, [asWanted(service), setMark(service, { ...facts, targets })]);
}

/** What a cloud's model wants to stand on the Service itself; undefined where it stands there. */
export function edited(
  service: Service,
  { annotations, labels, loadBalancerIP }: ServiceEdit,
): PatchWrite | undefined {
  const edits = [
    asItIs(service),
    asClaimed(service),
    setMap(ANNOTATIONS, service.metadata.annotations, annotations),
    setMap(LABELS, service.metadata.labels, labels),
  ];
  if (loadBalancerIP === undefined) return patch(service, edits);
  return patchObject(SERVICES, service, [...edits, setLoadBalancerIP(service, loadBalancerIP)]);
}

/** Says on a Service that never had a load balancer that what was made of it goes again, or is gone. */
export function giveUp(service: Service, facts: MarkFacts): PatchWrite | undefined {
  return patch(service, [asWanted(service), setMark(service, facts)]);
}

/** Says on a Service what was done: addresses in the status, and all that they stand for in our annotation. */
export function settle(
  service: Service,
  ingress: readonly Ingress[],
  facts: MarkFacts,
): PatchWrite | undefined {
  return patch(service, [
    asWanted(service),
    addFinalizer(service),
    setStatus(service, ingress),
    setMark(service, facts),
  ]);
}

/** Says since when it is looked for whether anything of a Service that leaves comes to be seen. */
export function leave(
  service: Service,
  { version: _, uid: _uid, ...facts }: Mark,
  now: Date,
): PatchWrite | undefined {
  return patch(service, [
    asItIs(service),
    asHeld(service),
    setMark(service, { ...facts, state: "leaving", at: now.toISOString() }),
  ]);
}

/** Lets a Service go whose load balancer is gone: finalizer, annotation and addresses in one patch. */
export function release(service: Service): PatchWrite | undefined {
  return patch(service, [...withoutOurs(service), clearStatus(service)]);
}

/** The same where the addresses in the status are somebody else's to write. */
export function letGo(service: Service): PatchWrite | undefined {
  return patch(service, withoutOurs(service));
}

const NOTHING = { seen: "", desired: "", targets: "" };

/** The finalizer of a living Service with a load balancer of another class is by now that controller's. */
function withoutOurs(service: Service): Edit[] {
  const finalizer = asksForLoadBalancer(service) ? NO_EDIT : removeFinalizer(service);
  return [asItIs(service), finalizer, removeMark(service)];
}

/** Nothing is written for the sake of a guard alone. */
function patch(service: Service, edits: readonly Edit[]): PatchWrite | undefined {
  return patchObject(SERVICES, service, edits, "status");
}

/** It is still one that wants a load balancer. */
function asWanted({ spec }: Service): Edit {
  return {
    tests: [test("/spec/type", spec.type), test("/metadata/deletionTimestamp", null)],
    operations: [],
  };
}

/** It neither goes by now nor has come to want another thing than it did. */
function asItIs({ metadata: { deletionTimestamp }, spec }: Service): Edit {
  return {
    tests: [test("/spec/type", spec.type), test("/metadata/deletionTimestamp", deletionTimestamp ?? null)],
    operations: [],
  };
}

function addFinalizer(service: Service): Edit {
  if (hasFinalizer(service)) return NO_EDIT;
  const { finalizers } = service.metadata;
  return {
    tests: [test(FINALIZERS, finalizers ?? null)],
    operations: [
      finalizers === undefined
        ? add(FINALIZERS, [LOAD_BALANCER_FINALIZER])
        : add(`${FINALIZERS}/-`, LOAD_BALANCER_FINALIZER),
    ],
  };
}

/** The finalizer is on it still: another actor has not let it go since. */
function asHeld({ metadata: { finalizers = [] } }: Service): Edit {
  const path = `${FINALIZERS}/${finalizers.indexOf(LOAD_BALANCER_FINALIZER)}`;
  return { tests: [test(path, LOAD_BALANCER_FINALIZER)], operations: [] };
}

/** Only ours goes, wherever it stands; those of others stay. */
function removeFinalizer(service: Service): Edit {
  const { tests } = asHeld(service);
  return { tests, operations: tests.map(({ path }) => remove(path)) };
}

/** Our annotation is as it was read: no other actor has claimed the Service since. */
function asClaimed({ metadata: { annotations } }: Service): Edit {
  const text = annotations?.[LOAD_BALANCER_ANNOTATION];
  return text === undefined ? NO_EDIT : { tests: [test(ANNOTATION, text)], operations: [] };
}

/** What is tried once more has been under way since it was tried first. */
function applying(service: Service, facts: MarkFacts): MarkFacts {
  const { seen, desired, targets } = appliedBefore(service);
  const before = markOf(service);
  const at = before?.state === "applying" ? before.at : facts.at;
  return { ...facts, seen, desired, targets, state: "applying", at };
}

/** They are not known, but for how long no node was listed, which lets the last of them go. */
function targetsWhileClaimed(service: Service, { targets }: MarkFacts): string {
  const before = markOf(service);
  const isGoing = targets === NO_TARGETS && before !== undefined && readNoNodeSince(before) !== undefined;
  return isGoing ? before.targets : UNKNOWN_TARGETS;
}

/** What was applied last, which stays to be compared with; what was refused never was. */
function appliedBefore(service: Service): Pick<Mark, "seen" | "desired" | "targets"> {
  const before = markOf(service);
  return before === undefined || isGivenUp(before) ? NOTHING : before;
}

function setTargets(service: Service, facts: MarkFacts, making: Mark["making"]): Edit {
  const { targets, nodes, at } = facts;
  const {
    version: _,
    uid: __,
    making: ___,
    ...before
  } = markOf(service) ?? { ...facts, ...NOTHING, version: 1, uid: "" };
  return setMark(service, { ...before, targets, nodes, at, ...(making === undefined ? {} : { making }) });
}

function setMark(service: Service, facts: MarkFacts): Edit {
  const { uid, annotations } = service.metadata;
  const mark = { uid, ...facts };
  if (isSameMark(markOf(service), mark)) return NO_EDIT;
  const tests = [test(ANNOTATION, annotations?.[LOAD_BALANCER_ANNOTATION] ?? null)];
  const entry = { key: LOAD_BALANCER_ANNOTATION, value: writtenMark(mark), tests };
  return setEntries(ANNOTATIONS, annotations !== undefined, [entry]);
}

/** Entries that are as they are to be are left alone. */
function setMap(
  path: string,
  map: Readonly<Record<string, string>> | undefined,
  wanted: ServiceEdit["annotations"] = {},
): Edit {
  const different = Object.entries(wanted).filter(([key, value]) => (map?.[key] ?? null) !== value);
  const testOf = (key: string) => test(`${path}${pointer(key)}`, map?.[key] ?? null);
  const set = different.flatMap(([key, value]) =>
    value === null ? [] : [{ key, value, tests: [testOf(key)] }],
  );
  const gone = different.flatMap(([key, value]) => (value === null ? [key] : []));
  const { tests, operations } = setEntries(path, map !== undefined, set);
  return {
    tests: [...tests, ...gone.map(testOf)],
    operations: [...operations, ...gone.map((key) => remove(`${path}${pointer(key)}`))],
  };
}

function setLoadBalancerIP({ spec }: Service, wanted: string | null): Edit {
  const before = spec.loadBalancerIP ?? null;
  if (before === wanted) return NO_EDIT;
  const operation = wanted === null ? remove(LOAD_BALANCER_IP) : add(LOAD_BALANCER_IP, wanted);
  return { tests: [test(LOAD_BALANCER_IP, before)], operations: [operation] };
}

function removeMark({ metadata: { annotations } }: Service): Edit {
  const text = annotations?.[LOAD_BALANCER_ANNOTATION];
  if (text === undefined) return NO_EDIT;
  return { tests: [test(ANNOTATION, text)], operations: [remove(ANNOTATION)] };
}

function setStatus(service: Service, ingress: readonly Ingress[]): Edit {
  const before = ingressOf(service);
  if (hashOfIngress(before) === hashOfIngress(ingress)) return NO_EDIT;
  return {
    tests: [test(`${STATUS}/ingress`, before.length === 0 ? null : before)],
    operations: [add(STATUS, { ingress })],
  };
}

function clearStatus(service: Service): Edit {
  const before = ingressOf(service);
  // Those of another controller's class may be that one's by now.
  const isOurs = isOfOurClass(service) || markOf(service)?.ingress === hashOfIngress(before);
  if (before.length === 0 || !isOurs) return NO_EDIT;
  return { tests: [test(`${STATUS}/ingress`, before)], operations: [add(STATUS, {})] };
}

/**
 * What tells who is at work on a Service that wants a load balancer. Whoever took our annotation away and left the finalizer took away who
 * was at work, whose requests may still arrive.
 */
export function claimedBefore(service: Service): Claimed | undefined {
  return markOf(service) ?? (hasFinalizer(service) ? { state: "applying" } : undefined);
}
