import type { PatchWrite } from "#core/decision.ts";
import { patchObject } from "#core/decisions.ts";
import { type Edit, NO_EDIT } from "#core/json-patch.ts";
import { SERVICES } from "#core/resources/resource.ts";
import { type Claimant, type ClaimFields, endClaim, markClaimIdle, takeClaim } from "#core/service/claims.ts";
import {
  ANNOTATIONS,
  addFinalizer,
  clearForbiddenStatus,
  clearStatus,
  LABELS,
  removeFinalizer,
  removeStateAnnotation,
  setLoadBalancerIP,
  setMap,
  setStateAnnotation,
  setStatus,
  testFinalizer,
  testStateAnnotation,
  testStillDesired,
  testUnchanged,
} from "#core/service/edits.ts";
import type { ServiceEdit } from "#core/service/model.ts";
import { hasFinalizer, hasLostType, isLoadBalancerService } from "#core/service/needs-work.ts";
import type { Ingress, Service } from "#core/service/service.ts";
import {
  type AnnotationFacts,
  createStateAnnotation,
  isGivenUp,
  NO_TARGETS,
  parseStateAnnotation,
  readNoNodeSince,
  type StateAnnotation,
  UNKNOWN_TARGETS,
} from "#core/service/state-annotation.ts";

/**
 * Claims a Service before the first change of the cloud: adds the finalizer, and records in the annotation
 * that work is in progress. Undefined when both are already written.
 */
export function claim(
  service: Service,
  facts: AnnotationFacts,
  claimant: Claimant,
  isCreating = false,
): PatchWrite | undefined {
  const making = takeClaim(getPreviousClaim(service), claimant, isCreating);
  const annotationEdit = setStateAnnotation(service, getApplyingFacts(service, { ...facts, making }));
  return patch(service, [testStillDesired(service), addFinalizer(service), annotationEdit]);
}

/** Records that work is in progress and that this actor waits for it, without requests in flight. */
export function writeIdleClaim(
  service: Service,
  facts: AnnotationFacts,
  claimant: Claimant,
): PatchWrite | undefined {
  const annotation = parseStateAnnotation(service);
  const making = markClaimIdle(annotation, claimant);
  const isAlreadyIdle = annotation?.state === "applying" && annotation.making === making;
  const annotationEdit = isAlreadyIdle
    ? NO_EDIT
    : setStateAnnotation(service, getApplyingFacts(service, { ...facts, making }));
  return patch(service, [testStillDesired(service), addFinalizer(service), annotationEdit]);
}

/**
 * Claims a Service that changed to another type. If it became a LoadBalancer again, this actor's requests
 * might still arrive. A Service that is being deleted never does, so it needs no claim.
 */
export function claimLeaving(service: Service, claimant: Claimant): PatchWrite | undefined {
  if (!hasLostType(service)) return undefined;
  const annotation: StateAnnotation = parseStateAnnotation(service) ?? {
    ...createStateAnnotation(service),
    state: "applying",
  };
  const { version: _, uid: __, ...facts } = annotation;
  const making = takeClaim(annotation, claimant, false);
  return patch(service, [
    testUnchanged(service),
    testFinalizer(service),
    clearForbiddenStatus(service),
    setStateAnnotation(service, { ...facts, making }),
  ]);
}

/** Claims a Service when only targets change: the rest stays recorded as applied, and needs no new check. */
export function claimTargets(
  service: Service,
  facts: AnnotationFacts,
  claimant: Claimant,
): PatchWrite | undefined {
  const { seen, desired } = getLastApplied(service);
  const making = takeClaim(getPreviousClaim(service), claimant, false);
  const targets = getClaimedTargets(service, facts);
  const annotationEdit = setStateAnnotation(service, { ...facts, seen, desired, targets, making });
  return patch(service, [testStillDesired(service), addFinalizer(service), annotationEdit]);
}

/**
 * Records which targets a load balancer has while its Service is otherwise refused. The record of what was
 * applied and what is in progress stays unchanged.
 */
export function recordTargets(
  service: Service,
  facts: AnnotationFacts,
  claimant: Claimant,
): PatchWrite | undefined {
  const annotation = parseStateAnnotation(service);
  const isApplying = annotation?.state === "applying";
  const making = isApplying ? markClaimIdle(annotation, claimant) : endClaim(annotation, claimant);
  return patch(service, [
    testStillDesired(service),
    addFinalizer(service),
    setTargets(service, facts, making),
  ]);
}

/** Claims a Service before its targets change while it is otherwise refused. */
export function claimTargetsOnly(
  service: Service,
  facts: AnnotationFacts,
  claimant: Claimant,
): PatchWrite | undefined {
  const making = takeClaim(getPreviousClaim(service), claimant, false);
  const annotationEdit = setTargets(service, { ...facts, targets: UNKNOWN_TARGETS }, making);
  return patch(service, [testStillDesired(service), addFinalizer(service), annotationEdit]);
}

/**
 * Records since when the API server has listed no node, or that the targets are unknown; the rest of the
 * annotation stays unchanged.
 */
export function recordNoNode(
  service: Service,
  targets: string,
  facts: Omit<AnnotationFacts, "targets">,
): PatchWrite | undefined {
  return patch(service, [testStillDesired(service), setStateAnnotation(service, { ...facts, targets })]);
}

/**
 * Returns the write of what a cloud's model requests on the Service itself; undefined when it is already
 * written.
 */
export function planServiceEdit(
  service: Service,
  { annotations, labels, loadBalancerIP }: ServiceEdit,
): PatchWrite | undefined {
  const edits = [
    testUnchanged(service),
    testStateAnnotation(service),
    clearForbiddenStatus(service),
    setMap(ANNOTATIONS, service.metadata.annotations, annotations),
    setMap(LABELS, service.metadata.labels, labels),
  ];
  if (loadBalancerIP === undefined) return patch(service, edits);
  return patchObject(SERVICES, service, [...edits, setLoadBalancerIP(service, loadBalancerIP)]);
}

/** Records that the resources of a Service that never had a load balancer are being removed, or are gone. */
export function writeRollback(service: Service, facts: AnnotationFacts): PatchWrite | undefined {
  return patch(service, [testStillDesired(service), setStateAnnotation(service, facts)]);
}

/** Records an applied state: addresses in the status, and all their hashes in the annotation. */
export function writeApplied(
  service: Service,
  ingress: readonly Ingress[],
  facts: AnnotationFacts,
): PatchWrite | undefined {
  return patch(service, [
    testStillDesired(service),
    addFinalizer(service),
    setStatus(service, ingress),
    setStateAnnotation(service, facts),
  ]);
}

/** Records since when the cloud has been checked for late resources of a leaving Service. */
export function writeLeaving(
  service: Service,
  { version: _, uid: _uid, ...facts }: StateAnnotation,
  now: Date,
): PatchWrite | undefined {
  return patch(service, [
    testUnchanged(service),
    testFinalizer(service),
    clearForbiddenStatus(service),
    setStateAnnotation(service, { ...facts, state: "leaving", at: now.toISOString() }),
  ]);
}

/**
 * Releases a Service whose load balancer is gone: removes finalizer, annotation and addresses in one patch.
 */
export function release(service: Service): PatchWrite | undefined {
  return patch(service, [...planFinalizerRemoval(service), clearStatus(service)]);
}

/**
 * Releases a Service whose status another component writes: removes finalizer and annotation, and keeps the
 * addresses.
 */
export function releaseWithoutStatus(service: Service): PatchWrite | undefined {
  return patch(service, planFinalizerRemoval(service));
}

const NOTHING = { seen: "", desired: "", targets: "" };

/** The finalizer of a living LoadBalancer Service of another class now belongs to that class's controller. */
function planFinalizerRemoval(service: Service): Edit[] {
  const finalizer = isLoadBalancerService(service) ? NO_EDIT : removeFinalizer(service);
  return [testUnchanged(service), finalizer, removeStateAnnotation(service)];
}

/** A guard alone is not written. */
function patch(service: Service, edits: readonly Edit[]): PatchWrite | undefined {
  return patchObject(SERVICES, service, edits, "status");
}

/**
 * Returns the claim on a Service that needs a load balancer. If the annotation was removed but the finalizer
 * is left, the actor at work is unknown, and its requests may still arrive.
 */
export function getPreviousClaim(service: Service): ClaimFields | undefined {
  return parseStateAnnotation(service) ?? (hasFinalizer(service) ? { state: "applying" } : undefined);
}

/** The work of a retry counts as in progress since the first try. */
function getApplyingFacts(service: Service, facts: AnnotationFacts): AnnotationFacts {
  const { seen, desired, targets } = getLastApplied(service);
  const annotation = parseStateAnnotation(service);
  const at = annotation?.state === "applying" ? annotation.at : facts.at;
  return { ...facts, seen, desired, targets, state: "applying", at };
}

/** They are unknown, except since when no node was listed, which the removal of the last target needs. */
function getClaimedTargets(service: Service, { targets }: AnnotationFacts): string {
  const annotation = parseStateAnnotation(service);
  const isLosingTargets =
    targets === NO_TARGETS && annotation !== undefined && readNoNodeSince(annotation) !== undefined;
  return isLosingTargets ? annotation.targets : UNKNOWN_TARGETS;
}

/** What was applied last, for later comparison; a refused state was never applied. */
function getLastApplied(service: Service): Pick<StateAnnotation, "seen" | "desired" | "targets"> {
  const annotation = parseStateAnnotation(service);
  return annotation === undefined || isGivenUp(annotation) ? NOTHING : annotation;
}

function setTargets(service: Service, facts: AnnotationFacts, making: StateAnnotation["making"]): Edit {
  const { targets, nodes, at } = facts;
  const {
    version: _,
    uid: __,
    making: ___,
    ...recorded
  } = parseStateAnnotation(service) ?? { ...facts, ...NOTHING, version: 1, uid: "" };
  return setStateAnnotation(service, {
    ...recorded,
    targets,
    nodes,
    // Other work counts as in progress since its first try.
    at: recorded.state === "applying" ? recorded.at : at,
    ...(making === undefined ? {} : { making }),
  });
}
