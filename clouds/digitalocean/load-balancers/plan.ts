import {
  DISOWN_ANNOTATION,
  formatAnnotationName,
  ID_ANNOTATION,
  readDisowned,
} from "#clouds/digitalocean/load-balancers/annotations/names.ts";
import type { LoadBalancerType } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { selectCertificate } from "#clouds/digitalocean/load-balancers/certificate.ts";
import { planChange } from "#clouds/digitalocean/load-balancers/change.ts";
import type { LoadBalancerConfiguration } from "#clouds/digitalocean/load-balancers/configuration.ts";
import { planCreate } from "#clouds/digitalocean/load-balancers/create.ts";
import {
  buildDesiredState,
  readService,
  type ServiceReading,
} from "#clouds/digitalocean/load-balancers/desired-state.ts";
import { type Kind, readKind } from "#clouds/digitalocean/load-balancers/eligible-targets.ts";
import {
  findLoadBalancer,
  selectLoadBalancers,
} from "#clouds/digitalocean/load-balancers/find-load-balancer.ts";
import { formatNameTag } from "#clouds/digitalocean/load-balancers/orphans/tags.ts";
import { isTagged } from "#clouds/digitalocean/load-balancers/ownership.ts";
import type { PlanContext } from "#clouds/digitalocean/load-balancers/plan-context.ts";
import type { DigitalOceanState } from "#clouds/digitalocean/load-balancers/state.ts";
import type { Issue, LoadBalancerStep } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** Inputs of a plan. */
export interface PlanInput {
  readonly service: Service;
  readonly state: DigitalOceanState;
  readonly configuration: LoadBalancerConfiguration;
}

/** Returns the next step for a Service that needs a load balancer. */
export function planEnsure({ service, state, configuration }: PlanInput): LoadBalancerStep {
  const read = readService(service);
  if (read.kind === "refused") return read;
  const match = findLoadBalancer(service, state.balancers, configuration);
  if (match.kind === "refused") return match;
  const current = match.kind === "own" ? match.balancer : undefined;
  const kind = selectKind(read.value, current, configuration);
  const certificate =
    kind.type === "REGIONAL"
      ? selectCertificate(read.value, state.certificates, current, configuration.allow.certificates)
      : NO_CERTIFICATE;
  if (certificate.kind === "refused") return certificate;
  const desired = buildDesiredState(read.value, kind.type, certificate.value.id);
  if (desired.kind === "refused") return desired;
  const context: PlanContext = { reading: read.value, kind, desired: desired.value, state, configuration };
  if (current === undefined) return planCreate(context);
  const renewedId = certificate.value.isRenewed ? certificate.value.id : undefined;
  return planAnnotations(service, current, renewedId) ?? planChange(context, current);
}

/** Returns the next step for a Service that needs none. */
export function planRemoval(
  { service, state, configuration }: PlanInput,
  deletesOrphans: boolean,
): LoadBalancerStep {
  const disowned = readDisowned(service);
  if (disowned === undefined) return { kind: "refused", issue: buildUnreadableIssue(service) };
  if (disowned) return planRelease({ service, state, configuration }, deletesOrphans);
  const [first, ...more] = selectLoadBalancers(service, state.balancers, configuration);
  if (first === undefined) return { kind: "settled", ingress: [], warnings: [] };
  const buildDeletion = ({ id }: LoadBalancer) => ({
    action: "DeleteLoadBalancer",
    target: id,
    parameters: {},
  });
  const because = { code: "DeleteLoadBalancer", message: [first, ...more].map(({ id }) => id).join(", ") };
  return { kind: "act", because, actions: [buildDeletion(first), ...more.map(buildDeletion)] };
}

/**
 * Releases a disowned load balancer: it stays without the tag of its Service. Nothing else is changed. The
 * Service waits for that only if orphans are deleted; otherwise a tag that stays only causes a report of an
 * orphan.
 */
function planRelease(
  { service, state, configuration }: PlanInput,
  deletesOrphans: boolean,
): LoadBalancerStep {
  const tag = formatNameTag(service);
  const tagged = state.balancers.filter(
    (balancer) => isTagged(balancer, configuration) && tag !== undefined && balancer.tags.includes(tag),
  );
  const parameters = { tag, ...(deletesOrphans ? {} : { optional: true }) };
  const buildUntagging = ({ id }: LoadBalancer) => ({ action: "UntagLoadBalancer", target: id, parameters });
  const [first, ...more] = tagged;
  if (first === undefined) return { kind: "settled", ingress: [], warnings: [] };
  const because = { code: "LetGoOfLoadBalancer", message: tagged.map(({ id }) => id).join(", ") };
  return { kind: "act", because, actions: [buildUntagging(first), ...more.map(buildUntagging)] };
}

/** If it is unclear whether the load balancer should stay, it stays. */
function buildUnreadableIssue({ metadata: { annotations } }: Service): Issue {
  const value = annotations?.[DISOWN_ANNOTATION];
  return { code: "InvalidAnnotation", field: DISOWN_ANNOTATION, value, allowed: "true or false" };
}

const NO_CERTIFICATE = { kind: "built", value: { id: undefined, isRenewed: false } } as const;

/** An existing load balancer keeps its kind. */
function selectKind(
  { annotations }: ServiceReading,
  current: LoadBalancer | undefined,
  configuration: LoadBalancerConfiguration,
): Kind {
  if (current !== undefined) return readKind(current);
  const type: LoadBalancerType = annotations.type ?? configuration.defaultLoadBalancerType;
  return { type, network: annotations.network ?? "EXTERNAL" };
}

/**
 * Writes the id before anything else can fail, the type if no annotation names it, and the id of a renewed
 * certificate.
 */
function planAnnotations(
  service: Service,
  current: LoadBalancer,
  renewedId: string | undefined,
): LoadBalancerStep | undefined {
  const { annotations = {} } = service.metadata;
  const type = formatAnnotationName("type");
  const edit = {
    ...(annotations[ID_ANNOTATION] === current.id ? {} : { [ID_ANNOTATION]: current.id }),
    ...((annotations[type] ?? "").trim() === "" ? { [type]: current.type } : {}),
    ...(renewedId === undefined ? {} : { [formatAnnotationName("certificate-id")]: renewedId }),
  };
  if (Object.keys(edit).length === 0) return undefined;
  const because = {
    code: "AnnotateService",
    message: Object.entries(edit)
      .map((each) => each.join("="))
      .join(", "),
  };
  return { kind: "write", because, edit: { annotations: edit } };
}
