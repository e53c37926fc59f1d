import {
  annotationName,
  DISOWN_ANNOTATION,
  ID_ANNOTATION,
  readDisowned,
} from "#clouds/digitalocean/load-balancers/annotations/names.ts";
import type { LoadBalancerType } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import {
  belongingOf,
  clusterTagOf,
  defaultNameOf,
  isTagged,
  serviceTagOf,
} from "#clouds/digitalocean/load-balancers/belonging.ts";
import { type Body, creation, replacement } from "#clouds/digitalocean/load-balancers/body.ts";
import { certificateOf } from "#clouds/digitalocean/load-balancers/certificate.ts";
import { differences } from "#clouds/digitalocean/load-balancers/compare.ts";
import {
  isAllowed,
  type LoadBalancerConfiguration,
} from "#clouds/digitalocean/load-balancers/configuration.ts";
import {
  eligibleOf,
  type Kind,
  noneReachable,
  stackOf,
} from "#clouds/digitalocean/load-balancers/eligible.ts";
import { immutables } from "#clouds/digitalocean/load-balancers/immutable.ts";
import { allOwnOf, ownOf } from "#clouds/digitalocean/load-balancers/own.ts";
import type { DigitalOceanState, TargetDroplet } from "#clouds/digitalocean/load-balancers/state.ts";
import {
  type Reading,
  readService,
  type Wanted,
  wantedOf,
} from "#clouds/digitalocean/load-balancers/wanted.ts";
import { canonicalJson } from "#core/hash.ts";
import type { LoadBalancerStep, Problem } from "#core/service/model.ts";
import type { Ingress, Service } from "#core/service/service.ts";

/** What a plan is made of. */
export interface Planning {
  readonly service: Service;
  readonly state: DigitalOceanState;
  readonly configuration: LoadBalancerConfiguration;
}

/** What is next for a Service that wants a load balancer. */
export function planEnsure({ service, state, configuration }: Planning): LoadBalancerStep {
  const read = readService(service);
  if (read.kind === "refused") return read;
  const own = ownOf(service, state.balancers, configuration);
  if (own.kind === "refused") return own;
  const there = own.kind === "own" ? own.balancer : undefined;
  const kind = kindOf(read.value, there, configuration);
  const certificate =
    kind.type === "REGIONAL"
      ? certificateOf(read.value, state.certificates, there, configuration.allow.certificates)
      : NO_CERTIFICATE;
  if (certificate.kind === "refused") return certificate;
  const wanted = wantedOf(read.value, kind.type, certificate.value.id);
  if (wanted.kind === "refused") return wanted;
  const planned: Planned = { reading: read.value, kind, wanted: wanted.value, state, configuration };
  if (there === undefined) return create(planned);
  const renewed = certificate.value.isRenewed ? certificate.value.id : undefined;
  return written(service, there, renewed) ?? bringAbout(planned, there);
}

/** What is next for a Service that wants none. */
export function planRemoval({ service, state, configuration }: Planning): LoadBalancerStep {
  const disowned = readDisowned(service);
  if (disowned === undefined) return { kind: "refused", problem: unreadable(service) };
  const [first, ...more] = disowned ? [] : allOwnOf(service, state.balancers, configuration);
  if (first === undefined) return { kind: "settled", ingress: [], warnings: [] };
  const deletion = ({ id }: LoadBalancer) => ({ action: "DeleteLoadBalancer", target: id, parameters: {} });
  const because = { code: "DeleteLoadBalancer", message: [first, ...more].map(({ id }) => id).join(", ") };
  return { kind: "act", because, actions: [deletion(first), ...more.map(deletion)] };
}

/** Where it is not clear whether it is to stay, it stays. */
function unreadable({ metadata: { annotations } }: Service): Problem {
  const value = annotations?.[DISOWN_ANNOTATION];
  return { code: "InvalidAnnotation", field: DISOWN_ANNOTATION, value, allowed: "true or false" };
}

interface Planned {
  readonly reading: Reading;
  readonly kind: Kind;
  readonly wanted: Wanted;
  readonly state: DigitalOceanState;
  readonly configuration: LoadBalancerConfiguration;
}

const NO_CERTIFICATE = { kind: "built", value: { id: undefined, isRenewed: false } } as const;

/** Of one that is there it is as it was made. */
function kindOf(
  { annotations }: Reading,
  there: LoadBalancer | undefined,
  configuration: LoadBalancerConfiguration,
): Kind {
  if (there !== undefined)
    return {
      type: there.type === "REGIONAL_NETWORK" ? "REGIONAL_NETWORK" : "REGIONAL",
      network: there.network === "INTERNAL" ? "INTERNAL" : "EXTERNAL",
    };
  const type: LoadBalancerType = annotations.type ?? configuration.defaultLoadBalancerType;
  return { type, network: annotations.network ?? "EXTERNAL" };
}

function create({ reading, kind, wanted, state, configuration }: Planned): LoadBalancerStep {
  const { service, annotations } = reading;
  const { ip, "subnet-uuid": subnet } = annotations;
  const { allow, region, vpc } = configuration;
  if (ip !== undefined && !isAllowed(allow.ips, ip)) return notAllowed("ip", service, "cloud.allow.ips");
  if (subnet !== undefined && !isAllowed(allow.subnets, subnet))
    return notAllowed("subnet-uuid", service, "cloud.allow.subnets");
  const eligible = eligibleOf(state.targets, kind);
  if (eligible.length === 0) {
    const problem = noneReachable(state.targets, kind);
    if (problem !== undefined) return { kind: "refused", problem };
    return state.targets.some((target) => target.kind === "unknown") ? NODES_UNKNOWN : NO_NODES;
  }
  const stack = stackOf(kind, eligible, annotations["network-stack"], service);
  if ("problem" in stack) return { kind: "refused", problem: stack.problem };
  const name = annotations.name ?? defaultNameOf(service);
  const foundation = {
    ...{ region, ...kind, network_stack: stack.stack, vpc_uuid: vpc, subnet_uuid: subnet, ip },
    tags: [
      ...ownTags(configuration),
      // By its name it could not be told whose it is.
      ...(name === defaultNameOf(service) ? [] : [serviceTagOf(service)]),
    ],
  };
  const body = creation(foundation, { ...wanted, name, droplet_ids: sorted(eligible.map(({ id }) => id)) });
  const message = `${kind.type}, ${kind.network}, ${counted(wanted, eligible.length)}`;
  return act("CreateLoadBalancer", name, body, message);
}

function bringAbout(
  { reading, kind, wanted, state, configuration }: Planned,
  there: LoadBalancer,
): LoadBalancerStep {
  if (there.status === "new") return PROVISIONING;
  const targets = targetsOf(state.targets, kind, there);
  if (targets.length === 0 && state.targets.length > 0) {
    const problem = noneReachable(state.targets, kind);
    return problem === undefined ? NODES_UNKNOWN : { kind: "refused", problem };
  }
  const name = nameFor(reading, there, configuration);
  const target = { ...wanted, name: name.name, droplet_ids: targets };
  const differing = differences(there, target);
  const tags = [...new Set([...there.tags, ...ownTags(configuration)])];
  const body = replacement(there, target, tags);
  // What the API takes and shows otherwise is not sent once more in the same breath.
  if (differing.length > 0 && canonicalJson(body) !== state.sent)
    return act("ReplaceLoadBalancer", there.id, body, `differs in ${differing.join(", ")}`);
  if (there.status !== "active")
    return {
      kind: "refused",
      problem: { code: "LoadBalancerFailed", detail: `${there.id} is ${there.status}` },
    };
  const { hostname } = reading.annotations;
  const ingress: Ingress[] =
    hostname === undefined
      ? [there.ip, there.ipv6].filter((ip) => ip !== "").map((ip) => ({ ip }))
      : [{ hostname: hostname.toLowerCase() }];
  const warnings = [
    ...reading.warnings,
    ...immutables(reading, there),
    ...name.problems,
    ...nodesLeftOut(state.targets),
  ];
  return there.ip === "" ? PROVISIONING : { kind: "settled", ingress, warnings };
}

/** The id, before anything else can fail, with the type where nobody says it, and with the id of a renewed certificate. */
function written(
  service: Service,
  there: LoadBalancer,
  renewed: string | undefined,
): LoadBalancerStep | undefined {
  const { annotations = {} } = service.metadata;
  const type = annotationName("type");
  const edit = {
    ...(annotations[ID_ANNOTATION] === there.id ? {} : { [ID_ANNOTATION]: there.id }),
    ...((annotations[type] ?? "").trim() === "" ? { [type]: there.type } : {}),
    ...(renewed === undefined ? {} : { [annotationName("certificate-id")]: renewed }),
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

/** What cannot be told stays where it is, and comes nowhere new. */
function targetsOf(targets: readonly TargetDroplet[], kind: Kind, there: LoadBalancer): readonly string[] {
  const present = new Set(there.droplet_ids);
  const kept = targets.flatMap((target) =>
    target.kind === "unknown" && target.id !== undefined && present.has(target.id) ? [target.id] : [],
  );
  return sorted([...eligibleOf(targets, kind).map(({ id }) => id), ...kept]);
}

/** One by whose name alone it can be told whose it is keeps that name. */
function nameFor(
  { service, annotations }: Reading,
  there: LoadBalancer,
  configuration: LoadBalancerConfiguration,
): { readonly name: string; readonly problems: readonly Problem[] } {
  const own = defaultNameOf(service);
  const name = annotations.name ?? own;
  const isKnownElse =
    isTagged(there, configuration) ||
    belongingOf({ ...there, name: "" }, service, configuration) === "service";
  if (name === own || name === there.name || isKnownElse) return { name, problems: [] };
  const detail =
    "clusterID is not configured, or the load balancer does not carry its tag: by its name alone it is the Service's";
  const field = annotationName("name");
  const value = service.metadata.annotations?.[field];
  return { name: there.name, problems: [{ code: "LoadBalancerImmutable", field, value, detail }] };
}

function nodesLeftOut(targets: readonly TargetDroplet[]): readonly Problem[] {
  const messages = targets.flatMap((target) => (target.kind === "not-ours" ? [target.message] : []));
  const [first] = messages;
  if (first === undefined) return [];
  return [
    {
      code: "NodeNotUsable",
      detail: messages.length === 1 ? first : `${first}, and ${messages.length - 1} more`,
    },
  ];
}

function ownTags({ clusterID }: LoadBalancerConfiguration): readonly string[] {
  return clusterID === undefined ? [] : [clusterTagOf(clusterID)];
}

function notAllowed(suffix: "ip" | "subnet-uuid", { metadata }: Service, key: string): LoadBalancerStep {
  const field = annotationName(suffix);
  const value = metadata.annotations?.[field];
  return { kind: "refused", problem: { code: "NotAllowed", field, value, detail: `it is not among ${key}` } };
}

function act(action: string, target: string, body: Body, message: string): LoadBalancerStep {
  return {
    kind: "act",
    because: { code: action, message },
    actions: [{ action, target, parameters: { body } }],
  };
}

function counted({ forwarding_rules: rules }: Wanted, targets: number): string {
  return `${rules.length} rules, ${targets} droplets`;
}

/** As numbers, so that the order does not depend on who came when. */
function sorted(ids: readonly string[]): readonly string[] {
  return [...new Set(ids)].sort((one, other) => one.length - other.length || (one < other ? -1 : 1));
}

const PROVISIONING: LoadBalancerStep = {
  kind: "wait",
  because: { code: "Provisioning", message: "DigitalOcean is making the load balancer" },
  afterSeconds: 15,
};
const NODES_UNKNOWN: LoadBalancerStep = {
  kind: "wait",
  because: { code: "TargetsUnknown", message: "of none of the nodes it can be told which droplet it is" },
  afterSeconds: 30,
};
/** A node that comes is an event of its own. */
const NO_NODES: LoadBalancerStep = {
  kind: "wait",
  because: { code: "NoTargets", message: "there is no node that the load balancer could send to" },
  afterSeconds: 300,
};
