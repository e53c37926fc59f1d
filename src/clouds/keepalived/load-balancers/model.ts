import * as z from "zod";
import { buildRange, isIn } from "#clouds/addresses/ranges.ts";
import type { DescribedLoadBalancer } from "#clouds/diagnosis.ts";
import type { ForwardMethod, KeepalivedCloudConfig } from "#clouds/keepalived/config.ts";
import { Entry, isAnnounceable } from "#clouds/keepalived/load-balancers/vip-assignments.ts";
import { canonicalizeIp, parseCidr } from "#core/cidr.ts";
import { parseIp } from "#core/ip.ts";
import type {
  Issue,
  LoadBalancerModel,
  LoadBalancerQuestion,
  LoadBalancerStep,
} from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/** The annotation of a Service with keepalived's forwarding method. */
export const METHOD_ANNOTATION = "k8s.co/keepalived-forward-method";

/** The ConfigMap's content for one Service. */
export const Observed = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("ledger"),
    own: Entry.nullable(),
    /** Whether keepalived gets the address; false if the data assigns it to another Service or lacks it. */
    isShown: z.boolean(),
    /** The Service that has the requested address, as `namespace/name`. */
    holder: z.string().nullable(),
    /** Whether no address is free. */
    isFull: z.boolean(),
  }),
  z.object({ kind: z.enum(["missing", "unreadable"]), message: z.string() }),
]);
export type Observed = z.output<typeof Observed>;

/**
 * Returns the canonical requested address of a Service; undefined if it requests none. An invalid address is
 * returned as written.
 */
export function getRequestedAddress({ spec }: Pick<Service, "spec">): string | undefined {
  const { loadBalancerIP = "" } = spec;
  return loadBalancerIP === "" ? undefined : (canonicalizeIp(loadBalancerIP) ?? loadBalancerIP);
}

/** The load balancer model for keepalived: an entry in a ConfigMap of the cluster. */
export const keepalivedModel: LoadBalancerModel = {
  precheck({ service, wanted }, settings) {
    if (!wanted) return undefined;
    const issue = checkAddress(service, getConfiguration(settings)) ?? checkForwardMethod(service);
    return issue === undefined ? undefined : { kind: "refused", issue };
  },
  planStep(question, observed, settings): LoadBalancerStep {
    const found = Observed.parse(observed);
    if (found.kind === "ledger") {
      return question.wanted ? ensure(question, found, getConfiguration(settings)) : remove(question, found);
    }
    // A missing ConfigMap holds nothing.
    if (!question.wanted && found.kind === "missing") return NOTHING_LEFT;
    return { kind: "refused", issue: { code: CODES[found.kind], detail: found.message } };
  },
  applyResult(observed, _action, result) {
    const before = Observed.parse(observed);
    if (before.kind !== "ledger") return before;
    const own = Entry.nullable().parse(result);
    return { ...before, own, isShown: own !== null, holder: null } satisfies Observed;
  },
  describeDesired: (service, settings) =>
    JSON.stringify([
      getRequestedAddress(service) ?? "",
      getForwardMethod(service, getConfiguration(settings)),
    ]),
  hasNoTargets: true,
  getTarget: () => undefined,
  // The ConfigMap is read from the API server, and writes require the version that was read.
  isImmediatelyVisible: true,
  toIssue(_action, { reason }, service) {
    const [code = "", holder] = reason?.split(" ") ?? [];
    if (code === "AddressInUse") return buildInUseIssue(service, holder ?? "");
    return code === "PoolExhausted" || code === "NoPool" || code === "InvalidPool" ? { code } : undefined;
  },
  orphans: {
    mark: ({ id }, text) => ({ action: "MarkAddress", target: id, parameters: { text } }),
    unmark: ({ id }) => ({ action: "MarkAddress", target: id, parameters: {} }),
    drop: ({ id }) => ({ action: "ReleaseAddress", target: id, parameters: {} }),
  },
};

/** Describes a Service's entry in the ConfigMap for people. */
export function describeEntry(state: unknown): DescribedLoadBalancer {
  const found = Observed.parse(state);
  if (found.kind !== "ledger") return { belongsTo: "none", lines: [found.message] };
  const { own, isShown, holder } = found;
  const taken = holder === null ? [] : [`the requested address belongs to Service ${holder}`];
  if (own === null) return { belongsTo: "none", lines: taken };
  const method = own.forwardMethod ? `, ${own.forwardMethod}` : "";
  const untold = isShown ? [] : ["keepalived does not get it: the data of the ConfigMap differs"];
  return { belongsTo: "service", lines: [`address ${own.ip}${method}`, ...untold, ...taken] };
}

type FoundAssignments = Extract<Observed, { readonly kind: "ledger" }>;

function ensure(
  { service }: LoadBalancerQuestion,
  { own, isShown, holder, isFull }: FoundAssignments,
  config: KeepalivedCloudConfig,
): LoadBalancerStep {
  const { namespace, name, uid } = service.metadata;
  const ip = getRequestedAddress(service);
  if (ip !== undefined && holder !== null)
    return { kind: "refused", issue: buildInUseIssue(service, holder) };
  const forwardMethod = getForwardMethod(service, config);
  const isThere =
    own !== null &&
    isAnnounceable(own.ip) &&
    holder === null &&
    (ip === undefined || canonicalizeIp(own.ip) === ip);
  if (isThere && isShown && (own.forwardMethod ?? "") === forwardMethod)
    return { kind: "settled", ingress: [{ ip: canonicalizeIp(own.ip) ?? own.ip }], warnings: [] };
  if (!isThere && ip === undefined && isFull) return { kind: "refused", issue: { code: "PoolExhausted" } };
  const asked = {
    ...(ip === undefined ? {} : { ip }),
    ...(forwardMethod === "" ? {} : { forwardMethod }),
  };
  return {
    kind: "act",
    because: { code: "AssignAddress", message: ip ?? (isThere ? own.ip : `one of ${config.serviceCIDR}`) },
    actions: [{ action: "AssignAddress", target: uid, parameters: { namespace, name, ...asked } }],
  };
}

function remove({ service }: LoadBalancerQuestion, { own }: FoundAssignments): LoadBalancerStep {
  if (own === null) return NOTHING_LEFT;
  const because = { code: "ReleaseAddress", message: own.ip };
  const action = { action: "ReleaseAddress", target: service.metadata.uid, parameters: {} };
  return { kind: "act", because, actions: [action] };
}

const NOTHING_LEFT: LoadBalancerStep = { kind: "settled", ingress: [], warnings: [] };

const CODES = { missing: "NoPool", unreadable: "InvalidPool" } as const;

const METHODS: readonly string[] = ["NAT", "DR", "PROXY"] satisfies readonly ForwardMethod[];

function getConfiguration({ cloud }: Settings): KeepalivedCloudConfig {
  // It was parsed, and the controller has checked that it is this cloud's.
  return cloud as Settings["cloud"] & KeepalivedCloudConfig;
}

function getForwardMethod({ metadata }: Service, { defaultForwardMethod }: KeepalivedCloudConfig): string {
  return metadata.annotations?.[METHOD_ANNOTATION] || defaultForwardMethod;
}

const FIELD = "spec.loadBalancerIP";

function checkAddress(service: Service, config: KeepalivedCloudConfig): Issue | undefined {
  const value = service.spec.loadBalancerIP;
  if (!value) return undefined;
  const ip = parseIp(value);
  if (ip?.family !== 4) return { code: "InvalidField", field: FIELD, value, allowed: "an IPv4 address" };
  const cidr = parseCidr(config.serviceCIDR);
  const isInPool = cidr !== undefined && isIn(ip, buildRange(cidr));
  if (isInPool || config.outsidePool === "allow") return undefined;
  return { code: "AddressOutsidePool", field: FIELD, value, allowed: `one of ${config.serviceCIDR}` };
}

function checkForwardMethod({ metadata }: Service): Issue | undefined {
  const value = metadata.annotations?.[METHOD_ANNOTATION];
  if (!value || METHODS.includes(value)) return undefined;
  return { code: "InvalidAnnotation", field: METHOD_ANNOTATION, value, allowed: METHODS.join(", ") };
}

function buildInUseIssue(service: Service, holder: string): Issue {
  const value = service.spec.loadBalancerIP;
  return {
    code: "AddressInUse",
    field: FIELD,
    value,
    allowed: IS_NAME.test(holder) ? `an address that Service ${holder} does not have` : ANOTHER,
    detail: `Service ${holder} has it`,
  };
}

/** `namespace/name`. */
const IS_NAME = /^[a-z0-9-]{1,63}\/[a-z0-9-]{1,63}$/;
const ANOTHER = "an address that no other Service has";
