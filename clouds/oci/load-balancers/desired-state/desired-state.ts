import {
  getLoadBalancerKind,
  readAnnotations,
} from "#clouds/oci/load-balancers/annotations/read-annotations.ts";
import type { RuleSet } from "#clouds/oci/load-balancers/annotations/rule-sets.ts";
import {
  type AnnotationSettings,
  findAnnotation,
  type LoadBalancerKind,
} from "#clouds/oci/load-balancers/annotations/table.ts";
import {
  getConfiguration,
  type LoadBalancerConfiguration,
  listCompartments,
} from "#clouds/oci/load-balancers/configuration.ts";
import { selectFamilies } from "#clouds/oci/load-balancers/desired-state/families.ts";
import {
  buildHealthCheck,
  type DesiredHealthCheck,
} from "#clouds/oci/load-balancers/desired-state/health-check.ts";
import {
  type DesiredPort,
  type IpFamily,
  readPorts,
} from "#clouds/oci/load-balancers/desired-state/ports.ts";
import { type RuleMode, readRuleMode } from "#clouds/oci/load-balancers/desired-state/rule-mode.ts";
import { type DesiredShape, readShape } from "#clouds/oci/load-balancers/desired-state/shape.ts";
import { formatDisplayName, isUsableUid } from "#clouds/oci/load-balancers/names.ts";
import type { Issue } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import { readSourceRanges } from "#core/service/source-ranges.ts";
import type { Settings } from "#core/settings.ts";

/** The desired state of a Service, as far as the Service and the configuration define it. */
export interface DesiredState {
  readonly kind: LoadBalancerKind;
  readonly displayName: string;
  readonly compartment: string;
  readonly isPrivate: boolean;
  readonly families: readonly IpFamily[];
  readonly ports: readonly DesiredPort[];
  readonly policy: string;
  readonly healthCheck: DesiredHealthCheck;
  /** For a network load balancer: backends see the addresses of clients. */
  readonly preservesSource: boolean;
  /** Only for the type `lb`. */
  readonly shape: DesiredShape;
  readonly ruleSets: Readonly<Record<string, RuleSet>>;
  readonly subnets: readonly string[];
  readonly mode: RuleMode;
  readonly sourceRanges: readonly string[];
  readonly said: AnnotationSettings;
  readonly warnings: readonly Issue[];
}

/** The desired state, or why it cannot be served. */
export type DesiredStateResult =
  | { readonly kind: "read"; readonly wanted: DesiredState }
  | { readonly kind: "refused"; readonly issue: Issue };

/** OCI's maximum of groups per load balancer. */
const MAX_GROUPS = 5;

/** Reads the desired state of a Service; reports the first fault. */
export function readDesiredState(service: Service, settings: Pick<Settings, "cloud">): DesiredStateResult {
  const { metadata, spec } = service;
  const configuration = getConfiguration(settings);
  const kind = getLoadBalancerKind(metadata.annotations);
  const ofSpec = checkSpec(service);
  if (ofSpec !== undefined) return reject(ofSpec);
  const read = readAnnotations(kind, metadata.annotations);
  if (read.kind === "refused") return read;
  const { said } = read;
  const mode = readRuleMode(kind, said, configuration, metadata.annotations);
  if (mode.kind === "refused") return mode;
  const families = selectFamilies(kind, service);
  if (families === undefined) return reject({ code: "IPFamilies", field: "spec.ipFamilies" });
  const ports = readPorts(kind, service, said, families);
  if (ports.kind === "refused") return ports;
  const shape = readShape(kind === "lb" ? said : {});
  if (shape.kind === "refused") return shape;
  const ranges = readSourceRanges(service);
  if (ranges.kind === "refused") return ranges;
  const subnets = [
    said.subnet1 ?? configuration.loadBalancer?.subnet1,
    kind === "lb" ? (said.subnet2 ?? configuration.loadBalancer?.subnet2) : undefined,
  ].filter((subnet) => subnet !== undefined && subnet !== "");
  const wanted: DesiredState = {
    ...{ kind, families, said, warnings: read.warnings },
    displayName: formatDisplayName(kind, metadata, configuration.loadBalancerPrefix),
    compartment: said.compartment ?? configuration.compartment,
    isPrivate: said.internal ?? false,
    ports: ports.ports,
    policy:
      (kind === "lb" ? said.lbPolicy : said.nlbPolicy) ?? (kind === "lb" ? "ROUND_ROBIN" : "FIVE_TUPLE"),
    healthCheck: buildHealthCheck(kind, service, said),
    preservesSource:
      kind === "nlb" && spec.externalTrafficPolicy === "Local" && (said.preserveSource ?? true),
    shape: shape.shape,
    ruleSets: said.ruleSets ?? {},
    subnets: subnets as readonly string[],
    mode: mode.mode,
    sourceRanges: ranges.ranges ?? EVERYBODY,
  };
  const issue = checkDesired(wanted, service, configuration);
  return issue === undefined ? { kind: "read", wanted } : reject(issue);
}

const EVERYBODY = ["0.0.0.0/0", "::/0"];

/** Rejects what neither type supports. */
function checkSpec({ metadata: { uid }, spec }: Service): Issue | undefined {
  const { sessionAffinity } = spec;
  if (!isUsableUid(uid))
    return { code: "InvalidField", field: "metadata.uid", value: uid, allowed: "letters, digits and dashes" };
  if (sessionAffinity && sessionAffinity !== "None")
    return {
      code: "SessionAffinity",
      field: "spec.sessionAffinity",
      value: sessionAffinity,
      allowed: "None",
    };
  return undefined;
}

/** Rejects invalid combinations. */
function checkDesired(
  wanted: DesiredState,
  { metadata, spec }: Service,
  configuration: LoadBalancerConfiguration,
): Issue | undefined {
  const { kind, said, ports, isPrivate, mode } = wanted;
  const invalid = (saying: keyof AnnotationSettings, allowed: string, code = "InvalidAnnotation"): Issue => {
    const field = findAnnotation(kind, saying);
    return { code, field, value: metadata.annotations?.[field], allowed };
  };
  if (!listCompartments(configuration).includes(wanted.compartment))
    return invalid("compartment", "nothing", "NotAllowed");
  if (spec.loadBalancerIP && isPrivate) {
    const allowed = "nothing of an internal load balancer";
    return { code: "InvalidField", field: "spec.loadBalancerIP", value: spec.loadBalancerIP, allowed };
  }
  const groups = said.securityGroups?.length ?? 0;
  if (mode === "NSG" && groups >= MAX_GROUPS)
    return invalid(
      "securityGroups",
      `at most ${MAX_GROUPS - 1} groups, because one more is made for the Service`,
    );
  if (said.preserveSource !== undefined && spec.externalTrafficPolicy !== "Local")
    return invalid("preserveSource", "nothing, unless spec.externalTrafficPolicy is Local");
  if (said.ruleSets !== undefined && !ports.some(({ listenerProtocol }) => listenerProtocol !== "TCP"))
    return invalid(
      "ruleSets",
      `nothing, unless ${findAnnotation("lb", "backendProtocol")} is HTTP: rule sets are of HTTP`,
    );
  if (said.assignedIPv6 !== undefined && !wanted.families.includes("IPv6"))
    return invalid("assignedIPv6", "nothing, unless spec.ipFamilies has IPv6");
  if (wanted.subnets.length === 0)
    return invalid("subnet1", "the OCID of a subnet, because none is configured");
  return undefined;
}

function reject(issue: Issue): DesiredStateResult {
  return { kind: "refused", issue };
}
