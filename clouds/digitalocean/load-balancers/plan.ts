import {
  annotationName,
  DISOWN_ANNOTATION,
  ID_ANNOTATION,
  readDisowned,
} from "#clouds/digitalocean/load-balancers/annotations/names.ts";
import type { LoadBalancerType } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { isTagged } from "#clouds/digitalocean/load-balancers/belonging.ts";
import { certificateOf } from "#clouds/digitalocean/load-balancers/certificate.ts";
import { bringAbout } from "#clouds/digitalocean/load-balancers/change.ts";
import type { LoadBalancerConfiguration } from "#clouds/digitalocean/load-balancers/configuration.ts";
import { create } from "#clouds/digitalocean/load-balancers/create.ts";
import { type Kind, readKind } from "#clouds/digitalocean/load-balancers/eligible.ts";
import { nameTagOf } from "#clouds/digitalocean/load-balancers/orphans/tags.ts";
import { allOwnOf, ownOf } from "#clouds/digitalocean/load-balancers/own.ts";
import type { Planned } from "#clouds/digitalocean/load-balancers/planned.ts";
import type { DigitalOceanState } from "#clouds/digitalocean/load-balancers/state.ts";
import { type Reading, readService, wantedOf } from "#clouds/digitalocean/load-balancers/wanted.ts";
import type { LoadBalancerStep, Problem } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

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
export function planRemoval(
  { service, state, configuration }: Planning,
  deletesOrphans: boolean,
): LoadBalancerStep {
  const disowned = readDisowned(service);
  if (disowned === undefined) return { kind: "refused", problem: unreadable(service) };
  if (disowned) return letGo({ service, state, configuration }, deletesOrphans);
  const [first, ...more] = allOwnOf(service, state.balancers, configuration);
  if (first === undefined) return { kind: "settled", ingress: [], warnings: [] };
  const deletion = ({ id }: LoadBalancer) => ({ action: "DeleteLoadBalancer", target: id, parameters: {} });
  const because = { code: "DeleteLoadBalancer", message: [first, ...more].map(({ id }) => id).join(", ") };
  return { kind: "act", because, actions: [deletion(first), ...more.map(deletion)] };
}

/**
 * Lets go of what is disowned: it stays, and says no more for which Service it was made. Nothing else is changed about it. The Service
 * waits for that only where orphans are deleted: elsewhere a tag that cannot be taken off costs a report of an orphan and nothing else.
 */
function letGo({ service, state, configuration }: Planning, deletesOrphans: boolean): LoadBalancerStep {
  const tag = nameTagOf(service);
  const tagged = state.balancers.filter(
    (balancer) => isTagged(balancer, configuration) && tag !== undefined && balancer.tags.includes(tag),
  );
  const parameters = { tag, ...(deletesOrphans ? {} : { optional: true }) };
  const untagging = ({ id }: LoadBalancer) => ({ action: "UntagLoadBalancer", target: id, parameters });
  const [first, ...more] = tagged;
  if (first === undefined) return { kind: "settled", ingress: [], warnings: [] };
  const because = { code: "LetGoOfLoadBalancer", message: tagged.map(({ id }) => id).join(", ") };
  return { kind: "act", because, actions: [untagging(first), ...more.map(untagging)] };
}

/** Where it is not clear whether it is to stay, it stays. */
function unreadable({ metadata: { annotations } }: Service): Problem {
  const value = annotations?.[DISOWN_ANNOTATION];
  return { code: "InvalidAnnotation", field: DISOWN_ANNOTATION, value, allowed: "true or false" };
}

const NO_CERTIFICATE = { kind: "built", value: { id: undefined, isRenewed: false } } as const;

/** Of one that is there it is as it was made. */
function kindOf(
  { annotations }: Reading,
  there: LoadBalancer | undefined,
  configuration: LoadBalancerConfiguration,
): Kind {
  if (there !== undefined) return readKind(there);
  const type: LoadBalancerType = annotations.type ?? configuration.defaultLoadBalancerType;
  return { type, network: annotations.network ?? "EXTERNAL" };
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
