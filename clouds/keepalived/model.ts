import * as z from "zod";
import { isIn, rangeOf } from "#clouds/addresses/ranges.ts";
import type { ForwardMethod, KeepalivedCloudConfig } from "#clouds/keepalived/kind.ts";
import { Entry, isTold } from "#clouds/keepalived/ledger.ts";
import { canonicalIp, parseCidr } from "#core/cidr.ts";
import { parseIp } from "#core/ip.ts";
import type {
  LoadBalancerModel,
  LoadBalancerQuestion,
  LoadBalancerStep,
  Problem,
} from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/** The annotation of a Service that says how keepalived passes packets on. */
export const METHOD_ANNOTATION = "k8s.co/keepalived-forward-method";

/** What the ConfigMap says of one Service. */
export const Observed = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("ledger"),
    own: Entry.nullable(),
    /** Keepalived is told of it: the address is another's in the data, or is not there, without it. */
    isShown: z.boolean(),
    /** The Service that has the address which is asked for, as `namespace/name`. */
    holder: z.string().nullable(),
    /** No address is free. */
    isFull: z.boolean(),
  }),
  z.object({ kind: z.enum(["missing", "unreadable"]), message: z.string() }),
]);
export type Observed = z.output<typeof Observed>;

/** The address that a Service asks for, canonical; undefined where it asks for none. Of one that cannot be had it is what is written there. */
export function askedAddress({ spec }: Pick<Service, "spec">): string | undefined {
  const { loadBalancerIP = "" } = spec;
  return loadBalancerIP === "" ? undefined : (canonicalIp(loadBalancerIP) ?? loadBalancerIP);
}

/** What load balancers are where keepalived announces addresses: an entry in a ConfigMap of the cluster. */
export const keepalivedModel: LoadBalancerModel = {
  before({ service, wanted }, settings) {
    if (!wanted) return undefined;
    const problem = problemOfAddress(service, configOf(settings)) ?? problemOfMethod(service);
    return problem === undefined ? undefined : { kind: "refused", problem };
  },
  next(question, observed, settings): LoadBalancerStep {
    const found = Observed.parse(observed);
    if (found.kind === "ledger") {
      return question.wanted ? towards(question, found, configOf(settings)) : away(question, found);
    }
    // What is not there holds nothing.
    if (!question.wanted && found.kind === "missing") return NOTHING_LEFT;
    return { kind: "refused", problem: { code: CODES[found.kind], detail: found.message } };
  },
  fold(observed, _action, result) {
    const before = Observed.parse(observed);
    if (before.kind !== "ledger") return before;
    const own = Entry.nullable().parse(result);
    return { ...before, own, isShown: own !== null, holder: null } satisfies Observed;
  },
  desired: (service, settings) =>
    JSON.stringify([askedAddress(service) ?? "", methodOf(service, configOf(settings))]),
  hasNoTargets: true,
  targetOf: () => undefined,
  // The ConfigMap is read from the store, and written on what was read.
  showsAtOnce: true,
  problemOf(_action, { reason }, service) {
    const [code = "", holder] = reason?.split(" ") ?? [];
    if (code === "AddressInUse") return addressInUse(service, holder ?? "");
    return code === "PoolExhausted" || code === "NoPool" || code === "InvalidPool" ? { code } : undefined;
  },
  orphans: {
    mark: ({ id }, text) => ({ action: "MarkAddress", target: id, parameters: { text } }),
    unmark: ({ id }) => ({ action: "MarkAddress", target: id, parameters: {} }),
    drop: ({ id }) => ({ action: "ReleaseAddress", target: id, parameters: {} }),
  },
};

type Found = Extract<Observed, { readonly kind: "ledger" }>;

function towards(
  { service }: LoadBalancerQuestion,
  { own, isShown, holder, isFull }: Found,
  config: KeepalivedCloudConfig,
): LoadBalancerStep {
  const { namespace, name, uid } = service.metadata;
  const ip = askedAddress(service);
  if (ip !== undefined && holder !== null) return { kind: "refused", problem: addressInUse(service, holder) };
  const forwardMethod = methodOf(service, config);
  const isThere =
    own !== null && isTold(own.ip) && holder === null && (ip === undefined || canonicalIp(own.ip) === ip);
  if (isThere && isShown && (own.forwardMethod ?? "") === forwardMethod)
    return { kind: "settled", ingress: [{ ip: canonicalIp(own.ip) ?? own.ip }], warnings: [] };
  if (!isThere && ip === undefined && isFull) return { kind: "refused", problem: { code: "PoolExhausted" } };
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

function away({ service }: LoadBalancerQuestion, { own }: Found): LoadBalancerStep {
  if (own === null) return NOTHING_LEFT;
  const because = { code: "ReleaseAddress", message: own.ip };
  const action = { action: "ReleaseAddress", target: service.metadata.uid, parameters: {} };
  return { kind: "act", because, actions: [action] };
}

const NOTHING_LEFT: LoadBalancerStep = { kind: "settled", ingress: [], warnings: [] };

const CODES = { missing: "NoPool", unreadable: "InvalidPool" } as const;

const METHODS: readonly string[] = ["NAT", "DR", "PROXY"] satisfies readonly ForwardMethod[];

function configOf({ cloud }: Settings): KeepalivedCloudConfig {
  // It has been parsed, and that it is this cloud's the controller has seen to.
  return cloud as Settings["cloud"] & KeepalivedCloudConfig;
}

function methodOf({ metadata }: Service, { defaultForwardMethod }: KeepalivedCloudConfig): string {
  return metadata.annotations?.[METHOD_ANNOTATION] || defaultForwardMethod;
}

const FIELD = "spec.loadBalancerIP";

function problemOfAddress(service: Service, config: KeepalivedCloudConfig): Problem | undefined {
  const value = service.spec.loadBalancerIP;
  if (!value) return undefined;
  const ip = parseIp(value);
  if (ip?.family !== 4) return { code: "InvalidField", field: FIELD, value, allowed: "an IPv4 address" };
  const cidr = parseCidr(config.serviceCIDR);
  const isInPool = cidr !== undefined && isIn(ip, rangeOf(cidr));
  if (isInPool || config.outsidePool === "allow") return undefined;
  return { code: "AddressOutsidePool", field: FIELD, value, allowed: `one of ${config.serviceCIDR}` };
}

function problemOfMethod({ metadata }: Service): Problem | undefined {
  const value = metadata.annotations?.[METHOD_ANNOTATION];
  if (!value || METHODS.includes(value)) return undefined;
  return { code: "InvalidAnnotation", field: METHOD_ANNOTATION, value, allowed: METHODS.join(", ") };
}

function addressInUse(service: Service, holder: string): Problem {
  const value = service.spec.loadBalancerIP;
  return {
    code: "AddressInUse",
    field: FIELD,
    value,
    allowed: IS_NAME.test(holder) ? `an address that Service ${holder} does not have` : ANOTHER,
    detail: `it is that of Service ${holder}`,
  };
}

/** `namespace/name`. */
const IS_NAME = /^[a-z0-9-]{1,63}\/[a-z0-9-]{1,63}$/;
const ANOTHER = "an address that no other Service has";
