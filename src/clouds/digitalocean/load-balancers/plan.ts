import {
  DISOWN_ANNOTATION,
  formatAnnotationName,
  ID_ANNOTATION,
  type LoadBalancerType,
  readDisowned,
} from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { buildCreateBody } from "#clouds/digitalocean/load-balancers/body.ts";
import { selectCertificate } from "#clouds/digitalocean/load-balancers/certificate.ts";
import {
  act,
  listOwnTags,
  NO_NODES,
  NODES_UNKNOWN,
  type PlanContext,
  planChange,
  sortIds,
} from "#clouds/digitalocean/load-balancers/change.ts";
import {
  buildDesiredState,
  type DesiredState,
  readService,
  type ServiceReading,
} from "#clouds/digitalocean/load-balancers/desired-state.ts";
import {
  type Kind,
  readKind,
  rejectUnreachable,
  selectEligible,
  selectNetworkStack,
} from "#clouds/digitalocean/load-balancers/eligible-targets.ts";
import { formatNameTag } from "#clouds/digitalocean/load-balancers/orphans/tags.ts";
import {
  findLoadBalancer,
  formatDefaultName,
  formatServiceTag,
  isNamedByUid,
  isTagged,
  selectLoadBalancers,
} from "#clouds/digitalocean/load-balancers/ownership.ts";
import {
  type DigitalOceanState,
  isAllowed,
  type LoadBalancerConfiguration,
} from "#clouds/digitalocean/load-balancers/state.ts";
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
  const buildTagRemoval = ({ id }: LoadBalancer) => ({ action: "UntagLoadBalancer", target: id, parameters });
  const [first, ...more] = tagged;
  if (first === undefined) return { kind: "settled", ingress: [], warnings: [] };
  const because = { code: "LetGoOfLoadBalancer", message: tagged.map(({ id }) => id).join(", ") };
  return { kind: "act", because, actions: [buildTagRemoval(first), ...more.map(buildTagRemoval)] };
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

/** Creates a load balancer once a node can be its target. */
function planCreate({ reading, kind, desired, state, configuration }: PlanContext): LoadBalancerStep {
  const { service, annotations } = reading;
  const { ip, "subnet-uuid": subnet } = annotations;
  const { allow, region, vpc } = configuration;
  if (ip !== undefined && !isAllowed(allow.ips, ip))
    return rejectNotAllowed("ip", service, "cloud.allow.ips");
  if (subnet !== undefined && !isAllowed(allow.subnets, subnet))
    return rejectNotAllowed("subnet-uuid", service, "cloud.allow.subnets");
  const eligible = selectEligible(state.targets, kind);
  if (eligible.length === 0) {
    const isUnknown = state.targets.some((target) => target.kind === "unknown");
    return rejectUnreachable(state.targets, kind) ?? (isUnknown ? NODES_UNKNOWN : NO_NODES);
  }
  const stack = selectNetworkStack(kind, eligible, annotations["network-stack"], service);
  if ("issue" in stack) return { kind: "refused", issue: stack.issue };
  const name = annotations.name ?? formatDefaultName(service);
  const fixedSettings = {
    ...{ region, ...kind, network_stack: stack.stack, vpc_uuid: vpc, subnet_uuid: subnet, ip },
    tags: [
      ...listOwnTags(configuration),
      ...listNameTags(service, configuration),
      // Its name would not show its owner.
      ...(isNamedByUid(name, service) ? [] : [formatServiceTag(service)]),
    ],
  };
  const body = buildCreateBody(fixedSettings, {
    ...desired,
    name,
    droplet_ids: sortIds(eligible.map(({ id }) => id)),
  });
  const message = `${kind.type}, ${kind.network}, ${describeCounts(desired, eligible.length)}`;
  // A second request would create a second load balancer, and a list may lag behind.
  return { ...act("CreateLoadBalancer", name, body, message), once: true };
}

/** Tags that identify its Service after that is gone; without a cluster ID no audit reads them. */
function listNameTags(service: Service, { clusterID }: PlanContext["configuration"]): readonly string[] {
  const tag = clusterID === undefined ? undefined : formatNameTag(service);
  return tag === undefined ? [] : [tag];
}

function rejectNotAllowed(
  suffix: "ip" | "subnet-uuid",
  { metadata }: Service,
  key: string,
): LoadBalancerStep {
  const field = formatAnnotationName(suffix);
  const value = metadata.annotations?.[field];
  return { kind: "refused", issue: { code: "NotAllowed", field, value, detail: `it is not among ${key}` } };
}

function describeCounts({ forwarding_rules: rules }: DesiredState, targets: number): string {
  return `${rules.length} rules, ${targets} droplets`;
}
