import { kindOf, readAnnotations } from "#clouds/oci/load-balancers/annotations/read-annotations.ts";
import type { RuleSet } from "#clouds/oci/load-balancers/annotations/rule-sets.ts";
import {
  annotationOf,
  type LoadBalancerKind,
  type Said,
} from "#clouds/oci/load-balancers/annotations/table.ts";
import {
  compartmentsOf,
  configurationOf,
  type LoadBalancerConfiguration,
} from "#clouds/oci/load-balancers/configuration.ts";
import { displayNameOf, isUsableUid } from "#clouds/oci/load-balancers/names.ts";
import { familiesOf } from "#clouds/oci/load-balancers/wanted/families.ts";
import { healthCheckOf, type WantedHealthCheck } from "#clouds/oci/load-balancers/wanted/health-check.ts";
import { type IpFamily, readPorts, type WantedPort } from "#clouds/oci/load-balancers/wanted/ports.ts";
import { type RuleMode, readRuleMode } from "#clouds/oci/load-balancers/wanted/rule-mode.ts";
import { readShape, type WantedShape } from "#clouds/oci/load-balancers/wanted/shape.ts";
import type { Problem } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import { readSourceRanges } from "#core/service/source-ranges.ts";
import type { Settings } from "#core/settings.ts";

/** What a Service asks for, as far as the Service and the configuration say it. */
export interface Wanted {
  readonly kind: LoadBalancerKind;
  readonly displayName: string;
  readonly compartment: string;
  readonly isPrivate: boolean;
  readonly families: readonly IpFamily[];
  readonly ports: readonly WantedPort[];
  readonly policy: string;
  readonly healthCheck: WantedHealthCheck;
  /** Of a network load balancer: backends see the addresses of clients. */
  readonly preservesSource: boolean;
  /** Of the kind `lb`. */
  readonly shape: WantedShape;
  readonly ruleSets: Readonly<Record<string, RuleSet>>;
  readonly subnets: readonly string[];
  readonly mode: RuleMode;
  readonly sourceRanges: readonly string[];
  readonly said: Said;
  readonly warnings: readonly Problem[];
}

/** What a Service asks for, or why it cannot be served. */
export type ReadWanted =
  | { readonly kind: "read"; readonly wanted: Wanted }
  | { readonly kind: "refused"; readonly problem: Problem };

/** OCI attaches at most so many groups to a load balancer. */
const MAX_GROUPS = 5;

/** Reads what a Service asks for. The first fault is told. */
export function readWanted(service: Service, settings: Pick<Settings, "cloud">): ReadWanted {
  const { metadata, spec } = service;
  const configuration = configurationOf(settings);
  const kind = kindOf(metadata.annotations);
  const ofSpec = faultOfSpec(service);
  if (ofSpec !== undefined) return refused(ofSpec);
  const read = readAnnotations(kind, metadata.annotations);
  if (read.kind === "refused") return read;
  const { said } = read;
  const mode = readRuleMode(kind, said, configuration, metadata.annotations);
  if (mode.kind === "refused") return mode;
  const families = familiesOf(kind, service);
  if (families === undefined) return refused({ code: "IPFamilies", field: "spec.ipFamilies" });
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
  const wanted: Wanted = {
    ...{ kind, families, said, warnings: read.warnings },
    displayName: displayNameOf(kind, metadata, configuration.loadBalancerPrefix),
    compartment: said.compartment ?? configuration.compartment,
    isPrivate: said.internal ?? false,
    ports: ports.ports,
    policy:
      (kind === "lb" ? said.lbPolicy : said.nlbPolicy) ?? (kind === "lb" ? "ROUND_ROBIN" : "FIVE_TUPLE"),
    healthCheck: healthCheckOf(kind, service, said),
    preservesSource:
      kind === "nlb" && spec.externalTrafficPolicy === "Local" && (said.preserveSource ?? true),
    shape: shape.shape,
    ruleSets: said.ruleSets ?? {},
    subnets: subnets as readonly string[],
    mode: mode.mode,
    sourceRanges: ranges.ranges ?? EVERYBODY,
  };
  const problem = faultOf(wanted, service, configuration);
  return problem === undefined ? { kind: "read", wanted } : refused(problem);
}

const EVERYBODY = ["0.0.0.0/0", "::/0"];

/** What neither kind does. */
function faultOfSpec({ metadata: { uid }, spec }: Service): Problem | undefined {
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

/** What does not go together. */
function faultOf(
  wanted: Wanted,
  { metadata, spec }: Service,
  configuration: LoadBalancerConfiguration,
): Problem | undefined {
  const { kind, said, ports, isPrivate, mode } = wanted;
  const invalid = (saying: keyof Said, allowed: string, code = "InvalidAnnotation"): Problem => {
    const field = annotationOf(kind, saying);
    return { code, field, value: metadata.annotations?.[field], allowed };
  };
  if (!compartmentsOf(configuration).includes(wanted.compartment))
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
      `nothing, unless ${annotationOf("lb", "backendProtocol")} is HTTP: rule sets are of HTTP`,
    );
  if (said.assignedIPv6 !== undefined && !wanted.families.includes("IPv6"))
    return invalid("assignedIPv6", "nothing, unless spec.ipFamilies has IPv6");
  if (wanted.subnets.length === 0)
    return invalid("subnet1", "the OCID of a subnet, because none is configured");
  return undefined;
}

function refused(problem: Problem): ReadWanted {
  return { kind: "refused", problem };
}
