import { LOAD_BALANCER_ANNOTATION, LOAD_BALANCER_FINALIZER } from "#core/contracts.ts";
import { add, type Edit, formatPointer, NO_EDIT, remove, setEntries, test } from "#core/json-patch.ts";
import type { ServiceEdit } from "#core/service/model.ts";
import {
  getIngress,
  hasFinalizer,
  hashIngress,
  hasLoadBalancerType,
  isOfOurClass,
} from "#core/service/needs-work.ts";
import type { Ingress, Service } from "#core/service/service.ts";
import {
  type AnnotationFacts,
  formatStateAnnotation,
  isSameStateAnnotation,
  parseStateAnnotation,
} from "#core/service/state-annotation.ts";

// Edits of a Service: each is guarded by tests of exactly what it was decided on, and is empty if nothing differs.

const FINALIZERS = "/metadata/finalizers";
export const ANNOTATIONS = "/metadata/annotations";
const ANNOTATION = `${ANNOTATIONS}${formatPointer(LOAD_BALANCER_ANNOTATION)}`;
export const LABELS = "/metadata/labels";
const STATUS = "/status/loadBalancer";
const LOAD_BALANCER_IP = "/spec/loadBalancerIP";

/** Tests that the Service still needs a load balancer. */
export function testStillDesired({ spec }: Service): Edit {
  return {
    tests: [test("/spec/type", spec.type), test("/metadata/deletionTimestamp", null)],
    operations: [],
  };
}

/** Tests that the Service has neither been deleted nor changed its request. */
export function testUnchanged({ metadata: { deletionTimestamp }, spec }: Service): Edit {
  return {
    tests: [test("/spec/type", spec.type), test("/metadata/deletionTimestamp", deletionTimestamp ?? null)],
    operations: [],
  };
}

/** Adds our finalizer if it is missing. */
export function addFinalizer(service: Service): Edit {
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

/** Tests that the finalizer still exists: no other actor has released the Service since. */
export function testFinalizer({ metadata: { finalizers = [] } }: Service): Edit {
  const path = `${FINALIZERS}/${finalizers.indexOf(LOAD_BALANCER_FINALIZER)}`;
  return { tests: [test(path, LOAD_BALANCER_FINALIZER)], operations: [] };
}

/** Removes only our finalizer, at any index. */
export function removeFinalizer(service: Service): Edit {
  const { tests } = testFinalizer(service);
  return { tests, operations: tests.map(({ path }) => remove(path)) };
}

/** Tests that our annotation is unchanged: no other actor has claimed the Service since. */
export function testStateAnnotation({ metadata: { annotations } }: Service): Edit {
  const text = annotations?.[LOAD_BALANCER_ANNOTATION];
  return text === undefined ? NO_EDIT : { tests: [test(ANNOTATION, text)], operations: [] };
}

/** Writes the state annotation if it differs. */
export function setStateAnnotation(service: Service, facts: AnnotationFacts): Edit {
  const { uid, annotations } = service.metadata;
  const desired = { uid, ...facts };
  if (isSameStateAnnotation(parseStateAnnotation(service), desired)) return NO_EDIT;
  const tests = [test(ANNOTATION, annotations?.[LOAD_BALANCER_ANNOTATION] ?? null)];
  const entry = { key: LOAD_BALANCER_ANNOTATION, value: formatStateAnnotation(desired), tests };
  return setEntries(ANNOTATIONS, annotations !== undefined, [entry]);
}

/** Sets the entries of annotations or labels that differ, and removes those that are null. */
export function setMap(
  path: string,
  map: Readonly<Record<string, string>> | undefined,
  desired: ServiceEdit["annotations"] = {},
): Edit {
  const different = Object.entries(desired).filter(([key, value]) => (map?.[key] ?? null) !== value);
  const testValue = (key: string) => test(`${path}${formatPointer(key)}`, map?.[key] ?? null);
  const entries = different.flatMap(([key, value]) =>
    value === null ? [] : [{ key, value, tests: [testValue(key)] }],
  );
  const removedKeys = different.flatMap(([key, value]) => (value === null ? [key] : []));
  const { tests, operations } = setEntries(path, map !== undefined, entries);
  return {
    tests: [...tests, ...removedKeys.map(testValue)],
    operations: [...operations, ...removedKeys.map((key) => remove(`${path}${formatPointer(key)}`))],
  };
}

/** Sets `spec.loadBalancerIP`, or removes it for null. */
export function setLoadBalancerIP({ spec }: Service, desired: string | null): Edit {
  const current = spec.loadBalancerIP ?? null;
  if (current === desired) return NO_EDIT;
  const operation = desired === null ? remove(LOAD_BALANCER_IP) : add(LOAD_BALANCER_IP, desired);
  return { tests: [test(LOAD_BALANCER_IP, current)], operations: [operation] };
}

/** Removes the state annotation as it was read. */
export function removeStateAnnotation({ metadata: { annotations } }: Service): Edit {
  const text = annotations?.[LOAD_BALANCER_ANNOTATION];
  if (text === undefined) return NO_EDIT;
  return { tests: [test(ANNOTATION, text)], operations: [remove(ANNOTATION)] };
}

/** Writes the addresses if they differ. */
export function setStatus(service: Service, ingress: readonly Ingress[]): Edit {
  const current = getIngress(service);
  if (hashIngress(current) === hashIngress(ingress)) return NO_EDIT;
  return {
    tests: [test(`${STATUS}/ingress`, current.length === 0 ? null : current)],
    operations: [add(STATUS, { ingress })],
  };
}

/** Removes the addresses if they are ours. */
export function clearStatus(service: Service): Edit {
  const current = getIngress(service);
  // The addresses of a Service of another class may belong to that class's controller.
  const isOurs =
    !hasLoadBalancerType(service) ||
    isOfOurClass(service) ||
    parseStateAnnotation(service)?.ingress === hashIngress(current);
  if (current.length === 0 || !isOurs) return NO_EDIT;
  return { tests: [test(`${STATUS}/ingress`, current)], operations: [add(STATUS, {})] };
}

/**
 * Removes the addresses of a Service of another type than LoadBalancer, which older API servers left there. With
 * them, the API server rejects every change of the status.
 */
export function clearForbiddenStatus(service: Service): Edit {
  return hasLoadBalancerType(service) ? NO_EDIT : clearStatus(service);
}
