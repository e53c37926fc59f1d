import * as z from "zod";
import { listRights } from "#emulators/api-server/authorize.ts";
import { createBadRequest, createInvalid } from "#emulators/api-server/status.ts";
import type { ControlPlaneUser } from "#emulators/harness/control-plane.ts";

const AUTHENTICATION = "authentication.k8s.io/v1";
const AUTHORIZATION = "authorization.k8s.io/v1";

/** The reviews of a caller's own identity and rights, by path. They are not stored. */
const REVIEWS: Readonly<Record<string, (user: ControlPlaneUser, body: unknown) => object>> = {
  [`/apis/${AUTHENTICATION}/selfsubjectreviews`]: reviewSubject,
  [`/apis/${AUTHORIZATION}/selfsubjectaccessreviews`]: reviewAccess,
  [`/apis/${AUTHORIZATION}/selfsubjectrulesreviews`]: reviewRules,
};

/** Returns whether the path is that of such a review. */
export function isSelfReview(pathname: string): boolean {
  return Object.hasOwn(REVIEWS, pathname);
}

/** Returns the answered review; throws a Refusal if the body is not a review. */
export function answerSelfReview(pathname: string, user: ControlPlaneUser, body: string): object {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    throw createBadRequest(
      "the object provided is unrecognized: couldn't get version/kind; json parse error",
    );
  }
  return REVIEWS[pathname]?.(user, parsed) ?? {};
}

function reviewSubject({ name, groups }: ControlPlaneUser): object {
  const userInfo = { username: name, uid: name, groups: [...groups, "system:authenticated"] };
  const metadata = { creationTimestamp: `${new Date().toISOString().slice(0, 19)}Z` };
  return { kind: "SelfSubjectReview", apiVersion: AUTHENTICATION, metadata, status: { userInfo } };
}

const Access = z.object({
  spec: z.object({
    resourceAttributes: z.object({
      verb: z.string(),
      group: z.string().prefault(""),
      resource: z.string(),
      subresource: z.string().optional(),
      namespace: z.string().optional(),
      name: z.string().optional(),
    }),
  }),
});

function reviewAccess(user: ControlPlaneUser, body: unknown): object {
  const asked = Access.safeParse(body).data?.spec.resourceAttributes;
  if (asked === undefined)
    throw createInvalid({ group: "authorization.k8s.io", name: "" }, "", [NO_ATTRIBUTES]);
  const allowed =
    isMaster(user) ||
    listRights(user).some(
      (right) =>
        right.verb === asked.verb &&
        right.group === asked.group &&
        right.resource === asked.resource &&
        right.subresource === asked.subresource &&
        (right.namespace === undefined || right.namespace === asked.namespace) &&
        (right.name === undefined || right.name === asked.name),
    );
  const attributes = Object.entries(asked).filter(([, value]) => value !== "");
  const spec = { resourceAttributes: Object.fromEntries(attributes) };
  return {
    kind: "SelfSubjectAccessReview",
    apiVersion: AUTHORIZATION,
    metadata: {},
    spec,
    status: { allowed },
  };
}

const NO_ATTRIBUTES = {
  reason: "FieldValueInvalid",
  message:
    "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
  field: "spec.resourceAttributes",
};

const Rules = z.object({ spec: z.object({ namespace: z.string().min(1) }) });

/**
 * Returns the rules that `infra/rbac/` grants by default. Rights of controllers that are disabled by default
 * exist but are not listed, as if not applied.
 */
function reviewRules(user: ControlPlaneUser, body: unknown): object {
  const namespace = Rules.safeParse(body).data?.spec.namespace;
  if (namespace === undefined) throw createBadRequest("no namespace on request");
  const everything = { verbs: ["*"], apiGroups: ["*"], resources: ["*"] };
  const rights = listRights(user).filter(
    (right) =>
      (right.namespace === undefined || right.namespace === namespace) &&
      right.controller === undefined &&
      right.cloud === undefined &&
      right.lookAhead === undefined &&
      right.writes === undefined,
  );
  const resourceRules = isMaster(user)
    ? [everything]
    : rights.map(({ verb, group, resource, subresource, name }) => ({
        verbs: [verb],
        apiGroups: [group],
        resources: [subresource === undefined ? resource : `${resource}/${subresource}`],
        ...(name === undefined ? {} : { resourceNames: [name] }),
      }));
  const status = { resourceRules, nonResourceRules: [], incomplete: false };
  return { kind: "SelfSubjectRulesReview", apiVersion: AUTHORIZATION, metadata: {}, spec: {}, status };
}

function isMaster({ groups }: ControlPlaneUser): boolean {
  return groups.includes("system:masters");
}
