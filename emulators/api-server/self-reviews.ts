import * as z from "zod";
import { rightsOfUser } from "#emulators/api-server/authorize.ts";
import { badRequest } from "#emulators/api-server/status.ts";
import type { ControlPlaneUser } from "#emulators/harness/control-plane.ts";

const AUTHENTICATION = "authentication.k8s.io/v1";
const AUTHORIZATION = "authorization.k8s.io/v1";

/** The reviews by which somebody asks who he is and what he may do, by their paths. Nothing of them is stored. */
const REVIEWS: Readonly<Record<string, (user: ControlPlaneUser, body: unknown) => object>> = {
  [`/apis/${AUTHENTICATION}/selfsubjectreviews`]: reviewSubject,
  [`/apis/${AUTHORIZATION}/selfsubjectaccessreviews`]: reviewAccess,
  [`/apis/${AUTHORIZATION}/selfsubjectrulesreviews`]: reviewRules,
};

/** Whether the path is that of such a review. */
export function isSelfReview(pathname: string): boolean {
  return Object.hasOwn(REVIEWS, pathname);
}

/** The review, answered; throws a Refusal where the body is none. */
export function answerSelfReview(pathname: string, user: ControlPlaneUser, body: string): object {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    throw badRequest("the body of the review is no JSON");
  }
  return REVIEWS[pathname]?.(user, parsed) ?? {};
}

function reviewSubject({ name, groups }: ControlPlaneUser): object {
  const userInfo = { username: name, groups: [...groups, "system:authenticated"] };
  return { kind: "SelfSubjectReview", apiVersion: AUTHENTICATION, status: { userInfo } };
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
  if (asked === undefined) throw badRequest("spec.resourceAttributes of the review is missing");
  const allowed =
    isMaster(user) ||
    rightsOfUser(user).some(
      (right) =>
        right.verb === asked.verb &&
        right.group === asked.group &&
        right.resource === asked.resource &&
        right.subresource === asked.subresource &&
        (right.namespace === undefined || right.namespace === asked.namespace) &&
        (right.name === undefined || right.name === asked.name),
    );
  return { kind: "SelfSubjectAccessReview", apiVersion: AUTHORIZATION, status: { allowed } };
}

const Rules = z.object({ spec: z.object({ namespace: z.string().min(1) }) });

/** What `infra/rbac/` grants by itself; rights of controllers that are off by default are there, and in no list, as if not applied. */
function reviewRules(user: ControlPlaneUser, body: unknown): object {
  const namespace = Rules.safeParse(body).data?.spec.namespace;
  if (namespace === undefined) throw badRequest("spec.namespace of the review is missing");
  const everything = { verbs: ["*"], apiGroups: ["*"], resources: ["*"] };
  const rights = rightsOfUser(user).filter(
    (right) =>
      (right.namespace === undefined || right.namespace === namespace) &&
      right.controller === undefined &&
      right.cloud === undefined &&
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
  return { kind: "SelfSubjectRulesReview", apiVersion: AUTHORIZATION, status };
}

function isMaster({ groups }: ControlPlaneUser): boolean {
  return groups.includes("system:masters");
}
