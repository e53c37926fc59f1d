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
import {
  type DesiredPort,
  type IpFamily,
  type RuleMode,
  readPorts,
  readRuleMode,
} from "#clouds/oci/load-balancers/desired-state/ports.ts";
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
  readonly annotationSettings: AnnotationSettings;
  readonly warnings: readonly Issue[];
}

/** The desired state, or why it cannot be served. */
export type DesiredStateResult =
  | { readonly kind: "read"; readonly desired: DesiredState }
  | { readonly kind: "refused"; readonly issue: Issue };

/** OCI's maximum of groups per load balancer. */
const MAX_GROUPS = 5;

/** Reads the desired state of a Service; reports the first fault. */
export function readDesiredState(service: Service, settings: Pick<Settings, "cloud">): DesiredStateResult {
  const { metadata, spec } = service;
  const configuration = getConfiguration(settings);
  const kind = getLoadBalancerKind(metadata.annotations);
  const specIssue = checkSpec(service);
  if (specIssue !== undefined) return reject(specIssue);
  const read = readAnnotations(kind, metadata.annotations);
  if (read.kind === "refused") return read;
  const { annotationSettings } = read;
  const mode = readRuleMode(kind, annotationSettings, configuration, metadata.annotations);
  if (mode.kind === "refused") return mode;
  const families = selectFamilies(kind, service);
  if (families === undefined)
    return reject({
      code: "IPFamilies",
      field: "spec.ipFamilies",
      allowed: "one family for this kind of load balancer, or PreferDualStack",
    });
  const ports = readPorts(kind, service, annotationSettings, families);
  if (ports.kind === "refused") return ports;
  const shape = readShape(kind === "lb" ? annotationSettings : {});
  if (shape.kind === "refused") return shape;
  const ranges = readSourceRanges(service);
  if (ranges.kind === "refused") return ranges;
  const subnets = [
    annotationSettings.subnet1 ?? configuration.loadBalancer?.subnet1,
    kind === "lb" ? (annotationSettings.subnet2 ?? configuration.loadBalancer?.subnet2) : undefined,
  ].filter((subnet) => subnet !== undefined && subnet !== "");
  const desired: DesiredState = {
    ...{ kind, families, annotationSettings, warnings: read.warnings },
    displayName: formatDisplayName(kind, metadata, configuration.loadBalancerPrefix),
    compartment: annotationSettings.compartment ?? configuration.compartment,
    isPrivate: annotationSettings.internal ?? false,
    ports: ports.ports,
    policy:
      (kind === "lb" ? annotationSettings.lbPolicy : annotationSettings.nlbPolicy) ??
      (kind === "lb" ? "ROUND_ROBIN" : "FIVE_TUPLE"),
    healthCheck: buildHealthCheck(kind, service, annotationSettings),
    preservesSource:
      kind === "nlb" && spec.externalTrafficPolicy === "Local" && (annotationSettings.preserveSource ?? true),
    shape: shape.shape,
    ruleSets: annotationSettings.ruleSets ?? {},
    subnets: subnets as readonly string[],
    mode: mode.mode,
    sourceRanges: ranges.ranges ?? EVERYBODY,
  };
  const issue = checkDesired(desired, service, configuration);
  return issue === undefined ? { kind: "read", desired } : reject(issue);
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
  desired: DesiredState,
  { metadata, spec }: Service,
  configuration: LoadBalancerConfiguration,
): Issue | undefined {
  const { kind, annotationSettings, ports, isPrivate, mode } = desired;
  const buildIssue = (
    setting: keyof AnnotationSettings,
    allowed: string,
    code = "InvalidAnnotation",
  ): Issue => {
    const field = findAnnotation(kind, setting);
    return { code, field, value: metadata.annotations?.[field], allowed };
  };
  if (!listCompartments(configuration).includes(desired.compartment))
    return buildIssue("compartment", "nothing", "NotAllowed");
  if (spec.loadBalancerIP && isPrivate) {
    const allowed = "nothing of an internal load balancer";
    return { code: "InvalidField", field: "spec.loadBalancerIP", value: spec.loadBalancerIP, allowed };
  }
  const groups = annotationSettings.securityGroups?.length ?? 0;
  if (mode === "NSG" && groups >= MAX_GROUPS)
    return buildIssue(
      "securityGroups",
      `at most ${MAX_GROUPS - 1} groups, because one more is made for the Service`,
    );
  if (annotationSettings.preserveSource !== undefined && spec.externalTrafficPolicy !== "Local")
    return buildIssue("preserveSource", "nothing, unless spec.externalTrafficPolicy is Local");
  if (
    annotationSettings.ruleSets !== undefined &&
    !ports.some(({ listenerProtocol }) => listenerProtocol !== "TCP")
  )
    return buildIssue(
      "ruleSets",
      `nothing, unless ${findAnnotation("lb", "backendProtocol")} is HTTP: rule sets are of HTTP`,
    );
  if (annotationSettings.assignedIPv6 !== undefined && !desired.families.includes("IPv6"))
    return buildIssue("assignedIPv6", "nothing, unless spec.ipFamilies has IPv6");
  if (desired.subnets.length === 0)
    return buildIssue("subnet1", "the OCID of a subnet, because none is configured");
  return undefined;
}

function reject(issue: Issue): DesiredStateResult {
  return { kind: "refused", issue };
}

/** The health check of backends, in the API's terms. */
interface DesiredHealthCheck {
  readonly protocol: "HTTP";
  readonly port: number;
  readonly urlPath: string;
  readonly retries: number;
  readonly intervalInMillis: number;
  readonly timeoutInMillis: number;
  readonly returnCode: number;
}

/** The port at which kube-proxy reports whether a node takes traffic of Services. */
const KUBE_PROXY_PORT = 10_256;

/** Builds the health check of a Service: its own node port for local traffic, else kube-proxy's. */
function buildHealthCheck(
  kind: LoadBalancerKind,
  { spec }: Pick<Service, "spec">,
  annotationSettings: AnnotationSettings,
): DesiredHealthCheck {
  const isLocal = spec.externalTrafficPolicy === "Local";
  const interval =
    kind === "lb" ? annotationSettings.lbHealthCheckInterval : annotationSettings.nlbHealthCheckInterval;
  return {
    protocol: "HTTP",
    port: (isLocal ? spec.healthCheckNodePort : undefined) || KUBE_PROXY_PORT,
    urlPath: "/healthz",
    retries: annotationSettings.healthCheckRetries ?? 3,
    intervalInMillis: interval ?? 10_000,
    timeoutInMillis: annotationSettings.healthCheckTimeout ?? 3_000,
    returnCode: 200,
  };
}

/**
 * Selects the IP families of a load balancer from those of a Service; undefined if unsupported. The type `lb`
 * has one family: the first one if the Service only prefers two.
 */
export function selectFamilies(
  kind: LoadBalancerKind,
  { spec }: Pick<Service, "spec">,
): readonly IpFamily[] | undefined {
  const { ipFamilies = ["IPv4"], ipFamilyPolicy } = spec;
  const families = ipFamilies.filter((family) => family === "IPv4" || family === "IPv6");
  const [first = "IPv4"] = families;
  if (kind === "nlb") return families.length === 0 ? [first] : families;
  return families.length > 1 && ipFamilyPolicy === "RequireDualStack" ? undefined : [first];
}

/** The shape of a load balancer, in the API's terms. */
export interface DesiredShape {
  readonly shapeName: string;
  readonly shapeDetails?: {
    readonly minimumBandwidthInMbps: number;
    readonly maximumBandwidthInMbps: number;
  };
}

/** The shape that annotations request, or why it is invalid. */
export type ShapeResult =
  | { readonly kind: "read"; readonly shape: DesiredShape }
  | { readonly kind: "refused"; readonly issue: Issue };

/** As in the stock controller; the API accepts only lower case. */
const DEFAULT_SHAPE = "100Mbps";
const FLEXIBLE = "flexible";

/**
 * Reads the shape: a fixed one by name, or a flexible one with its limits, of which the maximum is at least
 * the minimum.
 */
export function readShape({
  shape = DEFAULT_SHAPE,
  shapeFlexMin,
  shapeFlexMax,
}: AnnotationSettings): ShapeResult {
  if (shape.toLowerCase() !== FLEXIBLE) return { kind: "read", shape: { shapeName: shape } };
  if (shapeFlexMin === undefined) return rejectMissing("shapeFlexMin");
  if (shapeFlexMax === undefined) return rejectMissing("shapeFlexMax");
  const maximumBandwidthInMbps = Math.max(shapeFlexMin, shapeFlexMax);
  const shapeDetails = { minimumBandwidthInMbps: shapeFlexMin, maximumBandwidthInMbps };
  return { kind: "read", shape: { shapeName: FLEXIBLE, shapeDetails } };
}

/** Whether a load balancer's shape may stay: a flexible one never becomes a fixed one again. */
export function isShaped(
  { shapeName, shapeDetails }: DesiredShape,
  current: {
    readonly shapeName?: string | null | undefined;
    readonly shapeDetails?: DesiredShape["shapeDetails"] | null | undefined;
  },
): boolean {
  if (shapeDetails === undefined)
    return (
      current.shapeName?.toLowerCase() === FLEXIBLE ||
      current.shapeName?.toLowerCase() === shapeName.toLowerCase()
    );
  return (
    current.shapeName?.toLowerCase() === FLEXIBLE &&
    current.shapeDetails?.minimumBandwidthInMbps === shapeDetails.minimumBandwidthInMbps &&
    current.shapeDetails.maximumBandwidthInMbps === shapeDetails.maximumBandwidthInMbps
  );
}

function rejectMissing(setting: "shapeFlexMin" | "shapeFlexMax"): ShapeResult {
  const allowed = "a number of megabits per second such as 10, because the shape is flexible";
  return {
    kind: "refused",
    issue: { code: "InvalidAnnotation", field: findAnnotation("lb", setting), allowed },
  };
}
